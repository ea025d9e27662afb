"""Makes the environments known to Gymnasium: `gymnasium.make("ARZ/CataclysmicCartpole-v0")`.

Importing `arz` and `gymnasium` does this, whichever comes first. Gymnasium has no list where a package could name its
environments, and takes longer to import than most of what `arz` does: so `arz` does not import it for that, but waits
until somebody does. An environment itself is imported only when it is made.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def register() -> None:
    """Registers the environments of all tasks; more than once does no harm."""
    import gymnasium

    from arz.tasks import TASKS

    for task in TASKS.values():
        for name, here in task.environments.items():
            if name not in gymnasium.registry:
                gymnasium.register(name, entry_point=here, vector_entry_point=f"{here}Vector")


def register_when_imported() -> None:
    """Registers them now if Gymnasium is there, and otherwise as soon as it is imported."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(map(_is_waiting, sys.meta_path)):
        sys.meta_path.insert(0, _Waiting())


def _is_waiting(finder: object) -> bool:
    """Also one that an earlier import of this module left."""
    return type(finder).__name__ == _Waiting.__name__


class _Waiting:
    """Finds nothing itself: what the others find for Gymnasium registers the environments at the end of its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname != "gymnasium":
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if not _is_waiting(finder))
        spec = next((found for found in others if found is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)  # type: ignore[assignment]
        return spec


class _Registering:
    """A loader that registers the environments when it has done what another does."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_waiting(finder)]
        register()

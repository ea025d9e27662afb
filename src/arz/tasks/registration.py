"""Makes the environments known to Gymnasium: `gymnasium.make("ARZ/CataclysmicCartpole-v0")`.

Importing `arz` does this. An environment itself is imported only when it is made.
"""

import gymnasium

from arz.tasks import TASKS


def register() -> None:
    """Registers the environments of all tasks; more than once does no harm."""
    for task in TASKS.values():
        for name, here in task.environments.items():
            if name not in gymnasium.registry:
                gymnasium.register(name, entry_point=here, vector_entry_point=f"{here}Vector")

"""Makes the environments known to Gymnasium: `gymnasium.make("ARZ/CataclysmicCartpole-v0")`.

Importing `arz` does this. An environment itself is imported only when it is made.
"""

import gymnasium

ENVIRONMENTS = {
    "ARZ/CataclysmicCartpole-v0": "arz.tasks.cartpole_environment:CataclysmicCartpole",
    "ARZ/LaikagoLegBreak-v0": "arz.tasks.quadruped_environment:LaikagoLegBreak",
}
"""Where each of them is."""


def register() -> None:
    """Registers the environments; more than once does no harm."""
    for name, here in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=here, vector_entry_point=f"{here}Vector")

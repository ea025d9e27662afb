"""Makes the environments known to Gymnasium: `gymnasium.make("ARZ/CataclysmicCartpole-v0")`.

Importing `arz` does this. The environment itself is imported only when it is made.
"""

import gymnasium

CARTPOLE = "ARZ/CataclysmicCartpole-v0"


def register() -> None:
    """Registers the environments; more than once does no harm."""
    if CARTPOLE not in gymnasium.registry:
        here = "arz.tasks.environment:CataclysmicCartpole"
        gymnasium.register(CARTPOLE, entry_point=here, vector_entry_point=f"{here}Vector")

"""Cataclysmic Cartpole: all that only this task knows.

`task.py` is the variant and what it answers for; `episodes.py` and `environment.py` step it from outside; `drawing.py`,
`film.py` and `strip.py` show it. The physics is `native/tasks/cartpole.hpp`.
"""

from arz.tasks.cartpole.task import CHANGES, NAMED, PARAMETERS, RANGES, SENTENCES, STEP, TESTED, TRUTH, Cartpole

__all__ = ["CHANGES", "NAMED", "PARAMETERS", "RANGES", "SENTENCES", "STEP", "TESTED", "TRUTH", "Cartpole"]

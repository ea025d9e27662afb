"""Any environment of Gymnasium: all that only this task knows.

`task.py` is the variant and what it answers for; `adapter.py` makes environments of others and asks them what they are;
`schedule.py` and `change_check.py` are what changes in them; `episodes.py` runs programs through them, on many
processes; `film.py` shows them.
"""

from arz.tasks.gymnasium.task import NO_NETWORKS, AnyEnvironment

__all__ = ["NO_NETWORKS", "AnyEnvironment"]

"""Tasks: what a policy is asked to do.

A task is a frozen record of its variant (`Cartpole`), in a folder with all that only it knows; `base.Task` says what
everybody else may ask. It holds the settings that the native core simulates; the Gymnasium environment of the same task
runs the same physics code, one step at a time. An episode is named by a number, its key: everything random about it,
the start and the changes to come, follows from that.

`TASKS` has them all: who needs every task sweeps it, and nobody asks a task which one it is.
"""

from arz.tasks.base import Task
from arz.tasks.cartpole import Cartpole
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.quadruped import Quadruped

TASKS: dict[str, type[Task]] = {task.kind: task for task in (Cartpole, Quadruped, AnyEnvironment)}
"""By the name of the task in a configuration; the first is meant where a configuration does not say."""

__all__ = ["TASKS", "Task"]

"""The commands of the command line: a file for each, with its options and what it does.

`cli.py` finds them here by their names and imports only the one that is asked for. What several of them need: `sources`
(what a command works on), `checks` (what is refused before anything is made), `options`, `fields` (of a configuration),
`printing`, `running`, `standing`, `backend`, `rounding`, `pruned`, `tables`.
"""

COMMANDS = {
    "evolve": "evolve programs for a task, in a new run",
    "train": "train a neural network for a task, in a new run: what programs are compared with",
    "sweep": "try a grid of settings, one run each, then repeat the best; goes on where it stopped",
    "compare": "put methods side by side: scores with intervals, tests, costs, curves",
    "resume": "go on with a run that was interrupted, or extend one that is finished",
    "runs": "list runs",
    "show": "a program: listing, simplified form, cost; for a run also where it stands",
    "test": "test a program on all tests of its task: the five of cartpole, each leg of the quadruped broken, ...",
    "plot": "draw the progress of a run against evaluations, steps and time, and its fronts",
    "replay": "film an episode, and draw its state, action and changes over time",
    "explain": "what a program is: annotated listing, flow of numbers, linear form, summary in words",
    "trace": "an episode from inside: registers, calls, actions and states over time; figures and a table",
    "ablate": "what each line, register and function is worth, and the smallest program as good",
    "prune": "leave out what a program does not need, and tune the numbers of the rest again",
    "export": "write a program as a Python module or a C header that runs without arz",
    "reproduce": "make the paper's results anew: runs, figure, numbers, and a verdict for each claim",
    "ops": "the table of operations",
}
"""Each with what it is for; `arz --help` shows them in this order."""

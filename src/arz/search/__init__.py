"""Searches: what to try next.

A search knows neither programs nor tasks. It holds *genomes*, which a `Problem` can draw at random, vary and score, and
random numbers that come from keys alone. So a toy problem tests it, and the same seed gives the same search on any
number of threads, and after any interruption.

`SEARCHES` has a row for each: its settings, which say what it can do, and the search itself.
"""

from typing import Any

from arz.search.ars import Ars, ArsSettings
from arz.search.base import Search, SearchSettings
from arz.search.grow import Grow, GrowSettings
from arz.search.nsga2 import Nsga2, Nsga2Settings
from arz.search.regularized import Regularized, RegularizedSettings
from arz.search.tuning import Tuning, TuningSettings

SEARCHES: dict[str, tuple[type[SearchSettings], type[Search[Any]]]] = {
    "regularized": (RegularizedSettings, Regularized),
    "nsga2": (Nsga2Settings, Nsga2),
    "tuning": (TuningSettings, Tuning),
    "grow": (GrowSettings, Grow),
    "ars": (ArsSettings, Ars),
}
"""By the name of the search in a configuration; the first is meant where a configuration does not say."""

__all__ = ["SEARCHES", "Search", "SearchSettings"]

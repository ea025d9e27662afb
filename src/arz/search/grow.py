"""Grow and tune: structures race each other while all their numbers are tuned, and the winners grow.

Evolution changes code well and numbers badly, so here each structure is given its chance: a *racer* is an individual
with a sampling distribution of its own (`cma.py`), from which in every generation samples are drawn that move its
numbers. Racers of an island meet the same episodes. After a *rung* of generations the worse half drops out, and rungs
become longer (successive halving; Jamieson and Talwalkar 2016): who needs longer to learn is protected by the length of
the first rung. When few are left, a new *round* begins: the survivors stay in the race as they are, beside children
that are made from them by small structural changes. A child that grows acts nearly as its parent did, and inherits its
distribution number by number; what was tuned is what is inherited. So a new structure races its parent at equal
evaluations.

The first racers of a life are random. Where hardly any of them does what counts, and what the others learn leads
elsewhere (to stand still, say), many can be *tried* first, each with numbers far apart (`tries`). Each racer can learn
in *stages*: an easier problem, until it can do it (`walks_at`); then shorter episodes, until it survives most of them
(`survives_at`); then the problem itself. Who is further stays.
What survival is worth beside the reward is a setting of each stage: where failing early pays, whoever begins learns to
fail.

What happens in an episode can come *gently*: each racer is spared some of it, less and less of what it survives, more
of what it does not (`ease_rate`). So it is always asked for what it can nearly do. Nothing is spared where champions
are chosen.

A case that is not survived can get a *reflex* (`reflex_terms`): a child that acts as its parent does until a sense has
fired, with terms that act from then on. Only their numbers are tuned, in that case alone, so that nothing else is
forgotten; then it races its parent, and all numbers are tuned together.

Who stays is decided by *cases* (which leg breaks, say): the best over all stays, then those that are best in some
cases, drawn by epsilon-lexicase (La Cava et al. 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.search.base import MOST, NO_PARENT, Births, Search, SearchSettings
from arz.search.cma import HUGE, SamplingDistribution, check_spreads
from arz.search.draws import normal_rows
from arz.search.problem import SMALL_EFFECT, UNTRIED, Adaptable, Conditions, G, GrowingProblem
from arz.streams import Stream, key, keys
from arz.typing import Floats

Places = NDArray[np.int64]

EASY, SHORT, WHOLE = range(3)
"""The stages in which a racer learns: an easier problem, shorter episodes, the problem itself."""
ALL = -1
"""Not one case, but all."""
RECENT = 0.2
"""How much the last generation counts in what happened of late."""
WHOLES = 6
"""How many whole numbers a checkpoint has for a racer, before those by case."""
RACE, ALONE, REFLEX = range(3)
"""The phases of a round: structures race; the survivors are tuned alone; a reflex of the best is tuned alone."""
LEAST_EASE = 0.01
"""Who is spared less than this is spared nothing."""
WIDEST = 1000.0
"""Samples that change what a program does by more are out of all bounds."""
LITTLE_EASE = 0.05
"""Who survives all cases, and is spared no more than this in any, goes on to whole episodes."""


@dataclass(frozen=True)
class GrowSettings(SearchSettings):
    """How to grow and tune. The defaults were chosen by experiment (docs/search.md).

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 64
    """Structures that race at a time on each island: at the beginning of a life all of them."""
    samples: int = 16
    """Individuals of each structure in a generation: its centre and samples around it."""
    episodes: int = 16
    most_episodes: int = 0
    """As structures drop out, those that are left play more episodes, up to so many: a generation costs about as much
    as before and tells more of them; 0 if they do not."""
    resample_every: int = 1
    restart_after: int = 0
    validate_every: int = 5000
    validate_top: int = 2
    cache: int = 0
    first_terms: int = 4
    """Random structures have this many terms at most, and at least half of them."""
    screen: int = 1
    """So many random structures are drawn for each that races: those that can do most..."""
    screens_freedom: bool = False
    """...where that is in how many ways numbers change actions; else, in how many these follow what is seen. Where
    hundreds of numbers change them, the first takes long."""
    tries: int = 0
    """So many random structures for each that races are tried at first, with as many samples as in a generation; those
    race that did best, from their best sample on. 0 tries none..."""
    try_spread: float = 1.0
    """...with samples that change what a program does by so much."""
    rung: int = 20
    """Generations until the first half of the structures drops out..."""
    doubling: int = 2
    """...and after so many rungs of a round they become twice as long; 0 if they do not."""
    survivors: int = 2
    """A round ends when so few structures are left..."""
    offspring: int = 6
    """...and these join them in the next..."""
    alone: int = 0
    """...after so many generations in which the survivors are tuned alone."""
    reflex_terms: int = 0
    """If the best of a round does not survive some case, a reflex for it, of so many terms, joins the next; 0 for
    none..."""
    reflex_generations: int = 300
    """...after so many generations in which its numbers alone are tuned, in that case alone, in short episodes..."""
    reflex_spread: float = 1.5
    """...with samples that change what it does by so much at first, and at most by twice as much, if that is more than
    most_spread: what keeps a robot on its feet is far from what it does otherwise."""
    fits_senses: bool = False
    """Whether the sense that fires a reflex is fitted on recordings of the parent, in which it is known what happened
    when; else it is drawn."""
    transplants: float = 0.2
    """The share of children that get a term of another survivor."""
    sample_spread: float = 0.1
    """By how much samples change what a program does at first: root mean square of the change of its actions."""
    small_effect: float = SMALL_EFFECT
    """Numbers that change what it does by less than this, at 1, count as if they changed it by so much. Where an entry
    of the observation is small, so is what its numbers do; the less counts, the further these are moved."""
    least_spread: float = 0.02
    most_spread: float = 0.3
    leaves_worst: bool = False
    """Whether the worse half of the samples counts too: the centre moves away from them."""
    averages: float = 0.0
    """Over about this share of its generations, the latest, the centre of a structure is averaged: the mean races, is
    tried as champion and is inherited. Where episodes differ much, a centre wanders about the best place; 0 takes the
    last one."""
    survival: float = 0.0
    """What a step is worth beside its reward: so much for each that an episode lasts."""
    first_survival: float = 1.0
    """The same in the first stage, an easier problem..."""
    walks_at: float = -math.inf
    """...which ends for a structure when half of its samples have this fitness there; -inf for no such stage."""
    short_survival: float = 3.0
    """The same in the second stage..."""
    short_steps: int = 0
    """...whose episodes have so many steps; 0 for no such stage..."""
    survives_at: float = 0.45
    """...and which ends for a structure when this share of them lasts to the end."""
    ease_rate: float = 0.0
    """From the second stage on, how fast what happens in an episode becomes as bad as it is: in each generation, a
    structure is spared less of what it survives, by this share, and half as much more of the rest; 0 spares nothing."""
    variety: float = 0.0
    """In the last stage, how much the world differs from the usual one, in each generation in another way: up to 1."""
    patience: int = 0
    """A life in which nothing gets beyond the first stage in so many generations ends, and a structure that does not
    get beyond the second goes on to the third; 0 waits for ever."""
    parsimony: float = 0.0
    """Of structures whose worth differs by less than this share the shorter one counts as better."""

    CANNOT: ClassVar[dict[str, str]] = {"networks": "grow is for programs; networks are trained by ars"}
    LEAST: ClassVar[dict[str, int]] = {
        **SearchSettings.LEAST,
        "samples": 5,
        "first_terms": 1,
        "rung": 2,
        "screen": 1,
        "survivors": 1,
        "population": 1,
        "resample_every": 0,
        "reflex_generations": 1,
    }
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        **SearchSettings.MOST,
        "population": (10_000, "each of them is tuned"),
        "samples": (MOST, "more do not fit into memory"),
        "first_terms": (1000, "no memory has room for more"),
        "offspring": (10_000, "each of them is tuned"),
        "survivors": (10_000, "each of them is tuned"),
        "rung": (MOST, "more take days"),
        "short_steps": (MOST, "no episode has more"),
        "patience": (MOST, "more take days"),
        "alone": (MOST, "more take days"),
        "reflex_terms": (1000, "no memory has room for more"),
        "reflex_generations": (MOST, "more take days"),
        "screen": (1000, "more take longer than to try some"),
        "tries": (1000, "each of them plays"),
        "most_episodes": (MOST, "more take days"),
        "doubling": (MOST, "no round has more rungs"),
    }

    @property
    def survival_worth(self) -> float:
        """That of whole episodes."""
        return self.survival

    def check_problem(self, problem: Adaptable, is_stateful: bool) -> None:
        """Refuses eases, worlds and reflexes where they cannot be."""
        _ = problem.eased([float(self.ease_rate > 0)] * len(problem.case_names))
        _ = problem.varied(0, self.variety)
        if self.reflex_terms and not is_stateful:
            raise ValueError("reflex_terms must be 0 for programs that are stateless: reflexes remember")
        if self.fits_senses:
            _ = problem.happens(np.zeros(0, np.uint64))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_spreads(self.least_spread, self.sample_spread, self.most_spread)
        if self.survivors + self.offspring > self.population:
            most = f"survivors and offspring must be at most the population of {self.population} together"
            raise ValueError(f"{most}, not {self.survivors} + {self.offspring}")
        if 0 < self.most_episodes < self.episodes:
            most = f"most_episodes must be 0, or at least the {self.episodes} episodes"
            raise ValueError(f"{most}, not {self.most_episodes}")
        if not 0 <= self.transplants <= 1:
            raise ValueError(f"transplants must lie in 0 to 1, not {self.transplants}")
        if not 0 <= self.averages <= 1:
            raise ValueError(f"averages must lie in 0 to 1, not {self.averages}")
        if not 0 <= self.parsimony <= 1:
            raise ValueError(f"parsimony must lie in 0 to 1, not {self.parsimony}")
        if not 0 < self.try_spread <= WIDEST:
            raise ValueError(f"try_spread must be above 0 and at most {WIDEST}, not {self.try_spread}")
        if not 0 < self.small_effect < HUGE:
            raise ValueError(f"small_effect must be a number above 0, not {self.small_effect}")
        if not self.least_spread <= self.reflex_spread <= WIDEST:
            raise ValueError(f"reflex_spread must lie in least_spread to {WIDEST}, not {self.reflex_spread}")
        if self.reflex_terms and self.survivors == self.population:
            raise ValueError(f"reflexes need a place: survivors must be below the population of {self.population}")
        for name in ("survival", "first_survival", "short_survival", "survives_at"):
            if not abs(getattr(self, name)) < HUGE:
                raise ValueError(f"{name} must be a number, not {getattr(self, name)}")
        if not 0 <= self.ease_rate < 1:
            raise ValueError(f"ease_rate must be at least 0 and below 1, not {self.ease_rate}")
        if not 0 <= self.variety <= 1:
            raise ValueError(f"variety must lie in 0 to 1, not {self.variety}")
        if not self.walks_at < HUGE:
            raise ValueError(f"walks_at must be a number, or -inf for no such stage, not {self.walks_at}")


@dataclass
class Racer:
    """A structure that is tuned."""

    distribution: SamplingDistribution
    worth: Floats
    """Of its centre, by case: added up over the later half of this rung."""
    eases: Floats
    """How much of what happens in each case it is spared."""
    lasted: Floats
    """The share of episodes that its samples survived of late, by case."""
    stage: int = WHOLE
    age: int = 0
    """In this stage, in generations."""
    counted: int = 0
    """How many generations that were."""
    made_by: int = 0
    """The number of the change that made the structure."""
    is_new: bool = True
    """Whether nobody of it was scored yet."""
    case: int = ALL
    """The case for which its reflex is tuned; and..."""
    later: SamplingDistribution | None = None
    """...where samples of all its numbers come from, once it is."""
    average: Floats | None = None
    """The mean of its latest centres, if that counts in place of the last one..."""
    averaged: int = 0
    """...after so many generations."""

    @property
    def place(self) -> Floats:
        """The numbers that count as its own."""
        return self.distribution.centre if self.average is None else self.average

    def follow(self, share: float) -> None:
        """The mean goes with the centre; it is about that of this share of its generations, the latest."""
        before = self.distribution.centre if self.average is None else self.average
        self.average = before + (self.distribution.centre - before) / (1 + share * self.averaged)
        self.averaged += 1

    @property
    def mean(self) -> Floats:
        """Its worth by case."""
        return self.worth / max(self.counted, 1)

    def survive(self, lasted: Floats, survives_at: float, ease_rate: float) -> None:
        """Notes which episodes were survived; who survives is spared less, who does not is spared more."""
        counts = (self.case == ALL) | (np.arange(len(lasted)) == self.case)
        self.lasted = np.where(counts, self.lasted + RECENT * (lasted - self.lasted), self.lasted)
        if ease_rate:
            less = self.eases * (1 - ease_rate)
            more = np.minimum(1.0, np.maximum(self.eases, LEAST_EASE) / (1 - ease_rate / 2))
            eases = np.where(self.lasted >= survives_at, less, more)
            self.eases = np.where(counts, np.where(eases < LEAST_EASE, 0.0, eases), self.eases)


@dataclass
class Race:
    """What is remembered of an island beside its racers."""

    rung: int = 0
    """Of this round."""
    generation: int = 0
    """Of this rung."""
    rounds: int = 0
    age: int = 0
    """In generations."""
    phase: int = RACE
    """Of the round."""


@dataclass
class Grow(Search[G]):
    """A search that grows and tunes. `advance` does one generation of all racers.

    The living are the centres as they were scored last, in `population` places on each island; places of those that
    dropped out are empty: `racers` has None there.
    """

    problem: GrowingProblem[G]
    settings: GrowSettings
    racers: list[Racer | None] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    structures: int = 0
    """How many were tried."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.racers = [None] * (self.settings.islands * self.settings.population)
        self.races = [Race() for _ in range(self.settings.islands)]

    # ---- one generation ----

    def _breed(self) -> Births:
        settings, count = self.settings, self.counters
        for island in self._begin_lives():
            self._begin_race(island)
        places = np.array(
            [place for place, racer in enumerate(self.racers) if racer is not None and self._plays(place)]
        )
        numbers = count.evaluations + np.arange(len(places) * settings.samples)
        draws, centres = [], []
        for k, racer in enumerate(self._racing(places)):
            drawn = normal_rows(
                self.seed, "sample", numbers[k * settings.samples :][: settings.samples], len(racer.distribution.centre)
            )
            drawn[0] = 0.0  # the centre itself, or the mean of the latest ones
            draws.append(drawn)
            centres.append(racer.distribution.places(drawn))
            if racer.average is not None:
                centres[-1][0] = racer.average
        assert self.population is not None
        owners = np.repeat(places, settings.samples)
        genomes = self.problem.with_parameters(self.population.take(owners), np.concatenate(centres))
        worth, objectives, lasted = self._try(genomes, self._racing(places))
        first = np.arange(len(places)) * settings.samples
        parents, mutations = self._origins(places)
        count.evaluations += len(genomes)
        homes = owners // settings.population
        births = Births(int(numbers[0]), parents, mutations, objectives[:, 0], self._life_numbers(homes))
        self._put(places, genomes.take(first), objectives[first], numbers[first])
        for k, racer in enumerate(self._racing(places)):
            mine = slice(k * settings.samples, (k + 1) * settings.samples)
            self._follow(racer, worth[mine], draws[k], self.races[int(places[k]) // settings.population])
            self._go_on(racer, objectives[mine, 0], lasted[mine])
        for island, race in enumerate(self.races):
            race.generation, race.age = race.generation + 1, race.age + 1
            if race.generation >= self._length(race):
                self._end_rung(island)
        return births

    def _length(self, race: Race) -> int:
        """Generations of the present rung."""
        settings = self.settings
        if race.phase != RACE:
            return settings.alone if race.phase == ALONE else settings.reflex_generations
        return settings.rung << min(race.rung // settings.doubling if settings.doubling else 0, 20)

    def _plays(self, place: int) -> bool:
        """Whether the racer in a place is tuned: while a reflex is, the others of its island rest."""
        racer = self.racers[place]
        phase = self.races[place // self.settings.population].phase
        return racer is not None and (racer.case != ALL or phase != REFLEX)

    def _racing(self, places: Places) -> list[Racer]:
        found = [self.racers[place] for place in places.tolist()]
        return [racer for racer in found if racer is not None]

    def _origins(self, places: Places) -> tuple[Places, NDArray[np.uint8]]:
        """The parents of all that are scored now, and what made them: a structural change, or tuning."""
        size = self.settings.samples
        parents = np.repeat(self.numbers[places], size)
        mutations = np.full(len(parents), self.problem.tuned_by, np.uint8)
        for k, racer in enumerate(self._racing(places)):
            if racer.is_new:
                mutations[k * size : (k + 1) * size] = racer.made_by
                racer.is_new = False
        return parents, mutations

    def _put(self, places: Places, genomes: G, objectives: Floats, numbers: Places) -> None:
        """Puts individuals into places."""
        assert self.population is not None
        order = np.arange(len(self.population))
        order[places] = len(self.population) + np.arange(len(places))
        self.population = (self.population + genomes).take(order)
        self.objectives[places], self.numbers[places] = objectives, numbers

    def _try(self, genomes: G, racers: list[Racer]) -> tuple[Floats, Floats, Floats]:
        """The worth of each by case, the objectives, and the share of episodes that lasted to the end by case."""
        settings = self.settings
        episodes = self._played(len(racers))
        kinds = [(racer.stage, racer.case) for racer in racers]
        which = np.repeat(np.arange(len(racers)), settings.samples)
        eases = np.repeat(np.stack([racer.eases for racer in racers]), settings.samples, axis=0)
        world = key(self.seed, "world", self._episode_set)
        worth, lasted = np.zeros(eases.shape), np.zeros(eases.shape)
        objectives = np.zeros((len(genomes), self.problem.objectives))
        for stage, case in sorted(set(kinds)):
            where = np.flatnonzero(np.array([kind == (stage, case) for kind in kinds])[which])
            chosen = genomes if len(where) == len(genomes) else genomes.take(where)
            steps = settings.short_steps if stage == SHORT else 0
            variety = settings.variety if stage == WHOLE else 0.0
            survival = (settings.first_survival, settings.short_survival, settings.survival)[stage]
            conditions = Conditions(survival, stage == EASY, steps, variety, world)
            played = episodes if case == ALL else self.problem.only(episodes, case)
            tried = self.problem.try_cases(chosen, played, conditions, eases[where])
            worth[where], objectives[where], lasted[where] = tried.worth, tried.objectives, tried.lasted
            self.counters.steps += int(tried.steps.sum())
        return worth, objectives, lasted

    def _played(self, racing: int) -> NDArray[np.uint64]:
        """The episodes of this generation, for so many structures."""
        settings = self.settings
        if not settings.most_episodes:
            return self._fitness_episodes(self._episode_set)
        count = max(settings.episodes, settings.episodes * settings.islands * settings.population // racing)
        return self._drawn_episodes(self._episode_set * settings.most_episodes, min(count, settings.most_episodes))

    def _follow(self, racer: Racer, worth: Floats, draws: Floats, race: Race) -> None:
        """The distribution of a racer learns from its samples."""
        settings = self.settings
        if 2 * (race.generation + 1) > self._length(race):  # the later half counts
            racer.worth = racer.worth + worth[0] * np.where(worth[0] > 0, 1 - racer.eases / 2, 1.0)
            racer.counted += 1
        value = np.add.reduce(worth, axis=1)
        order, half = 1 + np.argsort(-value[1:], kind="stable"), (settings.samples - 1) // 2
        worst = draws[order[: -half - 1 : -1]] if settings.leaves_worst else None
        most = settings.most_spread if racer.case == ALL else max(settings.most_spread, 2 * settings.reflex_spread)
        racer.distribution.move(draws[order[:half]], settings.least_spread, most, worst)
        if settings.averages:
            racer.follow(settings.averages)

    def _go_on(self, racer: Racer, fitness: Floats, lasted: Floats) -> None:
        """A racer goes on to the next stage when it can do this one.

        Args:
            racer: which.
            fitness: of its samples.
            lasted: the share of episodes that they survived [sample, case].
        """
        settings, stage = self.settings, racer.stage
        racer.age += 1
        if stage == EASY:
            if float(np.sort(fitness)[settings.samples // 2]) >= settings.walks_at:
                racer.stage = SHORT if settings.short_steps else WHOLE
        else:
            share = np.add.reduce(lasted, axis=0) / settings.samples
            racer.survive(share, settings.survives_at, settings.ease_rate)
            is_late = 0 < settings.patience <= racer.age
            if stage == SHORT and racer.case == ALL and (is_late or self._survives(racer)):
                racer.stage = WHOLE
        if racer.stage != stage:
            racer.age, racer.worth, racer.counted = 0, np.zeros_like(racer.worth), 0

    def _survives(self, racer: Racer) -> bool:
        """Whether it survives most episodes, nearly as they are."""
        share = float(np.add.reduce(racer.lasted)) / len(racer.lasted)
        return float(racer.eases.max()) <= LITTLE_EASE and share >= self.settings.survives_at

    # ---- rounds ----

    def _begin_race(self, island: int) -> None:
        """The random racers with which a life begins."""
        settings, size = self.settings, self.settings.population
        self.races[island] = Race()
        tried = size * max(settings.tries, 1)
        drawn = size if self.start is not None else tried * settings.screen
        numbers = self.structures + np.arange(drawn)
        if self.start is None:
            genomes = self.problem.grown(keys(self.seed, "structure", numbers), settings.first_terms)
            mutations = np.zeros(size, np.uint8)
            if drawn > tried:
                can_do = self.problem.freedom if settings.screens_freedom else self.problem.richness
                genomes = genomes.take(np.argsort(-can_do(genomes), kind="stable")[:tried])
            if settings.tries:
                genomes = self._best_tries(genomes, size)
        else:
            genomes, mutations = self.start.take(np.zeros(size, np.int64)), np.zeros(size, np.uint8)
            if size > 1:
                others = keys(self.seed, "structure", numbers[1:])
                varied, mutations[1:] = self.problem.vary(self.start, np.zeros(size - 1, np.int64), others)
                genomes = self.start + varied
        if self.population is None:
            everyone = np.tile(np.arange(size), settings.islands)
            self.population = genomes.take(everyone)
            self.objectives = np.zeros((len(everyone), self.problem.objectives))
            self.numbers = np.full(len(everyone), NO_PARENT)
        places = island * size + np.arange(size)
        self._put(places, genomes, np.zeros((size, self.problem.objectives)), np.full(size, NO_PARENT))
        for place, made_by in zip(places.tolist(), mutations.tolist(), strict=True):
            self.racers[place] = self._racer(place, made_by)
        self.structures += drawn

    def _best_tries(self, genomes: G, keep: int) -> G:
        """Those that did best with the best of their samples, with the numbers of this."""
        samples, spread = self.settings.samples, self.settings.try_spread
        racers = [self._first_racer(genomes.take(np.array([k])), spread) for k in range(len(genomes))]
        numbers = (self.structures * samples + np.arange(len(racers) * samples)).reshape(-1, samples)
        centres = [
            racer.distribution.places(normal_rows(self.seed, "try", mine, len(racer.distribution.centre)))
            for racer, mine in zip(racers, numbers, strict=True)
        ]
        owners = np.repeat(np.arange(len(racers)), samples)
        tried = self.problem.with_parameters(genomes.take(owners), np.concatenate(centres))
        value = np.add.reduce(self._try(tried, racers)[0], axis=1).reshape(-1, samples)
        best = np.argsort(-value.max(axis=1), kind="stable")[:keep]
        return tried.take(best * samples + np.argmax(value[best], axis=1))

    def _racer(self, place: int, made_by: int, parent: Racer | None = None) -> Racer:
        """A new racer in a place, whose genome is there already."""
        assert self.population is not None
        genome, spread = self.population.take(np.array([place])), self.settings.sample_spread
        if parent is None:
            return self._first_racer(genome, spread, made_by)
        distribution = parent.distribution.inherited(self.problem.parameters(genome)[0], self._units(genome), spread)
        none = np.zeros(len(self.problem.case_names))
        return Racer(distribution, none, parent.eases, parent.lasted, parent.stage, parent.age, made_by=made_by)

    def _first_racer(self, genome: G, spread: float, made_by: int = 0) -> Racer:
        """A racer at the beginning of a life."""
        settings, none = self.settings, np.zeros(len(self.problem.case_names))
        stage = EASY if settings.walks_at > -HUGE else SHORT if settings.short_steps else WHOLE
        distribution = SamplingDistribution.around(self.problem.parameters(genome)[0], self._units(genome), spread)
        return Racer(distribution, none, none + (settings.ease_rate > 0), none, stage, made_by=made_by)

    def _units(self, genome: G) -> Floats:
        """How far its numbers move for its behaviour to change by 1."""
        found = self.problem.units(genome, small=self.settings.small_effect)
        self.counters.steps += found.steps
        return found.sizes

    def _end_rung(self, island: int) -> None:
        """The worse half drops out; if few are left, a new round begins."""
        settings, race = self.settings, self.races[island]
        first = island * settings.population
        places = np.array([first + k for k in range(settings.population) if self.racers[first + k] is not None])
        if race.phase == REFLEX:
            self._end_reflex(island, places)
            return
        keep = max(min(settings.survivors, len(places)), (len(places) + 1) // 2)
        kept = self._best(island, places, keep)
        self._drop(sorted(set(places.tolist()) - set(kept.tolist())))
        for racer in self._racing(kept):
            racer.worth, racer.counted = np.zeros_like(racer.worth), 0
        race.rung, race.generation = race.rung + 1, 0
        if len(kept) > settings.survivors:
            return
        race.phase = ALONE if settings.alone and race.phase == RACE else RACE
        if race.phase == RACE and not self._begin_reflex(island, kept):
            self._begin_round(island, kept)

    # ---- reflexes ----

    def _begin_reflex(self, island: int, kept: Places) -> bool:
        """The best gets a reflex for a case that it does not survive, if there is one; whether it got it."""
        settings, race, place = self.settings, self.races[island], int(kept[0])
        parent, first = self.racers[place], island * settings.population
        free = [first + k for k in range(settings.population) if self.racers[first + k] is None]
        if not settings.reflex_terms or not free or parent is None or parent.stage == EASY:
            return False
        failed = np.flatnonzero((parent.lasted < settings.survives_at) | (parent.eases > LITTLE_EASE))
        if not len(failed):
            return False
        self._learn(kept)
        assert self.population is not None
        drawn = key(self.seed, "reflex", self.structures)
        case = int(failed[Stream(drawn).below(len(failed))])
        eases = parent.eases if settings.fits_senses else None
        genome = self.population.take(kept[:1])
        found = self.problem.reflex(genome, case, drawn, settings.reflex_terms, eases, settings.small_effect)
        self.structures += 1
        self.counters.steps += found.steps
        if found.genome is None:
            return False
        here = np.array(free[:1])
        self._put(here, found.genome, self.objectives[kept[:1]], self.numbers[kept[:1]])
        racer = self._racer(free[0], self.problem.reflex_by, parent)
        centre = racer.distribution.centre.copy()
        racer.case, racer.later = case, racer.distribution
        racer.distribution = SamplingDistribution.around(centre, found.units, settings.reflex_spread)
        racer.stage, racer.age = SHORT if settings.short_steps else WHOLE, 0
        self.racers[free[0]] = racer
        race.phase = REFLEX
        return True

    def _end_reflex(self, island: int, places: Places) -> None:
        """All numbers of the reflex are free from now on; it joins its parent, and the next round begins."""
        stage, age = max((racer.stage, racer.age) for racer in self._racing(places) if racer.case == ALL)
        for racer in self._racing(places):
            if racer.later is not None:
                racer.distribution, racer.stage, racer.age = racer.later.with_part(racer.distribution), stage, age
            racer.case, racer.later = ALL, None
            racer.worth, racer.counted = np.zeros_like(racer.worth), 0
        self.races[island].phase = RACE
        self._begin_round(island, places)

    def _drop(self, places: list[int]) -> None:
        """Empties places: nobody lives there, and what they scored does not count any more."""
        for place in places:
            self.racers[place] = None
        self.objectives[places] = UNTRIED

    def _best(self, island: int, places: Places, keep: int) -> Places:
        """Who stays, best first: of those who are furthest the best over all cases, then by epsilon-lexicase."""
        worth = np.stack([racer.mean for racer in self._racing(places)])
        is_known = np.array([racer.counted > 0 for racer in self._racing(places)])
        if is_known.any():  # who has just come to another stage counts as the worst
            worth[~is_known] = worth[is_known].min(axis=0)
        stages = np.array([racer.stage for racer in self._racing(places)])
        total = np.add.reduce(worth, axis=1)
        furthest = np.flatnonzero(stages == stages.max())
        chosen = [int(furthest[self._leader(places[furthest], total[furthest])])]
        is_left = np.ones(len(places), bool)
        race = self.races[island]
        stream = Stream(key(self.seed, f"cases {self.lives[island].number} {race.rounds}", race.rung))
        while len(chosen) < keep:
            is_left[chosen[-1]] = False
            left = np.flatnonzero(is_left & (stages == stages[is_left].max()))
            cases = list(range(worth.shape[1])) if stages[left[0]] != EASY else []
            while cases and len(left) > 1:
                values = worth[left, cases.pop(stream.below(len(cases)))]
                margin = float(np.median(np.abs(values - np.median(values))))
                left = left[values >= values.max() - margin]
            chosen.append(int(left[np.argmax(total[left])]))
        return np.asarray(places[np.array(chosen)])

    def _leader(self, places: Places, total: Floats) -> int:
        """The best over all cases; of those that are nearly as good, the shortest."""
        if not self.settings.parsimony:
            return int(np.argmax(total))
        assert self.population is not None
        leaders = np.flatnonzero(total >= total.max() - self.settings.parsimony * np.abs(total.max()))
        lengths = self.problem.lengths(self.population.take(places[leaders]))
        return int(leaders[np.lexsort((-total[leaders], lengths))[0]])

    def _begin_round(self, island: int, kept: Places) -> None:
        """Children of the survivors join the race."""
        settings, race = self.settings, self.races[island]
        race.rounds, race.rung, race.generation = race.rounds + 1, 0, 0
        first = island * settings.population
        free = [first + k for k in range(settings.population) if self.racers[first + k] is None][: settings.offspring]
        if not free:
            return
        self._learn(kept)
        assert self.population is not None
        numbers = self.structures + np.arange(len(free))
        drawn = keys(self.seed, "structure", numbers)
        streams = [Stream(bits) for bits in keys(self.seed, "parents", numbers).tolist()]
        one = np.array([int(kept[stream.below(len(kept))]) for stream in streams])
        other = np.array([int(kept[stream.below(len(kept))]) for stream in streams])
        gets_term = np.array([stream.uniform() < settings.transplants for stream in streams]) & (one != other)
        varied, mutations = self.problem.vary(self.population, one, drawn)
        crossed, is_crossed = self.problem.transplant(self.population, one, other, drawn)
        gets_term &= is_crossed
        mutations[gets_term] = self.problem.transplanted_by
        children = (varied + crossed).take(np.arange(len(free)) + len(free) * gets_term)
        self._put(np.array(free), children, self.objectives[one], self.numbers[one])
        for place, parent, made_by in zip(free, one.tolist(), mutations.tolist(), strict=True):
            racer = self.racers[parent]
            assert racer is not None
            self.racers[place] = self._racer(place, made_by, racer)
        self.structures += len(free)

    def _learn(self, kept: Places) -> None:
        """What survivors learned last is inherited too."""
        assert self.population is not None
        centres = np.stack([racer.place for racer in self._racing(kept)])
        current = self.problem.with_parameters(self.population.take(kept), centres)
        self._put(kept, current, self.objectives[kept], self.numbers[kept])

    # ---- champions ----

    def _candidates(self) -> Places:
        """The centres that did best in the last generation."""
        size, found = self.settings.population, []
        top = self.settings.validate_top
        for island in range(self.settings.islands):
            places = [k for k in range(island * size, (island + 1) * size) if self.racers[k] is not None]
            ranked = sorted(places, key=self._rank, reverse=True)[:top]
            found.append((ranked * top)[:top])
        return np.array(found)

    def _rank(self, place: int) -> tuple[int, float]:
        """How far its racer is, and how it did there."""
        racer = self.racers[place]
        return (EASY if racer is None else racer.stage), float(self.fitness[place])

    def standing(self) -> str:
        """How many structures were tried and race, the stage, and the worth of the best by case."""
        racing = [racer for racer in self.racers if racer is not None]
        rounds, stage = max(race.rounds for race in self.races), max((racer.stage for racer in racing), default=EASY)
        racing = [racer for racer in racing if racer.stage == stage]
        doing = ("easier task", "short episodes", f"round {rounds + 1}")[stage]
        parts = [f"structures {self.structures}", f"racing {len(racing)}", doing]
        for racer in self.racers:
            if racer is not None and racer.case != ALL:
                parts.append(f"reflex for {self.problem.case_names[racer.case]} {racer.lasted[racer.case]:.0%}")
        known = [racer for racer in racing if racer.counted]
        told: list[str] = []
        if racing and stage == SHORT and self.settings.ease_rate:
            told = [f"{1 - ease:.0%}" for ease in min(racing, key=lambda racer: float(racer.eases.sum())).eases]
        elif known and len(self.problem.case_names) > 1 and stage == WHOLE:
            best = max(known, key=lambda racer: float(np.add.reduce(racer.mean)))
            told = [f"{value:.0f}" for value in best.mean]
        if told:
            parts.append(" ".join(map(" ".join, zip(self.problem.case_names, told, strict=True))))
        return "  ".join(parts)

    def _end_lives(self) -> None:
        super()._end_lives()
        size, patience = self.settings.population, self.settings.patience
        for island, race in enumerate(self.races):
            here = [racer for racer in self.racers[island * size : (island + 1) * size] if racer is not None]
            if patience and race.age >= patience and here and all(racer.stage == EASY for racer in here):
                self._end_life(island)
        for island, life in enumerate(self.lives):
            if not life.is_begun:
                self._drop(list(range(island * size, (island + 1) * size)))
                self.races[island] = Race()

    # ---- checkpoints ----

    def extras(self) -> dict[str, Floats]:
        """The racers and races, for a checkpoint."""
        if self.population is None:
            return {}
        places = [place for place, racer in enumerate(self.racers) if racer is not None]
        racing = self._racing(np.array(places, np.int64))
        facts = [
            [
                *(place, racer.stage, racer.age, racer.counted, racer.made_by, racer.is_new),
                *(*racer.worth, *racer.eases, *racer.lasted),
            ]
            for place, racer in zip(places, racing, strict=True)
        ]
        tuned = [(k, racer) for k, racer in enumerate(racing) if racer.later is not None]
        reflexes = (
            {
                "reflexes": np.array([[float(k), float(racer.case)] for k, racer in tuned]),
                "later": np.concatenate([racer.later.rows() for _, racer in tuned if racer.later is not None]),
            }
            if tuned
            else {}
        )
        averages = (
            {"averages": np.array([[racer.averaged, *racer.place] for racer in racing])}
            if self.settings.averages and racing
            else {}
        )
        return {
            **reflexes,
            **averages,
            "racers": np.array(facts, np.float64).reshape(len(places), WHOLES + 3 * len(self.problem.case_names)),
            "clouds": np.concatenate([racer.distribution.rows() for racer in racing]) if racing else np.zeros((0, 2)),
            "races": np.array([[*vars(race).values()] for race in self.races], float),
            "structures": np.array([[float(self.structures)]]),
        }

    def restore_extras(self, arrays: dict[str, Floats]) -> None:
        """Makes them equal to those of a checkpoint.

        Raises:
            ValueError: they cannot be.
        """
        if self.population is None and not arrays:
            return
        rest = arrays.keys() - {"racers", "clouds", "races", "structures"}
        known: tuple[set[str], ...] = (set(), {"reflexes", "later"})
        if len(arrays) - len(rest) != 4 or rest - {"averages"} not in known or self.population is None:
            raise ValueError("the racers are missing")
        cases, islands, slots = len(self.problem.case_names), self.settings.islands, len(self.racers)
        facts, distributions, races, structures = (arrays[name] for name in ("racers", "clouds", "races", "structures"))
        numbers = self.problem.parameters(self.population).shape[1]
        if (facts.shape[1:], races.shape, structures.shape) != ((WHOLES + 3 * cases,), (islands, 5), (1, 1)):
            raise ValueError("the racers have another size")
        if len(facts) and distributions.shape != (6 * len(facts), numbers):
            raise ValueError("the distributions have another size")
        whole = np.concatenate([facts[:, :WHOLES].ravel(), races.ravel(), structures.ravel()])
        if not np.all((whole >= 0) & (whole < 2**53) & (whole % 1 == 0)) or np.any(facts[:, 4] > 255):
            raise ValueError("the racers are odd")
        shares = facts[:, WHOLES + cases :]
        if not np.isfinite(facts).all() or np.any(facts[:, 5] > 1) or np.any((shares < 0) | (shares > 1)):
            raise ValueError("the racers are odd")
        if np.any(races[:, 4] > REFLEX):
            raise ValueError("the races are odd")
        places = facts[:, 0].astype(np.int64)
        if len(np.unique(places)) != len(places) or np.any(places >= slots) or np.any(facts[:, 1] > WHOLE):
            raise ValueError("the racers are odd")
        for island, life in enumerate(self.lives):
            if life.is_begun and not np.any(places // self.settings.population == island):
                raise ValueError("an island has no racers")
        self.racers = [None] * slots
        for k, row in enumerate(facts):
            place, stage, age, counted, made_by, is_new = map(int, row[:WHOLES].tolist())
            worth, eases, lasted = row[WHOLES:].reshape(3, cases).copy()
            distribution = SamplingDistribution.of_rows(distributions[6 * k : 6 * k + 6])
            self.racers[place] = Racer(distribution, worth, eases, lasted, stage, age, counted, made_by, bool(is_new))
        self.races = [Race(*map(int, row)) for row in races.tolist()]
        self._restore_averages(self._racing(places), arrays)
        self._restore_reflexes(places, arrays)
        self.structures = int(structures[0, 0])

    def _restore_averages(self, racing: list[Racer], arrays: dict[str, Floats]) -> None:
        """The means of the latest centres, if these count."""
        if ("averages" in arrays) != bool(self.settings.averages and racing):
            raise ValueError("the averages are missing, or none are wanted")
        if "averages" not in arrays:
            return
        rows = arrays["averages"]
        if rows.shape != (len(racing), 1 + len(racing[0].distribution.centre)):
            raise ValueError("the averages have another size")
        ages = rows[:, 0]
        if not (np.abs(rows) < HUGE).all() or np.any((ages < 0) | (ages >= 2**53) | (ages % 1 != 0)):
            raise ValueError("the averages are odd")
        for racer, row in zip(racing, rows, strict=True):
            racer.averaged, racer.average = int(row[0]), row[1:].copy() if row[0] else None

    def _restore_reflexes(self, places: Places, arrays: dict[str, Floats]) -> None:
        """Whose reflex is tuned, for which case, and where samples of all their numbers come from."""
        facts, distributions = arrays.get("reflexes", np.zeros((0, 2))), arrays.get("later", np.zeros((0, 0)))
        if facts.shape[1:] != (2,) or len(distributions) != 6 * len(facts):
            raise ValueError("the reflexes have another size")
        limits = np.array([len(places), len(self.problem.case_names)])
        if not np.all((facts >= 0) & (facts < limits) & (facts % 1 == 0)):
            raise ValueError("the reflexes are odd")
        for k, (row, case) in enumerate(facts.astype(np.int64).tolist()):
            racer, later = self.racers[int(places[row])], SamplingDistribution.of_rows(distributions[6 * k : 6 * k + 6])
            if racer is None or racer.case != ALL or len(later.centre) != len(racer.distribution.centre):
                raise ValueError("the reflexes are odd")
            racer.case, racer.later = case, later
        size = self.settings.population
        for island, race in enumerate(self.races):
            here = [racer for racer in self.racers[island * size : (island + 1) * size] if racer is not None]
            is_at_rest = {racer.case == ALL for racer in here}
            if is_at_rest != {True, False} if race.phase == REFLEX else False in is_at_rest:
                raise ValueError("the reflexes are odd")

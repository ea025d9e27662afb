"""Configurations: TOML and back, overrides, presets, budgets."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import arz
from arz.cli import main
from arz.runs import config
from arz.runs.budget import Budget
from arz.runs.config import Config


@pytest.mark.parametrize("name", config.preset_names())
def test_presets_load_and_say_everything_again(name: str) -> None:
    loaded = config.load(name)
    text = config.render(loaded)
    assert config.parse(text) == loaded
    assert config.render(config.parse(text)) == text


def test_overrides_know_fields_by_their_own_names() -> None:
    changed = arz.preset(
        "cartpole-regularized", population=400, insert_instruction=0.25, parameters="force", stateful=False, x_limit=1
    )
    assert (changed.search.population, changed.variation.weights.insert_instruction) == (400, 0.25)
    assert isinstance(changed.task, arz.Cartpole)
    assert (changed.task.parameters, changed.memory.stateful, changed.task.x_limit) == (("force",), False, 1.0)
    assert config.parse(config.render(changed)) == changed
    untouched = arz.preset("cartpole-regularized")
    assert arz.preset("cartpole-regularized", population=untouched.search.population) == untouched


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[search]\npopulatoin = 3", "there is no field 'search.populatoin' in a configuration. Did you mean 'population'?"),
        ("[serch]\npopulation = 3", "there is no table 'serch' in a configuration. Did you mean 'search'?"),
        ("[search]\npopulation = 'many'", "search.population must be a whole number, not 'many'"),
        ("[search]\npopulation = true", "search.population must be a whole number, not True"),
        ("[search]\npopulation = 0", "population must be a whole number of at least 2, not 0"),
        ("[memory]\nstateful = 1", "memory.stateful must be true or false, not 1"),
        ("[memory]\nscalars = 2", "scalars must be 4 to 64, not 2"),
        ("[task]\nx_limit = 'far'", "task.x_limit must be a number, not 'far'"),
        ("[task]\nchange = 'suddn'", "Did you mean 'sudden'?"),
        ("[task]\nparameters = ['wind']", "parameters must be among force, damping, track_angle, not 'wind'"),
        ("[variation.weights]\nmutate = 1", "there is no field 'variation.weights.mutate' in a configuration."),
        ("[variation]\nop_weights = {scalar_sine = 1}", "there is no op called 'scalar_sine'. Did you mean"),
        ("[limits]\nbudget = 'long'", "a budget is a number of evaluations"),
        ("search = 3", "search must be a table, not 3"),
        ("[search\n", "Expected ']'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="configuration: ") as error:
        config.parse(text)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_presets_and_fields_are_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no preset 'cartpol'.*Did you mean 'cartpole'"):
        arz.preset("cartpol")
    with pytest.raises(ValueError, match="there is no field 'popul'"):
        arz.preset("cartpole-regularized", popul=3)
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="expected text in UTF-8"):
        config.load(tmp_path / "bad.toml")
    with pytest.raises(FileNotFoundError):
        config.load(tmp_path / "none.toml")


def test_every_field_is_explained() -> None:
    for name, path in config.field_paths().items():
        assert len(config.field_help(path)) > 5, name


@pytest.mark.parametrize(
    ("text", "kind", "amount", "shown"),
    [("2000000", "evaluations", 2e6, "2M evaluations"), ("2M", "evaluations", 2e6, "2M evaluations"),
     ("1.5k evaluations", "evaluations", 1500, "1.5k evaluations"), ("5G steps", "steps", 5e9, "5G steps"),
     ("1e9steps", "steps", 1e9, "1G steps"), ("90s", "seconds", 90, "90s"), ("3m", "seconds", 180, "3m"), ("2h", "seconds", 7200, "2h"),
     ("123456", "evaluations", 123456, "123.456k evaluations"), ("1234567", "evaluations", 1234567, "1234567 evaluations")],
)  # fmt: skip
def test_budgets_read_as_people_write_them(text: str, kind: str, amount: float, shown: str) -> None:
    budget = Budget.parse(text)
    assert (budget.kind, budget.amount) == (kind, amount)
    assert str(budget) == shown
    assert Budget.parse(str(budget)) == budget
    assert budget.spent(*(int(amount),) * 2, amount) == 1.0


@pytest.mark.parametrize("text", ["", "long", "-3", "0", "3 weeks", "2Ms", "inf", "nan", "1e300"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a budget"):
        Budget.parse(text)


def test_the_default_is_a_configuration() -> None:
    assert config.parse("") == Config()


SETTINGS = [
    (kind, item.name)
    for kind in config.RECORD_KINDS["search"].values()
    for item in fields(kind)
    if type(item.default) is int
]
COUNTS = {"resample_every", "restart_after", "validate_every"}
"""Of children: these may be large, and then nothing happens."""
BOUNDED_BY_OTHERS = {"lag", "hurdle_episodes"}


@pytest.mark.parametrize(("kind", "name"), SETTINGS)
def test_every_whole_number_of_a_search_has_a_most_and_a_reason(kind: Any, name: str) -> None:
    most, why = kind.MOST.get(name, (2**31 - 1, "no run has so many children"))
    assert name in kind.MOST or name in COUNTS | BOUNDED_BY_OTHERS
    with pytest.raises(ValueError, match=f"^{name} must be at most {most}, not {most + 1}: {why}$"):
        kind(**{name: most + 1})
    for odd in (1.5, True, "3"):
        with pytest.raises(ValueError, match=f"^{name} must be a whole number"):
            kind(**{name: odd})


@pytest.mark.parametrize("name", ["population", "offspring", "initial"])
def test_islands_cannot_hold_more_than_memory(name: str) -> None:
    sizes = {"population": 10, "initial": 1_000_000 if name == "population" else 10, name: 1_000_000}
    with pytest.raises(ValueError, match=f"{name} must be at most 909090 on each of 11 islands"):
        config.RECORD_KINDS["search"]["nsga2"](islands=11, **sizes)


@pytest.mark.parametrize("kind", ["cartpole", "quadruped"])
def test_every_number_of_a_task_has_a_most(kind: str) -> None:
    task = config.RECORD_KINDS["task"][kind]
    numbers = [item.name for item in fields(task) if type(item.default) in (int, float)]
    assert numbers
    for name in numbers:
        for value in (2**31 - 1, 2**40, 1e300):
            with pytest.raises(ValueError, match=name):
                task(**{name: value})


ODD = [
    "",
    "text",
    "nan",
    "inf",
    "-inf",
    "1e30",
    "-1",
    "0",
    "[1, 2]",
    "['a', 'b']",
    "{a = 1}",
    "true",
    "9" * 25,
    "\x7f\n",
]


@pytest.mark.parametrize("name", config.field_paths())
def test_any_value_of_any_field_is_taken_or_refused_with_a_sentence(name: str) -> None:
    for text in ODD:
        for value in (text, config.parse_value(text)):
            with contextlib.suppress(ValueError):
                changed = arz.preset("cartpole-regularized", **{name: value})
                assert config.parse(config.render(changed)) == changed, (name, value)


def test_what_is_unusual_is_said_and_nothing_else() -> None:
    """So that a new field changes nothing about configurations of before."""
    usual = config.unusual(Config())
    assert {name for name in usual if name.endswith(".kind")} == {"task.kind", "policy.kind", "search.kind"}
    changed = arz.preset("cartpole-regularized", population=177, x_limit=1.0)
    said = config.unusual(changed)
    assert said["search.population"] == "177"
    assert said["task.x_limit"] == "1.0"
    assert "variation.growth_length" not in said
    assert config.unusual(arz.preset("cartpole-regularized", population=177, x_limit=1.0, growth_length=9)) != said


@pytest.mark.parametrize("kind", ["tuning", "grow"])
def test_networks_neither_grow_nor_are_tuned(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} is for programs; networks are trained by ars"):
        config.parse(f'[policy]\nkind = "mlp"\n[search]\nkind = "{kind}"\n')


def test_fields_that_were_renamed_are_read_where_a_run_kept_them_and_people_are_told() -> None:
    text = '[search]\nkind = "nsga2"\nselection_episodes = 7\nselect_every = 11\nselect_top = 1\n'
    with pytest.raises(ValueError, match="selection_episodes is now called validation_episodes"):
        config.parse(text)
    kept = config.parse(text, is_kept=True)
    search = kept.search
    assert (search.validation_episodes, search.validate_every, search.validate_top) == (7, 11, 1)
    assert config.parse(config.render(kept)) == kept
    assert config.unusual(kept)["search.selection_episodes"] == "7"
    with pytest.raises(ValueError, match="select_every is now called validate_every"):
        arz.preset("cartpole", select_every=3)
    with pytest.raises(ValueError, match="children is now called offspring"):
        arz.preset("quadruped-nsga2", children=3)


@pytest.mark.parametrize("option", ["--selection-episodes=5", "--select-top=2"])
def test_an_option_that_was_renamed_says_how(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evolve", "cartpole", option])
    name = {"--selection-episodes=5": "--validation-episodes", "--select-top=2": "--validate-top"}[option]
    assert f"It is now called {name}." in capsys.readouterr().err

from pathlib import Path

from arz import Program, complexity, effective
from arz.complexity import lstm_complexity, mlp_complexity
from arz.reproduce.printed import INLINED

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_papers_cartpole_program_has_11_parameters_and_25_flops() -> None:
    cost = complexity(Program.load(EXAMPLES / "paper_cartpole.arz"))
    assert (cost.parameters, cost.flops) == (11, 25)


def test_the_papers_quadruped_program_has_608_numbers_and_2080_flops() -> None:
    program = Program.load(EXAMPLES / "paper_quadruped.arz")
    cost = complexity(program, as_written=True)
    assert cost.memory == 608
    assert cost.flops - INLINED == 54 * 37 + 82 == 2080


def test_dead_code_costs_nothing_unless_asked_for() -> None:
    program = Program.load(EXAMPLES / "paper_quadruped.arz")
    assert complexity(program) == complexity(effective(program).program, as_written=True)
    assert complexity(program).flops < complexity(program, as_written=True).flops


def test_networks_of_the_papers_sizes() -> None:
    assert mlp_complexity(37, 12) == (2592, 5184)
    assert lstm_complexity(37, 12) == (9216, 18432)
    assert mlp_complexity(4, 1) == (1184, 2368)
    assert lstm_complexity(4, 1) == (4640, 9280)

"""Balls that hold all answers of a cell, and a basis for two elements that are as alike as one likes."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.laws.streams import span_sine
from physupport.responses import Cell, Parameter, Peak, Ranges, UniformLinearArray

ARRAY = UniformLinearArray(8, 0.5)
DIRECTIONS = Ranges(ARRAY, [[0.0], [2.0], [4.0]], [[1.0]] * 3, [Parameter("position", [-0.3, 0.3])])
PEAKS = Ranges(Peak(np.linspace(0.0, 10.0, 30), 0.5), [[3.0], [4.0]], [[0.5]] * 2, [Parameter("width", [0.8, 1.25])])


def cells(ranges, rng, count):
    """Cells of two neighbours, of all sizes, each third with both next to the edge that they share."""
    root = ranges.root(np.array([[0, 1]]))
    for number in range(count):
        sides = root.sides * 2.0 ** -rng.integers(0, 10, len(root.low))
        low = root.low + rng.uniform(0.0, 1.0, len(sides)) * (root.sides - sides)
        if number % 3 == 0:
            low[:2] = root.high[0] - sides[0], root.low[1]
        yield root, Cell(low, np.minimum(low + sides, root.high))


def corners(cell, rng):
    """Points of a cell, most of them in its corners."""
    shares = rng.uniform(0.0, 1.0, (4, len(cell.low)))
    return cell.low + np.where(rng.random((4, 1)) < 0.6, np.round(shares), shares) * cell.sides


def turned(answers, columns):
    """Answers with the phases of columns."""
    return answers * np.exp(-1j * np.angle((columns.conj() * answers).sum(axis=0)))


@pytest.mark.parametrize("ranges", [DIRECTIONS, PEAKS])
def test_every_answer_of_a_cell_lies_in_its_ball(ranges):
    rng = np.random.default_rng(1)
    farthest = 0.0
    for root, cell in cells(ranges, rng, 150):
        balls = ranges.balls(cell, root)
        for point in corners(cell, rng):
            away = np.linalg.norm(turned(ranges.columns(point), balls.columns) - balls.columns, axis=0)
            farthest = max(farthest, float((away / balls.radii).max()))
    assert 0.6 < farthest <= 1.0  # the bound is nearly reached, and never exceeded


@pytest.mark.parametrize("ranges", [DIRECTIONS, PEAKS])
def test_the_other_basis_holds_the_span_of_both_answers_and_narrows_where_they_meet(ranges):
    rng = np.random.default_rng(2)
    sines = []
    for _, cell in cells(ranges, rng, 150):
        balls = ranges.merged(cell)
        sine = span_sine(*balls)
        sines.append(sine)
        left, _, _ = np.linalg.svd(balls.columns, full_matrices=False)
        for point in corners(cell, rng):
            answers, weights, _ = np.linalg.svd(ranges.columns(point), full_matrices=False)
            span = answers[:, weights > 1e-7]
            off = np.linalg.norm(span - left @ (left.conj().T @ span), ord=2)
            assert off <= sine * (1.0 + 1e-6) + 1e-8
    assert min(sines) < 0.02
    root = ranges.root(np.array([[0, 1]]))
    edge = Cell([root.high[0] - 1e-4, root.low[1], *root.low[2:]], [root.high[0], root.low[1] + 1e-4, *root.low[2:]])
    assert span_sine(*ranges.balls(edge, root)) > 0.9  # nothing is excluded by balls around both
    assert span_sine(*ranges.merged(edge)) < 1e-3


def test_half_the_sum_and_the_difference_of_complex_answers_stay_within_their_balls():
    waves = Ranges(ARRAY, [[0.0], [2.0]], [[1.0], [1.0]])
    root = waves.root(np.array([[0, 1]]))
    balls = waves.merged(root)
    for point in ([-1.0, 1.0], [-1.0, 3.0], [1.0 - 1e-3, 3.0]):
        first, second = waves.columns(np.array(point)).T
        basis = np.stack([0.5 * (first + second), (second - first) / (point[1] - point[0])], axis=1)
        assert (np.linalg.norm(basis - balls.columns, axis=0) <= balls.radii).all()


def test_the_phase_of_a_wave_costs_nothing():
    root = DIRECTIONS.root(np.array([[0]]))
    radius = DIRECTIONS.balls(root, root).radii[0]
    assert radius < 0.65 * ARRAY.slopes(root.low[:1], root.high[:1])[0] * 1.3


def test_a_document_gives_the_same_cells():
    again = Ranges.decode(DIRECTIONS.encode())
    root = again.root(np.array([[0, 2]]))
    assert np.array_equal(root.low, DIRECTIONS.root(np.array([[0, 2]])).low)
    assert np.array_equal(again.columns(root.middle), DIRECTIONS.columns(root.middle))


def test_what_proves_nothing_is_refused():
    with pytest.raises(MisuseError, match="above 0 somewhere"):
        Ranges(ARRAY, [[0.0]], [[0.0]])
    with pytest.raises(MisuseError, match="bound its own slopes"):
        Ranges(lambda places: np.ones((4, len(places))), [[0.0]], [[1.0]])

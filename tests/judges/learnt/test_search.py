"""Residuals beside atoms at places that are known up to a run: bounds hold everywhere in it, and the level is kept."""

from types import SimpleNamespace

import numpy as np
from scipy.stats import binom, f
from tests.judges.learnt.test_space import PEAK, Q, unit

from physupport.judges.learnt._judge import ByLearnt, LearntJudge
from physupport.judges.learnt._places import Component, Pieces
from physupport.judges.learnt._search import Node, PairNode, Quantile, Residuals, allocations, nodes_of
from physupport.responses import box_bounds

T, LEVEL, RUNS = 30, 0.1, 300


def pieces(low, high, count):
    edges = np.linspace(low, high, count + 1)
    middles = 0.5 * (edges[:-1] + edges[1:])
    columns = unit(middles)
    # Twice the largest move to either side is more than any within a piece of so smooth a response.
    moves = np.maximum(
        np.linalg.norm(unit(edges[:-1]) - columns, axis=0), np.linalg.norm(unit(edges[1:]) - columns, axis=0)
    )
    return Pieces(columns, 1.01 * moves, edges[:-1, None], edges[1:, None])


def residuals(rows):
    return Residuals(rows.T @ rows, len(rows), 0.0, 0, np.zeros((Q, 0)))


def signal(rng, places, deviation=0.05):
    return rng.standard_normal((T, len(places))) @ unit(places).T + deviation * rng.standard_normal((T, Q))


def ratio(rows, places, b):
    basis = np.linalg.qr(unit(places))[0]
    left = rows - rows @ basis @ basis.T
    beside = b - basis @ (basis.T @ b)
    along = ((rows @ beside) ** 2).sum() / (beside @ beside)
    return (along / T) / (((left**2).sum() - along) / (T * (Q - len(places) - 1)))


def test_the_bound_over_nodes_is_below_the_ratio_at_every_place_of_them():
    rng = np.random.default_rng(1)
    b = unit([0.52])[:, 0]
    runs = (Node.of(pieces(0.20, 0.22, 8)), Node.of(pieces(0.82, 0.84, 8)))
    for active in ([0.21, 0.52], [0.21, 0.83]):
        rows = signal(rng, active)
        lower = residuals(rows)._bounds(runs, b)[0]
        found = [ratio(rows, [x, y], b) for x in np.linspace(0.20, 0.22, 7) for y in np.linspace(0.82, 0.84, 7)]
        assert lower <= min(found)
    assert residuals(signal(rng, [0.21, 0.52]))._bounds(runs, b)[0] > 5.0  # and not trivially so: 0 would be


def test_a_truth_anywhere_in_the_runs_is_rejected_at_most_at_the_level_and_at_a_point_exactly_there():
    b = unit([0.52])[:, 0]
    runs = (Node.of(pieces(0.20, 0.22, 2)), Node.of(pieces(0.82, 0.84, 2)))
    count = points = 0
    for run in range(RUNS):
        rng = np.random.default_rng([9, run])
        places = [rng.uniform(0.20, 0.22), rng.uniform(0.82, 0.84)]
        rows = signal(rng, places)
        count += residuals(rows).is_rejected(runs, b, Quantile(LEVEL))
        points += ratio(rows, places, b) > f.isf(LEVEL, T, T * (Q - 3))
    assert binom.sf(count - 1, RUNS, LEVEL) > 1e-6
    assert 1e-6 < binom.cdf(points, RUNS, LEVEL) < 1.0 - 1e-6


def test_negative_control_an_atom_beside_the_runs_is_found():
    rng = np.random.default_rng(3)
    b = unit([0.52])[:, 0]
    runs = (Node.of(pieces(0.20, 0.22, 4)), Node.of(pieces(0.82, 0.84, 4)))
    found = sum(residuals(signal(rng, [0.21, 0.52])).is_rejected(runs, b, Quantile(LEVEL)) for _ in range(20))
    assert found == 20


BEND = float(box_bounds(PEAK, np.array([0.2]), np.array([0.5]), second=True).bends[0, 0])


def pair(low, high, count, first=None, second=None):
    whole = (0, count)
    return PairNode.of(pieces(low, high, count), BEND, first or whole, second or whole)


def test_a_run_that_may_hold_two_atoms_may_hold_one_or_two_that_are_near():
    """Two of the atoms need not be in a run that can hold two."""
    parts = [(pieces(0.30, 0.40, 40), 2), (pieces(0.559, 0.561, 2), 1)]
    components = tuple(
        Component(own, np.full(len(own.radii), number), 0, capacity, BEND)
        for number, (own, capacity) in enumerate(parts)
    )

    def found(places):
        spec = ByLearnt(components, {"n_atoms": 3})
        count = 0
        for run in range(20):
            rows = signal(np.random.default_rng([4, run]), places, 0.002)
            judge = LearntJudge(SimpleNamespace(level=LEVEL), None, spec, residuals(rows))
            count += judge.is_there[1]
        return count

    assert found([0.35]) <= 2
    assert found([0.35, 0.36]) <= 2
    assert found([0.32, 0.38, 0.56]) > 10  # an atom at 0.56 is found all the same


def test_the_bound_over_pairs_is_below_the_ratio_at_every_two_places_also_where_they_meet():
    b = unit([0.52])[:, 0]
    rows = signal(np.random.default_rng(4), [0.212, 0.52])
    for node in (pair(0.20, 0.22, 8), pair(0.20, 0.22, 8, (3, 4), (3, 4)), pair(0.20, 0.22, 8, (0, 2), (6, 8))):
        ends = [node.pieces.low[node.first[0], 0], node.pieces.high[node.first[1] - 1, 0]]
        others = [node.pieces.low[node.second[0], 0], node.pieces.high[node.second[1] - 1, 0]]
        lower = residuals(rows)._bounds((node,), b)[0]
        found = [
            ratio(rows, [x, y], b)
            for x in np.linspace(*ends, 6)
            for y in np.linspace(*others, 7)
            if abs(x - y) > 1e-5  # nearer ones are lost to rounding in this oracle
        ]
        assert lower <= min(found)
        assert lower > 1.0  # and not trivially so


def test_halves_of_a_pair_cover_all_pairs_of_pieces_in_order():
    pending = [pair(0.2, 0.3, 5)]
    leaves = []
    while pending:
        node = pending.pop()
        parts = node.halves()
        pending += parts
        if not parts:
            leaves.append((node.first[0], node.second[0]))
    assert sorted(leaves) == [(i, j) for i in range(5) for j in range(i, 5)]


def test_two_atoms_of_one_run_are_kept_at_the_level_and_a_third_beside_them_is_found():
    b = unit([0.52])[:, 0]
    count = 0
    for run in range(100):
        rng = np.random.default_rng([10, run])
        rows = signal(rng, 0.20 + 0.02 * rng.random(2))
        count += residuals(rows).is_rejected((pair(0.20, 0.22, 8),), b, Quantile(LEVEL))
    assert binom.sf(count - 1, 100, LEVEL) > 1e-6
    rng = np.random.default_rng(11)
    assert residuals(signal(rng, [0.202, 0.218, 0.52])).is_rejected((pair(0.20, 0.22, 8),), b, Quantile(LEVEL))


def test_two_atoms_without_a_bound_of_bends_or_in_one_piece_are_searched_one_by_one():
    for run, bend in ((pieces(0.2, 0.3, 4), 0.0), (pieces(0.2, 0.22, 1), BEND)):
        component = Component(run, np.zeros(len(run.radii), dtype=np.int64), 0, 2, bend)
        assert [type(node) for node in nodes_of(component, 2)] == [Node, Node]


def test_atoms_are_shared_among_components_in_every_way():
    assert allocations([2, 2, 1], 4) == [(1, 2, 1), (2, 1, 1), (2, 2, 0)]
    assert allocations([1, 1], 4) == [(1, 1)]
    assert allocations([6] * 8, 6) == [(6,) * 8]  # too many to write out


def complex_unit(places):
    columns = np.exp(20j * np.outer(np.linspace(-0.5, 0.5, Q), places))
    return columns / np.linalg.norm(columns, axis=0)


def test_the_ratio_of_complex_rows_is_rejected_at_the_level_and_less_often_with_half_the_degrees_of_freedom():
    atoms = complex_unit([0.21, 0.83])
    b = complex_unit([0.52])[:, 0]
    nodes = tuple(Node(pieces(x, x + 1e-9, 1), atoms[:, [k]], np.zeros(1)) for k, x in enumerate([0.21, 0.83]))
    counts = np.zeros(2, dtype=int)
    for run in range(RUNS):
        rng = np.random.default_rng([19, run])
        normal = rng.standard_normal((T, 2 + Q, 2)) @ [1.0, 1.0j]
        rows = normal[:, :2] @ atoms.T + 0.05 * normal[:, 2:]
        found = Residuals(rows.T @ rows.conj(), T, 0.0, 0, np.zeros((Q, 0)))
        counts += [found.is_rejected(nodes, b, quantile) for quantile in (Quantile(LEVEL), _half)]
    assert 1e-6 < binom.cdf(counts[0], RUNS, LEVEL) < 1.0 - 1e-6
    assert binom.cdf(counts[1], RUNS, LEVEL) < 1e-3  # half the degrees are valid, and lose power


def _half(first, second):
    return Quantile(LEVEL)(first // 2, second // 2)

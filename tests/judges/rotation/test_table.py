"""Explanations as columns: spans beside the background, dependent columns, and what is refused."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.judges.rotation import MeanRows, Rotation, RotationTable
from physupport.laws import whitening


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


def test_spans_are_those_of_the_atoms_beside_the_background(tools):
    lines, baseline = tools.make_lines(), tools.polynomial(40, 2)
    table = RotationTable(lines, [(), (3,), (1, 5), (0, 4, 8)], baseline)
    assert table.ranks.tolist() == [0, 1, 2, 3]
    for e in range(4):
        inside = table.complement @ table.bases[e].T
        expected = tools.projector(tools.design(table, e)) - tools.projector(baseline)
        assert np.abs(inside @ inside.T - expected).max() < 1e-13


def test_the_stated_errors_of_spans_cover_those_of_coherent_atoms(tools):
    """Two lines that differ by one part in a million, against the same in twice the digits."""
    first = tools.make_lines(40, 1)[:, 0]
    second = first + 1e-6 * np.cos(np.arange(40))
    table = RotationTable(np.stack([first, second], axis=1), [(0, 1)])
    one, two = first.astype(np.longdouble), second.astype(np.longdouble)
    one = one / np.sqrt(one @ one)
    two = two - one * (one @ two)
    two = two - one * (one @ two)
    two = two / np.sqrt(two @ two)
    exact = np.outer(one, one) + np.outer(two, two)
    basis = (table.complement @ table.bases[0].T).astype(np.longdouble)
    off = float(np.linalg.norm((basis @ basis.T - exact).astype(float), 2))
    assert 1e-14 < off < table.errors[0] < 1e-4


def test_dependent_atoms_and_backgrounds_lower_the_rank(tools):
    lines = tools.make_lines(40, 3)
    atoms = np.concatenate([lines, 2.0 * lines[:, :1]], axis=1)
    table = RotationTable(atoms, [(0, 3), (0, 1)], np.ones((40, 2)))
    assert table.ranks.tolist() == [1, 2]
    assert table.complement.shape == (40, 39)


def test_a_background_that_spans_an_atom_is_refused_with_the_remedy(tools):
    lines = tools.make_lines(40, 3)
    with pytest.raises(MisuseError, match=r"it spans atom 1\. Take columns out of the background"):
        RotationTable(lines, [(0,), (1,)], np.stack([lines[:, 1] + 1.0, np.ones(40)], axis=1))
    with pytest.raises(MisuseError, match=r"it spans 'Fe'\. Take columns out of the background"):
        RotationTable(lines, [(0,)], np.stack([lines[:, 1] + 1.0, np.ones(40)], axis=1), names=("C", "Fe", "Pb"))
    with pytest.raises(MisuseError, match="names must name all 3 atoms"):
        RotationTable(lines, [(0,)], names=("C",))


def test_a_residual_of_fewer_than_five_dimensions_is_refused(tools):
    table = RotationTable(np.eye(8)[:, :3], [(0,), (1, 2)], np.eye(8)[:, 3:5])
    with pytest.raises(MisuseError, match="rows must leave a residual of at least 5 dimensions, not 4"):
        Rotation(table).judge(np.ones(8), 0.1)
    assert Rotation(table).judge(np.random.default_rng(1).standard_normal((2, 8)), 0.1).size == 2


@pytest.mark.parametrize(
    ("supports", "message"), [([], "at least one explanation"), ([(0, 0)], "distinct atoms"), ([(3,)], "from 0 to 2")]
)
def test_supports_that_are_none_are_refused(supports, message, tools):
    with pytest.raises(MisuseError, match=message):
        RotationTable(tools.make_lines(40, 3), supports)


def test_whitening_drops_the_direction_of_an_average_reference():
    rng = np.random.default_rng(1)
    mixed = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
    reference = np.eye(6) - 1 / 6
    covariance = reference @ mixed @ mixed.conj().T @ reference
    whitener = whitening(covariance)
    assert whitener.shape == (5, 6)
    assert np.abs(whitener @ covariance @ whitener.conj().T - np.eye(5)).max() < 1e-10
    with pytest.raises(MisuseError, match="covariance must have no negative eigenvalue"):
        whitening(np.diag([1.0, -1.0]))
    with pytest.raises(MisuseError, match="covariance must be square"):
        whitening(np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_rounding_keeps_an_explanation_that_ties_with_the_best(tools):
    """The same span in two ways: neither can be rejected in favour of the other, whatever the strength."""
    lines = tools.make_lines(40, 4)
    atoms = np.concatenate([lines, lines[:, :2] @ np.array([[1.0, 1.0], [1.0, -1.0]])], axis=1)
    table = RotationTable(atoms, [(0, 1), (4, 5), (2, 3)], tools.polynomial(40, 2))
    for strength in (30.0, 1e3, 1e6):
        row = strength * lines[:, 0] + 1e4 * strength + np.random.default_rng(1).standard_normal(40)
        counts = mean_rows(table, row, 199, 1, 1.0).rivals(np.arange(3), 0.1, is_full=True)
        assert counts.least[:2].tolist() == [199, 199]
        assert counts.least[2] == 0

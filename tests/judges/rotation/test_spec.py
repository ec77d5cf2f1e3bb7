"""The specification that is fixed before a row is read, and the problems that it takes."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import Library, library_bank
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Outsiders, Rotation, RotationTable
from physupport.judges.rotation._table import Draws, Scan
from physupport.laws import Linear

NORMALS, CHI_SQUARES = [0.3188911351482975, 1.265834339532767], [5.680485156158181]


def test_the_draws_of_a_seed_never_change():
    drawn = Draws(7, 0)
    assert drawn.normal((2,)).tolist() == pytest.approx(NORMALS, rel=1e-14)
    assert drawn.chi_square(4.0, (1,)).tolist() == pytest.approx(CHI_SQUARES, rel=1e-12)


def test_the_draws_have_their_laws():
    drawn = Draws(1, 0)
    normals = drawn.normal((20000,))
    assert abs(normals.mean()) < 6 / np.sqrt(20000)
    assert abs((normals**2).mean() - 1.0) < 6 * np.sqrt(2 / 20000)
    for degrees in (2, 9):  # fewer columns than rows, and more
        for is_complex in (False, True):
            factor = drawn.wishart_factor(4000, 4, degrees, is_complex)
            moments = (factor @ factor.conj().swapaxes(1, 2)).mean(axis=0) / (degrees * (1 + is_complex))
            assert np.abs(moments - np.eye(4)).max() < 6 * np.sqrt(2 / (4000 * degrees))


def test_what_cannot_be_judged_or_reject_is_refused(spectrum):
    with pytest.raises(MisuseError, match="rows must be one of"):
        Rotation(spectrum, "other")
    with pytest.raises(MisuseError, match="draws must be at least 101 to reject"):
        Rotation(spectrum, draws=50).judge(np.arange(40.0), 0.01)
    with pytest.raises(MisuseError, match="rows must have shape"):
        Rotation(spectrum).judge(np.ones(39), 0.1)


def test_levels_add_up(spectrum):
    rows = np.random.default_rng(1).standard_normal(40)
    judge = Rotation(spectrum, outsiders=Outsiders(lags=(1, 2))).judge(rows, 0.1)
    assert judge.levels(0.1).rivals == pytest.approx(0.08)
    assert judge.levels(0.1).gate == pytest.approx(0.02)
    judge = Rotation(spectrum, companions=Companions(low=0.0, share=0.5)).judge(rows, 0.1)
    assert (1 - judge.levels(0.1).companions) * (1 - judge.levels(0.1).rivals) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("companions", "strength", "kept"),
    [
        (Companions(low=0.0), 5.0, True),
        (Companions(low=0.0), -5.0, False),
        (Companions(high=2.0), 5.0, False),
        (Companions(low=4.0, high=6.0), 5.0, True),
        (Companions(least=3.0), -5.0, True),
        (Companions(least=20.0), 5.0, False),
        (Companions(largest_noise=1.5), 5.0, True),
        (Companions(largest_noise=0.5), 5.0, False),
    ],
)
def test_companions_reject_what_is_far_outside_their_bounds(companions, strength, kept, spectrum):
    for n_rows in (1, 4):
        rows = strength * spectrum.atoms[:, 4] + np.random.default_rng(1).standard_normal((n_rows, 40))
        judge = Rotation(spectrum, companions=companions).judge(rows, 0.1)
        found = judge.verdicts(np.arange(12))
        assert found.are_proven().all()
        assert (found.codes[4] == Verdict.ADMISSIBLE) == kept


def test_companions_that_rows_cannot_tell_are_refused(spectrum):
    with pytest.raises(MisuseError, match="companions must leave the coefficients of free rows open"):
        Rotation(spectrum, "free", companions=Companions(low=0.0)).judge(np.ones((3, 40)), 0.1)
    with pytest.raises(MisuseError, match="companions must bound complex coefficients by least alone"):
        Rotation(spectrum, companions=Companions(low=0.0)).judge(1j * np.ones((3, 40)), 0.1)
    with pytest.raises(MisuseError, match="companions must leave out the largest noise where sigma is known"):
        Rotation(spectrum, sigma=1.0, companions=Companions(largest_noise=1.0)).judge(np.ones((3, 40)), 0.1)
    with pytest.raises(MisuseError, match="companions must bound the coefficients or the noise"):
        Companions()
    with pytest.raises(MisuseError, match="companions must have low at most high"):
        Companions(low=1.0, high=0.0)


def test_of_coefficients_together_only_one_needs_to_reach_the_least(tools):
    """With 5 and 1 at least one reaches 4 and not each; with 1 and 1 none does."""
    table = RotationTable(tools.make_lines(), [(3, 8)], tools.polynomial(40, 2))
    noise = 0.5 * np.random.default_rng(2).standard_normal((4, 40))
    for strengths, together, kept in (
        ((5, 1), None, 0),
        ((5, 1), np.zeros(12, int), 1),
        ((1, 1), np.zeros(12, int), 0),
    ):
        judge = Rotation(table, companions=Companions(least=4.0, together=together)).judge(
            table.atoms[:, [3, 8]] @ strengths + noise, 0.1
        )
        assert (judge.verdicts(np.array([0])).codes[0] == Verdict.ADMISSIBLE) == kept


def test_a_threshold_that_the_bank_has_no_mark_for_is_refused():
    """A mark below it says nothing of the coefficient: alone it would make ABSENT certain without any rows."""
    library = Library(("a", "b"), ("A", "B"), np.arange(2.0)[:, None], np.eye(8)[:, :2])
    supports = [("A",), ("A", "B")]
    Linear(thresholds={"B": 2.0}).completed(library_bank(library, supports, {"A": 1.0, "B": (1.0, 2.0)}))
    for thresholds in ({"B": 2.5}, {"A": 2.0}):
        with pytest.raises(MisuseError, match="thresholds must be reached by a strength of region"):
            Linear(thresholds=thresholds).completed(library_bank(library, supports, {"A": 1.0, "B": (1.0, 2.0)}))


def test_a_channel_without_noise_is_not_looked_along():
    library = Library(tuple("abc"), ("R",) * 3, np.arange(3.0)[:, None], np.eye(12)[:, [1, 3, 8]])
    bank = library_bank(library, [("R",)], {"R": 1.0})
    design = Linear(covariance=np.diag(np.arange(12) != 4).astype(float)).completed(bank).design(bank)
    places = Scan().outsiders(design, 1, 12).places
    assert "channel 4" not in places
    assert {"channel 3", "channel 5", "channels 4 to 5"} <= {*places}

"""Ranges of strengths and noise have cells in which no test tells more than it may."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi2, ncx2

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Cover, Moved, Range, Scaled, bank_regions, cover_boxes, library_bank, product_grid
from physupport.judges.simulation import BySimulation
from physupport.laws import cover_ranges, make_law
from physupport.questions import RegionalMap, RegionRule
from physupport.responses import Peak, UniformLinearArray

ALPHA, UNLUCKY = 0.1, 1e-6
PEAK = Peak(np.linspace(0.0, 1.0, 6), width=0.2)


def power(n, factor, level):
    """Of the best test of n variances against others: it looks for large squares, or for small ones."""
    return chi2.sf(chi2.isf(level, n) / factor, n) if factor > 1.0 else chi2.cdf(chi2.ppf(level, n) / factor, n)


@pytest.mark.parametrize("n", [1, 7, 96, 3000, 10**6])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.6])
def test_no_factor_of_a_cell_is_seen_with_more_than_the_level_and_one_end_is_seen_with_it(n, alpha):
    ratio = np.exp(1.3 / np.sqrt(n))
    level = Scaled(n, ratio).level(alpha)
    seen = [power(n, factor, level) for factor in np.exp(np.linspace(-1.0, 1.0, 9) * np.log(ratio)) if factor != 1.0]
    # A thousandth of a millionth of the level is kept back, which grows with what the test sees.
    assert max(seen) <= alpha
    assert max(seen) == pytest.approx(alpha, rel=1e-7)
    assert max(seen) == pytest.approx(max(seen[0], seen[-1]))


def tail(n, x):
    """P(chi-square of n > x) by quadrature: the density in units of its deviation, with Stirling's series."""
    a = 0.5 * n
    series = 1.0 / (12.0 * a) - 1.0 / (360.0 * a**3) + 1.0 / (1260.0 * a**5)

    def density(z):
        t = z / np.sqrt(a)
        return np.exp(a * (np.log1p(t) - t) - np.log1p(t) - series) / np.sqrt(2.0 * np.pi)

    start = (0.5 * x / a - 1.0) * np.sqrt(a)
    return quad(density, start, start + 5.0, epsrel=1e-12)[0] + quad(density, start + 5.0, start + 40.0)[0]


@pytest.mark.parametrize("n", [96, 3000, 10**6, 10**8])
def test_levels_are_those_that_quadrature_of_the_density_has(n):
    """So much of the level is kept back, 1e-9 of it, that functions and quadrature may differ by."""
    ratio = np.exp(1.0 / np.sqrt(n))
    high, low = chi2.isf(ALPHA, n), chi2.ppf(ALPHA, n)
    assert tail(n, high) == pytest.approx(ALPHA, rel=1e-9)
    assert 1.0 - tail(n, low) == pytest.approx(ALPHA, rel=1e-9)
    expected = min(tail(n, high * ratio), 1.0 - tail(n, low / ratio))
    assert Scaled(n, ratio).level(ALPHA) == pytest.approx(expected, rel=3e-9)


def test_sets_that_grow_and_shrink_at_once_are_not_told_better_than_the_level():
    """Two sources of which one is stronger and the other weaker than thought, by the best test, of 6 numbers each."""
    scaled, rng = Scaled(6.0, 1.7, groups=2), np.random.default_rng(4)
    weights = np.array([1.0 - 1.0 / 1.7, 1.0 - 1.7])
    null = rng.chisquare(6, (10**6, 2)) @ weights
    truth = (rng.chisquare(6, (4000, 2)) * [1.7, 1.0 / 1.7]) @ weights
    seen = [np.sum(truth > np.quantile(null, 1.0 - level)) for level in (scaled.level(ALPHA), ALPHA)]
    assert binom.sf(seen[0] - 1, 4000, ALPHA) > UNLUCKY
    assert binom.sf(seen[1] - 1, 4000, ALPHA) < UNLUCKY  # negative control
    alone = Scaled(6.0, 1.7)
    assert scaled.level(ALPHA) < alone.level(ALPHA)
    assert scaled.level(ALPHA) <= Scaled(12.0, 1.7).level(ALPHA)


@pytest.mark.parametrize("factor", [0.7, 0.93, 1.08, 1.4])
def test_a_mean_and_a_variance_that_move_together_are_told_at_most_as_well_as_one_after_the_other(factor):
    """The best test rejects outside, or inside, a sphere about a centre of its own: noncentral chi-square laws."""
    n, shift = 20, 0.6 * np.sqrt(factor)  # in units of the true noise
    centre = shift / (factor - 1.0)
    off, rest = centre**2, (centre + shift) ** 2 / factor

    def seen(level):
        if factor > 1.0:
            return ncx2.sf(ncx2.isf(level, n, off) / factor, n, rest)
        return ncx2.cdf(ncx2.ppf(level, n, off) / factor, n, rest)

    run = Scaled(n, max(factor, 1.0 / factor)).level(Moved(0.5 * 0.6**2, is_shift=True).level(ALPHA))
    assert seen(run) <= ALPHA
    assert seen(ALPHA) > 1.5 * ALPHA  # negative control
    assert seen(run) > (0.3 if 0.9 < factor < 1.1 else 0.05) * ALPHA  # two large moves are added up


def test_a_level_that_is_used_up_is_refused_and_none_is_used_without_a_move():
    with pytest.raises(MisuseError, match="leave some level"):
        Scaled(1e6, 3.0).level(1e-3)
    assert Scaled(10.0, 1.0).level(ALPHA) == ALPHA
    assert Scaled(1e6, np.exp(1e-6)).eta == pytest.approx(np.sqrt(0.5) * 1e-3, rel=1e-5)


@pytest.mark.parametrize("is_shift", [False, True])
def test_cells_fill_their_range_and_are_as_few_as_can_be(is_shift):
    law = make_law("mean" if is_shift else "covariance", {"noises": [1.0]})
    plain = cover_boxes(PEAK, {"line": [(0.4, 0.6)]}, snr=30.0, unit=law.cover_sizes.moved(1))
    cover = cover_ranges(plain, law, 16, 6, strengths={"line": (2.0, 5.0)}, etas=(0.31, 0.31))
    (own,) = cover.ranges
    assert own.is_shift == is_shift
    for value in np.linspace(2.0, 5.0, 50):
        apart = value - own.values if is_shift else np.log(value / own.values)
        assert np.abs(apart).min() <= own.half * (1.0 + 1e-9)
    fewer = Range("line", 2.0, 5.0, own.count - 1, own.size, is_shift)
    assert cover.steps[1].eta <= 0.31
    assert (own.size * fewer.half if is_shift else Scaled(own.size, np.exp(fewer.half)).eta) > 0.31


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", ["mean", "covariance"])
def test_divergences_of_strengths_and_noise_are_no_larger_than_those_of_the_steps(name, is_complex):
    """Of all rows, by the closed forms of the laws, from both ends of a cell to its middle."""
    response = UniformLinearArray(4, 0.5) if is_complex else PEAK
    plain = cover_boxes(
        response, {"line": [(0.1, 0.3)]}, snr=90.0, eta=9.0, unit=make_law(name, {}).cover_sizes.moved(1)
    )
    law = make_law(name, {"is_complex": is_complex})
    width = len(plain.library().responses)
    cover = cover_ranges(plain, law, 16, width, noise=(0.5, 0.9), strengths={"line": (2.0, 3.0)}, etas=(0.7, 0.7))
    strengths, noises = cover.ranges
    _, by_strength, by_noise = cover.steps
    ends = strengths.values[0] + np.array([0.0, -1.0, 1.0]) * strengths.half
    if not strengths.is_shift:
        ends = strengths.values[0] * np.exp(np.array([0.0, -1.0, 1.0]) * strengths.half)
    others = noises.values[0] * np.exp(np.array([0.0, -1.0, 1.0]) * noises.half)
    bank = library_bank(
        plain.library(), [["line"]], {"line": ends.tolist()}, deployment=product_grid(noise=others.tolist())
    )
    full = law.completed(bank)

    def apart(strength, noise, other):
        keys = [bank.deployment_keys(bank.index(0, s, deployment=v))[0] for s, v in ((strength, noise), other)]
        return 16 * full.divergences(bank, int(keys[0]), np.array(keys[1:]))[0]

    for end in (1, 2):
        # Strengths first, in the true noise, of which the least is here.
        assert apart(end, 1, (0, 1)) <= 0.5 * by_strength.eta**2 * (1.0 + 1e-6)
        assert apart(0, end, (0, 0)) <= 0.5 * by_noise.eta**2 * (1.0 + 1e-6)
    # Every number of a row has the noise of a mean; of sources, all but those in their own direction.
    assert apart(0, 2, (0, 0)) > (0.99 if name == "mean" else 0.6) * 0.5 * by_noise.eta**2


def ranged(**options):
    law = make_law("mean", {"noises": [1.0]})
    plain = cover_boxes(PEAK, {"line": [(0.47, 0.53)]}, snr=12.5, eta=0.5, coordinates=["x"])
    given = {"noise": (0.9, 1.19), "strengths": {"line": (2.5, 2.95)}} | options
    return cover_ranges(plain, law, 16, 6, **given)


def test_a_cover_with_ranges_comes_back_from_a_document():
    cover = ranged()
    again = Cover.decode({"asked": 0.1} | cover.encode())
    assert again.ranges == cover.ranges
    assert again.level(0.1) == cover.level(0.1) < Cover.decode({"asked": 0.1} | ranged(noise=None).encode()).level(0.1)
    assert np.allclose(np.diff(np.log(again.noises)), 2.0 * again.ranges[1].half)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": (1.0, 0.5)}, "noise must be .low, high. above 0 with low below high"),
        ({"noise": (0.0, 0.5)}, "noise must be .low, high. above 0"),
        ({"strengths": {"other": (1.0, 2.0)}}, "strengths must be of the regions line"),
        ({"etas": (0.0, 0.5)}, "etas"),
    ],
)
def test_ranges_that_are_none_are_refused(options, words):
    with pytest.raises(MisuseError, match=words):
        ranged(**options)


def test_laws_that_leave_strengths_open_have_no_ranges():
    plain = cover_boxes(PEAK, {"line": [(0.47, 0.53)]}, snr=12.5)
    with pytest.raises(MisuseError, match=r"go with a law that says what strengths and noise do.*gaussian"):
        cover_ranges(plain, make_law("gaussian", {}), 16, 6, noise=(0.5, 1.0))


def protocol_of(cover, rule=None, **changes):
    given = {"strengths": {"line": cover.strengths["line"].tolist()}, "noise": cover.noises.tolist()} | changes
    bank = library_bank(cover.library(), [["line"]], given["strengths"], deployment=product_grid(noise=given["noise"]))
    question = RegionalMap(bank_regions(bank), {"line": rule or RegionRule(0.1)})
    plans = {"deployment": StreamPlan("mean", 0.5)}
    return AnalysisProtocol(
        question, RegionalPolicy(), 0.1, 1.0, bank, plans, judge=BySimulation(), cover=changes.get("told", cover)
    )


ROWS = 2.7 * PEAK([[0.5]])[:, 0] / np.linalg.norm(PEAK([[0.5]])) + np.random.default_rng(3).standard_normal((16, 6))


def test_a_protocol_in_python_holds_the_ranges_of_its_bank():
    cover = ranged()
    protocol = protocol_of(cover)
    assert protocol.run_level == cover.level(0.1)
    assert analyse(protocol, {"deployment": ROWS}).report.level == 0.1
    wrong = {
        "noise of the bank must have the middles": {"noise": [0.9, 1.19]},
        "strength of 'line' in the bank must have the middles": {"strengths": {"line": [2.5, 2.95]}},
        "range of the noise must have the size": {"told": ranged_for(17, cover)},
    }
    for words, changes in wrong.items():
        with pytest.raises(MisuseError, match=words):
            analyse(protocol_of(cover, **changes), {"deployment": ROWS})
    rule = RegionRule(0.1, absence_threshold=2.7)
    with pytest.raises(MisuseError, match=r"absence_threshold of region 'line' must be at most 2.5"):
        analyse(protocol_of(cover, rule), {"deployment": ROWS})


def ranged_for(n_rows, cover):
    """The same cells, as if there were other rows."""
    strengths, noises = cover.ranges
    law = make_law("mean", {})
    sizes = law.cover_sizes.ranges(n_rows, 6, 0.9)
    kept = Range("line", 2.5, 2.95, strengths.count, law.cover_sizes.ranges(16, 6, 0.9).strength, is_shift=True)
    return replace(cover, ranges=(kept, replace(noises, size=sizes.noise)))

"""Two elements at once: p-values as they are defined, the level held, and a project that names a mixture."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import binom

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.conformal import ByConformal, Replicates
from physupport.judges.conformal._pairs import PairUnits
from physupport.maps import MapProtocol
from physupport.questions import RegionalMap, RegionRule

CHANNELS, LEVEL, RUNS, UNLUCKY = 16, 0.1, 60, 1e-6
AXIS = np.arange(CHANNELS)
SHAPES = np.exp(-0.5 * ((AXIS - np.array([[3.0], [8.0], [13.0]])) / 2.0) ** 2)


def drawn(rng, n_units, are_shared, n_spectra=1, spread=0.2):
    """Replicates of two elements, and a mixture from new units."""
    spectra, elements, units, new = [], [], [], []
    colours = spread * rng.standard_normal((n_units + 1, CHANNELS))
    for e in range(2):
        own = colours if are_shared else spread * rng.standard_normal((n_units + 1, CHANNELS))
        for k in range(n_units):
            for _ in range(n_spectra):
                spectra.append(SHAPES[e] * (1.0 + own[k]) + 0.02 * rng.standard_normal(CHANNELS))
                elements.append("ab"[e])
                units.append(f"{k}" if are_shared else f"{e} {k}")
        new.append(SHAPES[e] * (1.0 + own[-1]) + 0.02 * rng.standard_normal(CHANNELS))
    share = rng.uniform(0.1, 0.9)
    return Replicates(np.array(spectra), tuple(elements), tuple(units)), share * new[0] + (1.0 - share) * new[1]


def by_definition(data, signal, n_cells=64):
    """Every mixture of every pair of spectra against every pair of references, with nothing shared or left early."""
    spectra = data.spectra / np.linalg.norm(data.spectra, axis=1)[:, None]
    units = np.array(data.units)
    firsts, seconds = (np.flatnonzero(data.element_of == e) for e in range(2))

    def angle(z, leave):
        pairs = [(a, b) for a in firsts for b in seconds if not {units[a], units[b]} & leave]
        left = min(nnls(spectra[[a, b]].T, z / np.linalg.norm(z))[1] for a, b in pairs)
        return np.arcsin(min(left, 1.0))

    observed, half, largest = angle(signal, set()), np.pi / 4 / n_cells, Fraction(0)
    common = set(units[firsts]) & set(units[seconds])
    pairs = [(a, b) for a in firsts for b in seconds if not common or units[a] == units[b]]
    for cell in range(n_cells):
        phi, count = half * (2 * cell + 1), 0
        for a, b in pairs:
            mixture = np.cos(phi) * spectra[a] + np.sin(phi) * spectra[b]
            g = spectra[a] @ spectra[b]
            slack = half * np.sqrt(1.0 - g**2) / (1.0 + min(g, 0.0))
            count += angle(mixture, {units[a], units[b]}) + slack >= observed - 1e-7
        largest = max(largest, Fraction(int(count)))
    n1, n2 = len(firsts), len(seconds)
    return (1 + largest) / (1 + len(common)) if common else (n1 + n2 + 1 + largest) / ((n1 + 1) * (n2 + 1))


@pytest.mark.parametrize("are_shared", [False, True])
def test_p_values_are_those_of_the_definition(are_shared):
    for seed in range(2):
        data, signal = drawn(np.random.default_rng(seed), 4, are_shared)
        judge = ByConformal(data, noise=(0.0,)).judge(signal, LEVEL, [(0, 1)])
        assert judge.p_pairs[0] == by_definition(data, signal, 64)
        assert PairUnits.of(data, (0, 1)).smallest == (Fraction(1, 5) if are_shared else Fraction(9, 25))


def test_units_with_several_spectra_count_once():
    data, signal = drawn(np.random.default_rng(3), 5, are_shared=True, n_spectra=3)
    (p,) = ByConformal(data).judge(signal, LEVEL, [(0, 1)]).p_pairs
    assert PairUnits.of(data, (0, 1)).counts == (5,)
    assert p.denominator in {1, 2, 3, 6, 9, 18, 27, 54}  # shares of nine pairs of spectra, over six units


@pytest.mark.parametrize(
    ("n_units", "are_shared", "is_hopeless"), [(9, True, False), (8, True, True), (19, False, False), (18, False, True)]
)
def test_few_units_cannot_exclude_a_pair_and_say_so(n_units, are_shared, is_hopeless):
    data, signal = drawn(np.random.default_rng(4), n_units, are_shared)
    judge = ByConformal(data).judge(signal, LEVEL, [(0, 1)])
    assert (
        judge.spec.cannot_exclude(judge.level, judge.pairs)[2] == is_hopeless
    )  # of two elements: 19 and not 18 units each at this level
    stranger = ByConformal(data).judge(SHAPES[2], LEVEL, [(0, 1)]).verdicts(np.array([2])).codes[0]
    assert (stranger == Verdict.REJECTED) != is_hopeless


def lost(run, are_shared, n_units, are_spectra_units=False):
    rng = np.random.default_rng(run)
    data, signal = drawn(rng, n_units, are_shared, n_spectra=8 if are_spectra_units else 1)
    if are_spectra_units:
        units = tuple(f"{data.element_of[i]} {i}" for i in range(len(data.units)))
        data = Replicates(data.spectra, tuple(data.names[e] for e in data.element_of), units)
    judge = ByConformal(data, noise=(0.0,) if are_spectra_units else None).judge(signal, LEVEL, [(0, 1)])
    return judge.verdicts(np.array([2])).codes[0] == Verdict.REJECTED


@pytest.mark.slow
@pytest.mark.parametrize(("are_shared", "n_units"), [(True, 12), (False, 19)])
def test_the_pair_is_lost_in_at_most_the_level_of_the_data_sets(are_shared, n_units):
    count = sum(lost(run, are_shared, n_units) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) > UNLUCKY


@pytest.mark.slow
def test_negative_control_the_same_count_exposes_spectra_that_are_taken_for_units():
    count = sum(lost(run, are_shared=False, n_units=3, are_spectra_units=True) for run in range(RUNS))
    assert binom.sf(count - 1, RUNS, LEVEL) < UNLUCKY


def opened(spec, supports, row, counts=None):
    names = ("a", "b", "c")
    columns = SHAPES.T / np.linalg.norm(SHAPES, axis=1)
    library = Library(names, ("one", "one", "two") if counts is None else ("one",) * 3, AXIS[:3, None] * 1.0, columns)
    strengths = {region: [1.0] for region in library.regions}
    bank = library_bank(library, supports, strengths, counts=counts)
    law = StreamPlan("gaussian").law.completed(bank)
    stream = SealedStream("deployment", ArrayRows(row[None]), law, law.keys(bank), lambda: None)
    return spec.open(Sealed(bank, LEVEL, (stream,), 5))


def three(rng, n_units=12):
    listed = [(e, k) for e in range(3) for k in range(n_units)]
    colours = 1.0 + 0.1 * rng.standard_normal((n_units + 1, CHANNELS))
    spectra = np.array([SHAPES[e] * colours[k] for e, k in listed])
    return Replicates(spectra, tuple("abc"[e] for e, _ in listed), tuple(f"{k}" for _, k in listed)), colours[-1]


@pytest.mark.parametrize(
    ("supports", "counts"), [([["one"], ["one", "two"]], None), ([["one"]], {"one": (1, 2)})], ids=["regions", "sets"]
)
def test_a_bank_of_single_elements_and_pairs_keeps_the_pair_that_is_there(supports, counts):
    data, colour = three(np.random.default_rng(6))
    judge = opened(ByConformal(data), supports, colour * (SHAPES[1] + 0.6 * SHAPES[2]), counts)
    codes = judge.verdicts(np.arange(judge.size)).codes
    facts = judge.facts(np.flatnonzero(codes != Verdict.REJECTED))
    (kept,) = np.flatnonzero(codes != Verdict.REJECTED)
    assert facts["best"] == kept
    assert facts["units"]["b and c"] == [12]
    assert facts["p"]["b and c"] == max(facts["p"].values())
    assert "two elements at once" in facts["assumes"]


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_map_gives_the_verdicts_of_a_judge_that_has_seen_no_other_signal(share):
    data, colour = three(np.random.default_rng(6))
    chosen = np.flatnonzero((data.element_of < 2) | (data.unit_of < 9))  # units of elements differ in number
    names, units = ([each[i] for i in chosen] for each in (data.elements, data.units))
    data = Replicates(data.spectra[chosen], tuple(names), tuple(units))
    library = Library(
        data.names, ("one", "one", "two"), AXIS[:3, None] * 1.0, (SHAPES.T / np.linalg.norm(SHAPES, axis=1))
    )
    bank = library_bank(library, [["one"], ["one", "two"]], {"one": [1.0], "two": [1.0]})
    question = RegionalMap(bank_regions(bank), {"one": RegionRule(), "two": RegionRule()})
    rng = np.random.default_rng(7)
    shares = rng.uniform(0.0, 1.0, (6, 1))
    rows = colour * (shares * SHAPES[rng.integers(0, 2, 6)] + (1.0 - shares) * SHAPES[2])
    rows += 0.01 * rng.standard_normal(rows.shape)

    def protocol():
        plans = {"deployment": StreamPlan("gaussian")}
        return AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=ByConformal(data, share))

    together = MapProtocol.of(protocol()).judge.block_judge(np.array([LEVEL]), 1, 1)(rows[:, None])
    alone = [protocol().read(deployment=row[None]).verdicts().codes == Verdict.REJECTED for row in rows]
    np.testing.assert_array_equal(together.codes, alone)
    assert 0 < together.codes.sum() < together.codes.size


def test_what_pairs_do_not_go_with_is_refused():
    data, colour = three(np.random.default_rng(6))
    for spec in (ByConformal(data, pool="ratio"), ByConformal(data, noise=(0.1,))):
        with pytest.raises(MisuseError, match="Leave pool and noise out"):
            opened(spec, [["one", "two"]], colour * SHAPES[1])
    with pytest.raises(MisuseError, match="explanations of one or two elements, but one has 3"):
        opened(ByConformal(data), [["one"]], colour * SHAPES[1], {"one": (1, 3)})


def test_noise_that_is_added_is_drawn_anew_for_every_signal():
    data, colour = three(np.random.default_rng(6))
    signals = (colour * SHAPES[1], colour * SHAPES[1], colour * SHAPES[1] + 1e-9)
    first, again, other = (opened(ByConformal(data, noise=(0.05,)), [["one"]], signal) for signal in signals)
    assert first.seed == again.seed != other.seed

"""Elements with replicates: p-values by their definition, what too few units allow, and misuse."""

from fractions import Fraction

import numpy as np
import pytest

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates

RNG = np.random.default_rng(0)
SHAPES = RNG.random((3, 30))


def replicates(n_units=9, n_spectra=2, width=0.1, groups=None, *, apart=False, **more):
    """Units that differ from each other, and spectra that hardly differ within one."""
    rng = np.random.default_rng(1)
    spectra, elements, units = [], [], []
    for e, shape in enumerate(SHAPES):
        for k in range(n_units):
            unit = shape + width * rng.standard_normal(30)
            for _ in range(n_spectra):
                spectra.append(rng.uniform(1, 5) * (unit + 0.01 * rng.standard_normal(30)))
                elements.append("abc"[e])
                units.append(f"unit {k} {e}" if apart else f"unit {k}")
    return Replicates(np.array(spectra), tuple(elements), tuple(units), groups, **more)


def angle(a, b):
    return np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def gate_by_definition(data, signal, name):
    """One distance after the other."""

    def nearest(spectrum, unit):
        return min(
            angle(spectrum, other)
            for other, e, u in zip(data.spectra, data.elements, data.units, strict=True)
            if e == name and u != unit
        )

    score, total, units = nearest(signal, None), Fraction(1), sorted(set(data.units))
    for unit in units:
        own = [s for s, e, u in zip(data.spectra, data.elements, data.units, strict=True) if (e, u) == (name, unit)]
        total += Fraction(sum(nearest(s, unit) >= score for s in own), len(own))
    return total / (1 + len(units))


@pytest.mark.parametrize("size", [0.05, 0.1, 0.13, 0.3])
def test_p_values_are_those_of_the_definition(size):
    data = replicates()
    signal = SHAPES[1] + size * np.random.default_rng(5).standard_normal(30)
    judge = ByConformal(data, share=0.0, noise=(0.0,)).judge(signal, 0.1)
    assert judge.p_gate == tuple(gate_by_definition(data, signal, name) for name in "abc")


def test_the_element_is_kept_the_others_are_not_and_a_stranger_leaves_nothing():
    data, rng = replicates(), np.random.default_rng(3)
    for signal, expected in ((SHAPES[1] + 0.08 * rng.standard_normal(30), [1, 0, 1]), (rng.random(30), [1, 1, 1])):
        judge = ByConformal(data, noise=(0.0,)).judge(7.0 * signal, 0.1)
        assert judge.verdicts(np.arange(3)).codes.tolist() == expected


def test_a_background_is_taken_off_both():
    columns = np.stack([np.ones(30), np.arange(30.0)], axis=1)
    data, signal = (
        replicates(background=columns, apart=True),
        SHAPES[1] + 0.08 * np.random.default_rng(3).standard_normal(30),
    )
    plain, lifted = (ByConformal(data).judge(each, 0.1).p_margin for each in (signal, signal + columns @ [50.0, -3.0]))
    assert plain == lifted


@pytest.mark.parametrize(("units", "is_hopeless"), [(9, False), (8, True)])
def test_few_units_cannot_exclude_anything_and_say_so(units, is_hopeless):
    judge = ByConformal(replicates(units), noise=(0.0,)).judge(np.random.default_rng(3).random(30), 0.1)
    assert judge.spec.cannot_exclude(judge.level, judge.pairs).tolist() == [is_hopeless] * 3
    assert judge.spec.n_units[0].tolist() == [units] * 3
    assert (judge.verdicts(np.arange(3)).codes == Verdict.REJECTED).all() != is_hopeless


def margin_by_definition(data, signal, name):
    """Every candidate for the new unit in turn, with means, scatter and distances made from scratch."""
    spectra = {e: data.unit(data.spectra[[i for i, own in enumerate(data.elements) if own == e]]) for e in "abc"}
    own, q = np.vstack([spectra[name], data.unit(signal[None])]), len(signal)
    others = [spectra[e] for e in "abc" if e != name]
    away = np.vstack([each - each.mean(axis=0) for each in (own, *others)])
    inverse = np.linalg.inv(away.T @ away + 0.01 * np.trace(away.T @ away) / q * np.eye(q))

    def distance(spectrum, cloud):
        step = spectrum - cloud.mean(axis=0)
        return step @ inverse @ step

    near = [distance(spectrum, own) for spectrum in own]
    far = [min(distance(spectrum, cloud) for cloud in others) for spectrum in own]
    scores = [a - min(b, 3.0 * np.median(near)) for a, b in zip(near, far, strict=True)]
    return Fraction(sum(score >= scores[-1] - 1e-9 for score in scores), len(scores))


@pytest.mark.parametrize("size", [0.05, 0.1, 0.13, 0.3])
def test_margins_are_those_of_the_definition(size):
    data = replicates(n_spectra=1, apart=True)
    signal = SHAPES[1] + size * np.random.default_rng(5).standard_normal(30)
    judge = ByConformal(data, noise=(0.0,)).judge(signal, 0.1)
    assert judge.p_margin == tuple(margin_by_definition(data, signal, name) for name in "abc")


def test_a_margin_does_not_depend_on_which_unit_is_new():
    """Full conformal: the signal and a unit exchange their places, and so do their ranks."""
    data, rng = replicates(n_spectra=1, apart=True), np.random.default_rng(3)
    signal = SHAPES[0] + 0.1 * rng.standard_normal(30)
    ranks = []
    for k in range(10):
        spectra = data.spectra.copy()
        new = signal
        if k:
            new, spectra[k - 1] = data.spectra[k - 1], signal
        swapped = Replicates(spectra, data.elements, data.units)
        ranks.append(ByConformal(swapped, noise=(0.0,)).judge(new, 0.1).p_margin[0])
    assert sorted(ranks) == [Fraction(k, 10) for k in range(1, 11)]


def test_margins_part_elements_that_differ_less_than_their_units():
    """Units differ along one pattern far more than elements do: an angle sees nothing, the margin all."""
    rng, axis = np.random.default_rng(7), np.linspace(0.0, 3.0, 40)
    shapes = [2.0 + 0.02 * np.sin((3 + e) * axis) for e in range(3)]
    drawn = [shape + 0.3 * rng.standard_normal() * np.cos(axis) + 0.002 * rng.standard_normal(40)
             for shape in shapes for _ in range(12)]  # fmt: skip
    units = tuple(map(str, range(36)))
    data = Replicates(np.array(drawn), tuple("a" * 12 + "b" * 12 + "c" * 12), units)
    signal = shapes[1] + 0.2 * np.cos(axis) + 0.002 * rng.standard_normal(40)
    codes = [ByConformal(data, share=share, noise=(0.0,)).judge(signal, 0.1).verdicts(np.arange(3)).codes.tolist()
             for share in (0.0, 1.0)]  # fmt: skip
    assert codes == [[0, 0, 0], [1, 0, 1]]


def pooled_library(rng, n_species=60, channels=50):
    """Species of which most have one unit or two."""
    shapes = rng.random((n_species, channels))
    counts = np.where(np.arange(n_species) % 2, 2, 1)
    names = [f"s{i}" for i, count in enumerate(counts) for _ in range(count)]
    spectra = [shapes[int(name[1:])] + 0.1 * rng.standard_normal(channels) for name in names]
    return shapes, Replicates(np.array(spectra), tuple(names), tuple(map(str, range(len(names)))))


def test_pooled_ratios_name_a_species_of_one_sample_and_say_that_they_hold_on_average():
    rng = np.random.default_rng(3)
    shapes, data = pooled_library(rng)
    spec = ByConformal(data, pool="ratio", noise=(0.0,))
    assert spec.n_units[0].tolist() == [30, 29] * 30
    assert "on average" in spec.assumes
    assert "on average" not in ByConformal(data).assumes
    judge = spec.judge(shapes[0] + 0.1 * rng.standard_normal(50), 0.1)
    assert np.flatnonzero(np.array(judge.p_margin) > 0.1).tolist()[:1] == [0]
    assert sum(p > 0.1 for p in judge.p_margin) == 1
    assert not spec.cannot_exclude(0.1).any()


def test_the_gate_is_for_the_group_and_the_ratio_for_its_members():
    data = replicates(20, groups={"a": "first", "b": "first", "c": "second"})
    signal = SHAPES[1] + 0.08 * np.random.default_rng(3).standard_normal(30)
    judge = ByConformal(data, share=0.5).judge(signal, 0.1)
    assert judge.verdicts(np.arange(3)).codes.tolist() == [Verdict.REJECTED, Verdict.ADMISSIBLE, Verdict.REJECTED]
    gate, ratio = judge.spec.levels(0.1)
    assert judge.p_gate[0] > gate  # its group is that of the signal
    assert judge.p_margin[0] <= ratio
    assert judge.p_gate[2] <= gate


def test_noise_that_replicates_lack_is_added_to_them_and_the_largest_p_value_counts():
    signal = SHAPES[1] + 0.4 * np.random.default_rng(3).standard_normal(30)
    data = replicates()
    bare, matched = (ByConformal(data, noise=noise).judge(signal, 0.1).p_gate for noise in ((0.0,), (0.0, 1.0)))
    assert bare[1] == Fraction(1, 10)
    assert matched[1] > Fraction(1, 10)
    assert all(more >= less for more, less in zip(matched, bare, strict=True))


def test_margins_prove_the_verdicts():
    judge = ByConformal(replicates()).judge(np.random.default_rng(3).random(30), 0.1)
    judge.verdicts(np.arange(3)).check(np.arange(3), "margins")
    judge = ByConformal(replicates()).judge(SHAPES[0], 0.1)
    judge.verdicts(np.arange(3)).check(np.arange(3), "margins")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Replicates(SHAPES, ("a", "b", "c"), ("u", "v")), "units must be 3.*The unit of every spectrum"),
        (lambda: Replicates(SHAPES, ("a", "b", "c"), ("u", "v", "w"), {"a": "x"}), "groups must name"),
        (lambda: Replicates(0 * SHAPES, ("a", "b", "c"), ("u", "v", "w")), "something beside the background"),
        (lambda: ByConformal(replicates(), pool="all"), "pool must"),
        (lambda: ByConformal(replicates(), share=1.1), "share must"),
        (lambda: ByConformal(replicates(), share=0.5, pool="ratio"), "share must be left out"),
        (lambda: ByConformal(replicates(), noise=()), "noise must"),
        (lambda: ByConformal(replicates()).judge(np.ones(29), 0.1), "signal must have shape"),
        (lambda: ByConformal(replicates()).judge(np.ones(30), 0.0), "level must"),
    ],
)
def test_misuse_is_told_by_name(make, message):
    with pytest.raises(MisuseError, match=message):
        make()

"""Elements with replicates: p-values by their definition, what too few units allow, and misuse."""

from fractions import Fraction

import numpy as np
import pytest

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates

RNG = np.random.default_rng(0)
SHAPES = RNG.random((3, 30))


def replicates(n_units=9, n_spectra=2, width=0.1, groups=None, **more):
    """Units that differ from each other, and spectra that hardly differ within one."""
    rng = np.random.default_rng(1)
    spectra, elements, units = [], [], []
    for e, shape in enumerate(SHAPES):
        for k in range(n_units):
            unit = shape + width * rng.standard_normal(30)
            for _ in range(n_spectra):
                spectra.append(rng.uniform(1, 5) * (unit + 0.01 * rng.standard_normal(30)))
                elements.append("abc"[e])
                units.append(f"unit {k}")
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
    judge = ByConformal(data, noise=(0.0,)).judge(signal, 0.1)
    assert judge.p_gate == tuple(gate_by_definition(data, signal, name) for name in "abc")


def test_the_element_is_kept_the_others_are_not_and_a_stranger_leaves_nothing():
    data, rng = replicates(), np.random.default_rng(3)
    for signal, expected in ((SHAPES[1] + 0.08 * rng.standard_normal(30), [1, 0, 1]), (rng.random(30), [1, 1, 1])):
        judge = ByConformal(data, noise=(0.0,)).judge(7.0 * signal, 0.1)
        assert judge.verdicts(np.arange(3)).codes.tolist() == expected


def test_a_background_is_taken_off_both():
    columns = np.stack([np.ones(30), np.arange(30.0)], axis=1)
    data, signal = replicates(background=columns), SHAPES[1] + 0.08 * np.random.default_rng(3).standard_normal(30)
    plain, lifted = (ByConformal(data).judge(each, 0.1).p_gate for each in (signal, signal + columns @ [50.0, -3.0]))
    assert plain == lifted


@pytest.mark.parametrize(("units", "is_hopeless"), [(9, False), (8, True)])
def test_few_units_cannot_exclude_anything_and_say_so(units, is_hopeless):
    judge = ByConformal(replicates(units), noise=(0.0,)).judge(np.random.default_rng(3).random(30), 0.1)
    assert judge.spec.cannot_exclude(judge.level, judge.pairs).tolist() == [is_hopeless] * 3
    assert judge.spec.n_units[0].tolist() == [units] * 3
    assert (judge.verdicts(np.arange(3)).codes == Verdict.REJECTED).all() != is_hopeless


def test_pooling_ranks_among_all_units_and_says_that_it_holds_on_average():
    spec = ByConformal(replicates(4), pool="size")
    judge = spec.judge(np.random.default_rng(3).random(30), 0.1)
    assert judge.spec.n_units[0].tolist() == [12] * 3
    assert "on average" in spec.assumes
    assert "on average" not in ByConformal(replicates(4)).assumes
    assert not judge.spec.cannot_exclude(judge.level, judge.pairs).any()


def test_the_gate_is_for_the_group_and_the_ratio_for_its_members():
    data = replicates(20, groups={"a": "first", "b": "first", "c": "second"})
    signal = SHAPES[1] + 0.08 * np.random.default_rng(3).standard_normal(30)
    judge = ByConformal(data, share=0.5).judge(signal, 0.1)
    assert judge.verdicts(np.arange(3)).codes.tolist() == [Verdict.REJECTED, Verdict.ADMISSIBLE, Verdict.REJECTED]
    gate, ratio = judge.spec.levels(0.1)
    assert judge.p_gate[0] > gate  # its group is that of the signal
    assert judge.p_ratio[0] <= ratio
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
        (lambda: ByConformal(replicates(), share=1.0), "share must"),
        (lambda: ByConformal(replicates(), noise=()), "noise must"),
        (lambda: ByConformal(replicates()).judge(np.ones(29), 0.1), "signal must have shape"),
        (lambda: ByConformal(replicates()).judge(np.ones(30), 0.0), "level must"),
    ],
)
def test_misuse_is_told_by_name(make, message):
    with pytest.raises(MisuseError, match=message):
        make()

"""Verdicts have a proven sign or say that they have none."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st

from physupport import MisuseError
from physupport.judges import (
    Evidence,
    Factor,
    TableJudge,
    Verdict,
    Verdicts,
    verdicts,
)
from physupport.laws import Scores

A, R, OPEN = Verdict.ADMISSIBLE, Verdict.REJECTED, Verdict.INDETERMINATE


def threshold(level, bits=400):
    """-log of a level as a fraction, to far more digits than any test needs."""
    with ctx.workprec(bits):
        mantissa, exponent = (-arb(level).log()).mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def one_stream(table_stream, log_evidence, error=0.0):
    """Explanations whose log evidence is the given numbers: the numerator has log likelihood 0."""
    stream = table_stream([[-Fraction(x)] for x in log_evidence], error=error)
    return Evidence(len(log_evidence), [Factor("rows", stream, lambda i: i, (table_stream([[0]]), 0))])


values = st.integers(-(2**60), 2**60).map(lambda i: Fraction(i, 2**57))
levels = st.floats(1e-3, 0.999)


@given(st.lists(values, min_size=1, max_size=8), levels, st.sampled_from([0.0, 1e-6, 1.0]))
def test_the_verdict_is_the_sign_of_the_exact_margin(table_stream, log_evidence, level, error):
    codes = verdicts(one_stream(table_stream, log_evidence, error), np.arange(len(log_evidence)), level).codes
    assert codes.tolist() == [R if x > threshold(level) else A for x in log_evidence]


@given(st.lists(values, min_size=1, max_size=8), st.lists(levels, min_size=2, max_size=5, unique=True))
def test_a_larger_level_rejects_at_least_as_much(table_stream, log_evidence, some_levels):
    at = sorted(some_levels)
    evidence = one_stream(table_stream, log_evidence, 0.5)
    codes = np.array([verdicts(evidence, np.arange(len(log_evidence)), level).codes for level in at])
    assert np.all(np.diff((codes == R).astype(int), axis=0) >= 0)


@given(st.lists(values, min_size=1, max_size=8), levels, st.integers(1, 9))
def test_batches_blocks_and_single_questions_agree(table_stream, log_evidence, at, block):
    n = len(log_evidence)
    whole = verdicts(one_stream(table_stream, log_evidence, 0.5), np.arange(n), at)
    blocked = verdicts(one_stream(table_stream, log_evidence, 0.5), np.arange(n)[::-1], at, block=block)
    np.testing.assert_array_equal(blocked.codes[::-1], whole.codes)
    np.testing.assert_array_equal(blocked.lower[::-1], whole.lower)
    single = one_stream(table_stream, log_evidence, 0.5)
    for e in range(n):
        assert verdicts(single, [e], at).codes[0] == whole.codes[e]
    assert len(whole) == n


@given(st.lists(values, min_size=1, max_size=5), levels, st.sampled_from([0.0, 0.25]))
def test_the_margin_interval_contains_the_exact_margin_and_agrees_with_the_verdict(
    table_stream, log_evidence, level, error
):
    judged = verdicts(one_stream(table_stream, log_evidence, error), np.arange(len(log_evidence)), level)
    assert judged.are_proven().all()
    for row, x in enumerate(log_evidence):
        lower, upper = (Fraction(end) for end in judged.margins()[row])
        # The threshold is known here to 400 bits.
        assert lower <= x - threshold(level) + Fraction(1, 2**390)
        assert upper >= x - threshold(level) - Fraction(1, 2**390)
        assert judged.codes[row] == (R if lower > 0 else A if upper <= 0 else judged.codes[row])


@pytest.mark.parametrize(("exponent", "bits"), [(30, 53), (70, 128), (150, 256), (700, 1024)])
def test_precision_grows_until_the_sign_is_proven(table_stream, exponent, bits):
    level = 0.077
    sides = [threshold(level, 2000) + sign * Fraction(1, 2**exponent) for sign in (1, -1)]
    judged = verdicts(one_stream(table_stream, sides), [0, 1], level)
    assert judged.codes.tolist() == [R, A]
    assert judged.bits.tolist() == [bits, bits]


def test_what_the_allowed_precision_does_not_decide_is_indeterminate(table_stream):
    level = 0.077
    sides = [threshold(level, 2000) + sign * Fraction(1, 2**150) for sign in (1, -1)]
    judged = verdicts(one_stream(table_stream, [*sides, 0]), [0, 1, 2], level, most_bits=128)
    assert judged.codes.tolist() == [OPEN, OPEN, A]
    assert judged.bits.tolist() == [128, 128, 53]
    assert np.all((judged.lower[:2] <= 0.0) & (judged.upper[:2] >= 0.0))


class HalvesStream:
    """Key 0 has log likelihood log 2, key 1 has 0: against level 1/2 the margin is exactly 0."""

    checkpoints, n_keys = np.array([1]), 2

    def log_likelihood(self, keys):
        return Scores(np.where(keys == 0, np.log(2.0), 0.0)[:, None], np.full((len(keys), 1), 1e-15))

    is_density = True

    def enclosure(self, key, bits):
        with ctx.workprec(bits):
            return [arb(2).log() if key == 0 else arb(0)]


def test_a_margin_of_exactly_zero_is_never_called_rejected():
    stream = HalvesStream()
    evidence = Evidence(2, [Factor("rows", stream, lambda i: i, (stream, 0))])
    judged = [verdicts(evidence, [0, 1], level) for level in (0.5, np.nextafter(0.5, 1.0), np.nextafter(0.5, 0.0))]
    assert [each.codes.tolist() for each in judged] == [[A, OPEN], [A, R], [A, A]]
    assert judged[0].bits.tolist() == [53, 1024]


def test_the_proposal_is_admissible_at_the_largest_level_there_is(table_stream):
    stream = table_stream([[3], [4]], error=50.0)
    evidence = Evidence(2, [Factor("rows", stream, lambda i: i, (stream, 1))])
    judged = verdicts(evidence, [1], np.nextafter(1.0, 0.0))
    assert judged.codes.tolist() == [A]
    assert judged.bits.tolist() == [53]
    assert stream.enclosed == []


def test_one_scoring_serves_several_levels_and_one_enclosure_several_explanations(table_stream):
    calibration = table_stream([[-2], [-3]], error=1.0)
    deployment = table_stream([[0], [Fraction(1, 2)]])
    factors = [
        Factor("calibration", calibration, lambda i: i // 2, (table_stream([[0]]), 0)),
        Factor("deployment", deployment, lambda i: i % 2, (table_stream([[0]]), 0)),
    ]
    evidence = Evidence(4, factors)
    exact = np.array([2.0, 1.5, 3.0, 2.5])
    for level in (0.05, 0.1, 0.2):
        codes = verdicts(evidence, np.arange(4), level).codes
        assert codes.tolist() == np.where(exact > -np.log(level), R, A).tolist()
    assert sorted(calibration.asked) == [0, 1]
    assert calibration.enclosed == [(0, 64), (1, 64)]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_a_level_outside_zero_and_one_is_refused(table_stream, level):
    with pytest.raises(MisuseError, match="level must lie strictly between 0 and 1"):
        verdicts(one_stream(table_stream, [0]), [0], level)


BOUNDS = st.floats(-3.0, 3.0, allow_subnormal=False)


@given(st.lists(st.tuples(BOUNDS, BOUNDS).map(sorted), min_size=1, max_size=6))
def test_bounds_decide_exactly_what_they_prove(bounds):
    lower, upper = np.array(bounds).T
    measured = Verdicts.measured(lower, upper)
    assert measured.are_proven().all()
    for code, low, high in zip(measured.codes, lower, upper, strict=True):
        assert (code == Verdict.REJECTED) == (low > 0.0)
        assert (code == Verdict.ADMISSIBLE) == (high <= 0.0)
    other = Verdicts(np.where(measured.codes == Verdict.REJECTED, Verdict.ADMISSIBLE, 1), lower, upper)
    assert not (other.are_proven() & (measured.codes != Verdict.INDETERMINATE)).any()


def test_a_table_says_of_itself_what_it_was_given_and_else_that_it_is_a_table():
    codes = np.array([0, 1, 2], dtype=np.uint8)
    assert TableJudge(codes).encode()["judge"] == "table"
    content = {"judge": "invented", "assumes": "nothing"}
    written = TableJudge(codes, content=content).encode()
    assert written == content
    written["judge"] = "another"
    assert TableJudge(codes, content=content).encode() == content
    assert TableJudge(codes).encode()["judge"] == "table"

"""Log evidence along a path, against exact fractions and against densities computed another way."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm

from physupport import MisuseError
from physupport.judges import Evidence, Factor, bank_evidence, joint_path
from physupport.laws import Scores

# More digits than float64 holds, so that every score is rounded.
dyadic = st.integers(-(2**80), 2**80).map(lambda i: Fraction(i, 2**70))


@st.composite
def problems(draw):
    """One to three tables, their checkpoints, keys of nine explanations, numerators."""
    tables, checkpoints, keys, numerators = [], [], [], []
    for _ in range(draw(st.integers(1, 3))):
        n_keys, c = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        row = st.lists(dyadic, min_size=c, max_size=c)
        tables.append(draw(st.lists(row, min_size=n_keys, max_size=n_keys)))
        lengths = draw(st.lists(st.integers(1, 9), min_size=c, max_size=c, unique=True))
        checkpoints.append(sorted(lengths))
        keys.append(draw(st.lists(st.integers(0, n_keys - 1), min_size=9, max_size=9)))
        numerators.append(draw(st.integers(0, n_keys - 1)))
    return tables, checkpoints, keys, numerators


def exact(problem):
    """The log evidence of every explanation at every step, in fractions."""
    tables, checkpoints, keys, numerators = problem
    steps = joint_path(checkpoints)[1].tolist()

    def ratio(s, e, step):
        return tables[s][numerators[s]][step] - tables[s][keys[s][e]][step] if step >= 0 else 0

    return [[sum(ratio(s, e, step) for s, step in enumerate(row)) for row in steps] for e in range(9)]


def as_fraction(end):
    """The end of a ball, which is a number without radius."""
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def built(problem, table_stream, error=0.0, **options):
    tables, checkpoints, keys, numerators = problem
    streams = [table_stream(t, c, error) for t, c in zip(tables, checkpoints, strict=True)]
    factors = [
        Factor(f"stream {i}", stream, np.array(keys[i]).__getitem__, (stream, numerators[i]), **options)
        for i, stream in enumerate(streams)
    ]
    return Evidence(9, factors)


@given(problems(), st.sampled_from([0.0, 1e-9, 0.3]))
def test_the_interval_contains_the_exact_log_evidence(table_stream, problem, error):
    evidence, truth = built(problem, table_stream, error), exact(problem)
    bounds = evidence.along_path(np.arange(9))
    for e in range(9):
        for k, value in enumerate(truth[e]):
            assert Fraction(bounds.lower[e, k]) <= value <= Fraction(bounds.upper[e, k])
    peak = evidence.log_evidence(np.arange(9))
    for e in range(9):
        assert Fraction(peak.lower[e]) <= max(truth[e]) <= Fraction(peak.upper[e])


@given(problems())
def test_the_interval_is_as_narrow_as_rounding_allows(table_stream, problem):
    peak = built(problem, table_stream).log_evidence(np.arange(9))
    # Values below 2^10 are rounded by 2^-44 at most; a sum of six of them and five sums cost less than 32 of these.
    assert np.all(peak.upper - peak.lower <= 32 * 2.0**-44)


@given(problems(), st.integers(1, 3))
def test_a_ball_contains_the_exact_log_evidence(table_stream, problem, doublings):
    evidence, truth = built(problem, table_stream, 0.1), exact(problem)
    for e in range(9):
        ball = evidence.ball(e, 64 * 2**doublings)
        assert as_fraction(ball.lower()) <= max(truth[e]) <= as_fraction(ball.upper())


@settings(max_examples=40)  # eighteen single questions each
@given(problems(), st.permutations(range(9)))
def test_the_order_of_the_questions_and_their_batches_change_nothing(table_stream, problem, order):
    whole = built(problem, table_stream, 1e-9).log_evidence(np.arange(9))
    single = built(problem, table_stream, 1e-9)
    for e in order:
        one = single.log_evidence([e])
        assert (one.lower[0], one.upper[0]) == (whole.lower[e], whole.upper[e])
    permuted = built(problem, table_stream, 1e-9).log_evidence(np.array(order))
    np.testing.assert_array_equal(permuted.lower, whole.lower[list(order)])
    np.testing.assert_array_equal(permuted.upper, whole.upper[list(order)])


@settings(max_examples=40)  # eighteen single questions each
@given(problems(), st.integers(1, 12))
def test_a_small_memory_gives_the_same_answers(table_stream, problem, most_entries):
    whole = built(problem, table_stream, 1e-9).log_evidence(np.arange(9))
    forgetful = built(problem, table_stream, 1e-9, most_entries=most_entries)
    for _ in range(2):
        for e in range(9):
            one = forgetful.log_evidence([e])
            assert (one.lower[0], one.upper[0]) == (whole.lower[e], whole.upper[e])


def test_a_shared_key_is_scored_once(table_stream):
    calibration, deployment = table_stream([[1], [2], [3]]), table_stream([[1], [2], [4], [5]])
    numerator = table_stream([[0]])
    factors = [
        Factor("calibration", calibration, lambda i: i // 100, (numerator, 0)),
        Factor("deployment", deployment, lambda i: i % 4, (deployment, 2)),
    ]
    evidence = Evidence(300, factors)
    assert calibration.asked == deployment.asked == numerator.asked == []
    evidence.log_evidence(np.arange(150))
    evidence.log_evidence(np.arange(300))
    evidence.log_evidence([7])
    assert sorted(calibration.asked) == [0, 1, 2]
    assert numerator.asked == [0]
    assert sorted(deployment.asked) == [0, 1, 2, 3]


def test_one_stream_has_the_likelihood_ratio_process_of_the_paper(means_stream):
    rng = np.random.default_rng(3)
    rows, means, checkpoints = rng.normal(size=(40, 2)), rng.normal(size=(5, 2)), [3, 10, 40]
    stream, proposal = (means_stream(rows, m, checkpoints) for m in (means, np.array([[0.1, -0.2]])))
    evidence = Evidence(5, [Factor("rows", stream, lambda i: i, (proposal, 0))])
    density = norm.pdf(rows[None], means[:, None]).prod(axis=2)  # (k, n)
    ratio = norm.pdf(rows, proposal.means[0]).prod(axis=1) / density
    expected = np.log(np.cumprod(ratio, axis=1)[:, [2, 9, 39]])
    bounds = evidence.along_path(np.arange(5))
    # Products of 80 densities, each off by a few roundings.
    np.testing.assert_allclose(bounds.lower, expected, atol=1e-12)
    np.testing.assert_allclose(bounds.upper, expected, atol=1e-12)


def test_two_streams_have_the_product_process_of_the_paper(means_stream):
    rng = np.random.default_rng(4)
    y, z = rng.normal(size=(30, 2)), rng.normal(size=(6, 3))
    states, laws = rng.normal(size=(4, 2)), rng.normal(size=(3, 3))
    calibration, deployment = means_stream(y, states, [8, 16, 30]), means_stream(z, laws, [6])

    class Bank:
        size = 12
        n_calibration_keys = 4
        n_deployment_keys = 3

        def calibration_keys(self, index):
            return index // 3

        def deployment_keys(self, index):
            return index % 3

    evidence = bank_evidence(
        Bank(), calibration=(calibration, (calibration, 1)), deployment=(deployment, (deployment, 2))
    )
    assert evidence.prefixes.tolist() == [[8, 0], [16, 0], [30, 6]]
    log_y = norm.logpdf(y[None], states[:, None]).sum(axis=2)  # (4, 30)
    log_z = norm.logpdf(z[None], laws[:, None]).sum(axis=2)  # (3, 6)
    for e in range(12):
        g, law = divmod(e, 3)
        expected = [
            (log_y[1, :n] - log_y[g, :n]).sum() + (log_z[2, :t] - log_z[law, :t]).sum()
            for n, t in [(8, 0), (16, 0), (30, 6)]
        ]
        bounds = evidence.along_path([e])
        np.testing.assert_allclose(bounds.lower[0], expected, atol=1e-12)
        np.testing.assert_allclose(bounds.upper[0], expected, atol=1e-12)
    single = bank_evidence(Bank(), deployment=(deployment, (deployment, 2)))
    assert single.prefixes.tolist() == [[6]]
    with pytest.raises(MisuseError, match="streams must be given"):
        bank_evidence(Bank())


def test_the_proposal_itself_has_evidence_of_exactly_one(table_stream):
    stream = table_stream([[5, 7], [6, 8]], error=100.0)
    evidence = Evidence(2, [Factor("rows", stream, lambda i: i, (stream, 1))])
    bounds = evidence.log_evidence([0, 1])
    assert (bounds.lower[1], bounds.upper[1]) == (0.0, 0.0)
    assert bounds.upper[0] - bounds.lower[0] > 300.0
    assert evidence.ball(1, 64).is_zero()


def test_no_question_is_answered_with_nothing(table_stream):
    stream = table_stream([[5]])
    evidence = Evidence(1, [Factor("rows", stream, lambda i: i, (stream, 0))])
    assert evidence.log_evidence(np.empty(0, dtype=int)).lower.shape == (0,)


class FixedStream:
    checkpoints = np.array([1])
    n_keys = 1
    is_density = True

    def __init__(self, values, errors):
        self.scores = Scores(np.array(values, dtype=float), np.array(errors, dtype=float))

    def log_likelihood(self, keys):
        return self.scores


@pytest.mark.parametrize("stream", [FixedStream([[-np.inf]], [[np.inf]]), FixedStream([[0.0]], [[np.inf]])])
def test_a_score_that_overflowed_bounds_nothing(stream):
    evidence = Evidence(1, [Factor("rows", stream, lambda i: i, (FixedStream([[1.0]], [[0.0]]), 0))])
    bounds = evidence.log_evidence([0])
    assert (bounds.lower[0], bounds.upper[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (FixedStream([[np.nan]], [[0.0]]), "scores of calibration must not be NaN"),
        (FixedStream([[0.0]], [[np.nan]]), "scores of calibration must not be NaN"),
        (FixedStream([[0.0]], [[-1.0]]), "errors of calibration must be nonnegative, not -1"),
        (FixedStream([[0.0, 0.0]], [[0.0, 0.0]]), r"scores of calibration must have shape \(1, 1\)"),
    ],
)
def test_scores_that_break_the_contract_are_refused(stream, message):
    evidence = Evidence(1, [Factor("calibration", stream, lambda i: i, (FixedStream([[1.0]], [[0.0]]), 0))])
    with pytest.raises(MisuseError, match=message):
        evidence.log_evidence([0])


def test_parts_that_do_not_belong_together_are_refused(table_stream):
    stream, other = table_stream([[1, 2]]), table_stream([[1, 2]], [1, 3])
    factor = Factor("rows", stream, lambda i: i, (stream, 0))
    with pytest.raises(MisuseError, match="numerator of rows must have the checkpoints of its stream"):
        Factor("rows", stream, lambda i: i, (other, 0))
    with pytest.raises(MisuseError, match="numerator key of rows must be a whole number between 0 and 0, not 1"):
        Factor("rows", stream, lambda i: i, (stream, 1))
    with pytest.raises(MisuseError, match="size must be a whole number at least 1"):
        Evidence(0, [factor])


def test_keys_and_indices_out_of_range_are_refused(table_stream):
    stream = table_stream([[1], [2]])

    def evidence(keys_of):
        return Evidence(3, [Factor("rows", stream, keys_of, (stream, 0))])

    with pytest.raises(MisuseError, match="keys of rows must lie from 0 to 1, not 2 at position 2"):
        evidence(lambda i: i).log_evidence([0, 1, 2])
    with pytest.raises(MisuseError, match=r"keys of rows must have shape \(2,\)"):
        evidence(lambda i: i[:1]).log_evidence([0, 1])
    with pytest.raises(MisuseError, match="keys of rows must be a list of whole numbers"):
        evidence(lambda i: 0.5 * i).log_evidence([0, 1])
    with pytest.raises(MisuseError, match="indices must lie from 0 to 2, not -1 at position 0"):
        evidence(lambda i: 0 * i).log_evidence([-1])

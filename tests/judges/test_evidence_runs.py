"""A run on held-out data: what is not tested is not scored."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import RegionalPolicy, Status, run
from physupport.banks import table_regions
from physupport.judges import Evidence, EvidenceJudge, Factor
from physupport.laws import Scores
from physupport.questions import RegionalMap


class Stream:
    """Log likelihoods from a table, one key an explanation; remembers which keys were scored."""

    def __init__(self, table):
        self.table, self.scored, self.checkpoints = np.asarray(table, dtype=float)[:, None], [], np.array([10])

    @property
    def n_keys(self):
        return len(self.table)

    def log_likelihood(self, keys):
        self.scored += keys.tolist()
        return Scores(self.table[keys], np.zeros((len(keys), 1)))

    is_density = True

    def enclosure(self, key, bits):
        raise AssertionError("margins this wide need no balls")


def judged(losses, level=0.1):
    """The numerator is a stream of its own, so that its key is not an explanation's."""
    stream, numerator = Stream(losses), Stream([0.0])
    factor = Factor("rows", stream, lambda index: index, (numerator, 0))
    return stream, EvidenceJudge(Evidence(len(losses), [factor]), level)


def question():
    names = [f"p{i}" for i in range(8)]
    return RegionalMap(table_regions({"where": [name for name in names for _ in range(2)]}))


def test_data_of_explanations_never_asked_about_cannot_change_the_trace():
    losses = np.full(16, -50.0)
    losses[[0, 9]] = -1.0  # below log 10: admissible
    stream, judge = judged(losses)
    trace = run(judge, question(), RegionalPolicy(), 0.5)
    # Neighbours may be scored along with a key, each once; what they score must not show.
    assert set(trace.queries.tolist()) <= set(stream.scored)
    assert len(set(stream.scored)) == len(stream.scored)
    changed = losses.copy()
    changed[np.setdiff1d(np.arange(16), trace.queries)] = 7.0
    again = run(judged(changed)[1], question(), RegionalPolicy(), 0.5)
    assert again.queries.tolist() == trace.queries.tolist()
    assert again.verdicts.margins().tolist() == trace.verdicts.margins().tolist()
    assert again.answers == trace.answers


class Brittle(Stream):
    """Fails as told when certain keys are scored."""

    def __init__(self, table, poisoned, how):
        super().__init__(table)
        self.poisoned, self.how = {*poisoned.tolist()}, how

    def log_likelihood(self, keys):
        poisoned = np.isin(keys, [*self.poisoned])
        if self.how == "raise" and poisoned.any():
            raise RuntimeError("a key that nobody asked about")
        scores = super().log_likelihood(keys)
        if self.how == "nan":
            scores.values[poisoned] = np.nan
        elif self.how == "negative":
            scores.errors[poisoned] = -1.0
        return scores


@pytest.mark.parametrize("how", ["nan", "negative", "raise"])
def test_scores_of_explanations_never_asked_about_may_be_anything(how):
    losses = np.full(16, -50.0)
    losses[[0, 9]] = -1.0
    trace = run(judged(losses)[1], question(), RegionalPolicy(), 0.5)
    unasked = np.setdiff1d(np.arange(16), trace.queries)
    stream, numerator = Brittle(losses, unasked, how), Stream([0.0])
    factor = Factor("rows", stream, lambda index: index, (numerator, 0))
    judge = EvidenceJudge(Evidence(len(losses), [factor]), 0.1)
    again = run(judge, question(), RegionalPolicy(), 0.5)
    assert again.queries.tolist() == trace.queries.tolist()
    assert again.verdicts.margins().tolist() == trace.verdicts.margins().tolist()
    with pytest.raises((MisuseError, RuntimeError)):
        judge.verdicts(unasked[:1])


def test_verdicts_ahead_are_those_of_one_by_one_and_balls_are_for_what_is_asked():
    """Explanation 5 has a margin that float64 leaves open, so it comes along with nothing."""
    losses = np.full(64, -50.0)
    losses[5] = -float(np.log(10.0))
    _, judge = judged(losses)
    near, found = judge.ahead(7, 64)
    assert 5 not in near
    assert {*near.tolist()} == {*range(64)} - {5}
    single = judged(losses)[1]
    for e, code, margin in zip(near.tolist(), found.codes.tolist(), found.margins().tolist(), strict=True):
        own = single.verdicts(np.array([e]))
        assert (own.codes[0], own.margins()[0].tolist()) == (code, margin)


def test_verdicts_and_margins_are_those_of_the_evidence():
    losses = np.full(16, -50.0)
    losses[3] = -1.0
    trace = run(judged(losses)[1], question(), RegionalPolicy(), 1.0)
    assert trace.status is Status.REPORT
    assert trace.answers[0].cell == ("p1",)
    margins = dict(zip(trace.queries.tolist(), trace.verdicts.margins().tolist(), strict=True))
    # One rounding of log 10 and one of each difference.
    np.testing.assert_allclose(margins[3], 1.0 - np.log(10.0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(margins[0], 50.0 - np.log(10.0), rtol=0, atol=1e-13)
    assert (trace.verdicts.margins()[:, 0] <= trace.verdicts.margins()[:, 1]).all()


def test_the_level_must_be_a_probability():
    with pytest.raises(MisuseError, match="level must lie strictly between"):
        judged([0.0], level=1.0)

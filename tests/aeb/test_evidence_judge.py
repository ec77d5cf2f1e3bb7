"""A run on held-out data: what is not asked about is not scored."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import RegionalPolicy, Status, run
from physupport.banks import table_regions
from physupport.judges import Evidence, EvidenceJudge, Factor, joint_path
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
    return stream, EvidenceJudge(Evidence(len(losses), [factor], joint_path([[10]])), level)


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
    assert again.margins.tolist() == trace.margins.tolist()
    assert again.answers == trace.answers


def test_verdicts_and_margins_are_those_of_the_evidence():
    losses = np.full(16, -50.0)
    losses[3] = -1.0
    trace = run(judged(losses)[1], question(), RegionalPolicy(), 1.0)
    assert trace.status is Status.REPORT
    assert trace.answers[0].cell == ("p1",)
    margins = dict(zip(trace.queries.tolist(), trace.margins.tolist(), strict=True))
    # One rounding of log 10 and one of each difference.
    np.testing.assert_allclose(margins[3], 1.0 - np.log(10.0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(margins[0], 50.0 - np.log(10.0), rtol=0, atol=1e-13)
    assert (trace.margins[:, 0] <= trace.margins[:, 1]).all()


def test_the_level_must_be_a_probability():
    with pytest.raises(MisuseError, match="level must lie strictly between"):
        judged([0.0], level=1.0)

"""The verdicts of a trace, asked for again from the judge that is said to have given them."""

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import Array, IntArray
from ..aeb import Trace
from ..judges import EvidenceJudge, Judge, TableJudge, verdicts


def check_verdicts(judge: Judge, trace: Trace) -> None:
    """Refuse a trace that the judge contradicts; a judge of one's own, which may be slow, is not asked again.

    Codes must be equal.  Margins need only overlap: both pairs of bounds are proven, and either may be the tighter one.
    """
    if judge.size != trace.size:
        raise MisuseError("trace", f"be about the {judge.size} explanations of the judge", trace.size)
    found = _again(judge, trace.queries) if len(trace) else None
    if found is None:
        return
    codes, margins = found
    is_apart = np.maximum(trace.margins[:, 0], margins[:, 0]) > np.minimum(trace.margins[:, 1], margins[:, 1])
    wrong = np.flatnonzero((codes != trace.codes) | is_apart)
    if wrong.size:
        raise MisuseError(
            "trace", "hold the verdicts of the judge", f"another on explanation {trace.queries[wrong[0]]}"
        )


def _again(judge: Judge, queries: IntArray) -> tuple[NDArray[np.integer], Array] | None:
    """(k,) codes and (k, 2) margins, or None."""
    if isinstance(judge, EvidenceJudge):
        scored = verdicts(judge.evidence, queries, judge.level)
        return scored.codes[:, 0], np.column_stack([side[:, 0] for side in scored.margins()])
    if isinstance(judge, TableJudge):
        rulings = [judge.verdict(e) for e in queries.tolist()]
        return np.array([r.code for r in rulings]), np.array([(r.lower, r.upper) for r in rulings])
    return None

from ._analyse import (
    Result as Result,
    analyse as analyse,
    begin_running as begin_running,
    freeze as freeze,
    report as report,
    running_result as running_result,
    stored_trace as stored_trace,
)
from ._estimator import PhysicalSupport as PhysicalSupport
from ._learnt import learnt_parts as learnt_parts
from ._next import (
    Candidate as Candidate,
    Seen as Seen,
    divergences as divergences,
    next_measurement as next_measurement,
    next_to_part as next_to_part,
)
from ._plans import ProposedStream as ProposedStream, StreamPlan as StreamPlan
from ._protocol import (
    AnalysisProtocol as AnalysisProtocol,
    PolicyName as PolicyName,
    Proposed as Proposed,
    Seal as Seal,
    named_policy as named_policy,
)

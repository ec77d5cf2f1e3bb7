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
from ._plans import ProposedStream as ProposedStream, StreamPlan as StreamPlan
from ._protocol import (
    AnalysisProtocol as AnalysisProtocol,
    PolicyName as PolicyName,
    Proposed as Proposed,
    Seal as Seal,
    named_policy as named_policy,
)

from ._analyse import analyse as analyse, freeze as freeze, report as report, stored_trace as stored_trace
from ._choices import PolicyName as PolicyName, named_policy as named_policy
from ._estimator import PhysicalSupport as PhysicalSupport
from ._plans import ProposedStream as ProposedStream, StreamPlan as StreamPlan
from ._protocol import AnalysisProtocol as AnalysisProtocol, Proposed as Proposed, Seal as Seal
from ._result import Result as Result
from ._running import begin_running as begin_running, running_result as running_result

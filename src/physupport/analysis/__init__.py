"""From a protocol to all that was found."""

from ._analyse import analyse as analyse
from ._estimator import PhysicalSupport as PhysicalSupport
from ._policies import PolicyName as PolicyName
from ._policies import named_policy as named_policy
from ._proposed_stream import ProposedStream as ProposedStream
from ._protocol import Proposed as Proposed
from ._protocol import Protocol as Protocol
from ._protocol import Seal as Seal
from ._protocol_streams import StreamPlan as StreamPlan
from ._recover import recovered_trace as recovered_trace
from ._result import Result as Result
from ._write_report import report as report

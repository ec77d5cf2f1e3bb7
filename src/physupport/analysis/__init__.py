"""From a protocol and tables to one result: propose, freeze, ask, report."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._analyse import analyse as analyse, freeze as freeze
    from ._choices import named_policy as named_policy
    from ._estimator import PhysicalSupport as PhysicalSupport
    from ._plans import ProposedStream as ProposedStream, StreamPlan as StreamPlan
    from ._policy_names import PolicyName as PolicyName
    from ._protocol import AnalysisProtocol as AnalysisProtocol, Proposed as Proposed, Seal as Seal
    from ._result import Result as Result
    from ._running import (
        begin_running as begin_running,
        running_report as running_report,
        running_result as running_result,
    )
    from ._write_report import report as report
else:
    __getattr__, __dir__, __all__ = published(__name__)

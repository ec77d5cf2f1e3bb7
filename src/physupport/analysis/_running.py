"""Reports on rows that keep arriving."""

from dataclasses import replace

import numpy as np

from .._errors import MisuseError
from ..judges import Evidence, RunningEvidence
from ..judges._path import joint_path
from ..judges._scored import Bounds
from ..report import Report
from ._plans import ProposedStream
from ._protocol import AnalysisProtocol
from ._write_report import report


def begin_running(protocol: AnalysisProtocol, calibration: ProposedStream | None) -> RunningEvidence:
    """Before the first deployment row; held-out calibration rows, if there are any, are read here."""
    bank = protocol.bank
    if bank is None or "deployment" not in protocol.streams or callable(protocol.question):
        rule = "have a bank, deployment rows, and a question that is fixed before rows arrive"
        raise MisuseError("protocol", rule, f"the streams {tuple(protocol.streams)}")
    start = None
    if calibration is not None:
        factor = calibration.factor
        along = Evidence(bank.size, [factor], joint_path([factor.stream.checkpoints])).along_path(np.arange(bank.size))
        start = Bounds(along.lower[:, -1], along.upper[:, -1])
    return RunningEvidence.begin(bank, protocol.streams["deployment"].law, start)


def running_report(protocol: AnalysisProtocol, evidence: RunningEvidence) -> Report:
    """What all rows so far say; a protocol of its own, which names them."""
    seal = replace(protocol, streams={}).freeze(evidence.judge(protocol.run_level))
    return report(seal, seal.run())

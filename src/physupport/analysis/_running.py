"""Reports on rows that keep arriving."""

from dataclasses import replace

import numpy as np

from .._errors import MisuseError
from ..judges import Bounds, ByEvidence, Evidence, RunningEvidence
from ._analyse import report
from ._plans import ProposedStream
from ._protocol import AnalysisProtocol
from ._result import Result


def begin_running(protocol: AnalysisProtocol, calibration: ProposedStream | None) -> RunningEvidence:
    """Before the first deployment row; held-out calibration rows, if there are any, are read here."""
    bank = protocol.bank
    if bank is None or "deployment" not in protocol.streams or callable(protocol.question):
        rule = "have a bank, deployment rows, and a question that is fixed before rows arrive"
        raise MisuseError("protocol", rule, f"the streams {tuple(protocol.streams)}")
    _check_running(protocol)
    start = None
    if calibration is not None:
        factor = calibration.factor
        along = Evidence(bank.size, [factor]).along_path(np.arange(bank.size))
        start = Bounds(along.lower[:, -1], along.upper[:, -1])
    return RunningEvidence.begin(bank, protocol.streams["deployment"].law, start)


def _check_running(protocol: AnalysisProtocol) -> None:
    """Rows that arrive are judged by evidence against the bank's own laws; who asks for more is told."""
    if protocol.judge.encode()["judge"] != ByEvidence.kind or protocol.judge.are_e_values:
        raise MisuseError("judge", "be 'evidence' for rows that keep arriving", repr(protocol.judge.encode()["judge"]))
    if protocol.streams["deployment"].opponent != "bank":
        remedy = "Rows that arrive one by one have no proposal rows that could fix another."
        raise MisuseError("opponent", "be left out for rows that keep arriving", "'free'", remedy)
    if protocol.cover is not None:
        remedy = "Its cells are small enough for a number of rows that is known, and more rows see more."
        raise MisuseError("cover", "be left out for rows that keep arriving", "one", remedy)


def running_result(protocol: AnalysisProtocol, evidence: RunningEvidence) -> Result:
    """The result of all rows so far, under a protocol of its own that names them; no table of rows is kept."""
    seal = replace(protocol, streams={}).freeze(evidence.judge(protocol.run_level))
    trace = seal.run()
    return Result(seal, trace, report(seal, trace), {}, {})

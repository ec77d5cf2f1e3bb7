"""Where a saved report differs from what its project file says, part by part."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import isclose
from types import SimpleNamespace
from typing import Any, cast

from .._codec import canonical
from .._errors import MisuseError
from ..aeb import Policy, Proposals, budget_queries
from ..analysis import AnalysisProtocol, Proposed, Result, StreamPlan, freeze, stored_trace
from ..banks import Bank
from ..report import Details, Report, promised_level
from ..verify import Verification
from ._assemble import Assembled, assemble
from ._load import Project
from ._run import project_details

# Parts of a protocol that decide how much is said, and nothing about whether it is true.
_SAFE = ("policy", "budget", "stop", "until_witnessed")


def report_differences(project: Project, report: Report, details: Details | None) -> Verification:
    """Compare the protocol of a verified report, and make the details beside it again from the rows of the project."""
    found, assembled = protocol_differences(project, report.document["protocol"])
    if details is None or found.findings:
        return found
    if assembled is None:
        note = "details.json is taken as it stands, and so is what the page shows of it"
        return replace(found, notes=(*found.notes, note))
    differing = _details_differences(assembled, report, details)
    others = f", nor are {len(differing) - 1} more" if len(differing) > 1 else ""
    return replace(
        found, findings=tuple(f"details.json: {part} is not what the rows give{others}" for part in differing[:1])
    )


def protocol_differences(project: Project, protocol: Mapping[str, Any]) -> tuple[Verification, Assembled | None]:
    """Compare level, seed, bank, question, judge, laws, splits and checkpoints, which decide which labels are true.

    Another policy, budget or stop is only noted, since any part of the verdicts is safe.  The function of a project
    that is not trusted is not run; then only level and seed are compared.  Also returns the assembled project, None if
    the file cannot be assembled.
    """
    settings = project.settings
    findings = [
        f"the project file has the {name} {described_part!r}, the report {there!r}"
        for name, described_part, there in (
            ("level", settings.level, promised_level(protocol)),
            ("seed", settings.seed, protocol.get("seed")),
        )
        if described_part != there
    ]
    response = settings.elements.response
    if response is not None and response.function is not None and not project.is_trusted:
        note = "elements and questions of the project file were not compared: they need its function, run with --trust"
        return Verification(tuple(findings), (note,)), None
    try:
        assembled = assemble(project)
        parts = [
            name
            for name, described_part in _parts(assembled.protocol, protocol)
            if canonical(described_part) != canonical(_stored_part(name, protocol))
        ]
    except MisuseError as error:
        return Verification((*findings, f"the project file describes no protocol: {error}"), ()), None
    deciding = [name for name in parts if name not in _SAFE]
    safe = [name for name in parts if name in _SAFE]
    other = "the project file describes another protocol than the report has, with other"
    notes = [f"{other} {', '.join(safe)}; labels are safe at any"] if safe else []
    found = (*findings, *([f"{other} {', '.join(deciding)}"] if deciding else ()))
    return Verification(found, tuple(notes)), assembled


def _parts(protocol: AnalysisProtocol, stored: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the parts of a protocol that are known before any row is read, as JSON has them."""
    bank = protocol.bank
    question = protocol.question
    policy = protocol.policy
    if bank is not None:
        yield "bank", bank.digest
        yield "budget", budget_queries(protocol.budget, bank.size)
    # What waits for the proposal rows is given what they are said to have favoured.
    proposed = Proposed({}, {}, Proposals(tuple(stored["proposals"])))
    for name, part in (("question", question), ("policy", policy)):
        yield name, json.loads(json.dumps((part(proposed) if callable(part) else part).describe()))
    cover = protocol.cover
    yield "cover", None if cover is None else json.loads(json.dumps({"asked": protocol.level} | cover.encode()))
    yield "window", protocol.window
    if cover is not None:  # without one it is the level itself
        yield "level of the run", protocol.run_level
    yield "until_witnessed", protocol.until_witnessed
    yield "stop", protocol.stop
    yield "judge", json.loads(json.dumps(protocol.judge.encode()))
    rows = {stream["name"]: stream["rows"] for stream in stored["streams"]}
    yield (
        "streams",
        [
            [name, *_described(plan, bank, rows.get(name, 0), protocol.judge.splits(plan.law))]
            for name, plan in protocol.streams.items()
        ],
    )


def _described(plan: StreamPlan, bank: Bank | None, rows: int, is_split: bool) -> list[object]:
    """Law, share and checkpoints of a stream of so many rows."""
    law = plan.law if bank is None else plan.law.completed(bank)
    fraction = plan.fraction if is_split else 0.0
    held_out = rows - int(Fraction(repr(fraction)) * rows)
    stops = plan.stops(held_out).tolist() if held_out else []
    return [json.loads(json.dumps(law.encode())), float(fraction), stops]


def _stored_part(name: str, protocol: Mapping[str, Any]) -> object:
    """The corresponding part of the protocol that a report stores."""
    if name != "streams":
        return protocol.get("level" if name == "level of the run" else name)
    return [[part["name"], part["law"], part["fraction"], part["checkpoints"]] for part in protocol["streams"]]


def _details_differences(assembled: Assembled, report: Report, details: Details) -> list[str]:
    """The parts of details that rows and trace give otherwise; times and the names of files are not compared."""
    stored = report.document["protocol"]
    asked = replace(
        assembled.protocol,
        policy=cast("Policy", SimpleNamespace(describe=lambda: dict(stored["policy"]))),
        **{name: stored[name] for name in ("budget", "stop", "until_witnessed")},
    )
    seal = freeze(asked, assembled.tables)
    result = Result(seal, stored_trace(seal, report), report, dict(assembled.tables), {})
    again = _comparable(project_details(assembled, result).document)
    return [*_unlike(_comparable(details.document), again), *_command_findings(details.document.get("verify"))]


def _comparable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Details without times, the command that checks them, names of files, and which signal of a map they are of."""
    inputs = [entry | {"path": ""} for entry in document["inputs"]]
    title = re.sub(", signal [0-9,]+$", "", str(document["title"]))
    others = {name: part for name, part in document.items() if name not in ("seconds", "verify")}
    return others | {"inputs": inputs, "title": title}


def _command_findings(command: object) -> Iterator[str]:
    """A command that does anything but verify a report: readers are to type it."""
    if command is not None and shlex.split(str(command))[:-1] != ["physupport", "verify", "report.json", "--project"]:
        yield "verify"


# Relative, and absolute of numbers near 0: another machine may round otherwise.
_ROUNDING = 1e-6
_NOTHING = 1e-9


def _unlike(stored: Any, again: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The paths of values that differ by more than rounding."""
    if type(stored) is type(again) is dict and stored.keys() == again.keys():
        for name in stored:
            yield from _unlike(stored[name], again[name], f"{path}.{name}" if path else str(name))
    elif type(stored) is type(again) is list and len(stored) == len(again):
        for number, (one, other) in enumerate(zip(stored, again, strict=True)):
            yield from _unlike(one, other, f"{path}[{number}]")
    elif type(stored) is type(again) is float:
        if not isclose(stored, again, rel_tol=_ROUNDING, abs_tol=_NOTHING):
            yield path
    elif type(stored) is not type(again) or stored != again:
        yield path

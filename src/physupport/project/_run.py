"""A project from its file to the folder of its report."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, final

from .._errors import MisuseError
from ..aeb import Proposals, Tick, budget_queries
from ..analysis import AnalysisProtocol, Proposed, Result, StreamPlan, analyse
from ..analysis.diagnose import diagnose
from ..banks import Bank
from ..judges import ByEvidence, splits_rows
from ..questions import predicates
from ..report import Details, Report, field_lines, promised_level, query_lines
from ..report.page import page_html
from ._assemble import Assembled, assemble
from ._folder import reserved
from ._inputs import verify_command
from ._load import Project
from ._sections import FunctionResponse


@final
@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A report, what explains it, and where both were written."""

    assembled: Assembled = field(repr=False)
    result: Result
    details: Details = field(repr=False)
    files: tuple[Path, ...]

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.files[0].parent


def run_project(
    project: Project,
    *,
    resume: bool = False,
    callback: Callable[[Tick], bool | None] | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Finished:
    """Read, propose, freeze, ask, report, and write the folder; a misuse anywhere leaves the folder as it was.

    resume: go on from the report in the folder, which must be of the same protocol and rows; only the budget may be
    another one.
    callback: told after every query; returns False to stop, and the report says what is certified by then.
    stage: told which part of the run begins.
    """
    name = project.name("output.folder")
    with reserved(name, project.folder) as held:
        earlier = _earlier(name, project) if resume else None
        stage("Reading files")
        assembled = assemble(project)
        held.make_room(_report_bytes(assembled))
        stage("Looking at proposal rows")
        with assembled.named():
            result = analyse(assembled.protocol, assembled.tables, callback=callback, earlier=earlier)
        stage("Writing the report")
        details, report = _details(assembled, result), result.report
        files = held.write(
            {
                "report.html": lambda path: _write(path, page_html(report, details)),
                "report.json": lambda path: _write(path, report.json()),
                "details.json": lambda path: _write(path, details.json()),
                "fields.csv": lambda path: _write_lines(path, field_lines(report)),
                "queries.csv": lambda path: _write_lines(path, _query_lines(result)),
            }
        )
    return Finished(assembled, result, details, files)


# More than reports were found to need: of any, of each query, and of each element.
_BYTES, _BYTES_A_QUERY, _BYTES_AN_ELEMENT = 2**22, 400, 2000


def _report_bytes(assembled: Assembled) -> int:
    """What a report may take on the disk, before anything was asked."""
    bank = assembled.bank
    queries, elements = budget_queries(assembled.protocol.budget, bank.size), int(bank.states.elements.shape[1])
    return _BYTES + _BYTES_A_QUERY * queries + _BYTES_AN_ELEMENT * elements


def _earlier(name: str, project: Project) -> Report:
    path = project.file("output.folder", str(Path(project.settings.output.folder) / "report.json"))
    if not path.is_file():
        remedy = "Run without --resume first."
        raise MisuseError(name, "hold the report to go on from", f"none in {path.parent}", remedy)
    try:
        report = Report.load(path)
    except (MisuseError, UnicodeDecodeError) as error:
        raise MisuseError(name, "hold a sound report to go on from", f"{path} ({error})") from None
    if not report.is_unchanged:
        raise MisuseError(name, "hold the report as it was written", f"{path}, which was changed")
    return report


def _details(assembled: Assembled, result: Result) -> Details:
    """What `diagnose` finds, with the other files that were read among the inputs."""
    project = assembled.project
    details = diagnose(
        result,
        title=assembled.title,
        coordinate_names=project.settings.elements.coordinates,
        outline=assembled.outline,
        verify=verify_command(project),
    )
    return Details(details.document | {"inputs": [*details.document["inputs"], *project.read.values()]})


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def _query_lines(result: Result) -> Iterator[str]:
    trace = result.trace
    return query_lines(trace.queries, trace.verdicts, predicates(result.seal.question).says)


class Differences(NamedTuple):
    """Where the protocol of a report is another than a project file describes, and what was not compared."""

    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# Parts of a protocol that decide how much is said, and nothing about whether it is true.
_SAFE = ("policy", "budget", "stop")


def protocol_differences(project: Project, protocol: Mapping[str, Any]) -> Differences:
    """Found is another level, seed, bank, question, judge, law, split or checkpoint: they decide which labels are true.

    Another policy, budget or stop is noted: every part of the verdicts is safe.  The function of a project that is
    not trusted is not run: then only level and seed are compared.
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
    if isinstance(settings.elements.response, FunctionResponse) and not project.is_trusted:
        note = "elements and questions of the project file were not compared: they need its function, run with --trust"
        return Differences(tuple(findings), (note,))
    try:
        described = assemble(project).protocol
        parts = [
            name
            for name, described_part in _parts(described, protocol)
            if described_part != _stored_part(name, protocol)
        ]
    except MisuseError as error:
        return Differences((*findings, f"the project file describes no protocol: {error}"))
    findings += [_UNTESTED] if _is_untested(described, protocol) else []
    deciding, safe = [name for name in parts if name not in _SAFE], [name for name in parts if name in _SAFE]
    other = "the project file describes another protocol than the report has, with other"
    notes = [f"{other} {', '.join(safe)}; labels are safe at any"] if safe else []
    return Differences((*findings, *([f"{other} {', '.join(deciding)}"] if deciding else ())), tuple(notes))


def _parts(protocol: AnalysisProtocol, stored: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """What a protocol says of itself before any row is read, as JSON has it, given the numbers of rows."""
    bank, question, policy = protocol.bank, protocol.question, protocol.policy
    if bank is not None:
        yield "bank", bank.digest
        yield "budget", budget_queries(protocol.budget, bank.size)
    # What waits for the proposal rows is given what they are said to have favoured.
    proposed = Proposed({}, {}, Proposals(tuple(stored["proposals"])))
    for name, part in (("question", question), ("policy", policy)):
        yield name, json.loads(json.dumps((part(proposed) if callable(part) else part).describe()))
    cover = protocol.cover
    yield "cover", None if cover is None else json.loads(json.dumps({"asked": protocol.level} | cover.encode()))
    yield "stop", protocol.stop if stored.get("stop") is not None else None
    judge = json.loads(json.dumps(protocol.judge.encode()))
    if _is_untested(protocol, stored):
        del judge["noise"]
    yield "judge", judge
    rows = {stream["name"]: stream["rows"] for stream in stored["streams"]}
    yield (
        "streams",
        [
            [name, *_described(plan, bank, rows.get(name, 0), splits_rows(protocol.judge, plan.law))]
            for name, plan in protocol.streams.items()
        ],
    )


# Earlier programs did not ask rows about a noise that is stated; labels that they gave may have to be withheld.
_UNTESTED = (
    "the report does not ask the rows about the noise that is stated, which a run of today does and may withhold "
    "labels for: run the project again"
)


def _is_untested(protocol: AnalysisProtocol, stored: Mapping[str, Any]) -> bool:
    """Whether a report was judged as the protocol says but for the test of the noise."""
    return "noise" in protocol.judge.encode() and "noise" not in _stored_judge(stored)


def _stored_judge(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reports of before judges described themselves do not name theirs: it was evidence, as it is for who checks."""
    return stored.get("judge") or ByEvidence().encode()


def _described(plan: StreamPlan, bank: Bank | None, rows: int, is_split: bool) -> list[object]:
    """Law, share and checkpoints of a stream of so many rows."""
    law = plan.law if bank is None else plan.law.completed(bank)
    fraction = plan.fraction if is_split else 0.0
    held_out = rows - int(Fraction(repr(fraction)) * rows)
    stops = plan.stops(held_out).tolist() if held_out else []
    return [json.loads(json.dumps(law.encode())), float(fraction), stops]


def _stored_part(name: str, protocol: Mapping[str, Any]) -> object:
    """The same part of the protocol in a report."""
    if name == "judge":
        return _stored_judge(protocol)
    if name != "streams":
        return protocol.get(name)
    return [[part["name"], part["law"], part["fraction"], part["checkpoints"]] for part in protocol["streams"]]

"""Whether a report was made as a project file says."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .._errors import MisuseError
from ..aeb import budget_queries
from ..analysis import Protocol
from ._assemble import assemble
from ._load import Project
from ._sources import FunctionResponse


def protocol_notes(project: Project, protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the protocol of a report is another than the one that a project file describes, a sentence each.

    A report may well differ: options of `run` replace keys of the file.  Nothing is run for the comparison, so that of
    a project with a function of its own only level and seed are compared.
    """
    settings = project.settings
    notes = [
        f"the project file has the {name} {here!r}, the report {protocol.get(name)!r}"
        for name, here in {"level": settings.level, "seed": settings.seed}.items()
        if here != protocol.get(name)
    ]
    if isinstance(settings.elements.response, FunctionResponse):
        return (*notes, "elements and questions of the project file were not compared: they need its function")
    try:
        described = assemble(project).protocol
    except MisuseError as error:
        return (*notes, f"elements and questions of the project file could not be compared: {error}")
    parts = [name for name, here in _parts(described) if here != _told(name, protocol)]
    if parts:
        notes.append(f"the project file describes another protocol than the report has, with other {', '.join(parts)}")
    return tuple(notes)


def _parts(protocol: Protocol) -> Iterator[tuple[str, object]]:
    """What a protocol says of itself before any row is read, as JSON has it."""
    bank, question, policy = protocol.bank, protocol.question, protocol.policy
    if bank is not None:
        yield "bank", bank.digest
        yield "budget", budget_queries(protocol.budget, bank.size)
    for name, part in (("question", question), ("policy", policy)):
        if not callable(part):
            yield name, json.loads(json.dumps(part.describe()))
    yield "streams", {name: [plan.law.name, float(plan.fraction)] for name, plan in protocol.streams.items()}


def _told(name: str, protocol: Mapping[str, Any]) -> object:
    """The same part of the protocol in a report."""
    if name != "streams":
        return protocol.get(name)
    return {each["name"]: [each["law"]["kind"], each["fraction"]] for each in protocol["streams"]}

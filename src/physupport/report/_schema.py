"""The objects that a document describes, made again: bank, view, question and trace.

The form says what may stand where; whether that is true is for `verify` to say. `verify` compares what the objects
write with the document, and so finds every name that is missing or added.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._codec import (
    Node,
    Refusal,
    array_json,
    bounds,
    bounds_json,
    check_form,
    content_hash,
    real,
    whole,
)
from .._errors import Clause, MisuseError
from .._typing import IntArray
from ..banks import (
    Bank,
    Library,
    Nuisances,
    RegionalView,
    States,
    array_states,
    bank_regions,
    library_states,
    listed_regions,
)
from ..judges import Verdict, Verdicts
from ..questions import DISTANCES_OF_VIEW, Claim, Question, RegionalMap, RegionRule, Resolution
from ..responses import Settings
from ._form import Document

FORMAT = "physupport report"
VERSION = 4

# By kind of question: the numbers of a field that its sentence tells.
_TOLD: Mapping[str, tuple[str, ...]] = {
    "regional map": (
        "tolerance", "possible_spread", "witnessed_spread", "possible_present", "possible_absent",
        "possible_at_threshold", "witnessed_present", "witnessed_absent",
    ),
    "resolution": ("lower", "upper"),
}  # fmt: skip


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse what is no report, or not a whole one."""
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version != VERSION:
        value = f"{document.get('format')!r}, version {version!r}"
        raise MisuseError("document", f"be a {FORMAT!r}, version {VERSION}", value, "Run the project again.")
    check_form(document, Document)
    check_form(document["question"].get("kind"), str, "document.question.kind")
    for number, entry in enumerate(document["fields"]):
        for name in _TOLD.get(document["question"]["kind"], ()):
            if name not in entry["numbers"]:
                raise MisuseError(
                    f"document.fields[{number}].numbers", f"have {name}", Clause("there is no such number")
                )


def document_hash(document: Mapping[str, Any]) -> str:
    """The hash of all but itself, whether it stands in there already or not."""
    digests = {name: value for name, value in document["digests"].items() if name != "document"}
    return content_hash({**document, "digests": digests})


# More explanations, or numbers of all states together, are refused before memory is taken for them.
MOST_EXPLANATIONS = 1 << 26
MOST_ENTRIES = 1 << 28


def rebuilt_bank(node: Node | None) -> Bank | None:
    """The bank of a document; None if it has none."""
    if node is None:
        return None
    calibration, deployment = (_nuisances(node[name]) for name in ("calibration", "deployment"))
    return Bank(_states(node["states"]), real(node["strengths"], None, None), calibration, deployment)


def _states(node: Node) -> States:
    if node["kind"] == "library":
        return _library(node)
    if node["kind"] == "library settings":
        values = real(node["values"], None, None)
        responses = real(node["responses"], None, None, None)
        return _library(node["base"], Settings(tuple(node["names"]), values, responses, is_complex=False))
    if node["kind"] == "arrays":
        elements = real(node["elements"], None, None)
        index = whole(node["index"], None, None)
        if len(elements) * index.size > MOST_ENTRIES:
            raise Refusal(f"states of {len(elements)} x {index.size} numbers are too many to be checked here")
        return array_states(elements[:, index].transpose(1, 0, 2))
    raise Refusal(f"states of the unknown kind {node['kind']!r}")


def _library(node: Node, settings: Settings | None = None) -> States:
    places = real(node["coordinates"], None, None)
    responses = real(node["responses"], None, None)
    extents = real(node["extents"], None, None) if "extents" in node else None
    library = Library(tuple(node["ids"]), tuple(node["regions"]), places, responses, node.get("unit", ""), extents)
    order = tuple(node["order"])
    counts = {region: (low, high) for region, (low, high) in zip(order, node.get("counts", ()), strict=False)}
    return library_states(library, order, real(node["shared"], None, None), counts, settings)


def _nuisances(node: Node) -> Nuisances:
    return Nuisances(tuple(node["names"]), real(node["values"], None, None))


def rebuilt_view(node: Node, bank: Bank | None) -> RegionalView:
    """The view of a regional map."""
    if node["kind"] == "bank" and bank is not None:
        return bank_regions(bank)
    if node["kind"] == "table":
        elements = {region: tuple(names) for region, names in node["elements"]}
        places = {region: real(places, None, None) for region, places in node["coordinates"]}
        return listed_regions(
            elements, whole(node["locations"], None, None), real(node["strengths"], None, None), places
        )
    raise Refusal(f"a view of the unknown kind {node['kind']!r}")


def rebuilt_question(frozen: Node, content: Node, bank: Bank | None) -> Question:
    """The question of a protocol, from its description and what the document writes out of it."""
    if content["kind"] == "regional map":
        rules = {
            rule["region"]: RegionRule(
                tolerance=rule["tolerance"],
                distances=None if node == DISTANCES_OF_VIEW else real(node, None, None),
                groups=dict(rule["groups"][:-1]) or None,
                asks="finest" if rule["asks"] == "finest" else tuple(rule["asks"]),
                absence_threshold=rule["absence_threshold"],
                absent_witness=rule["absent_witness"],
            )
            for rule, node in zip(frozen["regions"], content["distances"], strict=True)
        }
        claims = {name: Claim(kind, tuple(of)) for name, kind, of in frozen.get("claims", ())}
        return RegionalMap(rebuilt_view(content["view"], bank), rules, claims)
    if content["kind"] == "resolution":
        count = len(frozen["names"])
        return Resolution(
            places=whole(content["places"], None),
            distances=real(content["distances"], count, count),
            proposal_distances=real(content["proposal_distances"], count),
            delta_fine=frozen["delta_fine"],
            delta_group=frozen["delta_group"],
            names=tuple(frozen["names"]),
            slack=float(frozen["slack"]),
        )
    raise Refusal(f"a question of the unknown kind {content['kind']!r}")


def trace_json(queries: IntArray, verdicts: Verdicts) -> dict[str, object]:
    """The part of a document that `trace_columns` reads."""
    return {
        "queries": array_json(queries),
        "codes": array_json(verdicts.codes.astype(np.int64)),
        "lower": bounds_json(verdicts.lower),
        "upper": bounds_json(verdicts.upper),
    }


def trace_columns(node: Mapping[str, object], size: int) -> tuple[IntArray, Verdicts]:
    """Every query about an explanation of its own, of so many, with a verdict that there is."""
    queries = whole(node["queries"], None)
    codes = whole(node["codes"], len(queries))
    lower, upper = (bounds(node[side], len(queries)) for side in ("lower", "upper"))
    if queries.size and (queries.min() < 0 or queries.max() >= size):
        raise MisuseError(
            "trace", "ask about explanations of the bank", Clause("one query is about an explanation outside of it")
        )
    if len(np.unique(queries)) < len(queries):
        raise MisuseError("trace", "ask about nothing twice", Clause("it asks about one twice"))
    if not np.isin(codes, [int(verdict) for verdict in Verdict]).all():
        raise MisuseError("trace", "hold verdicts", Clause("one has an unknown code"))
    return queries, Verdicts(codes.astype(np.uint8), lower, upper)

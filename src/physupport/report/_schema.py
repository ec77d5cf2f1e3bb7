"""The form of a document, and the objects that a document describes, made again: bank, view, question and trace.

The form says which names stand where, and what kind of value each has; whether that is true is for `verify` to say.
`verify` compares what the objects write with the document, and so finds every name that is missing or added.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from .._codec import (
    NONE,
    TWO,
    Hash,
    Node,
    Real,
    Refusal,
    array_json,
    bounds,
    bounds_json,
    check_form,
    content_hash,
    in_words,
    real,
    whole,
)
from .._errors import MisuseError
from .._typing import IntArray
from ..banks import (
    Bank,
    CoverForm,
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

FORMAT = "physupport report"
VERSION = 4

_Margin = Annotated[
    list[Real | Literal["inf", "-inf"]],
    TWO,
    in_words("two bounds, each a number, 'inf' or '-inf'"),
]
_Ends = Annotated[list[Real], TWO, in_words("two numbers")]
_Says = dict[str, str | None]
# Pages show them: nothing but a version fits in there.
_Version = Annotated[str, Field(pattern="^[0-9][0-9A-Za-z.+]{0,63}$"), in_words("a version")]
_Program = TypedDict("_Program", {"physupport": _Version, "numpy": _Version, "python": _Version})
_Explanation = TypedDict("_Explanation", {"explanation": int, "margin": _Margin, "says": _Says})
_Kept = TypedDict("_Kept", {"name": str | None, "explanation": int, "margin": _Margin})
_Set = TypedDict("_Set", {
    "kept": list[_Kept], "not_asked": list[str | None], "extent": Real | None, "box": NotRequired[list[_Ends]],
})  # fmt: skip
_Label = Literal["FINE", "GROUP", "SUPPORT_AMBIGUOUS", "LOCAL_AMBIGUOUS", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY"]
_Field = TypedDict("_Field", {
    "field": str, "label": _Label, "cell": list[str], "group": str | None, "numbers": dict[str, Real],
    "certificate": Literal["universal", "witnesses", "open", "withheld"], "witnesses": list[_Explanation],
    "excluded": _Explanation | None, "set": _Set | None,
})  # fmt: skip
_Sides = Annotated[
    Annotated[list[int], NONE] | Annotated[list[int], TWO],
    in_words("two whole numbers or none"),
]
_Claim = TypedDict("_Claim", {
    "claim": str, "value": Literal["true", "false", "open", "unknown", "withheld", "empty"], "witnesses": _Sides,
})  # fmt: skip
_Outcome = TypedDict("_Outcome", {
    "status": Literal["REPORT", "EMPTY", "ABSTAIN", "WITHHELD"],
    "ending": Literal["CERTIFIED", "NO_SURVIVOR", "BUDGET", "NOTHING_LEFT", "STOPPED"], "is_certified": bool,
    "queries": int, "budget": int, "witnessed": int, "possible": int, "indeterminate": int,
})  # fmt: skip
_Stream = TypedDict("_Stream", {
    "name": str, "rows": int, "width": int, "fraction": Real, "proposal_rows": Hash, "checkpoints": list[int],
    "law": dict[str, Any], "numerator": dict[str, Any],
})  # fmt: skip
_Judge = TypedDict("_Judge", {"judge": str, "assumes": str})  # and what it fixed beforehand
_Resolution = TypedDict("_Resolution", {"energy": Real, "width": Real, "channel": Real, "assumed": str})  # keV
_Window = TypedDict("_Window", {
    "ends": list[_Ends], "unit": str, "without_lines": list[str], "resolution": NotRequired[_Resolution],
})  # fmt: skip
_Protocol = TypedDict("_Protocol", {
    "bank": Hash | None, "size": int, "question": dict[str, Any], "level": Real, "judge": _Judge, "seed": int,
    "streams": list[_Stream], "proposals": list[int], "plausibility": Hash | None, "policy": dict[str, Any],
    "budget": int, "until_witnessed": bool, "stop": Literal["label", "set"], "cover": NotRequired[CoverForm],
    "window": NotRequired[_Window], "at_errors": NotRequired[Literal[False]],
})  # fmt: skip
_Edge = TypedDict("_Edge", {"of": str, "value": Real, "end": Literal["lowest", "highest"]})
_Streams = TypedDict("_Streams", {"stream": str, "kept": int, "nearest": int, "says": _Says})
_Contradiction = TypedDict("_Contradiction", {"streams": list[_Streams], "common": int})

# The facts that words are made of; a judge of one's own may say more, and so may a finding.
_Probability = Annotated[Real, Field(ge=0.0, le=1.0)]
_Finding = TypedDict("_Finding", {"part": str, "place": str, "p": _Probability})
_Strengths = TypedDict("_Strengths", {"part": str, "place": str, "p": _Probability, "is_off": bool})
_Unlisted = TypedDict("_Unlisted", {"p": _Probability, "smallest_p": _Probability, "is_excluded": bool})
_Noise = TypedDict("_Noise", {"signal": Real, "replicates": Real, "stated": list[Real] | None})
_Left = TypedDict("_Left", {"name": str, "box": list[Real], "left": list[Real] | None})
_Cell = TypedDict("_Cell", {"name": str, "low": list[Real], "high": list[Real]})
_Run = TypedDict("_Run", {"low": list[Real], "high": list[Real], "most_atoms": int, "cells": list[_Cell]})
_ReadAs = TypedDict("_ReadAs", {"atom": int, "place": str, "at": list[Real], "degrees": Real})
_Learnt = TypedDict("_Learnt", {
    "n_rows": int, "rows": Hash, "n_atoms": int, "level": Real, "unit": str, "learnt_on": str,
    "noise_at_most": Real | None, "weakest": Real, "is_resolved": bool, "rows_needed": int | None, "scale": Real,
    "information": Real, "left": list[_Run], "read_as": Annotated[list[_ReadAs], Field(min_length=1)],
})  # fmt: skip
_Facts = TypedDict("_Facts", {
    "is_withheld": bool, "best": NotRequired[int], "is_best_rejected": NotRequired[bool],
    "level": NotRequired[_Probability], "findings": NotRequired[list[_Finding]],
    "whiteness": NotRequired[_Finding | None], "strengths": NotRequired[_Strengths | None],
    "zero_rows": NotRequired[int], "units": NotRequired[dict[str, Any]],
    "smallest_p": NotRequired[dict[str, _Probability]], "p": NotRequired[dict[str, _Probability]],
    "cannot_exclude": NotRequired[list[str]], "is_complete": NotRequired[bool], "unlisted": NotRequired[_Unlisted],
    "calibration": NotRequired[_Learnt], "failure": NotRequired[str], "assumes": NotRequired[str],
    "replicate_noise": NotRequired[_Noise], "parameters": NotRequired[list[_Left]], "asked": NotRequired[int],
})  # fmt: skip
for _form in (_Judge, _Facts, _Unlisted, _Noise, _Left, _Cell, _Run, _ReadAs, _Learnt):
    _extra: Literal["allow", "forbid"] = "allow" if _form in (_Judge, _Facts) else "forbid"
    _form.__pydantic_config__ = ConfigDict(strict=True, extra=_extra)  # type: ignore[union-attr]


def _complete(facts: _Facts) -> _Facts:
    """Return the facts; raise if one lacks another that it requires."""
    ranked = {frozenset(facts[name]) for name in ("units", "smallest_p", "p") if name in facts}
    if len(ranked) > 1 or (facts.get("is_best_rejected") and not facts.get("findings")):
        raise ValueError
    return facts


_Gate = Annotated[
    _Facts, AfterValidator(_complete), in_words("facts of a judge, whether labels are withheld among them")
]
_Trace = TypedDict("_Trace", {"queries": Any, "codes": Any, "lower": Any, "upper": Any})
_Digests = TypedDict("_Digests", {
    "bank": Hash | None, "question": Hash, "protocol": Hash, "data": Hash, "chain": Hash, "document": Hash,
})  # fmt: skip
_Statement = TypedDict("_Statement", {
    "field": str, "label": _Label, "cell": list[str], "group": str | None, "numbers": dict[str, Real],
    "certificate": Literal["universal", "witnesses", "open", "withheld"], "witnesses": list[int],
})  # fmt: skip
_Step = TypedDict("_Step", {"least": Real, "most": Real, "fields": list[_Statement], "claims": dict[str, str]})
_Scale = Literal["peak", "value", "angle", "noise", "stated"]
_Staircase = TypedDict("_Staircase", {"scale": _Scale, "error": NotRequired[Real], "steps": list[_Step]})
_Cause = TypedDict("_Cause", {"cause": str, "place": str, "value": Real | None, "share": _Probability})
_Diagnosis = TypedDict("_Diagnosis", {
    "is_all": bool, "scale": Literal["peak", "angle"], "error": Real | None, "causes": list[_Cause],
})  # fmt: skip
_Where = TypedDict("_Where", {"unit": str, "intervals": list[list[Real]], "cells": NotRequired[dict[str, list[Real]]]})
_End = Real | Literal["inf", "-inf"] | None
_Amount = TypedDict("_Amount", {
    "element": str, "field": str, "ends": Annotated[list[_End], TWO, in_words("two ends of an amount")],
    "is_certain": bool,
})  # fmt: skip
_Amounts = TypedDict("_Amounts", {
    "kind": Literal["", "counts", "coefficients", "strengths"],
    "reason": Literal[
        "", "judge", "share", "many", "columns", "streams", "rows", "complex", "noise", "error", "mix", "recorded",
        "cover", "withheld",
    ],
    "elements": list[_Amount],
})  # fmt: skip
Document = TypedDict("Document", {
    "format": str, "version": int, "program": _Program, "fields": list[_Field], "claims": list[_Claim],
    "outcome": _Outcome, "gate": _Gate | None, "contradiction": NotRequired[_Contradiction], "edges": list[_Edge],
    "complete": NotRequired[list[_Statement]], "amounts": NotRequired[_Amounts], "unlisted": NotRequired[_Where],
    "staircase": NotRequired[_Staircase], "diagnosis": NotRequired[_Diagnosis], "protocol": _Protocol,
    "data": dict[str, Hash], "trace": _Trace, "question": dict[str, Any],
    "bank": dict[str, Any] | None, "digests": _Digests,
})  # fmt: skip


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
                raise MisuseError(f"document.fields[{number}].numbers", f"have {name}", "no such number")


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
            "trace", "ask about explanations of the bank", "a query about an explanation outside the bank"
        )
    if len(np.unique(queries)) < len(queries):
        raise MisuseError("trace", "ask about nothing twice", "an explanation that is asked about twice")
    if not np.isin(codes, [int(verdict) for verdict in Verdict]).all():
        raise MisuseError("trace", "hold verdicts", "a verdict with an unknown code")
    return queries, Verdicts(codes.astype(np.uint8), lower, upper)

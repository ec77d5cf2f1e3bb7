"""The form of a document: which names stand where, and what kind of value each has.

Whether what stands there is true is for `verify` to say.  Version 1 held sentences as well; they are not looked at.
Versions 1 and 2 may leave out what programs of then did not look for; version 3 may not.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._codec import array_json, bounds, bounds_json, real, whole
from .._errors import MisuseError
from .._hashes import content_hash
from .._stored import ANY, HASH, Check, Form, Maybe, Node, Refusal, check_form
from .._typing import Array, IntArray
from ..banks import (
    COVER_FORM,
    ArrayStates,
    Bank,
    Library,
    LibraryStates,
    Nuisances,
    RegionalView,
    StateFamily,
    TableRegions,
    bank_regions,
)
from ..judges import Verdict, Verdicts
from ..questions import Label

FORMAT, VERSION = "physupport report", 3


def _is_bound(value: object) -> bool:
    return value in ("inf", "-inf") if isinstance(value, str) else _is_number(value)


def _is_number(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


_MARGIN = Check(
    "two bounds, each a number, 'inf' or '-inf'",
    lambda value: isinstance(value, list) and [*map(_is_bound, value)] == [True, True],
)
_NUMBERS = Check("numbers by name", lambda value: isinstance(value, dict) and all(map(_is_number, value.values())))
_SAYS = Check(
    "texts or null by name",
    lambda value: isinstance(value, dict) and all(isinstance(said, str | None) for said in value.values()),
)
_HASHES = Check(
    "a SHA-256 in hexadecimal by name",
    lambda value: isinstance(value, dict) and all(map(HASH.fits, value.values())),
)
_QUESTION = Check(
    "an object that says its kind", lambda value: isinstance(value, dict) and isinstance(value.get("kind"), str)
)
_ENDS = Check("two numbers", lambda value: isinstance(value, list) and [*map(_is_number, value)] == [True, True])
_EXPLANATION = {"explanation": int, "margin": _MARGIN, "says": _SAYS}
_SET = {
    "kept": [{"name": (str, None), "explanation": int, "margin": _MARGIN}], "not_asked": [(str, None)],
    "extent": (float, None), "box": Maybe([_ENDS]),
}  # fmt: skip
_FIELD: Form = {
    "field": str, "label": tuple(str(label) for label in Label), "cell": [str], "group": (str, None),
    "numbers": _NUMBERS, "certificate": ("universal", "witnesses", "open", "withheld"),
    "witnesses": [_EXPLANATION], "excluded": (_EXPLANATION, None),
    "set": (_SET, None),
}  # fmt: skip
_CLAIM = {
    "claim": str,
    "value": ("true", "false", "open", "unknown", "withheld", "empty"),
    "witnesses": Check(
        "two whole numbers or none", lambda value: isinstance(value, list) and [*map(type, value)] in ([], [int, int])
    ),
}
_OUTCOME: Form = {
    "status": ("REPORT", "EMPTY", "ABSTAIN", "WITHHELD"),
    "ending": ("CERTIFIED", "NO_SURVIVOR", "BUDGET", "NOTHING_LEFT", "STOPPED"),
    "is_certified": bool, "queries": int, "budget": int, "witnessed": int, "possible": int, "indeterminate": int,
}  # fmt: skip
_STREAM = {
    "name": str, "rows": int, "width": int, "fraction": float, "proposal_rows": HASH, "checkpoints": [int],
    "law": dict, "numerator": dict,
}  # fmt: skip
_PROTOCOL = {
    "bank": (HASH, None), "size": int, "question": dict, "level": float, "judge": dict, "seed": int,
    "streams": [_STREAM],
    "proposals": [int], "plausibility": (HASH, None), "policy": dict, "budget": int, "until_witnessed": bool,
    "stop": ("label", "set"), "cover": Maybe(COVER_FORM),
}  # fmt: skip
_EDGE = {"of": str, "value": float, "end": ("lowest", "highest")}
_PROBABILITY = Check("a probability", lambda value: _is_number(value) and 0.0 <= value <= 1.0)
_PROBABILITIES = Check(
    "probabilities by name", lambda value: isinstance(value, dict) and all(map(_PROBABILITY.fits, value.values()))
)
_FINDING = Check(
    "a part, a place and a probability p",
    lambda value: (
        isinstance(value, dict)
        and isinstance(value.get("part"), str)
        and isinstance(value.get("place"), str)
        and _PROBABILITY.fits(value.get("p"))
        and type(value.get("is_off", True)) is bool
    ),
)
# What words are made of; a judge of one's own may say more.
_FACTS = {
    "is_withheld": bool, "best": Maybe(int), "is_best_rejected": Maybe(bool), "level": Maybe(_PROBABILITY),
    "findings": Maybe([_FINDING]), "whiteness": Maybe((_FINDING, None)), "strengths": Maybe((_FINDING, None)),
    "zero_rows": Maybe(int),
    "units": Maybe(dict), "smallest_p": Maybe(_PROBABILITIES), "p": Maybe(_PROBABILITIES),
    "cannot_exclude": Maybe([str]),
}  # fmt: skip


def _are_facts(value: object) -> bool:
    """Those that are known in their form, and each beside those that it needs."""
    if not isinstance(value, dict):
        return False
    try:
        check_form({name: fact for name, fact in value.items() if name in _FACTS}, _FACTS)
    except MisuseError:
        return False
    ranked = {frozenset(value[name]) for name in ("units", "smallest_p", "p") if name in value}
    return len(ranked) < 2 and bool(value.get("findings") or not value.get("is_best_rejected"))


_GATE = Check("facts of a judge, whether labels are withheld among them", _are_facts)
_DIGESTS = {
    "bank": (HASH, None), "question": HASH, "protocol": HASH, "data": HASH, "chain": HASH, "document": HASH
}  # fmt: skip
_SENTENCE = {"sentence": str}
DOCUMENT: Form = {
    "format": FORMAT, "version": VERSION, "program": {"physupport": str, "numpy": str, "python": str},
    "fields": [_FIELD], "claims": [_CLAIM], "outcome": _OUTCOME, "gate": (_GATE, None), "edges": [_EDGE],
    "protocol": _PROTOCOL, "data": _HASHES,
    "trace": {"queries": ANY, "codes": ANY, "lower": ANY, "upper": ANY},
    "question": _QUESTION, "bank": (dict, None), "digests": _DIGESTS,
}  # fmt: skip


def _without(form: Form, *names: str) -> Form:
    """The form of before: these may be missing."""
    return form | {name: Maybe(form[name]) for name in names}


_EARLIER_FIELD = _without(_FIELD, "set")
_EARLIER = _without(DOCUMENT, "claims", "gate", "edges") | {"protocol": _without(_PROTOCOL, "judge", "stop")}
# By version.
DOCUMENTS: Mapping[int, Form] = {
    1: _EARLIER | {"version": 1, "fields": [_EARLIER_FIELD | _SENTENCE], "outcome": _OUTCOME | _SENTENCE},
    2: _EARLIER | {"version": 2, "fields": [_EARLIER_FIELD]},
    VERSION: DOCUMENT,
}
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
    if document.get("format") != FORMAT or type(version) is not int or version not in DOCUMENTS:
        value = f"{document.get('format')!r}, version {version!r}"
        raise MisuseError("document", f"be a {FORMAT!r}, version {' or '.join(map(str, DOCUMENTS))}", value)
    check_form(document, DOCUMENTS[version])
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
    _names(node, "states", "strengths", "calibration", "deployment")
    calibration, deployment = (_nuisances(node[name]) for name in ("calibration", "deployment"))
    return Bank(_states(node["states"]), real(node["strengths"], None, None), calibration, deployment)


def _states(node: Node) -> StateFamily:
    if node["kind"] == "library":
        return _library(node)
    if node["kind"] == "library settings":
        _names(node, "kind", "base", "names", "values", "responses")
        values, responses = real(node["values"], None, None), real(node["responses"], None, None, None)
        return _library(node["base"], _Settings(tuple(node["names"]), values, responses))
    if node["kind"] == "arrays":
        _names(node, "kind", "elements", "index")
        elements, index = real(node["elements"], None, None), whole(node["index"], None, None)
        if len(elements) * index.size > MOST_ENTRIES:
            raise Refusal(f"states of {len(elements)} x {index.size} numbers are too many to be checked here")
        return ArrayStates(elements[:, index].transpose(1, 0, 2))
    raise Refusal(f"states of the unknown kind {node['kind']!r}")


class _Settings(NamedTuple):
    """Calibration parameters as a document holds them."""

    names: tuple[str, ...]
    values: Array
    responses: Array


def _library(node: Node, settings: _Settings | None = None) -> LibraryStates:
    optional = [name for name in ("counts", "unit", "extents") if name in node]
    _names(node, "kind", "ids", "regions", "order", "coordinates", "responses", "shared", *optional)
    if node["kind"] != "library":
        raise Refusal(f"settings of states of the kind {node['kind']!r}")
    places, responses = real(node["coordinates"], None, None), real(node["responses"], None, None)
    extents = real(node["extents"], None, None) if "extents" in node else None
    library = Library(tuple(node["ids"]), tuple(node["regions"]), places, responses, node.get("unit", ""), extents)
    order = tuple(node["order"])
    if "counts" in node:
        check_form(node["counts"], [[int]], "the counts of the library")
        if any(len(count) != 2 for count in node["counts"]):
            raise Refusal("counts of the library are not pairs")
    counts = tuple((low, high) for low, high in node.get("counts", ()))
    return LibraryStates(library, order, real(node["shared"], None, None), counts, settings)


def _nuisances(node: Node) -> Nuisances:
    _names(node, "names", "values")
    return Nuisances(tuple(node["names"]), real(node["values"], None, None))


def rebuilt_view(node: Node, bank: Bank | None) -> RegionalView:
    """The view of a regional map."""
    if node["kind"] == "bank" and bank is not None:
        _names(node, "kind")
        return bank_regions(bank)
    if node["kind"] == "table":
        _names(node, "kind", "elements", "locations", "strengths", "coordinates")
        elements = {region: tuple(names) for region, names in node["elements"]}
        places = {region: real(places, None, None) for region, places in node["coordinates"]}
        if len(elements) < len(node["elements"]) or len(places) < len(node["coordinates"]):
            raise Refusal("a region stands twice in the table")
        return TableRegions(elements, whole(node["locations"], None, None), real(node["strengths"], None, None), places)
    raise Refusal(f"a view of the unknown kind {node['kind']!r}")


def _names(node: Node, *names: str) -> None:
    if {*node} != {*names}:
        raise Refusal(f"an entry has other names than {', '.join(names)}")


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

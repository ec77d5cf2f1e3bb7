"""The form of a document: which names stand where, and what kind of value each has.

Whether what stands there is true is for `verify` to say.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from .._errors import MisuseError
from .._hashes import content_hash
from .._stored import ANY, HASH, Check, Form, Maybe, check_form
from ..banks import COVER_FORM
from ..questions import Label

FORMAT = "physupport report"
VERSION = 4


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
# Pages show them: nothing but a version fits in there.
_VERSION = Check(
    "a version", lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9][0-9A-Za-z.+]{0,63}", value))
)
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
    ),
)
_STRENGTHS = Check(
    f"{_FINDING.words}, and whether strengths are off",
    lambda value: _FINDING.fits(value) and type(value.get("is_off")) is bool,
)
# What words are made of; a judge of one's own may say more.
_FACTS = {
    "is_withheld": bool, "best": Maybe(int), "is_best_rejected": Maybe(bool), "level": Maybe(_PROBABILITY),
    "findings": Maybe([_FINDING]), "whiteness": Maybe((_FINDING, None)), "strengths": Maybe((_STRENGTHS, None)),
    "zero_rows": Maybe(int),
    "units": Maybe(dict), "smallest_p": Maybe(_PROBABILITIES), "p": Maybe(_PROBABILITIES),
    "cannot_exclude": Maybe([str]), "is_complete": Maybe(bool),
    "unlisted": Maybe({"p": _PROBABILITY, "smallest_p": _PROBABILITY, "is_excluded": bool}),
    "replicate_noise": Maybe({"signal": float, "replicates": float, "stated": ([float], None)}),
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
_CONTRADICTION = {"streams": [{"stream": str, "kept": int, "nearest": int, "says": _SAYS}], "common": int}
_DIGESTS = {
    "bank": (HASH, None), "question": HASH, "protocol": HASH, "data": HASH, "chain": HASH, "document": HASH
}  # fmt: skip
DOCUMENT: Form = {
    "format": FORMAT, "version": VERSION, "program": {"physupport": _VERSION, "numpy": _VERSION, "python": _VERSION},
    "fields": [_FIELD], "claims": [_CLAIM], "outcome": _OUTCOME, "gate": (_GATE, None),
    "contradiction": Maybe(_CONTRADICTION), "edges": [_EDGE],
    "protocol": _PROTOCOL, "data": _HASHES,
    "trace": {"queries": ANY, "codes": ANY, "lower": ANY, "upper": ANY},
    "question": _QUESTION, "bank": (dict, None), "digests": _DIGESTS,
}  # fmt: skip


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
    check_form(document, DOCUMENT)
    for number, entry in enumerate(document["fields"]):
        for name in _TOLD.get(document["question"]["kind"], ()):
            if name not in entry["numbers"]:
                raise MisuseError(f"document.fields[{number}].numbers", f"have {name}", "no such number")


def document_hash(document: Mapping[str, Any]) -> str:
    """The hash of all but itself, whether it stands in there already or not."""
    digests = {name: value for name, value in document["digests"].items() if name != "document"}
    return content_hash({**document, "digests": digests})

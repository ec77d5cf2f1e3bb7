"""The form of a document: which names stand where, and what kind of value each has.

Whether what stands there is true is for `verify` to say.  Version 1 held sentences as well; they are not looked at.
"""

import math
from collections.abc import Mapping
from typing import Any

from .._errors import MisuseError
from .._hashes import content_hash
from .._stored import ANY, HASH, Check, Form, Maybe, check_form
from ..questions import Label

FORMAT, VERSION = "physupport report", 2


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
_EXPLANATION = {"explanation": int, "margin": _MARGIN, "says": _SAYS}
_FIELD: Form = {
    "field": str, "label": tuple(str(label) for label in Label), "cell": [str], "group": (str, None),
    "numbers": _NUMBERS, "certificate": str, "witnesses": [_EXPLANATION], "excluded": (_EXPLANATION, None),
}  # fmt: skip
_OUTCOME: Form = {
    "status": str, "ending": str, "is_certified": bool, "queries": int, "budget": int, "witnessed": int,
    "possible": int, "indeterminate": int,
}  # fmt: skip
_STREAM = {
    "name": str, "rows": int, "width": int, "fraction": float, "proposal_rows": HASH, "checkpoints": [int],
    "law": dict, "numerator": dict,
}  # fmt: skip
_PROTOCOL = {
    "bank": (HASH, None), "size": int, "question": dict, "level": float, "judge": Maybe(dict), "seed": int,
    "streams": [_STREAM],
    "proposals": [int], "plausibility": (HASH, None), "policy": dict, "budget": int, "until_witnessed": bool,
}  # fmt: skip
_DIGESTS = {
    "bank": (HASH, None), "question": HASH, "protocol": HASH, "data": HASH, "chain": HASH, "document": HASH
}  # fmt: skip
_SENTENCE = {"sentence": str}
DOCUMENT: Form = {
    "format": FORMAT, "version": VERSION, "program": {"physupport": str, "numpy": str, "python": str},
    "fields": [_FIELD], "outcome": _OUTCOME, "protocol": _PROTOCOL, "data": _HASHES,
    "trace": {"queries": ANY, "codes": ANY, "lower": ANY, "upper": ANY},
    "question": _QUESTION, "bank": (dict, None), "digests": _DIGESTS,
}  # fmt: skip
# By version.
DOCUMENTS: Mapping[int, Form] = {
    1: DOCUMENT | {"version": 1, "fields": [_FIELD | _SENTENCE], "outcome": _OUTCOME | _SENTENCE},
    VERSION: DOCUMENT,
}
# By kind of question: the numbers of a field that its sentence tells.
_TOLD: Mapping[str, tuple[str, ...]] = {
    "regional map": (
        "tolerance", "witnessed_spread", "possible_present", "possible_absent", "possible_at_threshold",
        "witnessed_present", "witnessed_absent",
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

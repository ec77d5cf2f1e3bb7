"""The form of a document: which names stand where, and what kind of value each has."""

from typing import Any

from ._document import FORMAT, VERSION, Refusal

# A form is a type, a tuple of forms of which one must fit, a list with the form of all entries, a table of forms by
# name, a constant that must stand there as it is, or HASH for a SHA-256 in hexadecimal.
Form = Any
ANY = object()
HASH = object()

_EXPLANATION = {"explanation": int, "margin": [(float, str)], "says": ANY}
_FIELD = {
    "field": str, "label": str, "cell": [str], "group": (str, None), "numbers": ANY, "certificate": str,
    "witnesses": [_EXPLANATION], "excluded": (_EXPLANATION, None), "sentence": str,
}  # fmt: skip
_OUTCOME = {
    "status": str, "ending": str, "is_certified": bool, "queries": int, "budget": int, "witnessed": int,
    "possible": int, "indeterminate": int, "sentence": str,
}  # fmt: skip
_LAW = {"kind": str, "noises": [float], "laws": [ANY], "is_complex": bool}
_STREAM = {
    "name": str, "rows": int, "width": int, "fraction": float, "proposal_rows": HASH, "checkpoints": [int],
    "law": (_LAW, _LAW | {"kind": "profiled mean", "box": dict}), "numerator": dict,
}  # fmt: skip
_PROTOCOL = {
    "bank": (HASH, None), "size": int, "question": dict, "level": float, "seed": int, "streams": [_STREAM],
    "proposals": [int], "plausibility": (HASH, None), "policy": dict, "budget": int, "until_witnessed": bool,
}  # fmt: skip
_DIGESTS = {
    "bank": (HASH, None), "question": HASH, "protocol": HASH, "data": HASH, "chain": HASH, "document": HASH
}  # fmt: skip
DOCUMENT: Form = {
    "format": FORMAT, "version": VERSION, "program": {"physupport": str, "numpy": str, "python": str},
    "fields": [_FIELD], "outcome": _OUTCOME, "protocol": _PROTOCOL, "data": dict,
    "trace": {"queries": ANY, "codes": ANY, "lower": ANY, "upper": ANY},
    "question": dict, "bank": (dict, None), "digests": _DIGESTS,
}  # fmt: skip


def check_form(value: object, form: Form = DOCUMENT, where: str = "document") -> None:
    """Refuse a value that has not exactly this form: no name may be missing, and none may be added."""
    if not _fits(value, form):
        raise Refusal(f"{where} is malformed")
    if isinstance(form, tuple):
        return
    if isinstance(form, dict) and isinstance(value, dict):
        if value.keys() != form.keys():
            raise Refusal(f"{where} has other names than {', '.join(form)}")
        for name, inner in form.items():
            check_form(value[name], inner, f"{where}.{name}")
    elif isinstance(form, list) and isinstance(value, list):
        for number, entry in enumerate(value):
            check_form(entry, form[0], f"{where}[{number}]")


def _fits(value: object, form: Form) -> bool:
    if form is ANY:
        return True
    if form is HASH:
        return isinstance(value, str) and len(value) == 64 and {*value} <= {*"0123456789abcdef"}
    if isinstance(form, tuple):
        return any(_fits_wholly(value, choice) for choice in form)
    if isinstance(form, type):
        return type(value) is form  # True is an int, but not a number here
    if isinstance(form, dict | list):
        return isinstance(value, type(form))
    return type(value) is type(form) and value == form


def _fits_wholly(value: object, form: Form) -> bool:
    try:
        check_form(value, form)
    except Refusal:
        return False
    return True

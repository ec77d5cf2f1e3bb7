"""The form of a document as far as a report is read from it; whether it is true is for `verify` to say."""

from collections.abc import Mapping
from typing import Any

from .._errors import MisuseError
from ..questions import Label

FORMAT, VERSION = "physupport report", 1

# Of each part, the type of every value that a report reads from there; what else stands in it is not looked at.
_NUMBER = (int, float)
_NAMED: Mapping[str, type | tuple[type, ...]] = {"explanation": int, "margin": list, "says": dict}
_FIELD: Mapping[str, type | tuple[type, ...]] = {
    "field": str, "label": str, "sentence": str, "cell": list, "group": (str, type(None)), "numbers": dict,
    "certificate": str, "witnesses": list, "excluded": (dict, type(None)),
}  # fmt: skip
_PARTS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "outcome": {
        "status": str, "ending": str, "sentence": str, "queries": int, "budget": int, "witnessed": int, "possible": int,
    },
    "protocol": {"level": _NUMBER, "size": int, "seed": int, "question": dict, "streams": list},
    "digests": {"question": str, "protocol": str, "data": str, "chain": str, "document": str},
    "program": {},
    "trace": {},
    "question": {"kind": str},
    "data": {},
}  # fmt: skip


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse what is no report, or only a part of one."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        value = f"{document.get('format')!r}, version {document.get('version')!r}"
        raise MisuseError("document", f"be a {FORMAT!r}, version {VERSION}", value)
    for name, form in _PARTS.items():
        _check(document.get(name), form, name)
    fields = document.get("fields")
    if not isinstance(fields, list):
        raise MisuseError("document", "have a list of fields", type(fields).__name__)
    for number, entry in enumerate(fields):
        _check_field(entry, f"fields[{number}]")


def _check_field(entry: object, where: str) -> None:
    found = _check(entry, _FIELD, where)
    if found["label"] not in [str(label) for label in Label]:
        raise MisuseError("document", f"have a label in {where}", repr(found["label"]))
    if not all(isinstance(name, str) for name in found["cell"]):
        raise MisuseError("document", f"have texts in the cell of {where}", found["cell"])
    for named in [*found["witnesses"], *([] if found["excluded"] is None else [found["excluded"]])]:
        _check_margin(_check(named, _NAMED, f"an explanation of {where}")["margin"], where)


def _check_margin(margin: list[object], where: str) -> None:
    is_bound = [value in ("inf", "-inf") if isinstance(value, str) else isinstance(value, _NUMBER) for value in margin]
    if is_bound != [True, True]:
        raise MisuseError("document", f"have two bounds in every margin of {where}", margin)


def _check(value: object, form: Mapping[str, type | tuple[type, ...]], where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise MisuseError("document", f"have an object {where}", type(value).__name__)
    for name, kind in form.items():
        if name not in value:
            raise MisuseError("document", f"be whole, with {name} in {where}", "one without it")
        if not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise MisuseError("document", f"be a report as it was saved, with a proper {name} in {where}", value[name])
    return value

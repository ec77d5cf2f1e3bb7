"""One sentence for what a project file breaks first: the file, the key, the rule, the value."""

from collections.abc import Callable, Mapping
from typing import Any

from .._errors import MisuseError

# What pydantic calls a broken rule, and how we say it; what it knows of the rule is filled in.
_RULES = {
    "missing": "be given",
    "greater_than": "be above {gt:g}",
    "greater_than_equal": "be at least {ge:g}",
    "less_than": "be below {lt:g}",
    "less_than_equal": "be at most {le:g}",
    "finite_number": "be finite",
    "float_type": "be a number",
    "int_type": "be a whole number",
    "int_from_float": "be a whole number",
    "string_type": "be a text",
    "string_too_short": "be a text that is not empty",
    "list_type": "be a list",
    "tuple_type": "be a list",
    "dict_type": "be a table",
    "model_type": "be a table",
    "model_attributes_type": "be a table",
    "too_short": "hold at least one entry",
    "literal_error": "be {expected}",
    "string_pattern_mismatch": "be written module:function",
}


def misuse(details: Mapping[str, Any], name: Callable[[str], str]) -> MisuseError:
    """An error of pydantic as one of ours.  name: key -> how it is called in messages."""
    key, context = _key(details["loc"]), dict(details.get("ctx", {}))
    kind = details["type"]
    if kind == "rule":
        return MisuseError(name(key), context["rule"], context["value"], context["remedy"])
    rule = _RULES.get(kind, f"keep a rule ({details['msg']})").format(**context)
    value = "nothing" if kind == "missing" else _shown(details["input"])
    return MisuseError(name(key), rule, value)


def _key(place: tuple[int | str, ...]) -> str:
    """The place of a value as keys joined by dots; branches of a choice, in <>, are no keys."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith("<"):
            text += f".{part}" if text else part
    return text


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

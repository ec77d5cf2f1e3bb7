"""Reading a document strictly: anything that could be read in two ways is a finding."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._stored import Refusal as Refusal
from .._stored import real as real
from .._stored import whole as whole
from .._typing import Array

Node = Mapping[str, Any]

FORMAT, VERSION = "physupport report", 1


def parse(text: str) -> dict[str, Any]:
    """Strict JSON with distinct names and finite numbers."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refusal("a name stands twice in one object")
        return dict(pairs)

    def refuse(name: str) -> Any:  # noqa: ANN401
        raise Refusal(f"{name} is no JSON number")

    def finite(digits: str) -> float:
        return float(digits) if math.isfinite(float(digits)) else refuse(digits)

    try:
        document = json.loads(text, object_pairs_hook=distinct, parse_constant=refuse, parse_float=finite)
    except ValueError as error:
        raise Refusal(f"not JSON: {error}") from None
    except RecursionError:
        raise Refusal("nested too deeply") from None
    if not isinstance(document, dict):
        raise Refusal("not a JSON object")
    return document


def hashed(value: object) -> str:
    """SHA-256 of the canonical form: sorted keys, no blanks, ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def bounds(node: object, count: int) -> Array:
    """(count,) bounds of margins, which may be infinite."""
    if isinstance(node, dict):
        return real(node, count)
    if not isinstance(node, list) or len(node) != count:
        raise Refusal(f"there are not {count} bounds of margins")
    return np.array([bound(value) for value in node], dtype=np.float64)


def bound(value: object) -> float:
    """One bound: a number, or one of the texts `inf` and `-inf`."""
    if isinstance(value, float):
        return value
    if value in ("inf", "-inf"):
        return float(str(value))
    raise Refusal(f"{value!r} is no bound of a margin")

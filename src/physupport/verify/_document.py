"""Reading a document strictly: anything that could be read in two ways is a finding."""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array

Node = Mapping[str, Any]

FORMAT, VERSION = "physupport report", 1


class Refusal(Exception):
    """A finding: the document does not bear out what it says."""


def parse(text: str) -> dict[str, Any]:
    """Strict JSON with distinct names and finite numbers."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refusal("a name stands twice in one object")
        return dict(pairs)

    def refuse(name: str) -> Any:  # noqa: ANN401
        raise Refusal(f"{name} is no JSON number")

    try:
        document = json.loads(text, object_pairs_hook=distinct, parse_constant=refuse)
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


def real(node: object, *shape: int | None) -> Array:
    """A float64 array of this shape; None leaves an axis free."""
    return np.asarray(_array(node, "real", shape), dtype=np.float64)


def whole(node: object, *shape: int | None) -> NDArray[np.int64]:
    """An int64 array of this shape."""
    return np.asarray(_array(node, "whole", shape), dtype=np.int64)


def _array(node: object, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    names = {"type", "shape"}
    if not isinstance(node, dict) or {*node} not in (names | {"values"}, names | {"packed"}) or node["type"] != kind:
        raise Refusal(f"an array of {kind} numbers is malformed")
    if "packed" in node:
        raw = zlib.decompress(base64.b64decode(node["packed"], validate=True))
        flat = np.frombuffer(raw, dtype="<f8" if kind == "real" else "<i8")
    else:
        wanted: tuple[type, ...] = (int, float) if kind == "real" else (int,)
        if not all(isinstance(value, wanted) and not isinstance(value, bool) for value in node["values"]):
            raise Refusal(f"an array of {kind} numbers holds something else")
        flat = np.array(node["values"], dtype=np.float64 if kind == "real" else np.int64)
    array = flat.reshape(node["shape"])
    is_fitting = len(array.shape) == len(shape) and list(array.shape) == node["shape"]
    if not is_fitting or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True)):
        raise Refusal(f"an array has shape {array.shape}")
    if kind == "real" and not np.isfinite(array).all():
        raise Refusal("an array holds a number that is not finite")
    return array


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

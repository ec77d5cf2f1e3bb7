"""Reading a document strictly: anything that could be read in two ways is a finding."""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array

Node = Mapping[str, Any]

FORMAT, VERSION = "physupport report", 1

# zlib makes nothing more than 1032 times smaller, so a shape that promises more is not that of what is packed.
_MOST_PACKED = 1040


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
    declared = node["shape"]
    if not isinstance(declared, list) or not all(type(axis) is int and axis >= 0 for axis in declared):
        raise Refusal(f"an array has {declared!r} for a shape")
    if len(declared) != len(shape) or any(want not in (None, have) for want, have in zip(shape, declared, strict=True)):
        raise Refusal(f"an array has shape {tuple(declared)}")
    flat = _unpacked(node["packed"], kind, math.prod(declared)) if "packed" in node else _listed(node["values"], kind)
    if len(flat) != math.prod(declared):
        raise Refusal(f"an array of shape {tuple(declared)} has {len(flat)} entries")
    array = flat.reshape(declared)
    if kind == "real" and not np.isfinite(array).all():
        raise Refusal("an array holds a number that is not finite")
    return array


def _listed(values: object, kind: str) -> NDArray[Any]:
    wanted: tuple[type, ...] = (int, float) if kind == "real" else (int,)
    if not isinstance(values, list) or not all(isinstance(v, wanted) and not isinstance(v, bool) for v in values):
        raise Refusal(f"an array of {kind} numbers holds something else")
    return np.array(values, dtype=np.float64 if kind == "real" else np.int64)


def _unpacked(packed: str, kind: str, count: int) -> NDArray[Any]:
    """Exactly this many numbers: no more memory is taken than they need, and no more are promised than can be there."""
    compressed = base64.b64decode(packed, validate=True)
    if 8 * count > _MOST_PACKED * len(compressed):
        raise Refusal(f"an array of {count} numbers is packed into {len(compressed)} bytes")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(compressed, 8 * count + 1)
    if len(raw) != 8 * count or not unpacker.eof or unpacker.unused_data:
        raise Refusal("a packed array does not have the entries that its shape declares")
    return np.frombuffer(raw, dtype="<f8" if kind == "real" else "<i8")


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

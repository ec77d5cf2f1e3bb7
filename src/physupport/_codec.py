"""Values as JSON can hold them exactly, there and back."""

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import MisuseError
from ._typing import Array, IntArray

# Longer arrays are packed: a list of numbers is for reading, and nobody reads this many.
MOST_LISTED = 4096
# zlib makes nothing more than 1032 times smaller, so a shape that promises more is not that of what is packed.
_MOST_PACKED = 1040


def described(name: str, value: object) -> dict[str, object]:
    """A description as JSON holds it, with lists for tuples and texts for names, so that it comes back the same."""
    try:
        plain = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise MisuseError(name, "describe itself in what JSON can hold", error) from None
    if type(plain) is not dict:
        raise MisuseError(name, "describe itself as names with values", type(plain).__name__)
    return plain


def array_json(array: NDArray[np.float64] | NDArray[np.int64]) -> dict[str, object]:
    """An array of finite numbers: its type and shape, and its entries in C order, listed or packed.

    packed: base64 of zlib of the entries as little-endian 8-byte numbers.
    """
    is_real = array.dtype.kind == "f"
    flat = np.ascontiguousarray(array, dtype="<f8" if is_real else "<i8").reshape(-1)
    if is_real and not np.isfinite(flat).all():
        raise MisuseError("array", "be finite", "a number that is not")
    content: dict[str, object] = {"type": "real" if is_real else "whole", "shape": list(array.shape)}
    if len(flat) <= MOST_LISTED:
        return content | {"values": flat.tolist()}
    return content | {"packed": base64.b64encode(zlib.compress(flat.tobytes(), 6)).decode("ascii")}


def bound_json(bound: float) -> float | str:
    """A bound of a margin; JSON has no infinities, so these are the texts `inf` and `-inf`."""
    return float(bound) if math.isfinite(bound) else ("inf" if bound > 0 else "-inf")


def bounds_json(bounds: Array) -> list[float | str] | dict[str, object]:
    """(k,) bounds as a list, or packed if there are many and all are finite."""
    if len(bounds) > MOST_LISTED and np.isfinite(bounds).all():
        return array_json(bounds)
    return [bound_json(bound) for bound in bounds.tolist()]


def real(node: object, *shape: int | None) -> Array:
    """The float64 array that `array_json` wrote, of this shape; None leaves an axis free."""
    return np.asarray(_array(node, "real", shape), dtype=np.float64)


def whole(node: object, *shape: int | None) -> IntArray:
    """The int64 array that `array_json` wrote, likewise."""
    return np.asarray(_array(node, "whole", shape), dtype=np.int64)


def bounds(node: object, count: int) -> Array:
    """(count,) bounds of margins, which may be infinite."""
    if type(node) is dict:
        return real(node, count)
    if type(node) is not list or len(node) != count:
        raise MisuseError("bounds", f"be {count}, one for each query", told(node))
    return np.array([bound(value) for value in node], dtype=np.float64)


def bound(value: object) -> float:
    """One bound: a number, or one of the texts `inf` and `-inf`."""
    if type(value) is not float and value not in ("inf", "-inf"):
        raise MisuseError("bound", "be a number, 'inf' or '-inf'", told(value))
    return float(value)


def _array(node: object, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    names = {"type", "shape"}
    if type(node) is not dict or {*node} not in (names | {"values"}, names | {"packed"}) or node["type"] != kind:
        raise MisuseError("array", f"be of {kind} numbers, with type, shape and values or packed", told(node))
    axes = node["shape"]
    if type(axes) is not list or not all(type(axis) is int and axis >= 0 for axis in axes):
        raise MisuseError("array", "have whole numbers for a shape", told(axes))
    if len(axes) != len(shape) or any(want not in (None, have) for want, have in zip(shape, axes, strict=True)):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise MisuseError("array", f"have the shape ({wanted})", tuple(axes))
    count = math.prod(axes)
    try:
        flat = _unpacked(node["packed"], kind, count) if "packed" in node else _listed(node["values"], kind)
    except (TypeError, OverflowError, ValueError, zlib.error) as error:
        raise MisuseError("array", f"hold the {kind} numbers that it declares", error) from None
    if len(flat) != count:
        raise MisuseError("array", f"have the {count} entries that its shape declares", len(flat))
    if kind == "real" and not np.isfinite(flat).all():
        raise MisuseError("array", "be finite", "a number that is not")
    return flat.reshape(axes)


def _listed(values: object, kind: str) -> NDArray[Any]:
    if type(values) is not list or not {*map(type, values)} <= ({int, float} if kind == "real" else {int}):
        raise ValueError("something else")
    return np.array(values, dtype=np.float64 if kind == "real" else np.int64)


def _unpacked(packed: str, kind: str, count: int) -> NDArray[Any]:
    """Exactly this many numbers: no more memory is taken than they need, and no more are promised than can be there."""
    compressed = base64.b64decode(packed, validate=True)
    if 8 * count > _MOST_PACKED * len(compressed):
        raise ValueError(f"{count} numbers packed into {len(compressed)} bytes")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(compressed, 8 * count + 1)
    if len(raw) != 8 * count or not unpacker.eof or unpacker.unused_data:
        raise ValueError("not the packed entries that its shape declares")
    return np.frombuffer(raw, dtype="<f8" if kind == "real" else "<i8")


def told(value: object) -> str:
    """A value as a message may show it: what is long, by its type."""
    is_short = isinstance(value, str | int | float | None) and len(repr(value)) < 80
    return repr(value) if is_short else type(value).__name__


def dumped(document: Mapping[str, object]) -> str:
    """A document as text, one line for each of its parts."""
    parts = [f"{json.dumps(name)}: {json.dumps(part, allow_nan=False)}" for name, part in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def loaded(text: str, name: str = "report") -> dict[str, Any]:
    """The document in a text; a name given twice, NaN and infinities are refused, as they can be read in two ways."""
    try:
        document = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refused, parse_float=_finite)
    except ValueError as error:
        raise MisuseError(name, "be strict JSON", error) from None
    except RecursionError:
        raise MisuseError(name, "be strict JSON", "objects or lists nested too deeply") from None
    if type(document) is not dict:
        raise MisuseError(name, "be a JSON object", type(document).__name__)
    return document


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return content


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is larger than any float64")
    return value


def _refused(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")

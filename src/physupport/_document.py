"""Values as JSON can hold them exactly, and the hashes of such values."""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ._errors import MisuseError
from ._typing import Array

# Longer arrays are packed: a list of numbers is for reading, and nobody reads this many.
MOST_LISTED = 4096


def canonical(value: object) -> bytes:
    """The one way to write a JSON value: sorted keys, no blanks, ASCII; numbers as Python prints them.

    Python prints the shortest digits that give the same float64 back.  NaN and infinities are refused.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def described(name: str, value: object) -> dict[str, object]:
    """A description as JSON holds it, with lists for tuples and texts for names, so that it comes back the same."""
    try:
        plain = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise MisuseError(name, "describe itself in what JSON can hold", error) from None
    if not isinstance(plain, dict):
        raise MisuseError(name, "describe itself as names with values", type(plain).__name__)
    return plain


def content_hash(value: object) -> str:
    """SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


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


def rows_hash(blocks: Iterable[Array], shape: tuple[int, int]) -> str:
    """SHA-256 of rows: the two numbers of the shape, then the entries, all as little-endian 8-byte numbers."""
    sha = hashlib.sha256(np.array(shape, dtype="<i8").tobytes())
    for block in blocks:
        sha.update(np.ascontiguousarray(block, dtype="<f8").tobytes())
    return sha.hexdigest()


def chain_hash(start: str, queries: Iterable[int], codes: Iterable[int], margins: Iterable[tuple[float, float]]) -> str:
    """The hash at the end of a chain in which each query's hash covers the one before.

    Each link is SHA-256 of the text `previous|explanation|code|lower|upper`, bounds as C prints them in hexadecimal.
    """
    link = start
    for e, code, (lower, upper) in zip(queries, codes, margins, strict=True):
        link = hashlib.sha256(f"{link}|{e}|{code}|{lower.hex()}|{upper.hex()}".encode("ascii")).hexdigest()
    return link


def chain_start(protocol: str, data: str) -> str:
    """What the chain begins with: the sealed protocol and the data."""
    return hashlib.sha256(f"{protocol}|{data}".encode("ascii")).hexdigest()


def dumped(document: Mapping[str, object]) -> str:
    """A document as text, one line for each of its parts."""
    parts = [f"{json.dumps(name)}: {json.dumps(part, allow_nan=False)}" for name, part in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def loaded(text: str) -> dict[str, object]:
    """The document in a text; a name given twice, NaN and infinities are refused, as they can be read in two ways."""
    try:
        document = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refused, parse_float=_finite)
    except ValueError as error:
        raise MisuseError("report", "be strict JSON", error) from None
    except RecursionError:
        raise MisuseError("report", "be strict JSON", "objects or lists nested too deeply") from None
    if not isinstance(document, dict):
        raise MisuseError("report", "be a JSON object", type(document).__name__)
    return document


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is larger than any float64")
    return value


def _refused(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")

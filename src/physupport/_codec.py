"""Values as JSON can hold them exactly, there and back, and hashes of these.

Hashes of protocols and reports are SHA-256, in hexadecimal, of bytes that are the same on every machine.  Stored values
are read strictly by pydantic: anything that could be read in two ways is refused.
"""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from math import log
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from ._errors import Clause, MisuseError, PhysupportError
from ._typing import Array, IntArray


def canonical(value: object) -> bytes:
    """The one way to write a JSON value: sorted keys, no blanks, ASCII; numbers as Python prints them.

    Python prints the shortest digits that give the same float64 back.  NaN and infinities are refused.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def content_hash(value: object) -> str:
    """The hash of a JSON value."""
    return hashlib.sha256(canonical(value)).hexdigest()


def pieces_hash(*pieces: str | NDArray[np.generic]) -> str:
    """The hash of texts in UTF-8 and entries of arrays, one after the other; shapes are for the caller to add."""
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece.encode("utf-8") if isinstance(piece, str) else _little(piece))
    return sha.hexdigest()


def file_hash(path: Path) -> str:
    """The hash of a file as it is, as other programs give it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_hash(blocks: Iterable[NDArray[np.generic]], shape: tuple[int, ...]) -> str:
    """The hash of rows: the numbers of the shape, then the entries row by row; of a complex one both parts."""
    sha = rows_hasher(shape)
    for block in blocks:
        add_rows(sha, block)
    return sha.hexdigest()


def rows_hasher(shape: tuple[int, ...]) -> "hashlib._Hash":
    """The hash of rows before the first of them; `add_rows` adds the next ones."""
    return hashlib.sha256(np.array(shape, dtype="<i8").tobytes())


def add_rows(sha: "hashlib._Hash", block: NDArray[np.generic]) -> None:
    """The next rows."""
    numbers = block.astype(np.complex128 if block.dtype.kind == "c" else np.float64, copy=False)
    sha.update(_little(numbers + 0.0))  # adding zero turns -0 into 0


def draws_seed(seed: int, data: Mapping[str, str]) -> int:
    """The seed of all that a judge draws, from the seed of a protocol and the hashes of the judged rows, by name.

    Rows of another data set give other draws, so that one frozen protocol keeps its level over data sets.  Nothing else
    enters: who tries other policies, budgets, questions or levels on the same rows meets the same draws.
    """
    return int(content_hash({"data": dict(data), "seed": int(seed)}), 16)


def rows_seed(seed: int, rows: NDArray[np.generic]) -> int:
    """The same for rows that no protocol holds, as they are stored."""
    return draws_seed(seed, {"rows": rows_hash([rows], rows.shape)})


def array_digest(array: NDArray[np.generic]) -> dict[str, object]:
    """An array by its shape and the hash of its entries: what stands for it in a dump that is hashed."""
    kind = "real" if array.dtype.kind == "f" else "whole"
    return {"type": kind, "shape": list(array.shape), "sha256": pieces_hash(array)}


def chain_hash(protocol: str, data: str, queries: IntArray, codes: NDArray[np.integer], margins: Array) -> str:
    """The end of a chain in which each query's hash covers the one before; it begins with the protocol and the data.

    Each link is the hash of the text `previous|explanation|code|lower|upper`, bounds as C prints them in hexadecimal.
    """
    link = pieces_hash(f"{protocol}|{data}")
    for e, code, (lower, upper) in zip(queries.tolist(), codes.tolist(), margins.tolist(), strict=True):
        link = pieces_hash(f"{link}|{e}|{code}|{lower.hex()}|{upper.hex()}")
    return link


def _little(array: NDArray[np.generic]) -> memoryview:
    """The entries in C order as little-endian numbers of 8 bytes, complex ones as two."""
    kind = {"c": "<c16", "f": "<f8"}.get(array.dtype.kind, "<i8")
    return np.ascontiguousarray(array, dtype=kind).reshape(-1).view(np.uint8).data


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
        raise MisuseError("array", "be finite", Clause("it has a number that is not"))
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
    """The schema of one bound: a number, or one of the texts `inf` and `-inf`."""
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
        raise MisuseError("array", "be finite", Clause("it has a number that is not"))
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


# An object of a document.
Node = Mapping[str, Any]

# What pydantic calls a broken rule, and how we say it.
_WORDS = {
    "string_type": "a text", "int_type": "a whole number", "is_instance_of": "a number", "bool_type": "true or false",
    "dict_type": "an object", "list_type": "a list", "form": "{words}", "greater_than": "above {gt}",
}  # fmt: skip


class Refusal(PhysupportError):
    """A finding: the document does not bear out what it says."""


def in_words(words: str) -> WrapValidator:
    """Name a form as a whole in messages: "two numbers" instead of what is wrong with the second."""

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("form", "{words}", {"words": words}) from None

    return WrapValidator(check)


# pydantic takes a whole number for a float; a document does not.
Real = InstanceOf[float]
TWO = Field(min_length=2, max_length=2)
NONE = Field(max_length=0)
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$"), in_words("a SHA-256 in hexadecimal")]


def check_form(value: object, form: object, where: str = "document") -> Any:  # noqa: ANN401  what the form says
    """The value, if it has exactly this form: no name may be missing, and none may be added.

    form: a type for pydantic, or the types of a table by name.
    """
    try:
        _reader(tuple(form.items()) if type(form) is dict else form).validate_python([value])
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        _, *place = details["loc"]
        if details["type"] in ("missing", "extra_forbidden"):
            name = place.pop()
            is_missing = details["type"] == "missing"
            rule = f"hold {told(name)}" if is_missing else "have no other names than the format has"
            found = "none" if is_missing else f"also {told(name)}"
        else:
            words = "{expected}" if details["type"] == "literal_error" else _WORDS.get(details["type"], details["msg"])
            rule = f"be {words.format(**details.get('ctx', {})).replace(', ', ' or ')}"
            found = told(details["input"])
        path = "".join(f".{step}" if type(step) is str else f"[{step}]" for step in place)
        raise MisuseError(f"{where}{path}", rule, found) from None
    return value


@cache
def _reader(form: object) -> TypeAdapter[Any]:
    """A list of this form, since the configuration of a list holds for the tables in it as well.

    form: a type, or pairs of name and type of a table; equal ones share one reader.
    """
    entry = TypedDict("Node", dict(form)) if type(form) is tuple else form  # type: ignore[operator]
    return TypeAdapter(list[entry], config=ConfigDict(strict=True, extra="forbid"))  # type: ignore[valid-type]


# Both bounds of a margin are proven, so they need not agree to the last digit between machines; where they differ by
# more than their usual width of about 1e-9, they are not those of the same rows.
MARGIN_TOLERANCE = 1e-6
# Other facts follow from protocol and rows up to the last digits; p-values are as near as margins, in their logarithm.
_FACT_TOLERANCE = 1e-12
_LEAST_P = 1e-300
_MISSING = object()


def differences(stored: Any, derived: Any, path: str, source: str, *, rounds: bool = False) -> Iterator[str]:  # noqa: ANN401
    """A sentence for each entry that is not the derived one, with its path.

    source: what the derived value comes from, in words.  rounds: numbers may differ by what another machine rounds.
    """
    if type(stored) is type(derived) is dict:
        for name in dict.fromkeys([*stored, *derived]):
            entries = stored.get(name, _MISSING), derived.get(name, _MISSING)
            yield from differences(*entries, f"{path}.{name}" if path else name, source, rounds=rounds)
    elif type(stored) is type(derived) is list:
        for number, entries in enumerate(zip_longest(stored, derived, fillvalue=_MISSING)):
            yield from differences(*entries, f"{path}[{number}]", source, rounds=rounds)
    elif derived is _MISSING:
        yield f"{path}: the report says {told(stored)}, but {source} nothing"
    elif stored is _MISSING:
        yield f"{path}: the report says nothing, but {source} {told(derived)}"
    elif (type(stored) is not type(derived) or stored != derived) and not (
        rounds and _is_near(stored, derived, is_p="p" in path.replace("[", ".").split("."))
    ):
        yield f"{path}: the report says {told(stored)}, but {source} {told(derived)}"


def _is_near(mine: object, other: object, *, is_p: bool) -> bool:
    """True if rounding may lie between two numbers.

    Of p-values the logarithm is compared, as that of a margin is: they are shares of draws, or tails and evidence whose
    exponent is known to so many digits.  One draw more or less is refused, as it is where it changes a margin: it would
    have to lie within rounding of the rows.
    """
    if type(mine) is not float or type(other) is not float:
        return False
    if is_p and min(mine, other) >= 0.0:
        mine, other = (log(max(p, _LEAST_P)) for p in (mine, other))
        return abs(mine - other) <= MARGIN_TOLERANCE * (1.0 + abs(other))
    return abs(mine - other) <= _FACT_TOLERANCE * max(abs(other), 1.0)


Made = TypeVar("Made")


def read_back(what: str, stored: Node, read: Callable[[Any], Made]) -> Made:
    """Return what is read from a stored value, if that writes the same value again; refuse it otherwise.

    This finds names that are missing or added, and values of another type: no form of its own is needed.
    """
    try:
        made = read(stored)
        check_written(what, stored, cast(Any, made).encode(), "")
    except (KeyError, TypeError, AttributeError) as error:
        raise MisuseError(what, "be as a run writes it", f"{type(error).__name__}: {error}") from None
    return made


def check_written(what: str, stored: Node, again: dict[str, object], path: str) -> None:
    """Raise if an object is written otherwise than a run writes it: what decides nothing is shown to readers, too.

    again: what the object that was made of the stored value writes.
    """
    for difference in differences(stored, described(what, again), path, "a run writes"):
        raise MisuseError(what, "be as a run writes it", difference)

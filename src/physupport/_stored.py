"""Stored values read strictly: anything that could be read in two ways is refused."""

import base64
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import PhysupportError
from ._typing import Array

# A form is a type, a tuple of forms of which one must fit, a list with the form of all entries, a table of forms by
# name, a constant that must stand there as it is, or HASH for a SHA-256 in hexadecimal.
Form = Any
ANY = object()
HASH = object()

# zlib makes nothing more than 1032 times smaller, so a shape that promises more is not that of what is packed.
_MOST_PACKED = 1040


class Refusal(PhysupportError):
    """A finding: the document does not bear out what it says."""


def check_form(value: object, form: Form, where: str = "document") -> None:
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

"""What a folder of a map says of itself, read as what anybody may have changed: one message names the file."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._codec import loaded, whole
from .._errors import MisuseError, misuse_named
from .._stored import Check, Form, check_form
from ._blocks import Blocks

_AGAIN = "Delete it: the same call makes it again."
_COUNT = Check("a whole number above 0", lambda value: type(value) is int and value > 0)
_FILE = Check("the name of an array", lambda value: isinstance(value, str) and value.isidentifier())
_SHARE = {"rate": float, "signals": int, "level": float, "statements": int}
# Of map.json, what is used of a map that is there; the digest covers the others.
_ABOUT: dict[str, Form] = {
    "digest": str, "protocol": dict, "shape": [_COUNT], "block": _COUNT, "axes": [str], "bands": [str], "unit": str,
    "level": float, "levels": [float], "arrays": [_FILE],
    "regions": [{"name": str, "elements": [str], "groups": [str]}],
    "slots": dict, "outsiders": [str], "labels": [str], "gates": [str], "share": (None, _SHARE), "is_complete": bool,
}  # fmt: skip
# What the map that is asked for has as well, whoever began it.
_SAME = ("shape", "block", "level", "arrays", "regions", "slots", "outsiders", "labels", "gates")


def damaged(path: Path, found: str, remedy: str = _AGAIN) -> MisuseError:
    """A file of a map that is not what was written."""
    return MisuseError(str(path), "be as the map was written", found, remedy)


def file_bytes(path: Path, size: int | None = None) -> bytes:
    """All of a file, which must have this size if one is given."""
    try:
        if not path.is_file():
            raise damaged(path, "no file")
        if size is not None and (found := path.stat().st_size) != size:
            raise damaged(path, f"{found} bytes instead of {size}")
        return path.read_bytes()
    except OSError as error:
        raise MisuseError(str(path), "be readable", error.strerror) from None


def document(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        text = file_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MisuseError(str(path), "be strict JSON in UTF-8", error) from None
    return loaded(text, str(path))


def check_about(path: Path, about: dict[str, Any]) -> dict[str, Any]:
    """What map.json says, of a form that all who use it can rely on."""
    with misuse_named(lambda argument: f"{path}: {argument}"):
        for name, form in _ABOUT.items():
            check_form(about.get(name), form, name)
        slots = whole(about["slots"], None, len(about["regions"]))
    sizes = [len(region["elements"]) for region in about["regions"]]
    if len(about["axes"]) != len(about["shape"]) or not about["shape"]:
        raise damaged(path, "other axes than lengths")
    if not ((slots >= -1) & (slots < sizes)).all():
        raise damaged(path, "slots outside its regions")
    return about


def check_same_about(path: Path, earlier: dict[str, Any], about: dict[str, Any]) -> None:
    """Refuse a map.json that says something else than its digest stands for."""
    differing = [name for name in _SAME if earlier[name] != about[name]]
    are_same = len(earlier["levels"]) == len(about["levels"]) and np.allclose(
        earlier["levels"], about["levels"], rtol=1e-9, atol=0.0  # machines may round powers differently
    )  # fmt: skip
    if differing or not are_same:
        raise damaged(path, f"another {(*differing, 'levels')[0]}")


def check_declared(path: Path, about: dict[str, Any], blocks: Blocks) -> dict[str, Any]:
    """What .zarray says of an array with one chunk a block."""
    axes = len(blocks.shape)
    with misuse_named(lambda argument: f"{path}: {argument}"):
        for name, form in {"shape": [_COUNT], "chunks": [_COUNT], "dtype": _NUMBERS}.items():
            check_form(about.get(name), form, name)
    shape, chunks = tuple(about["shape"]), tuple(about["chunks"])
    if shape[:axes] != blocks.shape or chunks[:axes] != blocks.chunk or shape[axes:] != chunks[axes:]:
        raise damaged(path, f"shape {shape} in chunks of {chunks}")
    return about


_NUMBERS = Check("a type of numbers", lambda value: isinstance(value, str) and value in ("|u1", "<i2", "<i4", "<f8"))


def check_entries(path: Path, name: str, values: NDArray[Any], about: dict[str, Any]) -> None:
    """Refuse numbers of labels, groups, gates, levels and explanations that there are none of."""
    groups = [max(1, len(region["groups"])) for region in about["regions"]]  # what is not asked about stays 0
    most = {
        "label": len(about["labels"]), "group": groups, "gate": len(about["gates"]),
        "evidence": len(about["levels"]) + 1, "best": about["slots"]["shape"][0],
    }.get(name.removeprefix("share_"))  # fmt: skip
    if most is not None and not ((values >= -1) & (values < np.array(most))).all():
        raise damaged(path, "numbers that stand for nothing")

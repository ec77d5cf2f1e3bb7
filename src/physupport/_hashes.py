"""What protocols and reports are hashed by: SHA-256, in hexadecimal, of bytes that are the same on every machine."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._typing import Array, IntArray

# One named piece of content: an array, or texts in order.
Record = tuple[str, NDArray[np.float64] | NDArray[np.int64] | tuple[str, ...]]


def canonical(value: object) -> bytes:
    """The one way to write a JSON value: sorted keys, no blanks, ASCII; numbers as Python prints them.

    Python prints the shortest digits that give the same float64 back.  NaN and infinities are refused.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def content_hash(value: object) -> str:
    """Of a JSON value."""
    return hashlib.sha256(canonical(value)).hexdigest()


def pieces_hash(*pieces: str | NDArray[np.generic]) -> str:
    """Of texts in UTF-8 and the entries of arrays, one after the other; shapes are for the caller to add."""
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece.encode("utf-8") if isinstance(piece, str) else _little(piece))
    return sha.hexdigest()


def file_hash(path: Path) -> str:
    """Of a file as it is, as other programs give it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_hash(blocks: Iterable[NDArray[np.generic]], shape: tuple[int, ...]) -> str:
    """Of rows: the numbers of the shape, then the entries row by row; a complex one as its real and imaginary part."""
    sha = rows_hasher(shape)
    for block in blocks:
        add_rows(sha, block)
    return sha.hexdigest()


def rows_hasher(shape: tuple[int, ...]) -> "hashlib._Hash":
    """The hash of rows before the first of them; `add_rows` adds the next ones."""
    return hashlib.sha256(np.array(shape, dtype="<i8").tobytes())


def add_rows(sha: "hashlib._Hash", block: NDArray[np.generic]) -> None:
    """The next rows."""
    sha.update(_little(block if block.dtype.kind == "c" else block.astype(np.float64, copy=False)))


def records_hash(records: Iterable[Record]) -> str:
    """Of named contents, each preceded by its length or shape, so that no two contents give the same bytes."""
    sha = hashlib.sha256()
    for name, content in records:
        sha.update(_text(name))
        if isinstance(content, tuple):
            sha.update(_text("texts") + _numbers(1, len(content)) + b"".join(map(_text, content)))
        else:
            kind = "real" if content.dtype.kind == "f" else "whole"
            sha.update(_text(kind) + _numbers(content.ndim, *content.shape))
            sha.update(_little(content))
    return sha.hexdigest()


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


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    return _numbers(len(data)) + data


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)

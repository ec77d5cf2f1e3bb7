"""Hashes of protocols and reports: SHA-256, in hexadecimal, of bytes that are the same on every machine."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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

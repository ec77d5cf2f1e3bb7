"""A map on disk: a Zarr group of arrays in chunks that are filled block by block, and what they are about.

The layout is that of Zarr's second format without compression, so that a chunk is the bytes of its numbers: it is
written here, and read by zarr, xarray and whatever else knows the format.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from shutil import disk_usage
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import dumped
from .._errors import MisuseError
from .._files import hidden_beside, npy_bytes, to_disk, write_whole
from ._blocks import Blocks
from ._damage import check_about, check_declared, check_entries, check_same_about, damaged, document, file_bytes

_ABOUT, _GROUP = "map.json", "map.zarr"
_WRITABLE = "be a folder that can be made and written to"


@final
@dataclass(frozen=True, eq=False)  # no slots: blocks are counted when first asked for
class Store:
    """Arrays with one entry a signal; a block counts as done when its hash is written.

    A process that is killed leaves blocks that are done and blocks that are not: whoever goes on does the others, and
    the files are the same bytes as those of a run that nobody stopped.
    """

    folder: Path
    about: dict[str, Any]

    @classmethod
    def begin(cls, folder: Path, about: dict[str, Any]) -> "Store":
        """A new folder, or one that was begun for the same map."""
        path = folder / _ABOUT
        if os.path.exists(path):
            if not path.is_file():  # a pipe may never end
                raise MisuseError("out", f"have a file {_ABOUT}", f"{folder}, where it is none")
            with _remedied("Delete the folder, or name another."):
                earlier = document(path)
            if earlier.get("digest") != about["digest"]:
                rule = "be a new folder, or that of the same map: signals, bank, question, judge, level and rate"
                raise MisuseError("out", rule, f"{folder}, which holds another")
            with _remedied("Delete the folder, or name another."):
                check_same_about(path, check_about(path, earlier), about)
            _make(folder / _GROUP)
            return cls(folder, earlier)
        killed = hidden_beside(path).name  # before there was anything else
        if folder.exists() and (not folder.is_dir() or {each.name for each in folder.iterdir()} - {killed}):
            raise MisuseError("out", "be a new folder or an empty one", str(folder), "Name another.")
        _make(folder)
        store = cls(folder, about)
        store.write_about()
        _make(folder / _GROUP)
        return store

    def check_room(self) -> None:
        """Refuse to begin what the disk has no room for; every array has been added."""
        sizes = [len(self.blocks) * _chunk_bytes(about) for about in map(self._declared, self.names)]
        there = sum(path.stat().st_size for path in self.group.rglob("*") if path.is_file())
        if (free := disk_usage(self.folder).free) < sum(sizes) - there:
            wanted = f"{(sum(sizes) - there) / 1e9:.2g} GB more for the arrays"
            raise MisuseError("out", f"be on a disk with room for {wanted}", f"{free / 1e9:.2g} GB")

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """A folder that is there."""
        path = folder / _ABOUT
        if not path.is_file():
            raise MisuseError("map", f"be a folder with {_ABOUT}", str(folder))
        with _remedied("The map has to be made again."):
            return cls(folder, check_about(path, document(path)))

    def write_about(self) -> None:
        """In one step, so that a kill leaves the old or the new one whole."""
        _write(self.folder / _ABOUT, dumped(self.about).encode("utf-8"))

    @property
    def group(self) -> Path:
        """The folder of the Zarr group."""
        return self.folder / _GROUP

    @cached_property
    def blocks(self) -> Blocks:
        """Of the signals."""
        return Blocks(tuple(self.about["shape"]), int(self.about["block"]))

    def add(self, name: str, dtype: str, further: dict[str, int], attributes: dict[str, Any]) -> None:
        """An array of one entry a signal, or several along further axes, none of them written yet."""
        shape = (*self.blocks.shape, *further.values())
        chunks = (*self.blocks.chunk, *further.values())
        _declare(self.group / name, dtype, shape, chunks, [*self.about["axes"], *further], attributes)

    def add_whole(self, name: str, values: NDArray[Any], axes: list[str], attributes: dict[str, Any]) -> None:
        """A small array, such as where along an axis the signals lie."""
        given = np.ascontiguousarray(values)
        _declare(self.group / name, given.dtype.str, given.shape, given.shape, axes, attributes)
        _write(self.group / name / ".".join("0" * given.ndim), given.tobytes())

    def finish(self, attributes: dict[str, Any]) -> None:
        """What the group is about, and the words on all arrays in one file, for who opens many.

        Chunks that nobody had anything to write into are written as 0: readers differ in what they take a lack for.
        """
        for name in self.names:
            about = self._declared(name)
            for block in range(len(self.blocks)):
                if not self._is_whole(name, about, block):
                    _write(self._path(name, about, block), np.zeros(about["chunks"], dtype=about["dtype"]).tobytes())
        _write(self.group / ".zgroup", _json({"zarr_format": 2}))
        _write(self.group / ".zattrs", _json(attributes))
        files = sorted(path for ending in (".zgroup", ".zarray", ".zattrs") for path in self.group.rglob(ending))
        known = {path.relative_to(self.group).as_posix(): json.loads(path.read_text("utf-8")) for path in files}
        _write(self.group / ".zmetadata", _json({"zarr_consolidated_format": 1, "metadata": known}))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the arrays with an entry a signal."""
        return tuple(self.about["arrays"])

    def array(self, name: str) -> NDArray[Any]:
        """All of an array; entries that are not written yet are 0."""
        about = self._declared(name)
        try:
            out = np.zeros(about["shape"], dtype=about["dtype"])
        except (MemoryError, ValueError):
            raise MisuseError("map", "have arrays that memory has room for", f"{name}, {about['shape']}") from None
        for block in range(len(self.blocks)):
            out[self.blocks.slices(block)] = self._chunk(name, about, block)
        return out

    def entry(self, name: str, index: tuple[int, ...]) -> NDArray[Any]:
        """What an array says of one signal."""
        block, within = self.blocks.of(index)
        return np.asarray(self._chunk(name, self._declared(name), block)[within])

    def read(self, name: str, block: int) -> NDArray[Any]:
        """(S, ...) the entries of a block."""
        found = self._chunk(name, self._declared(name), block)
        return found.reshape(-1, *found.shape[len(self.blocks.shape) :])

    def write(self, pieces: dict[str, NDArray[Any]], block: int) -> None:
        """Entries (S, ...) of all signals of a block."""
        for name, piece in pieces.items():
            about, slices = self._declared(name), self.blocks.slices(block)
            further = tuple(about["shape"][len(slices) :])
            whole = np.zeros((*self.blocks.chunk, *further), dtype=about["dtype"])
            sizes = tuple(part.stop - part.start for part in slices)
            whole[tuple(slice(size) for size in sizes)] = piece.reshape(*sizes, *further)
            _write(self._path(name, about, block), whole.tobytes())

    def is_done(self, layer: str) -> NDArray[np.bool_]:
        """(blocks,) whose hashes are written."""
        return np.asarray(self.hashes(layer).any(axis=1))

    def hashes(self, layer: str) -> NDArray[np.uint8]:
        """(blocks, 32) of the signals of a block, 0 before it is done."""
        path, blank = self._hashes_path(layer), npy_bytes(np.zeros((len(self.blocks), 32), dtype=np.uint8))
        if not os.path.lexists(path):
            _write(path, blank)
        with _remedied("Delete it: the same call does all blocks again."):
            held, start = file_bytes(path, len(blank)), len(blank) - 32 * len(self.blocks)
            if held[:start] != blank[:start]:
                raise damaged(path, "another beginning")
        return np.frombuffer(held[start:], dtype=np.uint8).reshape(-1, 32)

    def mark(self, layer: str, block: int, digest: str) -> None:
        """A block is done, of signals with this hash; of 0s, it is not done."""
        path, before_end = self._hashes_path(layer), 32 * (len(self.blocks) - block)
        try:
            with path.open("r+b") as file:
                file.seek(-before_end, os.SEEK_END)
                file.write(bytes.fromhex(digest))
            to_disk(path)
        except OSError as error:
            raise _unwritable(path, error) from None

    def unmark_damaged(self, layer: str, names: Iterable[str]) -> None:
        """Blocks of a layer count as not done where a chunk of one of its arrays is lost or cut."""
        declared = {name: self._declared(name) for name in names}
        for block in np.flatnonzero(self.is_done(layer)).tolist():
            if not all(self._is_whole(name, about, block) for name, about in declared.items()):
                self.mark(layer, block, bytes(32).hex())

    def has_all_chunks(self) -> bool:
        """Whether every chunk of every array has its size."""
        declared = {name: self._declared(name) for name in self.names}
        blocks = range(len(self.blocks))
        return all(self._is_whole(name, about, block) for name, about in declared.items() for block in blocks)

    def _hashes_path(self, layer: str) -> Path:
        return self.folder / f"{layer}_hashes.npy"

    def _declared(self, name: str) -> dict[str, Any]:
        path = self.group / name / ".zarray"
        if not path.is_file():
            raise MisuseError("map", f"have {name}", f"none in {self.folder}", "The map may not be finished.")
        with _remedied("Delete it: the same call makes it again."):
            return check_declared(path, document(path), self.blocks)

    def _is_whole(self, name: str, about: dict[str, Any], block: int) -> bool:
        path = self._path(name, about, block)
        return path.is_file() and path.stat().st_size == _chunk_bytes(about)

    def _path(self, name: str, about: dict[str, Any], block: int) -> Path:
        further = [0] * (len(about["shape"]) - len(self.blocks.shape))
        return self.group / name / ".".join(map(str, [*self.blocks.place(block), *further]))

    def _chunk(self, name: str, about: dict[str, Any], block: int) -> NDArray[Any]:
        """The part of an array that a block covers."""
        path, sizes = self._path(name, about, block), [part.stop - part.start for part in self.blocks.slices(block)]
        if not (self.about["is_complete"] or path.is_file()):
            return np.zeros((*sizes, *about["shape"][len(sizes) :]), dtype=about["dtype"])
        whole = np.frombuffer(file_bytes(path, _chunk_bytes(about)), dtype=about["dtype"]).reshape(about["chunks"])
        check_entries(path, name, whole, self.about)
        return np.asarray(whole[tuple(slice(size) for size in sizes)])


def _declare(
    path: Path, dtype: str, shape: tuple[int, ...], chunks: tuple[int, ...], axes: list[str], attributes: dict[str, Any]
) -> None:
    kind = np.dtype(dtype)
    about = {
        "zarr_format": 2,
        "shape": [*shape],
        "chunks": [*chunks],
        "dtype": kind.newbyteorder("<").str,
        "compressor": None,
        "fill_value": None,  # or else readers that mask would take it for missing
        "order": "C",
        "filters": None,
    }
    _make(path)
    for name, content in {".zarray": _json(about), ".zattrs": _json({"_ARRAY_DIMENSIONS": axes, **attributes})}.items():
        if not (path / name).is_file() or file_bytes(path / name) != content:
            _write(path / name, content)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode("ascii")


def _chunk_bytes(about: dict[str, Any]) -> int:
    size: int = prod(about["chunks"]) * np.dtype(about["dtype"]).itemsize
    return size


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError("out", _WRITABLE, f"{folder} ({error})") from None


def _write(path: Path, content: bytes) -> None:
    """A file is there as a whole or not at all."""
    try:
        write_whole(path, content, follow=False)  # no run makes links: what one leads to is not of the map
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> MisuseError:
    return MisuseError("out", _WRITABLE, f"{path} ({error.strerror})", "What is done stays: the same call goes on.")


@contextmanager
def _remedied(remedy: str) -> Iterator[None]:
    """Say with all misuse met in here what to do."""
    try:
        yield
    except MisuseError as error:
        raise type(error)(error.argument, error.rule, error.value, remedy) from None

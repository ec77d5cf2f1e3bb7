"""A map on disk: a Zarr group of arrays in chunks that are filled block by block, and what they are about.

The layout is that of Zarr's second format without compression, so that a chunk is the bytes of its numbers: it is
written here, and read by zarr, xarray and whatever else knows the format.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from shutil import disk_usage
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import dumped, loaded
from .._errors import MisuseError
from .._files import hidden_beside, npy_bytes, write_whole

_ABOUT, _GROUP = "map.json", "map.zarr"


@final
@dataclass(frozen=True, eq=False)  # no slots: counts are taken when first asked for
class Blocks:
    """Signals along axes (shape) in blocks of consecutive ones, each of which is one chunk of the arrays."""

    shape: tuple[int, ...]
    most: int  # signals of a block

    @cached_property
    def chunk(self) -> tuple[int, ...]:
        """Whole axes at the end, as many as there is room for, part of the one before, and 1 along the others."""
        chunk, room = [], self.most
        for length in reversed(self.shape):
            taken = min(length, max(room, 1))
            chunk.append(taken)
            room = room // length if taken == length else 0
        return tuple(reversed(chunk))

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Blocks along each axis."""
        return tuple(-(-length // size) for length, size in zip(self.shape, self.chunk, strict=True))

    def __len__(self) -> int:
        return prod(self.grid)

    def place(self, block: int) -> tuple[int, ...]:
        """Its place in the grid."""
        return tuple(int(i) for i in np.unravel_index(block, self.grid))

    def slices(self, block: int) -> tuple[slice, ...]:
        """The part of the axes that it covers."""
        return tuple(
            slice(i * size, min((i + 1) * size, length))
            for i, size, length in zip(self.place(block), self.chunk, self.shape, strict=True)
        )

    def range(self, block: int) -> tuple[int, int]:
        """The first of its signals, in the order of their axes, and the one after the last."""
        slices = self.slices(block)
        start = int(np.ravel_multi_index([part.start for part in slices], self.shape))
        return start, start + prod(part.stop - part.start for part in slices)

    def of(self, index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The block of a signal, and its place within."""
        place = tuple(i // size for i, size in zip(index, self.chunk, strict=True))
        within = tuple(i % size for i, size in zip(index, self.chunk, strict=True))
        return int(np.ravel_multi_index(place, self.grid)), within


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
        if path.exists():
            if not path.is_file():  # a pipe may never end
                raise MisuseError("out", f"have a file {_ABOUT}", f"{folder}, where it is none")
            earlier = loaded(path.read_text(encoding="utf-8"), str(path))
            if earlier.get("digest") != about["digest"]:
                rule = "be a new folder, or that of the same map: signals, bank, question and level"
                raise MisuseError("out", rule, f"{folder}, which holds another")
            (folder / _GROUP).mkdir(exist_ok=True)
            return cls(folder, earlier)
        killed = hidden_beside(path).name  # before there was anything else
        if folder.exists() and (not folder.is_dir() or {each.name for each in folder.iterdir()} - {killed}):
            raise MisuseError("out", "be a new folder or an empty one", str(folder), "Name another.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MisuseError("out", "be a folder that can be made and written to", f"{folder} ({error})") from None
        store = cls(folder, about)
        store.write_about()
        (folder / _GROUP).mkdir(exist_ok=True)
        return store

    def check_room(self) -> None:
        """Refuse to begin what the disk has no room for; every array has been added."""
        sizes = [prod((len(self.blocks), *about["chunks"])) * np.dtype(about["dtype"]).itemsize
                 for about in map(self._declared, self.names)]  # fmt: skip
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
        return cls(folder, loaded(path.read_text(encoding="utf-8"), str(path)))

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
                if not (path := self._path(name, about, block)).is_file():
                    _write(path, np.zeros(about["chunks"], dtype=about["dtype"]).tobytes())
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
        out = np.zeros(about["shape"], dtype=about["dtype"])
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

    def hashes(self, layer: str, mode: str = "r") -> NDArray[np.uint8]:
        """(blocks, 32) of the signals of a block, 0 before it is done."""
        path = self.folder / f"{layer}_hashes.npy"
        if not path.exists():
            # A map of a file that the disk has no room for would end the process.
            _write(path, npy_bytes(np.zeros((len(self.blocks), 32), dtype=np.uint8)))
        return np.lib.format.open_memmap(path, mode=mode)

    def hash_of(self, layer: str, block: int) -> str:
        """Of the signals that a block was done for."""
        return bytes(self.hashes(layer)[block]).hex()

    def mark(self, layer: str, block: int, digest: str) -> None:
        """A block is done, of signals with this hash."""
        hashes = self.hashes(layer, "r+")
        hashes[block] = np.frombuffer(bytes.fromhex(digest), dtype=np.uint8)
        hashes.flush()  # type: ignore[attr-defined]  # a memory map

    def _declared(self, name: str) -> dict[str, Any]:
        path = self.group / name / ".zarray"
        if not path.is_file():
            raise MisuseError("map", f"have {name}", f"none in {self.folder}", "The map may not be finished.")
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found

    def _path(self, name: str, about: dict[str, Any], block: int) -> Path:
        further = [0] * (len(about["shape"]) - len(self.blocks.shape))
        return self.group / name / ".".join(map(str, [*self.blocks.place(block), *further]))

    def _chunk(self, name: str, about: dict[str, Any], block: int) -> NDArray[Any]:
        """The part of an array that a block covers."""
        path, sizes = self._path(name, about, block), [part.stop - part.start for part in self.blocks.slices(block)]
        if not path.is_file():
            return np.zeros((*sizes, *about["shape"][len(sizes) :]), dtype=about["dtype"])
        whole = np.frombuffer(path.read_bytes(), dtype=about["dtype"]).reshape(about["chunks"])
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
    path.mkdir(exist_ok=True)
    _write(path / ".zarray", _json(about))
    _write(path / ".zattrs", _json({"_ARRAY_DIMENSIONS": axes, **attributes}))


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode("ascii")


def _write(path: Path, content: bytes) -> None:
    """A file is there as a whole or not at all."""
    try:
        write_whole(path, content)
    except OSError as error:
        rule, remedy = "be a folder that can be made and written to", "What is done stays: the same call goes on."
        raise MisuseError("out", rule, f"{path} ({error.strerror})", remedy) from None

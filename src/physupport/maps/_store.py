"""A map on disk: a Zarr group of arrays in chunks that are filled block by block, and what they are about.

The layout is that of Zarr's second format without compression, so that a chunk is the bytes of its numbers: it is
written here, and read by zarr, xarray and whatever else knows the format.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from shutil import disk_usage
from typing import Annotated, Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from .._codec import Real, check_form, dumped, in_words, loaded, whole
from .._errors import Clause, MisuseError, misuse_named
from .._files import hidden_beside, lock, npy_bytes, to_disk, write_whole


@final
@dataclass(frozen=True, eq=False)  # no slots: counts are taken when first asked for
class Blocks:
    """Signals along axes (shape) in blocks of consecutive ones, each of which is one chunk of the arrays."""

    shape: tuple[int, ...]
    most: int  # signals of a block

    @cached_property
    def chunk(self) -> tuple[int, ...]:
        """Whole axes at the end, as many as there is room for, part of the one before, and 1 along the others."""
        chunk = []
        room = self.most
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

    def of(self, index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The block of a signal, and its place within."""
        place = tuple(i // size for i, size in zip(index, self.chunk, strict=True))
        within = tuple(i % size for i, size in zip(index, self.chunk, strict=True))
        return int(np.ravel_multi_index(place, self.grid)), within


# Arrays with an entry a signal: types, and the axis of entries of several numbers, one a region or bytes of a set.
_FIELDS = {
    "label": ("|u1", "region"), "group": ("<i2", "region"), "kept": ("|u1", "byte"), "best": ("<i4", ""),
    "amplitude": ("<f8", ""), "noise": ("<f8", ""), "outsider": ("<i4", ""), "gate": ("|u1", ""),
    "misfit": ("<f8", ""), "evidence": ("|u1", "region"), "fits_from": ("<f8", ""), "stands_to": ("<f8", "region"),
}  # fmt: skip
# Arrays of the first layer that only maps by evidence have: the answer as a function of the error of the responses.
WIDTH = ("fits_from", "stands_to", "read_label", "read_group", "read_kept")
# The arrays of each layer.
LAYERS = {
    "first": (*(name for name in _FIELDS if name not in WIDTH),),
    "share": ("share_label", "share_group", "share_kept"),
}

_AGAIN = "Delete it: the same call makes it again."
_Count = Annotated[int, Field(gt=0), in_words("a whole number above 0")]
_Array = Annotated[Literal[*LAYERS["first"], *WIDTH, *LAYERS["share"]], in_words("the name of an array")]  # type: ignore[valid-type]
_Share = TypedDict("_Share", {"rate": Real, "signals": int, "level": Real, "statements": int})
_Region = TypedDict("_Region", {"name": str, "elements": list[str], "groups": list[str]})
# Of map.json, what is used of a map that is there; the digest covers the others.
_ABOUT_FORM: dict[str, object] = {
    "digest": str, "protocol": dict[str, Any], "shape": list[_Count], "block": _Count, "axes": list[str],
    "bands": list[str], "unit": str, "level": Real, "levels": list[Real], "arrays": list[_Array],
    "regions": list[_Region], "slots": dict[str, Any], "outsiders": list[str], "labels": list[str],
    "gates": list[str],
    "share": Annotated[_Share | None, in_words("null or an object")], "is_complete": bool,
}  # fmt: skip
# What the map that is asked for has as well, whoever began it.
_SAME = ("shape", "block", "level", "arrays", "regions", "slots", "outsiders", "labels", "gates")


def damaged(path: Path, found: str, remedy: str = _AGAIN) -> MisuseError:
    """Make the error for a file of a map that differs from what was written."""
    return MisuseError(str(path), "be as the map was written", found, remedy)


def is_own(path: Path) -> bool:
    """True if a path is a file and no link, as runs make no links."""
    return path.is_file() and not path.is_symlink()


def file_bytes(path: Path, size: int | None = None) -> bytes:
    """Read a file; raise unless it has the given size."""
    try:
        if not is_own(path):
            raise damaged(path, "a link" if path.is_symlink() else "no file")
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
    """Return the content of map.json, of a form that all who use it can rely on."""
    with misuse_named(lambda argument: f"{path}: {argument}"):
        for name, form in _ABOUT_FORM.items():
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


def check_entries(path: Path, name: str, values: NDArray[Any], about: dict[str, Any]) -> None:
    """Refuse numbers of labels, groups, gates, levels and explanations that there are none of."""
    groups = [max(1, len(region["groups"])) for region in about["regions"]]  # what is not tested stays 0
    most = {
        "label": len(about["labels"]), "group": groups, "gate": len(about["gates"]),
        "evidence": len(about["levels"]) + 1, "best": about["slots"]["shape"][0],
    }.get(name.removeprefix("share_"))  # fmt: skip
    if most is not None and not ((values >= -1) & (values < np.array(most))).all():
        raise damaged(path, "numbers that stand for nothing")


_ABOUT = "map.json"
_GROUP = "map.zarr"
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
    @contextmanager
    def held(cls, folder: Path, about: dict[str, Any]) -> Iterator["Store"]:
        """A new folder, or one that was begun for the same map, held against other runs."""
        if folder.exists() and not folder.is_dir():
            raise MisuseError("out", "be a new folder or an empty one", str(folder), "Name another.")
        _make(folder)
        try:
            opened = lock(folder)
        except BlockingIOError:
            raise MisuseError(
                "out", "be written by one run at a time", Clause(f"another one writes to {folder}")
            ) from None
        try:
            yield cls._begin(folder, about)
        finally:
            if opened is not None:
                os.close(opened)

    @classmethod
    def _begin(cls, folder: Path, about: dict[str, Any]) -> "Store":
        path = folder / _ABOUT
        if os.path.lexists(path):
            if not is_own(path):  # a pipe may never end
                raise MisuseError("out", f"have a file {_ABOUT}", Clause(f"{folder} has none"))
            with _remedied("Delete the folder, or name another."):
                earlier = document(path)
            if earlier.get("digest") != about["digest"]:
                rule = "be a new folder, or that of the same map: signals, bank, question, judge, level and rate"
                raise MisuseError("out", rule, Clause(f"{folder} holds another"))
            with _remedied("Delete the folder, or name another."):
                check_same_about(path, check_about(path, earlier), about)
            _make(folder / _GROUP, within=True)
            return cls(folder, earlier)
        killed = hidden_beside(path).name  # before there was anything else
        if {each.name for each in folder.iterdir()} - {killed}:
            raise MisuseError("out", "be a new folder or an empty one", str(folder), "Name another.")
        store = cls(folder, about)
        store.write_about()
        _make(folder / _GROUP, within=True)
        return store

    def check_room(self) -> None:
        """Raise if the disk has too little room for the map."""
        sizes = [len(self.blocks) * self._chunk_bytes(name) for name in self.names]
        there = sum(path.stat().st_size for path in self.group.rglob("*") if path.is_file())
        if (free := disk_usage(self.folder).free) < sum(sizes) - there:
            wanted = f"{(sum(sizes) - there) / 1e9:.2g} GB more for the arrays"
            raise MisuseError(
                "out", f"be on a disk with room for {wanted}", Clause(f"{free / 1000000000.0:.2g} GB are free")
            )

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """A folder that is there."""
        path = folder / _ABOUT
        if not is_own(path):
            raise MisuseError("map", f"be a folder with {_ABOUT}", str(folder))
        with _remedied("The map has to be made again."):
            return cls(folder, check_about(path, document(path)))

    def write_about(self) -> None:
        """Write the description in one step, so that an interrupted write leaves the old one whole."""
        _write(self.folder / _ABOUT, dumped(self.about).encode("utf-8"))

    @property
    def group(self) -> Path:
        """The folder of the Zarr group."""
        return self.folder / _GROUP

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of the signals."""
        return Blocks(tuple(self.about["shape"]), int(self.about["block"]))

    def add(self, name: str, attributes: dict[str, Any]) -> None:
        """Declare an array, none of whose entries is written yet."""
        dtype, further = self._form(name)
        shape = (*self.blocks.shape, *further.values())
        chunks = (*self.blocks.chunk, *further.values())
        _declare(self.group / name, dtype, shape, chunks, [*self.about["axes"], *further], attributes)

    def _form(self, name: str) -> tuple[np.dtype[Any], dict[str, int]]:
        """The type of the numbers of an array, and the axis that it has beside those of the signals."""
        if name not in self.names:
            raise MisuseError("map", f"have {name}", Clause(f"there is none in {self.folder}"))
        dtype, axis = _FIELDS[name.removeprefix("share_").removeprefix("read_")]
        lengths = {"region": len(self.about["regions"]), "byte": -(-self.about["slots"]["shape"][0] // 8)}
        return np.dtype(dtype), {axis: lengths[axis]} if axis else {}

    def _chunk_bytes(self, name: str) -> int:
        dtype, further = self._form(name)
        return prod((*self.blocks.chunk, *further.values())) * dtype.itemsize

    def add_whole(self, name: str, values: NDArray[Any], axes: list[str], attributes: dict[str, Any]) -> None:
        """A small array, such as where along an axis the signals lie."""
        given = np.ascontiguousarray(values)
        _declare(self.group / name, given.dtype, given.shape, given.shape, axes, attributes)
        _write(self.group / name / ".".join("0" * given.ndim), given.tobytes())

    def finish(self, attributes: dict[str, Any]) -> None:
        """Write the attributes of the group, and the metadata of all arrays in one file.

        Chunks that nobody had anything to write into are written as 0: readers differ in what they take a lack for.
        """
        for name in self.names:
            for block in range(len(self.blocks)):
                if not self._is_whole(name, block):
                    _write(self._path(name, block), bytes(self._chunk_bytes(name)))
        _write(self.group / ".zgroup", _json({"zarr_format": 2}))
        _write(self.group / ".zattrs", _json(attributes))
        whole = [name for name in (*self.about["axes"], "region") if (self.group / name).exists()]
        files = [f"{name}/{file}" for name in (*self.names, *whole) for file in (".zarray", ".zattrs")]
        known = {name: document(self.group / name) for name in (*files, ".zattrs", ".zgroup")}
        _write(self.group / ".zmetadata", _json({"zarr_consolidated_format": 1, "metadata": known}))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays with an entry a signal."""
        return tuple(self.about["arrays"])

    def of_layer(self, layer: str) -> tuple[str, ...]:
        """The names of the arrays of a layer that this map has."""
        known = {*LAYERS[layer], *(WIDTH if layer == "first" else ())}
        return tuple(name for name in self.names if name in known)

    def array(self, name: str) -> NDArray[Any]:
        """Read an array; entries that are not written yet are 0."""
        dtype, further = self._form(name)
        shape = (*self.blocks.shape, *further.values())
        try:
            out = np.zeros(shape, dtype=dtype)
        except (MemoryError, ValueError):
            raise MisuseError("map", "have arrays that memory has room for", f"{name}, {shape}") from None
        for block in range(len(self.blocks)):
            out[self.blocks.slices(block)] = self._chunk(name, block)
        return out

    def entry(self, name: str, index: tuple[int, ...]) -> NDArray[Any]:
        """The entry of one signal in an array."""
        block, within = self.blocks.of(index)
        return np.asarray(self._chunk(name, block)[within])

    def read(self, name: str, block: int) -> NDArray[Any]:
        """(S, ...) the entries of a block."""
        found = self._chunk(name, block)
        return found.reshape(-1, *found.shape[len(self.blocks.shape) :])

    def write(self, pieces: dict[str, NDArray[Any]], block: int) -> None:
        """Entries (S, ...) of all signals of a block."""
        sizes = [part.stop - part.start for part in self.blocks.slices(block)]
        for name, piece in pieces.items():
            dtype, further = self._form(name)
            whole = np.zeros((*self.blocks.chunk, *further.values()), dtype=dtype)
            whole[tuple(map(slice, sizes))] = piece.reshape(*sizes, *further.values())
            _write(self._path(name, block), whole.tobytes())

    def is_done(self, layer: str) -> NDArray[np.bool_]:
        """(blocks,) whose hashes are written."""
        return np.asarray(self.hashes(layer).any(axis=1))

    def hashes(self, layer: str) -> NDArray[np.uint8]:
        """(blocks, 32) of the signals of a block, 0 before it is done."""
        path = self._hashes_path(layer)
        blank = npy_bytes(np.zeros((len(self.blocks), 32), dtype=np.uint8))
        if not os.path.lexists(path):
            _write(path, blank)
        with _remedied("Delete it: the same call does all blocks again."):
            held = file_bytes(path, len(blank))
            start = len(blank) - 32 * len(self.blocks)
            if held[:start] != blank[:start]:
                raise damaged(path, "another beginning")
        return np.frombuffer(held[start:], dtype=np.uint8).reshape(-1, 32)

    def mark(self, layer: str, block: int, digest: str) -> None:
        """A block is done, of signals with this hash; of 0s, it is not done."""
        path = self._hashes_path(layer)
        before_end = 32 * (len(self.blocks) - block)
        try:
            with path.open("r+b") as file:
                file.seek(-before_end, os.SEEK_END)
                file.write(bytes.fromhex(digest))
            to_disk(path)
        except OSError as error:
            raise _unwritable(path, error) from None

    def unmark_damaged(self, layer: str) -> None:
        """Blocks of a layer count as not done where a chunk of one of its arrays is lost or cut."""
        for block in np.flatnonzero(self.is_done(layer)).tolist():
            if not all(self._is_whole(name, block) for name in self.of_layer(layer)):
                self.mark(layer, block, bytes(32).hex())

    def has_all_chunks(self) -> bool:
        """True if every chunk of every array has its size."""
        return all(self._is_whole(name, block) for name in self.names for block in range(len(self.blocks)))

    def _hashes_path(self, layer: str) -> Path:
        return self.folder / f"{layer}_hashes.npy"

    def _is_whole(self, name: str, block: int) -> bool:
        path = self._path(name, block)
        return is_own(path) and path.stat().st_size == self._chunk_bytes(name)

    def _path(self, name: str, block: int) -> Path:
        places = [*self.blocks.place(block), *(0 for _ in self._form(name)[1])]
        return self.group / name / ".".join(map(str, places))

    def _chunk(self, name: str, block: int) -> NDArray[Any]:
        """The part of an array that a block covers."""
        dtype, further = self._form(name)
        path = self._path(name, block)
        if self.about["is_complete"] or os.path.lexists(path):
            held = file_bytes(path, self._chunk_bytes(name))
        else:
            held = bytes(self._chunk_bytes(name))
        whole = np.frombuffer(held, dtype=dtype).reshape(*self.blocks.chunk, *further.values())
        check_entries(path, name, whole, self.about)
        return np.asarray(whole[tuple(slice(part.stop - part.start) for part in self.blocks.slices(block))])


def _declare(
    path: Path,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    axes: list[str],
    attributes: dict[str, Any],
) -> None:
    about = {
        "zarr_format": 2,
        "shape": [*shape],
        "chunks": [*chunks],
        "dtype": dtype.newbyteorder("<").str,
        "compressor": None,
        "fill_value": None,  # or else readers that mask would take it for missing
        "order": "C",
        "filters": None,
    }
    _make(path, within=True)
    for name, content in {".zarray": _json(about), ".zattrs": _json({"_ARRAY_DIMENSIONS": axes, **attributes})}.items():
        _write(path / name, content)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode("ascii")


def _make(folder: Path, *, within: bool = False) -> None:
    """Make a folder; within a map it must be no link."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError("out", _WRITABLE, Clause(f"{folder} is not ({error})")) from None
    if within and folder.is_symlink():
        raise damaged(folder, "a link")


def _write(path: Path, content: bytes) -> None:
    """A file is there as a whole or not at all; one with this content is left as it is."""
    if is_own(path):
        if path.stat().st_size == len(content) and path.read_bytes() == content:
            return
    elif path.exists() and not (path.is_symlink() or path.is_dir()):
        raise damaged(path, "a pipe or a device")
    try:
        write_whole(path, content, follow=False)  # what a link leads to is not of the map
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> MisuseError:
    return MisuseError(
        "out",
        _WRITABLE,
        Clause(f"{path} is not ({error.strerror})"),
        "Finished blocks are kept: repeat the call to continue.",
    )


@contextmanager
def _remedied(remedy: str) -> Iterator[None]:
    """Say with all misuse met in here what to do."""
    try:
        yield
    except MisuseError as error:
        raise type(error)(error.argument, error.rule, error.value, remedy) from None

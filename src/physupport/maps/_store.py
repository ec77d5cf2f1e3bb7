"""A map on disk: a folder of .npy files that are filled block by block, and what they are about."""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import dumped, loaded
from .._errors import MisuseError

_ABOUT = "map.json"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Arrays with one entry a signal, each a memory map; a block counts as done when its hash is written.

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
            found = loaded(path.read_text(encoding="utf-8"), str(path))
            if found.get("digest") != about["digest"]:
                rule = "be a new folder, or that of the same map: signals, bank, question and level"
                raise MisuseError("out", rule, f"{folder}, which holds another")
            return cls(folder, found)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise MisuseError("out", "be a new folder or an empty one", str(folder), "Name another.")
        folder.mkdir(parents=True, exist_ok=True)
        store = cls(folder, about)
        store.write_about()
        return store

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """A folder that is there."""
        path = folder / _ABOUT
        if not path.is_file():
            raise MisuseError("map", f"be a folder with {_ABOUT}", str(folder))
        return cls(folder, loaded(path.read_text(encoding="utf-8"), str(path)))

    def write_about(self) -> None:
        """In one step, so that a kill leaves the old or the new one whole."""
        path = self.folder / _ABOUT
        part = path.with_suffix(".part")
        part.write_text(dumped(self.about), encoding="utf-8")
        part.replace(path)

    def add(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """An array of zeros, unless it is there."""
        path = self.folder / f"{name}.npy"
        if not path.exists():
            part = path.with_suffix(".part")
            np.lib.format.open_memmap(part, mode="w+", dtype=np.dtype(dtype), shape=shape).flush()
            part.replace(path)

    def array(self, name: str, *, is_written: bool = False) -> NDArray[Any]:
        """The memory map of an array."""
        path = self.folder / f"{name}.npy"
        if not path.is_file():
            raise MisuseError("map", f"have {name}", f"none in {self.folder}", "The map may not be finished.")
        return np.lib.format.open_memmap(path, mode="r+" if is_written else "r")

    def write(self, pieces: dict[str, NDArray[Any]], start: int) -> None:
        """Entries of consecutive signals, from a number on."""
        for name, piece in pieces.items():
            whole = self.array(name, is_written=True)
            leading = len(self.about["shape"])
            flat = whole.reshape(prod(whole.shape[:leading]), *whole.shape[leading:])
            flat[start : start + len(piece)] = piece
            whole.flush()  # type: ignore[attr-defined]  # a memory map

    def is_done(self, layer: str) -> NDArray[np.bool_]:
        """(blocks,) whose hashes are written."""
        return np.asarray(self.array(f"{layer}_hashes").any(axis=1))

    def mark(self, layer: str, block: int, digest: str) -> None:
        """A block is done, of signals with this hash."""
        hashes = self.array(f"{layer}_hashes", is_written=True)
        hashes[block] = np.frombuffer(bytes.fromhex(digest), dtype=np.uint8)
        hashes.flush()  # type: ignore[attr-defined]  # a memory map

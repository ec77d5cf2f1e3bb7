"""Example projects, written out for the user to run and to change."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._files import npy_bytes, write_whole

PROJECT_FILE: Final = "project.toml"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """The files of a project: texts as they stand, and arrays by name."""

    texts: dict[str, str]
    arrays: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """All file names, the project file first."""
        return (*self.texts, *self.arrays)


# Where each of them is made; the module is imported when its example is asked for.
_MODULES: Final = {
    "four-region": "four_region", "array": "array", "eeg": "eeg", "raman": "spectra", "soil": "spectra", "xrf": "xrf",
    "map": "map",
}  # fmt: skip


def _example_named(name: str) -> Example:
    module = import_module(f"._example_{_MODULES[name]}", __package__)
    example: Example = getattr(module, f"{name.replace('-', '_')}_example")()
    return example


EXAMPLES: Final[dict[str, Callable[[], Example]]] = {name: partial(_example_named, name) for name in _MODULES}


def write_example(folder: str | Path, example: str = "four-region") -> tuple[Path, ...]:
    """Write a project and its data; no file that is there already is touched."""
    folder = Path(folder)
    if example not in EXAMPLES:
        raise MisuseError("example", f"be one of {', '.join(EXAMPLES)}", repr(example))
    example_files = EXAMPLES[example]()
    for name in example_files.files:
        if (folder / name).exists():
            remedy = "Nothing was written: name another folder."
            raise MisuseError("folder", f"have no {name} yet", f"one in {folder.resolve()}", remedy)
    contents = {name: text.encode("utf-8") for name, text in example_files.texts.items()}
    contents |= {name: npy_bytes(array) for name, array in example_files.arrays.items()}
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_whole(folder / name, content)
    except OSError as error:
        with suppress(OSError):  # all of it or nothing: part of an example would stand in the way of the next try
            for name in contents:
                (folder / name).unlink(missing_ok=True)
            for path in missing:
                path.rmdir()
        raise MisuseError("folder", "be one that can be written", f"{folder} ({error.strerror})") from None
    return tuple(folder / name for name in example_files.files)


def csv_table(header: list[str], rows: list[list[object]]) -> str:
    """Lines of cells; numbers with all the digits that they need."""
    lines = [header, *([repr(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines)


def stored_text(name: str, **values: object) -> str:
    """A text of this package, with values in the places of names such as ${level}."""
    text = (files(__package__) / "data" / name).read_text(encoding="utf-8")
    return Template(text).substitute(values) if values else text

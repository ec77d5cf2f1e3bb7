"""Example projects, written out for the user to run and to change."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError

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


def _four_region() -> Example:
    from ._example_four_region import four_region_example

    return four_region_example()


def _array() -> Example:
    from ._example_array import array_example

    return array_example()


def _eeg() -> Example:
    from ._example_eeg import eeg_example

    return eeg_example()


def _raman() -> Example:
    from ._example_spectra import raman_example

    return raman_example()


def _soil() -> Example:
    from ._example_spectra import soil_example

    return soil_example()


def _xrf() -> Example:
    from ._example_xrf import xrf_example

    return xrf_example()


def _map() -> Example:
    from ._example_map import map_example

    return map_example()


EXAMPLES: Final[dict[str, Callable[[], Example]]] = {
    "four-region": _four_region,
    "array": _array,
    "eeg": _eeg,
    "raman": _raman,
    "soil": _soil,
    "xrf": _xrf,
    "map": _map,
}


def write_example(folder: str | Path, example: str = "four-region") -> tuple[Path, ...]:
    """Write a project and its data; no file that is there already is touched."""
    folder = Path(folder)
    if example not in EXAMPLES:
        raise MisuseError("example", f"be one of {', '.join(EXAMPLES)}", repr(example))
    made = EXAMPLES[example]()
    for name in made.files:
        if (folder / name).exists():
            remedy = "Nothing was written: name another folder."
            raise MisuseError("folder", f"have no {name} yet", f"one in {folder.resolve()}", remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
        for name, array in made.arrays.items():
            np.save(folder / name, array, allow_pickle=False)
    except OSError as error:
        raise MisuseError("folder", "be one that can be written", f"{folder} ({error.strerror})") from None
    return tuple(folder / name for name in made.files)


def csv_table(header: list[str], rows: list[list[object]]) -> str:
    """Lines of cells; numbers with all the digits that they need."""
    lines = [header, *([repr(each) if isinstance(each, float) else str(each) for each in row] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines)

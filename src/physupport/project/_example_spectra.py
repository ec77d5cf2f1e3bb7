"""Measured spectra: what is this sample, on an instrument that the library has not seen; what is this ground?"""

from importlib.resources import as_file, files

import numpy as np

from .._typing import Array
from ..io import read_archive
from ._example import PROJECT_FILE, Example, csv_table, stored_text


def raman_example() -> Example:
    """Nine instrument settings are the library, the tenth measured natural calcite."""
    return _example("raman", "nCAL", "TOP Horiba 633 nm 010", "cm-1", "sample")


def soil_example() -> Example:
    """The surface type of the signal is left out of the library."""
    return _example("soil", "road", "surface rpaeye", "nm", "ground")


def stored_spectra(name: str) -> tuple[Array, list[str], list[str], list[str]]:
    """(S, q) spectra, what each shows, its unit, and the places on the axis."""
    with as_file(files("physupport.project") / "data" / name) as path:
        content = read_archive(path)
    elements, units, axis = (list(map(str, content[key])) for key in ("elements", "units", "axis"))
    return content["spectra"].astype(np.float64), elements, units, axis


def _example(name: str, element: str, unit: str, axis_unit: str, region: str) -> Example:
    """The project of stored spectra.

    element, unit: what the signal truly is, and where it comes from; nothing else from there is in the library.
    """
    spectra, elements, units, axis = stored_spectra(f"{name}.npz")
    signal = [*zip(elements, units, strict=True)].index((element, unit))
    known = [s for s, other in enumerate(units) if other != unit]
    ids, channels = list(dict.fromkeys(elements)), [f"{place} {axis_unit}" for place in axis]
    lines: list[list[object]] = [[elements[s], units[s], *map(int, spectra[s])] for s in known]
    unit_norm = spectra / np.linalg.norm(spectra, axis=1)[:, None]
    means = [unit_norm[[s for s in known if elements[s] == one]].mean(axis=0) for one in ids]
    listed: list[list[object]] = [[one, region] for one in ids]
    return Example(
        {
            PROJECT_FILE: stored_text(f"{name}.toml"),
            "spectrum.csv": csv_table(channels, [[*map(int, spectra[signal])]]),
            "replicates.csv": csv_table(["element", "unit", *channels], lines),
            "elements.csv": csv_table(["id", "region"], listed),
            "NOTICE.md": stored_text("NOTICE.md"),
        },
        {"responses.npy": np.array(means).T},
    )

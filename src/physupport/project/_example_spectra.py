"""Measured spectra: what is this sample, on an instrument that the library has not seen; what is this ground?"""

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Final, final

import numpy as np

from .._typing import Array
from ..io import read_archive
from ._example import PROJECT_FILE, Example, csv_table


@final
@dataclass(frozen=True, slots=True)
class _Story:
    """Which spectrum of a file is asked about, and how."""

    title: str
    question: str
    data: str
    element: str  # what the signal truly is
    unit: str  # where it comes from; nothing else from there is in the library
    axis: str  # unit of the places on it
    background: str
    regions: str


_RAMAN: Final = _Story(
    "Raman spectrum of a sample",
    "A Raman spectrum from an instrument that the library has not seen.  Which material, and which sample, is it?",
    "raman.npz",
    "nCAL",
    "TOP Horiba 633 nm 010",
    "cm-1",
    "[background]\npolynomial = 3           # fluorescence: any cubic, in every spectrum another one\n\n",
    '[regions.sample.groups]\ncalcite = ["nCAL", "sCAL"]\nsilicon = ["S0B", "S0N", "S0P", "S1N"]\n',
)
_SOIL: Final = _Story(
    "Reflectance of a piece of ground",
    "A reflectance spectrum.  Is it a road, a parking lot, soil or a green canopy?",
    "soil.npz",
    "road",
    "surface rpaeye",
    "nm",
    "",
    '[regions.ground.groups]\npaved = ["road", "parking lot"]\n',
)

_PROJECT = """\
# {question}
# `physupport run` answers; `physupport init` writes an example in which every key is explained.
# The spectra are measured; NOTICE.md says whose they are.

title = "{title}"
level = 0.1
judge = "conformal"      # no law of noise or shape: units of an element say how far another unit may lie

[data.deployment]
file = "spectrum.csv"    # one row, a column for each {axis}
channels = "columns"
law = "gaussian"         # its amplitude is unknown

{background}[elements]
file = "elements.csv"
coordinates = ["number"]
replicates = "replicates.csv"  # a line for each spectrum: element, unit (an instrument, a site), and the channels
replicate_unit = "unit"        # the column that names the unit
responses = "responses.npy"  # the mean of the replicates of each element, for pictures

[regions.{region}]

{regions}"""


def raman_example() -> Example:
    """Nine instrument settings are the library, the tenth measured natural calcite."""
    return _example(_RAMAN)


def soil_example() -> Example:
    """The surface type of the signal is left out of the library."""
    return _example(_SOIL)


def stored_spectra(name: str) -> tuple[Array, list[str], list[str], list[str]]:
    """(S, q) spectra, what each shows, its unit, and the places on the axis."""
    with as_file(files("physupport.project") / "data" / name) as path:
        content = read_archive(path)
    elements, units, axis = (list(map(str, content[key])) for key in ("elements", "units", "axis"))
    return content["spectra"].astype(np.float64), elements, units, axis


def _example(story: _Story) -> Example:
    spectra, elements, units, axis = stored_spectra(story.data)
    signal = [e == story.element and u == story.unit for e, u in zip(elements, units, strict=True)].index(True)
    known = [s for s, unit in enumerate(units) if unit != story.unit]
    ids, region = list(dict.fromkeys(elements)), story.regions.split(".")[1]
    channels = [f"{place} {story.axis}" for place in axis]
    lines: list[list[object]] = [[elements[s], units[s], *map(int, spectra[s])] for s in known]
    unit_norm = spectra / np.linalg.norm(spectra, axis=1)[:, None]
    means = [unit_norm[[s for s in known if elements[s] == name]].mean(axis=0) for name in ids]
    listed: list[list[object]] = [[name, region, i + 1] for i, name in enumerate(ids)]
    parts = {name: getattr(story, name) for name in ("question", "title", "axis", "background", "regions")}
    notice = (files("physupport.project") / "data" / "NOTICE.md").read_text(encoding="utf-8")
    return Example(
        {
            PROJECT_FILE: _PROJECT.format(region=region, **parts),
            "spectrum.csv": csv_table(channels, [[*map(int, spectra[signal])]]),
            "replicates.csv": csv_table(["element", "unit", *channels], lines),
            "elements.csv": csv_table(["id", "region", "number"], listed),
            "NOTICE.md": notice,
        },
        {"responses.npy": np.array(means).T},
    )

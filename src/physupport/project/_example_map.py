"""A Raman image of measured spectra: where do the data allow a name, where a group, and where nothing?"""

from importlib.resources import files
from typing import Final

import numpy as np

from .._typing import Array, IntArray
from ._example import PROJECT_FILE, Example, csv_table
from ._example_spectra import stored_spectra

_ROWS, _COLUMNS, _SEED = 24, 32, 20261117
_INSTRUMENT: Final = "ICV BWtek 785 nm 050"
# What is in the library, and the plastic that is not.
_KNOWN: Final = ("nCAL", "sCAL", "S0B", "S0N", "S0P", "S1N")
_FOREIGN: Final = "PST"
# Grains: sample, row and column of the centre, width in pixels, and the highest peak in standard deviations of noise.
_GRAINS: Final = (("nCAL", 6, 7, 2.4, 60.0), ("sCAL", 18, 8, 2.4, 25.0), ("S1N", 6, 24, 2.4, 60.0),
                  ("S0B", 18, 24, 2.4, 12.0), (_FOREIGN, 12, 16, 1.2, 40.0))  # fmt: skip
_LEAST = 1.0  # of a grain, below which there is nothing of it

_PROJECT = """\
# A Raman image in image.npy: which sample is in a pixel, if any?  Spectra are measured; NOTICE.md says whose they are.
#     physupport map --signals image.npy --rate 0.1
# labels all pixels, and
#     physupport map --signals image.npy --signal 6,8
# reports on one of them in full.  `physupport run` does so for the pixel in pixel.csv.
# What is in each pixel is known: truth.npy has the number of the element, 0 for none, and 7 for a grain of polystyrene,
# which is not in the library.

title = "Minerals and wafers in a Raman image"
level = 0.1

[data.deployment]
file = "pixel.csv"
channels = "columns"
law = "gaussian"         # a mix of responses and background, amplitudes and noise level unknown

[background]
polynomial = 3           # fluorescence

[elements]
file = "elements.csv"
coordinates = ["number"]
responses = "responses.npy"

[regions.sample]
coefficient = ">= 0"     # a sample adds light
presence = "optional"

[regions.sample.groups]
calcite = ["nCAL", "sCAL"]
silicon = ["S0B", "S0N", "S0P", "S1N"]
"""


def map_example() -> Example:
    """The files of the project: five grains that fade towards their edges, one of them of something else."""
    spectra, elements, units, axis = stored_spectra("raman.npz")
    own = {name: spectra[s] for s, name in enumerate(elements) if units[s] == _INSTRUMENT}
    shapes = {name: own[name] / own[name].max() for name in (*_KNOWN, _FOREIGN)}
    image, truth = _image(shapes)
    rows: list[list[object]] = [[name, "sample", i + 1] for i, name in enumerate(_KNOWN)]
    notice = (files("physupport.project") / "data" / "NOTICE.md").read_text(encoding="utf-8")
    pixel: list[list[object]] = [image[6, 8].tolist()]
    return Example(
        {
            PROJECT_FILE: _PROJECT,
            "pixel.csv": csv_table([f"{place} cm-1" for place in axis], pixel),
            "elements.csv": csv_table(["id", "region", "number"], rows),
            "NOTICE.md": notice,
        },
        {"responses.npy": np.array([shapes[name] for name in _KNOWN]).T, "image.npy": image, "truth.npy": truth},
    )


def _image(shapes: dict[str, Array]) -> tuple[Array, IntArray]:
    """(24, 32, q) spectra over a fluorescence that changes from pixel to pixel, in noise of 1; and what is in each."""
    y, x = np.mgrid[:_ROWS, :_COLUMNS]
    n_channels, rng = len(shapes[_FOREIGN]), np.random.default_rng(_SEED)
    slope = np.linspace(-1.0, 1.0, n_channels)
    glow = 200.0 + 60.0 * (x / _COLUMNS)[..., None] * slope - 40.0 * (y / _ROWS)[..., None] * slope**2
    image = glow + rng.standard_normal((_ROWS, _COLUMNS, n_channels))
    truth = np.zeros((_ROWS, _COLUMNS), dtype=np.int64)
    for name, centre_y, centre_x, width, peak in _GRAINS:
        strength = peak * np.exp(-0.5 * ((y - centre_y) ** 2 + (x - centre_x) ** 2) / width**2)
        is_there = (strength > _LEAST) & (truth == 0)
        image += np.where(is_there, strength, 0.0)[..., None] * shapes[name]
        truth[is_there] = 1 + (*_KNOWN, _FOREIGN).index(name)
    return np.asarray(np.round(image, 3)), truth

"""A Raman image of measured spectra: where do the data allow a name, where a group, and where nothing?"""

from typing import Final

import numpy as np

from .._typing import Array, IntArray
from ._example import PROJECT_FILE, Example, csv_table, stored_text
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


def map_example() -> Example:
    """The files of the project: five grains that fade towards their edges, one of them of something else."""
    spectra, elements, units, axis = stored_spectra("raman.npz")
    own = {name: spectra[s] for s, name in enumerate(elements) if units[s] == _INSTRUMENT}
    shapes = {name: own[name] / own[name].max() for name in (*_KNOWN, _FOREIGN)}
    image, truth = _image(shapes)
    rows: list[list[object]] = [[name, "sample"] for name in _KNOWN]
    pixel: list[list[object]] = [image[6, 8].tolist()]
    return Example(
        {
            PROJECT_FILE: stored_text("map.toml"),
            "pixel.csv": csv_table([f"{place} cm-1" for place in axis], pixel),
            "elements.csv": csv_table(["id", "region"], rows),
            "NOTICE.md": stored_text("NOTICE.md"),
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

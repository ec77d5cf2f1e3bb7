"""An image of 24 x 32 spectra: where do the data allow a name, where a group, and where nothing?"""

import json

import numpy as np

from .._typing import Array
from ._example import PROJECT_FILE, Example, csv_table

_ROWS, _COLUMNS, _CHANNELS, _SEED = 24, 32, 90, 20261117
_PLACES = np.linspace(8.0, 82.0, 14)
_WIDTH, _STRONGEST = 3.0, 14.0

_PROJECT = """\
# A simulated image of spectra over a baseline, in image.npy: which line is in a pixel, if any?
#     physupport map --signals image.npy --out labels --rate 0.1
# labels all pixels, and
#     physupport map --signals image.npy --out labels --signal 17,28
# reports on one of them in full.  `physupport run` does so for the pixel in pixel.npy.

title = "Lines in an image"
level = 0.1

[data.deployment]
file = "pixel.npy"
channels = 1
law = "gaussian"         # a mix of responses and background, amplitudes and noise level unknown

[background]
polynomial = 2

[elements]
file = "lines.csv"
coordinates = ["channel"]
responses = "lines.npy"

[regions.line]
coefficient = ">= 0"     # lines add, they do not take away
presence = "optional"
tolerance = 6.0          # lines within six channels count as one
"""


def map_example() -> Example:
    """The files of the project: two patches of one line each that fade towards their edges, and nothing elsewhere."""
    axis = np.arange(_CHANNELS)
    lines = np.exp(-0.5 * ((axis[:, None] - _PLACES) / _WIDTH) ** 2)
    image = _image(lines)
    names = [f"line {place:.0f}" for place in _PLACES]
    half = len(names) // 2
    groups = f"low = {json.dumps(names[:half])}\nhigh = {json.dumps(names[half:])}\n"
    rows: list[list[object]] = [[name, "line", float(place)] for name, place in zip(names, _PLACES, strict=True)]
    return Example(
        {
            PROJECT_FILE: f"{_PROJECT}\n[regions.line.groups]\n{groups}",
            "lines.csv": csv_table(["id", "region", "channel"], rows),
        },
        {"lines.npy": lines, "image.npy": image, "pixel.npy": image[17, 28][None]},
    )


def _image(lines: Array) -> Array:
    """(24, 32, 90)."""
    y, x = np.mgrid[:_ROWS, :_COLUMNS]
    rng = np.random.default_rng(_SEED)
    slope = np.linspace(-1.0, 1.0, _CHANNELS)
    image = 40.0 + 8.0 * slope * (x / _COLUMNS)[..., None] + rng.standard_normal((_ROWS, _COLUMNS, _CHANNELS))
    for line, (centre_y, centre_x) in ((3, (8, 8)), (10, (17, 27))):
        strength = _STRONGEST * np.exp(-0.5 * ((y - centre_y) ** 2 + (x - centre_x) ** 2) / 4.0**2)
        image += np.where(strength > 0.5, strength, 0.0)[..., None] * lines[:, line]
    return np.asarray(np.round(image, 3))

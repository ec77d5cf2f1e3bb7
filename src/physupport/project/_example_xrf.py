"""X-rays of a certified steel: arsenic or lead, whose lines lie on each other, beside a pile-up of chromium."""

import numpy as np

from .._typing import Array
from ._example import PROJECT_FILE, Example, csv_table, stored_text

# Channels 856 to 929 of the spectrum; energies, widths and lines in keV.
_FIRST, _ZERO, _GAIN = 856, -0.006124, 0.0119282
_COUNTS = (
    15, 8, 11, 12, 15, 12, 15, 13, 13, 21, 18, 21, 22, 31, 28, 22, 26, 24, 33, 37, 45, 63, 55, 71, 76, 77, 78, 69, 86,
    93, 85, 62, 77, 69, 61, 62, 45, 40, 45, 39, 51, 18, 29, 36, 37, 33, 24, 35, 32, 49, 33, 40, 40, 39, 58, 47, 49, 38,
    45, 45, 40, 37, 24, 30, 27, 18, 29, 22, 18, 22, 19, 13, 24, 12,
)  # fmt: skip
_NOISE, _FANO, _PAIR = 0.12744, 0.1012, 0.00385  # full width without energy; of silicon
_ARSENIC = ((10.5436, 0.573), (10.5081, 0.295))  # K alpha 1 and 2, and how often each is emitted, as in xraylib
_LEAD = ((10.5512, 0.698), (10.4496, 0.079))  # L alpha 1 and 2
_CHROMIUM = ((2 * 5.4147, 1.0),)


def xrf_example() -> Example:
    """The files of the project."""
    energies = _ZERO + _GAIN * np.arange(_FIRST, _FIRST + len(_COUNTS), dtype=np.float64)
    arsenic, lead, pile_up = (_peaks(energies, lines) for lines in (_ARSENIC, _LEAD, _CHROMIUM))
    region = "10.5 keV line"
    listed: list[list[object]] = [["arsenic", region, 10.5436], ["lead", region, 10.5512]]
    return Example(
        {
            PROJECT_FILE: stored_text("xrf.toml"),
            "steel.spe": _spectrum(),
            "elements.csv": csv_table(["id", "region", "energy"], listed),
            "lines.csv": csv_table(["arsenic", "lead"], np.stack([arsenic, lead], axis=1).round(6).tolist()),
            "pile-up.csv": csv_table(["2 x Cr"], pile_up[:, None].round(6).tolist()),
            "energies.csv": csv_table(["keV"], energies[:, None].round(6).tolist()),
            "NOTICE.md": stored_text("NOTICE.md"),
        }
    )


def _peaks(energies: Array, lines: tuple[tuple[float, float], ...]) -> Array:
    """(q,) Gaussian peaks as wide as the detector makes them."""
    counts = np.zeros(len(energies))
    for energy, rate in lines:
        width = np.sqrt((_NOISE / 2.3548) ** 2 + _FANO * _PAIR * energy)
        counts += rate * np.exp(-0.5 * ((energies - energy) / width) ** 2)
    return counts


def _spectrum() -> str:
    """As a counter writes it."""
    counts = "".join(f"{count:8d}\n" for count in _COUNTS)
    last = _FIRST + len(_COUNTS) - 1
    return f"$SPEC_ID:\nSRM 1155\n$DATA:\n{_FIRST} {last}\n{counts}$MCA_CAL:\n2\n{_ZERO} {_GAIN} keV\n"

"""The measured data that examples come with, made again from the packages that they are taken from.

`python -m benchmarks._extracts`, with PyMca5, ramanchada2 and earthlib installed or their wheels unpacked on the path;
none of them is imported.  What is made is compared with what is shipped, to the last digit.
"""

import csv
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks._raman import ALIKE, SAMPLES, read

from physupport import project
from physupport.io import read_archive, read_table

DATA = Path(project.__file__).parent / "data"
LARGEST = 30000  # of whole numbers that stand for a spectrum
SETTINGS = {
    "FMNT-M_BW532": "FNMT BWtek 532 nm", "FMNT-M_Ho785": "FNMT Horiba 785 nm", "ICV_BW532": "ICV BWtek 532 nm",
    "ICV_BW785": "ICV BWtek 785 nm", "TOP_Ho633": "TOP Horiba 633 nm",
}  # fmt: skip


def folder(package):
    return Path(find_spec(package).submodule_search_locations[0])


def raman():
    """(element, unit) -> spectrum, the mean over 8 cm^-1 of values between those measured, its highest 30000."""
    between = np.arange(256.5, 1464.0)  # cm^-1
    found = {}
    for path in sorted((folder("ramanchada2") / "auxiliary" / "spectra" / "datasets2").glob("*/*.txt")):
        named = re.fullmatch(r"([a-zA-Z]+?|S\d[A-Z])(?:\d\d)?_.*?(?:OP|Z|Probe_)(\d+)_.*", path.stem)
        if named and named[1] in SAMPLES and not path.stem.endswith("full"):
            shifts, values = read(path)
            order = np.argsort(shifts)
            means = np.interp(between, shifts[order], values[order]).reshape(-1, 8).mean(axis=1)
            number = "01" if "Probe" in path.stem else named[2]
            unit = f"{SETTINGS[path.parent.name]} {number}"
            found[ALIKE.get(named[1], named[1]), unit] = np.round(LARGEST * means / means.max())
    return found


def ground():
    """Name -> spectrum, the mean over three bands times 30000, and what it is of."""
    where = folder("earthlib") / "data"
    library = read_table(where / "spectra.sli", channels="channels", label="library")
    means = library.values.astype(float).reshape(len(library.values), -1, 3).mean(axis=2)
    with (where / "spectra.csv").open(encoding="utf-8") as file:
        lines = [*csv.DictReader(file)]
    return {line["NAME"]: (np.round(LARGEST * row), line) for row, line in zip(means, lines, strict=True)}


def compare_raman():
    stored, made = read_archive(DATA / "raman.npz"), raman()
    pairs = zip(stored["elements"].tolist(), stored["units"].tolist(), strict=True)
    same = [np.array_equal(made[pair], row) for pair, row in zip(pairs, stored["spectra"], strict=True)]
    print(f"raman.npz: {sum(same)} of {len(same)} spectra are those of ramanchada2")


def compare_soil():
    stored, made = read_archive(DATA / "soil.npz"), ground()
    found = [made[name] for name in stored["sources"].tolist()]
    same = [np.array_equal(row, spectrum) for row, (spectrum, _) in zip(stored["spectra"], found, strict=True)]
    right = [
        line["LEVEL_3"] == name.replace(" ", "_") for name, (_, line) in zip(stored["elements"], found, strict=True)
    ]
    print(f"soil.npz: {sum(same)} of {len(same)} spectra are those of earthlib, {sum(right)} under their name")
    sites = {(unit, line["LAT"], line["LON"]) for unit, (_, line) in zip(stored["units"], found, strict=True)
             if line["LEVEL_3"] == "soil"}  # fmt: skip
    print(f"soil.npz: {len({unit for unit, *_ in sites})} units of soils are {len({site[1:] for site in sites})} sites")


def compare_steel():
    text = (folder("PyMca5") / "PyMcaData" / "Steel.spe").read_text()
    counts = np.array(text.split("2047", 1)[1].split("$")[0].split(), dtype=float)
    shipped = (DATA / "xrf" / "steel.spe").read_text().split("$DATA:\n")[1].split("$")[0].split()
    first, last, *own = map(int, shipped)
    same = counts[first : last + 1] == np.array(own)
    print(f"steel.spe: {same.sum()} of {len(same)} channels are those of PyMca5")


if __name__ == "__main__":
    compare_raman()
    compare_soil()
    compare_steel()

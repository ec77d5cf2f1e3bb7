"""A measured X-ray spectrum of steel, SRM 1155: `python -m benchmarks._steel`, with PyMca5 and xraylib installed.

PyMca's fit and one call beside it; then, window by window, the answer as a function of the error of the responses.
There responses are lines from tables with the resolution of the detector, of which scale and width are uncertain by a
channel and by 6 % either way.
"""

import tempfile
from pathlib import Path

import numpy as np
import PyMca5
import xraylib
from PyMca5.PyMcaIO.ConfigDict import ConfigDict
from PyMca5.PyMcaPhysics.xrf.ClassMcaTheory import McaTheory

from physupport.project import identify, load_project, run_project

BEAM = 16.0  # keV
# As the configuration that comes with the spectrum has them: keV a channel, offset, noise and Fano factor.
GAIN, ZERO, NOISE, FANO = 0.0119281593146, -0.00612446976449, 0.127439, 0.101156
NUMBERS = {"Cr": 24, "Mn": 25, "Fe": 26, "Co": 27, "Ni": 28, "Cu": 29, "As": 33, "W": 74, "Pb": 82}
LINES = {"K": range(-29, 0), "L": range(-113, -29)}
PROJECT = """level = 0.05

[data.deployment]
file = "rows.npy"
channels = 1
law = "poisson"
window = {window}

[background]
{background}

[elements]
file = "elements.csv"
coordinates = ["Z"]
axis = "axis.npy"
axis_unit = "keV"
response = {{ kind = "lines", axis = "axis.npy", lines = "lines.csv", resolution = {resolution} }}

[parameters]
shift = {{ values = {{ from = -0.012, to = 0.012, count = 9 }} }}
width = {{ values = {{ from = 0.94, to = 1.06, count = 7 }} }}

[regions]
"""
WINDOWS = [
    ([10.2, 10.9], ["As", "Pb"], "polynomial = 1"),
    ([10.2, 11.08], ["As", "Pb"], "polynomial = 1"),
    ([10.2, 11.08], ["As", "Pb"], "polynomial = 1\npile_up = true"),
    ([10.2, 11.08], ["As", "Pb", "Co"], "polynomial = 1\npile_up = true"),
    ([6.75, 7.3], ["Fe", "Co", "Ni"], "polynomial = 1"),
    ([6.75, 7.3], ["Fe", "Co"], "polynomial = 1"),
    ([6.75, 7.3], ["Fe", "Co"], "polynomial = 1\ntail = 0.1"),
    ([6.75, 7.3], ["Co"], "polynomial = 1"),
    ([7.2, 8.8], ["Fe", "Ni", "Cu"], "polynomial = 2"),
    ([8.0, 10.0], ["Ni", "Cu"], "polynomial = 2"),
    ([8.0, 10.0], ["Ni"], "polynomial = 2"),
]


def spectrum():
    text = (Path(PyMca5.__file__).parent / "PyMcaData" / "Steel.spe").read_text()
    return np.array(text.split("2047", 1)[1].split("$")[0].split(), dtype=float).astype(int)


def lines(symbol):
    """Energies and intensities of an element's lines, K for the light ones and L for the heavy."""
    number = NUMBERS[symbol]
    for line in LINES["K" if number < 60 else "L"]:
        try:
            yield xraylib.LineEnergy(number, line), xraylib.CS_FluorLine_Kissel(number, line, BEAM)
        except ValueError:
            continue


def write_project(folder, window, symbols, background):
    counts = spectrum()
    np.save(folder / "rows.npy", counts[None])
    np.save(folder / "axis.npy", ZERO + GAIN * np.arange(len(counts)))
    listed = [f"{symbol},{symbol},{NUMBERS[symbol]}\n" for symbol in symbols]
    (folder / "elements.csv").write_text("id,region,Z\n" + "".join(listed))
    rows = [f"{symbol},{energy!r},{height!r}\n" for symbol in symbols for energy, height in lines(symbol)]
    (folder / "lines.csv").write_text("element,energy,intensity\n" + "".join(rows))
    resolution = [(NOISE / 2.3548) ** 2, 0.00385 * FANO]
    regions = "".join(f'{symbol} = {{ presence = "optional" }}\n' for symbol in symbols)
    text = PROJECT.format(window=window, background=background, resolution=resolution) + regions
    (folder / "project.toml").write_text(text)
    return folder / "project.toml"


def answer(step):
    """The elements that are certain in a step of the staircase, and those that may be there."""
    if step["fields"][0]["label"] == "EMPTY":
        return "nothing fits"
    certain = [field["field"] for field in step["fields"] if field["label"] == "FINE"]
    open_ = [field["field"] for field in step["fields"] if field["label"] not in ("FINE", "ABSENT")]
    return f"{', '.join(certain) or 'none'} certain" + (f", {', '.join(open_)} undecided" if open_ else "")


def staircase(window, symbols, background):
    with tempfile.TemporaryDirectory() as folder:
        report = run_project(load_project(write_project(Path(folder), window, symbols, background))).result.report
    without = report.document["protocol"]["window"]["without_lines"]
    print(f"{window[0]} to {window[1]} keV, {', '.join(symbols)}, {background!r}, without a line: {without}")
    for step in report.staircase():
        print(f"    {step['least']:.4f} to {step['most']:.4f}: {answer(step)}")


def peer(more):
    """Peak areas of PyMca's fit with the configuration beside the spectrum, and more elements in its list."""
    configuration = ConfigDict()
    configuration.read(str(Path(PyMca5.__file__).parent / "PyMcaData" / "Steel.cfg"))
    for symbol in ("As", "Pb"):
        configuration["peaks"].pop(symbol)
    configuration["peaks"].update(more)
    theory = McaTheory()
    theory.setConfiguration(configuration)
    counts = spectrum()
    theory.setData(np.arange(len(counts)), counts)
    theory.estimate()
    _, found = theory.startfit(digest=1)
    areas = {
        group: f"{found[group]['fitarea']:.0f} +- {found[group]['sigmaarea']:.0f}"
        for group in found["groups"]
        if group.split()[0] in more
    }
    print(f"PyMca with {', '.join(more) or 'neither'}: chi2 {found['chisq']:.1f}, {areas}")


def ours():
    """One call for all elements of the certificate, 1 to 15 keV."""
    counts = spectrum()
    energies = ZERO + GAIN * np.arange(len(counts))
    used = (energies >= 1.0) & (energies <= 15.0)
    symbols = ["V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "W", "As", "Pb"]
    report = identify((counts[used], energies[used]), symbols=symbols, excitation=BEAM)
    print("identify:", " ".join(report.answers))


if __name__ == "__main__":
    for more in ({"As": "K"}, {"Pb": "L"}, {"As": "K", "Pb": "L"}, {"As": "K", "Pb": "L", "Co": "K"}):
        peer(more)
    ours()
    for case in WINDOWS:
        staircase(*case)

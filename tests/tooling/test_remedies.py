"""Every remedy that a refusal names on the ways from a field's own objects and files to an answer is tried.

Code in a message is pasted into the call, or the project file, that was refused; a sentence is done as told.
The last test reads the sources: a remedy that no case meets is an error.
"""

import contextlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile
from scipy.sparse import csr_array
from tests.analysis.conftest import make_instrument
from tests.arrays.conftest import MICROPHONES, RATE, heard
from tests.tooling.remedies import as_keywords, as_tables, merged, remedies_named, written

import physupport
from physupport import MisuseError
from physupport.analysis import PhysicalSupport
from physupport.arrays import locate as locate_waves
from physupport.io import read_array, read_spectra, read_table
from physupport.project import assemble, identify as identify_lines, load_project, write_spectral_project
from physupport.spectra import identify

os.environ.setdefault("MNE_USE_NUMBA", "false")  # to compile takes longer than all that is computed here


@dataclass(frozen=True)
class Paste:
    """Paste the code of a remedy: as keywords of a call, or into a table of the project file."""

    table: str | None = None

    def of(self, remedy):
        if self.table is None:
            return as_keywords(remedy, names_of_code())
        return as_tables(remedy, self.table)


PASTE = Paste()
SOURCES = [
    "mne/_locate",
    "mne/_whitened",
    "spectra/_identify",
    "arrays/_locate",
    "io/_measured",
    "io/_spectra",
    "io/_spectrometers",
    "io/_gamma",
    "io/_waves",
    "project/_library",
    "project/_generated",
    "project/_line_elements",
    "project/_identify",
    "responses/_emission",
    "analysis/_estimator",
]
CASES = {}
TOLD = {}  # the message of each case that was met


def case(says, *mends, needs=""):
    """Enter a refusal: the function takes a folder and changes; mends: `PASTE`, or changes that do as the message says.

    needs: a package without which the case is left out.
    """

    def entered(function):
        CASES[function.__name__] = says, function, mends, needs
        return function

    return entered


def refused(name, folder):
    says, function, _, needs = CASES[name]
    if needs:
        pytest.importorskip(needs)
    with contextlib.chdir(folder), pytest.raises(MisuseError) as told:
        function(folder)
    assert re.search(says, str(told.value)), told.value
    TOLD[name] = str(told.value)
    return told.value


def names_of_code():
    """What code in a remedy speaks of: the module, the reader's evoked response and epochs."""
    if "mne" not in sys.modules:
        return {}
    from tests.mne import heads

    import mne

    info = heads.both()
    noise = np.where(np.arange(104) < 64, 1e-6, 2e-14)[:, None] * np.random.default_rng(1).standard_normal(
        (1000, 104, 4)
    )
    epochs = mne.EpochsArray(noise, info, tmin=-0.002)
    return {"mne": mne, "evoked": mne.EvokedArray(noise[0], info), "epochs": epochs, "data": heads.measured(100)}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for all; each case writes its own files."""
    return tmp_path_factory.mktemp("remedies")


# ---- text and spectra


def text(folder, lines, name="s.txt"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


LINES = ["1,2", "2,3", "3,1", "4,2"]


@case(r"below its header.*begin it with #", {"end": "# end of data"}, {"end": ""})
def words_below(folder, end="end of data"):
    return read_spectra(text(folder, [*LINES, end]))


@case('Set channels = "columns"', {"channels": "columns"})
def one_line_of_csv(folder, channels=None):
    return read_table(text(folder, ["1,2,3"], "r.csv"), channels=channels, label="rows")


@case("Write decimal points, or separate cells", {"lines": ["1,5;2", "2,5;3", "3,5;1"]}, {"lines": LINES})
def commas_and_points(folder, lines=("1,5;2.0", "2,5;3.0", "3,5;1.0")):
    return read_spectra(text(folder, lines))


@case("bring its lines into order", {"lines": sorted(LINES)})
def lines_out_of_order(folder, lines=("1,2", "3,3", "2,1", "4,2")):
    return read_spectra(text(folder, lines))


@case("name its channels by their places", {"names": ["400.5 nm", "401.5 nm"]})
def channels_without_places(folder, names=("a", "b")):
    np.savez(folder / "r.npz", data=np.ones((3, 2)), channels=np.array(names))
    return read_spectra(folder / "r.npz")


AXIS = np.linspace(400.0, 500.0, 60)
PEAKS = {f"at {place}": np.exp(-(((AXIS - place) / 6.0) ** 2)) for place in (420, 450, 480)}
SIGNAL = PEAKS["at 450"] + 0.01 * np.random.default_rng(1).standard_normal(60)


@case("Set window = ", PASTE)
def axes_that_end_early(folder, **changes):
    short = {name: (AXIS[10:], values[10:]) for name, values in PEAKS.items()}
    return identify((AXIS, SIGNAL), short, max_active=1, **changes)


@case("Take it out", {"library": {name: (AXIS, values) for name, values in PEAKS.items()}})
def an_axis_elsewhere(folder, library=None):
    elsewhere = {"far": (AXIS + 900.0, PEAKS["at 450"])} | {name: (AXIS, each) for name, each in PEAKS.items()}
    return identify((AXIS, SIGNAL), library or elsewhere, max_active=1)


@case("Bring both to one axis", {"unit": "nm"})
def units_of_two_kinds(folder, unit="cm-1"):
    (folder / "lib").mkdir(exist_ok=True)
    for name, values in PEAKS.items():
        rows = [f"{a:.6f},{v:.6f}" for a, v in zip(AXIS, values, strict=True)]
        text(folder / "lib", [f"Axis ({unit}),value", *rows], f"{name}.csv")
    rows = [f"{a:.6f},{v:.6f}" for a, v in zip(AXIS, SIGNAL, strict=True)]
    return identify(text(folder, ["Wavelength (nm),value", *rows], "signal.csv"), folder / "lib", max_active=1)


@case("Save all as absorbance", {"kinds": ("ABSORBANCE", "ABSORBANCE")}, needs="jcamp")
def transmittance_among_absorbance(folder, kinds=("TRANSMITTANCE", "ABSORBANCE")):
    (folder / "two").mkdir(exist_ok=True)
    for kind, (name, values) in zip(kinds, PEAKS.items(), strict=False):
        head = ["##TITLE=a", "##JCAMP-DX=4.24", "##DATA TYPE=INFRARED SPECTRUM", "##XUNITS=1/CM", f"##YUNITS={kind}"]
        table = [f"{a:.6f}, {v:.6f}" for a, v in zip(AXIS, values, strict=True)]
        text(folder / "two", [*head, "##NPOINTS=60", "##XYPOINTS=(XY..XY)", *table, "##END="], f"{name}.jdx")
    return identify((AXIS, SIGNAL), folder / "two", max_active=1)


@case("Set max_active = 1", PASTE)
def too_many_mixtures(folder, **changes):
    library = {f"e{i}": (AXIS, np.roll(PEAKS["at 450"], i % 25)) for i in range(25)}
    return identify((AXIS, SIGNAL), library, **{"max_active": 8} | changes)


@case("Leave counts and max_active out", {"max_active": None}, {"library": {n: (AXIS, v) for n, v in PEAKS.items()}})
def mixtures_of_replicates(folder, max_active=2, library=None):
    replicates = {name: [(AXIS, (1.0 + 0.01 * i) * each) for i in range(20)] for name, each in PEAKS.items()}
    return identify((AXIS, SIGNAL), library or replicates, max_active=max_active)


@case("Give .axis, values.", {"spectrum": (AXIS, SIGNAL)})
def a_row_without_an_axis(folder, spectrum=SIGNAL):
    return identify(spectrum, {name: (AXIS, each) for name, each in PEAKS.items()}, max_active=1)


TURNED = np.stack([SIGNAL, SIGNAL], axis=1)


@case("Give values.T", {"values": np.stack([SIGNAL, SIGNAL])})
def repeats_as_columns(folder, values=TURNED):
    return identify((AXIS, values), {name: (AXIS, each) for name, each in PEAKS.items()}, max_active=1)


@case("Give arrays of one length", {"values": SIGNAL})
def too_few_values(folder, values=SIGNAL[1:]):
    return identify((AXIS, values), {name: (AXIS, each) for name, each in PEAKS.items()}, max_active=1)


AXES = [{"size": 60, "axis": AXIS, "navigate": False, "units": "nm"}]


@case("rosettasciio returns", {"spectrum": {"data": SIGNAL, "axes": AXES}})
def a_dictionary_of_metadata(folder, spectrum=None):
    library = {name: (AXIS, each) for name, each in PEAKS.items()}
    return identify(spectrum or {"metadata": {}}, library, max_active=1)


@case("Take one spectrum of an image", {"data": SIGNAL, "axes": AXES})
def an_image_as_a_spectrum(folder, data=TURNED.T, axes=({"size": 2, "scale": 1.0}, *AXES)):
    library = {name: (AXIS, each) for name, each in PEAKS.items()}
    return identify({"data": data, "axes": axes}, library, max_active=1)


@case("Save them in files of their own", {"columns": 1})
def two_spectra_in_a_file(folder, columns=2):
    path = text(folder, [",".join([f"{a:.6f}", *[f"{v:.6f}"] * columns]) for a, v in zip(AXIS, SIGNAL, strict=True)])
    return identify(path, {name: (AXIS, each) for name, each in PEAKS.items()}, max_active=1)


# ---- files of instruments


@case(
    "Save its spectra in files of their own", {"kind": "INFRARED SPECTRUM", "data": "XYDATA=(X++(Y..Y))"}, needs="jcamp"
)
def jcamp_of_something_else(folder, kind="LINK", data="PEAK ASSIGNMENTS=(XYA)"):
    head = ["##TITLE=a", "##JCAMP-DX=5.01", f"##DATA TYPE={kind}", "##XUNITS=1/CM", "##YUNITS=ABSORBANCE"]
    places = ["##XFACTOR=1", "##YFACTOR=1", "##FIRSTX=400", "##LASTX=402", "##DELTAX=1", "##NPOINTS=3"]
    table = ["400 1 2 3"] if "XYDATA" in data else []
    return read_spectra(text(folder, [*head, *places, f"##{data}", *table, "##END="], "s.jdx"))


def image(folder, values, **how):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "i.tif", values.astype(np.float32), photometric="minisblack", **how)
    return read_array(folder / "i.tif")


@case("Stack its bands", {"values": np.ones((4, 5, 3))}, needs="tifffile")
def a_tiff_of_one_band(folder, values=None):
    return image(folder, np.ones((4, 5)) if values is None else values)


@case("Save one image a file", {"values": np.ones((4, 5, 3))}, needs="tifffile")
def a_tiff_of_many_images(folder, values=None):
    return image(folder, np.ones((2, 3, 4, 5)) if values is None else values)


def n42(folder, detectors, energies):
    """A file of the gamma standard N42 with a spectrum of each detector, as another program writes it."""
    utils = pytest.importorskip("SpecUtils")
    file = utils.SpecFile()
    for detector, gain in zip(detectors, energies, strict=True):
        measured = utils.Measurement()
        measured.setGammaCounts([float(c) for c in range(64)], 10.0, 10.0)
        measured.setEnergyCalibration(utils.EnergyCalibration.fromPolynomial(64, [0.0, gain]))
        measured.setDetectorName(detector)
        file.addMeasurement(measured, False)
    file.cleanupAfterLoad(True, False, False)
    path = folder / "two.n42"
    path.unlink(missing_ok=True)
    saved = utils.SaveSpectrumAsType.N42_2012
    file.writeToFile(str(path), file.sampleNumbers(), file.detectorNumbers(), saved)
    return path


@case("Install it with pip install", {"hidden": ""}, needs="jcamp")
def a_package_that_is_missing(folder, hidden="jcamp"):
    return without(hidden, lambda: jcamp_of_something_else(folder, "INFRARED SPECTRUM", "XYDATA=(X++(Y..Y))"))


@case("Install it: pip install", {"hidden": ""}, needs="actigamma")
def a_library_that_is_missing(folder, hidden="actigamma"):
    from physupport.responses import _emission

    with pytest.MonkeyPatch.context() as patch:
        if hidden:
            patch.setattr(_emission, "_decays", _emission._decays.__wrapped__)  # which keeps what it loaded once
        return without(hidden, lambda: lines_of(nuclides=["Mn-54"]))  # which no other test asks for


@case("Install it: pip install", {"hidden": ""}, needs="SpecUtils")
def a_reader_that_is_missing(folder, hidden="SpecUtils"):
    path = n42(folder, ["A"], [3.0])
    return without(hidden, lambda: read_table(path, label="rows"))


def without(package, call):
    """The call, where a package cannot be imported; an empty name hides nothing."""
    with pytest.MonkeyPatch.context() as patch:
        if package:
            patch.setitem(sys.modules, package, None)
        return call()


@case("Name one: file = { file = .*member = .A. } or member in Python", {"member": "A"}, needs="SpecUtils")
def two_detectors(folder, member=None):
    return read_table(n42(folder, ["A", "B"], [3.0, 3.0]), member=member, label="rows")


@case("Save those of one calibration into a file of their own", {"gains": [3.0]}, needs="SpecUtils")
def two_calibrations(folder, gains=(3.0, 4.0)):
    return read_table(n42(folder, ["A"] * len(gains), gains), label="rows")


# ---- lines of nuclides and elements


ENERGIES = np.arange(10.5, 900.0, 1.5)
COUNTS = np.random.default_rng(3).poisson(30.0 + 800.0 * np.exp(-0.5 * ((ENERGIES - 661.7) / 0.8) ** 2)).astype(float)


def lines_of(spectrum=(COUNTS, ENERGIES), **names):
    return identify_lines(spectrum, **{"nuclides": ["Cs-137"]} | names)


@case(
    "Write nuclides=",
    {"nuclides": ["Cs-137"]},
    {"nuclides": (), "symbols": ["Fe", "Ni"], "excitation": 20.0},
    needs="actigamma",
)
def neither_nuclides_nor_symbols(folder, nuclides=(), **names):
    pytest.importorskip("xraylib")
    spectrum = (COUNTS, np.linspace(1.0, 20.0, len(COUNTS))) if names else (COUNTS, ENERGIES)
    return identify_lines(spectrum, nuclides=nuclides, **names)


@case("Give .counts, energies in keV.", {"spectrum": (COUNTS, ENERGIES)}, needs="actigamma")
def energies_before_counts(folder, spectrum=(ENERGIES, COUNTS)):
    return lines_of(spectrum)


@case("Write excitation=", PASTE, needs="xraylib")
def symbols_without_excitation(folder, **names):
    return identify_lines((COUNTS, np.linspace(1.0, 20.0, len(COUNTS))), symbols=["Fe", "Ni"], **names)


@case("Leave excitation out", {"excitation": None}, needs="actigamma")
def nuclides_with_excitation(folder, excitation=20.0):
    return lines_of(excitation=excitation)


@case("correct its name", {"spectrum": (COUNTS, ENERGIES)}, needs="actigamma")
def a_spectrum_that_is_not_there(folder, spectrum="none.spe"):
    return lines_of(spectrum)


@case("Name another folder", {"name": "another"}, needs="actigamma")
def a_folder_with_a_project(folder, name="taken"):
    (folder / "taken").mkdir(exist_ok=True)
    (folder / "taken" / "project.toml").touch()
    return lines_of(folder=folder / name)


@case("Describe another one by its keys", {"detector": {"energy": 1.0}}, needs="actigamma")
def a_detector_without_a_name(folder, detector="Foo"):
    return lines_of(nuclides=["Cs-137"], detector=detector)


@case("Write nuclides as in Cs-137", {"nuclides": ["Cs-137"]}, needs="actigamma")
def a_nuclide_by_its_word(folder, nuclides=("Caesium",)):
    return lines_of(nuclides=nuclides)


@case("Leave H-3 out", {"nuclides": ["Cs-137"]}, needs="actigamma")
def a_nuclide_without_lines(folder, nuclides=("Cs-137", "H-3")):
    return lines_of(nuclides=nuclides)


@case("name elements that have lines there", {"nuclides": ["Cs-137"]}, needs="actigamma")
def a_nuclide_with_lines_elsewhere(folder, nuclides=("K-40",)):
    return lines_of(nuclides=nuclides)


@case("Write symbols as in Fe", {"symbols": ["Fe"]}, needs="xraylib")
def an_element_by_its_word(folder, symbols=("Iron",)):
    return lines_of((COUNTS, np.linspace(1.0, 20.0, len(COUNTS))), nuclides=(), symbols=symbols, excitation=20.0)


# ---- project files


GAMMA = {
    "level": 0.05,
    "data": {"deployment": {"file": "s.csv"}},
    "elements": {"kind": "gamma lines", "nuclides": ["Cs-137"]},
}


def project(folder, file, changes):
    (folder / "project.toml").write_text(written(merged(file, changes)))
    return assemble(load_project(folder / "project.toml"))


def counts_of(folder, names):
    text(folder, [",".join(names), ",".join(map(str, COUNTS.astype(int).tolist()))], "s.csv")


@case("axis_unit", Paste("elements"), needs="actigamma")
def energies_without_a_unit(folder, **changes):
    counts_of(folder, [f"{e}" for e in ENERGIES])
    return project(folder, merged(GAMMA, {"data": {"deployment": {"header": True}}}), changes)


def two_columns(folder, head):
    text(folder, [head, *(f"{e},{c:.0f}" for e, c in zip(ENERGIES, COUNTS, strict=True))], "s.csv")


@case("Save two columns whose header is energy .keV.,counts", {"head": "energy (keV),counts"}, needs="actigamma")
def channels_without_energies(folder, head="channel,counts"):
    two_columns(folder, head)
    return project(folder, GAMMA, {})


@case("Save counts with energies that increase", {"step": None}, needs="actigamma")
def energies_that_fall(folder, step=-1):
    if step is None:
        two_columns(folder, "energy (keV),counts")
    else:
        counts_of(folder, [f"{e} keV" for e in ENERGIES[::step]])
    return project(folder, GAMMA, {})


@case('add "Cs-137" = { presence', Paste("regions"), {"regions": {}}, needs="actigamma")
def a_region_too_few(folder, **changes):
    counts_of(folder, [f"{e} keV" for e in ENERGIES])
    file = merged(GAMMA, {"elements": {"nuclides": ["Cs-137", "K-40"]}})
    if changes == {"regions": {}}:
        return project(folder, file, {})
    return project(folder, merged(file, {"regions": {"K-40": {"presence": "optional"}}}), changes)


WAVES = {
    "level": 0.05,
    "data": {"deployment": {"file": "one.wav", "frequencies": [900, 1500], "gap": 0}},
    "elements": {"kind": "directions", "from": 40, "to": 100, "step": 10, "geometry": "mics.csv"},
}


def recorded(folder):
    samples = heard([71.0])
    wavfile.write(folder / "one.wav", RATE, (samples / np.abs(samples).max() * 30000).astype(np.int16))
    np.save(folder / "one.npy", samples)
    text(folder, ["channel,x,y", *(f"mic {m},{x:g},{y:g}" for m, (x, y) in enumerate(MICROPHONES))], "mics.csv")


@case("make at most .* Write step = ", Paste("elements"))
def steps_too_fine(folder, **changes):
    recorded(folder)
    if not changes:
        return project(folder, merged(WAVES, {"elements": {"step": 5e-5}}), {})
    assert 60.0 / changes["elements"]["step"] < 1_000_000  # so many take minutes
    return project(folder, WAVES, {})


@case("Leave .regions. out, or all but one", {"regions": ["east"]}, {"regions": []})
def directions_of_two_regions(folder, regions=("east", "west")):
    recorded(folder)
    return project(folder, WAVES, {"regions": {name: {} for name in regions}} if regions else {})


SPECTRAL = {
    "level": 0.05,
    "data": {"deployment": {"file": "row.npy", "channels": 1, "law": "gaussian"}},
    "elements": {"responses": "lib2"},
    "regions": {"*": {"presence": "optional", "coefficient": ">= 0"}},
}


def libraries(folder):
    (folder / "lib2").mkdir(exist_ok=True)
    for name, values in PEAKS.items():
        np.savetxt(folder / "lib2" / f"{name}.txt", np.column_stack([AXIS, values]))
    np.save(folder / "row.npy", SIGNAL[None])
    np.savetxt(folder / "axis.csv", AXIS, header="nm", comments="")
    np.savetxt(folder / "row.txt", np.column_stack([AXIS, SIGNAL]))


@case("axis = .axis.csv.", Paste("elements"), {"data": {"deployment": {"file": "row.txt", "channels": "channels"}}})
def a_row_without_places(folder, **changes):
    libraries(folder)
    return project(folder, SPECTRAL, changes)


@case("Rename one of the files", {"name": "at 421.csv"})
def two_files_of_a_name(folder, name="at 420.csv"):
    libraries(folder)
    np.savetxt(folder / "lib2" / name, np.column_stack([AXIS, PEAKS["at 420"] ** 2]), delimiter=",")
    try:
        return project(folder, SPECTRAL, {"elements": {"axis": "axis.csv"}})
    finally:
        (folder / "lib2" / name).unlink()


@case("Did you mean class", {"column": "class"})
def groups_of_a_misspelt_column(folder, column="klass"):
    libraries(folder)
    text(folder, ["id,region,class", *(f"at {place},all,{place > 440}" for place in (420, 450, 480))], "list.csv")
    file = merged(SPECTRAL, {"elements": {"file": "list.csv", "axis": "axis.csv"}})
    return project(folder, file | {"regions": {"all": {"groups": {"column": column}}}}, {})


@case("Name another folder", {"name": "fresh"})
def a_project_that_is_there(folder, name=""):
    libraries(folder)
    (folder / "project.toml").touch()
    where = folder / name
    where.mkdir(exist_ok=True)
    if name:
        np.savetxt(where / "row.txt", np.column_stack([AXIS, SIGNAL]))
        (where / "lib2").mkdir()
        for each in (folder / "lib2").iterdir():
            (where / "lib2" / each.name).write_bytes(each.read_bytes())
    return write_spectral_project(where, where / "row.txt", where / "lib2")


@case("Copy it to .*, or write the project file where both are", {"inner": "."})
def a_spectrum_elsewhere(folder, inner="inner"):
    libraries(folder)
    (folder / "project.toml").unlink(missing_ok=True)
    return write_spectral_project(folder / inner, folder / "row.txt", folder / "lib2")


# ---- arrays


HOW = {"frequencies": [900.0, 1500.0], "sampling_rate": RATE, "directions": (40.0, 100.0, 10.0), "gap": 0}


def waves(signals=None, geometry=MICROPHONES, **changes):
    return locate_waves(heard([71.0]) if signals is None else signals, geometry, **HOW | changes)


@case("Write directions=", {"directions": (0, 180, 20)}, {"places": {"x": (0, 5), "y": (1, 4), "step": 1.0}})
def neither_directions_nor_places(folder, **changes):
    return waves(**{"directions": None} | changes)


@case("Leave one of them out", {"places": None})
def directions_and_places(folder, places="both"):
    return waves(places={"x": (0, 5), "y": (1, 4), "step": 1.0} if places else None)


@case("Write sampling_rate=", PASTE)
def a_rate_that_is_missing(folder, **changes):
    return waves(**{"sampling_rate": None} | changes)


@case("write frame = 400", PASTE, {"frequencies": [1500.0]})
def a_frequency_too_low(folder, **changes):
    return waves(**{"frequencies": [40.0, 1500.0]} | changes)


@case("Leave it out", {"frequencies": [1500.0]})
def a_frequency_too_high(folder, frequencies=(1500.0, 3999.0)):
    return waves(frequencies=frequencies)


@case("or write frame = 640", PASTE, {"frequencies": [1000.0]})
def frequencies_too_near(folder, **changes):
    return waves(**{"frequencies": [1000.0, 1050.0]} | changes)


@case("Give each frequency once", {"frequencies": [1000.0]})
def a_frequency_twice(folder, frequencies=(1000.0, 1000.0)):
    return waves(frequencies=frequencies)


@case(r"one side.*directions=\(0, 180, 30\)", PASTE)
def both_sides_of_a_line(folder, **changes):
    return waves(**{"directions": (-90.0, 90.0, 30.0)} | changes)


@case("end within the recording.*Write segment = ", PASTE)
def a_segment_too_long(folder, **changes):
    return waves(**{"segment": (0.0, 9.0)} | changes)


@case(r"segment must be \[start, end\].*Write segment = ", {"segment": [0, 1.5]})
def a_segment_backwards(folder, segment=(1.0, 0.5)):
    return waves(segment=segment)


@case(r"have 13 frames or more.*Write frame = \d+ and gap = ", PASTE)
def frames_too_long(folder, **changes):
    return waves(**{"frame": 4096} | changes)


@case(r"row 7, column 2.*Leave out such snapshots", {"is_left_out": True})
def a_snapshot_that_is_not_a_number(folder, is_left_out=False):
    rows = np.random.default_rng(0).standard_normal((60, 8, 2)) @ [1.0, 1.0j]
    rows[7, 2] = np.nan
    return waves(np.delete(rows, 7, axis=0) if is_left_out else rows, sampling_rate=None)


@case(r"row 40, column 1.*Name a segment", {"segment": (0.1, 1.5)})
def a_sample_that_is_not_a_number(folder, **changes):
    samples = heard([71.0])
    samples[40, 1] = np.nan
    return waves(samples, **changes)


@case(r"hold a frame of.*Write frame = ", PASTE)
def a_frame_longer_than_the_recording(folder, **changes):
    return waves(**{"frame": 2**15, "frequencies": [1500.0]} | changes)


@case("give its transpose", {"is_turned": False})
def sensors_as_rows(folder, is_turned=True):
    return waves(heard([71.0]).T if is_turned else None)


@case("Record more snapshots", {"count": 60})
def few_snapshots(folder, count=6):
    rng = np.random.default_rng(0)
    return waves(rng.standard_normal((count, 8, 2)) @ [1.0, 1.0j], sampling_rate=None)


@case("Let its first line be x,y", {"head": "x,y"})
def a_geometry_of_other_columns(folder, head="left,up"):
    lines = [f"{x:g},{y:g}" for x, y in MICROPHONES.tolist()]
    return waves(geometry=text(folder, [head, *lines], "places.csv"))


@case(r"Write directions=\(0, 180, 5\)", {"directions": (0, 180, 5)})
def directions_backwards(folder, directions=(90, 0, 5)):
    return waves(directions=directions)


@case("Write places=", {"places": {"x": (0, 5), "y": (1, 4), "step": 1.0}})
def places_without_a_step(folder, places=None):
    return waves(directions=None, places=places or {"x": (0, 5), "y": (1, 4)})


# ---- M/EEG


def places_of(**changes):
    pytest.importorskip("mne")
    from tests.mne import heads

    from physupport.mne import locate

    known = {"data": heads.measured(100), "forward": heads.forward(), "noise_cov": heads.covariance()}
    options = {"between": False, "draws": 199, **known, **changes}
    return locate(options.pop("data"), options.pop("forward"), options.pop("noise_cov"), **options)


def several_times():
    from tests.mne import heads

    import mne

    evoked = heads.measured(100)
    return mne.EvokedArray(np.repeat(evoked.data, 3, axis=1), evoked.info, tmin=0.1)


@case("Give a time in seconds", PASTE, needs="mne")
def a_time_that_is_missing(folder, **changes):
    return places_of(data=several_times(), **changes)


@case("time must lie from 0.1", {"time": (0.1, 0.102)}, needs="mne")
def a_time_outside(folder, time=2.0):
    return places_of(data=several_times(), time=time)


@case("Write orientation='free': a loose", PASTE, needs="mne")
def a_loose_orientation(folder, **changes):
    return places_of(**{"orientation": "loose"} | changes)


@case("which have no normals.*Write orientation='free'", PASTE, needs="mne")
def normals_of_a_volume(folder, **changes):
    return places_of(**{"orientation": "normal"} | changes)


@case("Take epochs.average", {"is_evoked": True}, needs="mne")
def an_array_instead_of_an_evoked(folder, is_evoked=False):
    from tests.mne import heads

    return places_of(data=heads.measured(100) if is_evoked else heads.measured(100).data)


@case("Take a smaller depth, or leave it out", {"depth": 20.0}, {"depth": None}, needs="mne")
def a_depth_too_large(folder, depth=500.0):
    return places_of(depth=depth)


@case(r"evoked.rename_channels\(str.upper\)", {"rename": str.upper}, needs="mne")
def channels_of_other_names(folder, rename=str.lower):
    from tests.mne import heads

    names = {name: name.upper() for name in heads.measured(100).ch_names}
    forward, noise_cov = heads.forward().copy(), heads.covariance()
    forward["sol"]["row_names"] = [*names.values()]
    for channel in forward["info"]["chs"]:
        channel["ch_name"] = channel["ch_name"].upper()
    noise_cov["names"] = [*names.values()]
    return places_of(data=heads.measured(100).rename_channels(rename), forward=forward, noise_cov=noise_cov)


@case(r"Leave them out: evoked.drop_channels\(\['Cz'\]\)", {"drop": ["Cz"]}, needs="mne")
def a_bipolar_channel(folder, drop=()):
    from tests.mne import heads

    evoked = heads.measured(100)
    evoked.info["chs"][evoked.ch_names.index("Cz")]["coil_type"] = 5  # bipolar
    return places_of(data=evoked.drop_channels([*drop]) if drop else evoked)


@case(r"Leave them out: evoked.info\['bads'\] \+= \['Cz'\]", {"bad": ["Cz"]}, needs="mne")
def a_channel_without_numbers(folder, bad=()):
    from tests.mne import heads

    evoked = heads.measured(100)
    evoked.data[evoked.ch_names.index("Cz")] = np.nan
    evoked.info["bads"] += [*bad]
    return places_of(data=evoked)


@case("Give a covariance of more samples, or noise_cov=", PASTE, needs="mne")
def an_error_beside_few_samples(folder, **changes):
    from tests.mne import heads

    import mne

    few = mne.Covariance(1e-12 * np.eye(64), heads.measured(100).ch_names, [], [], nfree=200)
    return places_of(**{"noise_cov": few, "error": 0.05} | changes)


@case("one kind of channels: evoked.copy", PASTE, {"kind": "eeg"}, needs="mne")
def kinds_without_a_covariance(folder, kind="", **changes):
    from tests.mne import heads

    import mne

    info = heads.both()
    row = heads.field(100, np.array([0.0, 50.0, 20.0]), "both")
    evoked = mne.EvokedArray(row[:, None] + np.where(np.arange(104) < 64, 1e-6, 2e-14)[:, None], info)
    data = evoked.copy().pick(kind) if kind else evoked
    return places_of(**{"data": data, "forward": heads.forward("both"), "noise_cov": None} | changes)


# ---- the estimator


def fitted(rows="calibration", bank=None, **changes):
    made = make_instrument()
    given = {"calibration": made.calibration, "sparse": csr_array(made.calibration)}
    return PhysicalSupport(made.bank if bank is None else bank, **changes).fit(given.get(rows))


@case("Call fit.. without rows", {"rows": None}, PASTE)
def rows_for_nothing(folder, rows="calibration", calibration=None):
    return fitted(rows, calibration=calibration)


@case("Give fit the calibration rows", {"rows": "calibration"}, PASTE)
def no_rows_for_calibration(folder, rows=None, calibration="latent"):
    return fitted(rows, calibration=calibration)


@case("Take one of such rows: ", {"calibration": "latent"})
def a_law_of_the_other_stream(folder, calibration="covariance"):
    return fitted(calibration=calibration)


@case("rows.toarray", {"rows": "calibration"})
def rows_that_are_sparse(folder, rows="sparse"):
    return fitted(rows)


@case("Give the bank itself", {"bank": None, "rows": None})
def a_bank_for_no_rows(folder, rows=None, bank=lambda channels: make_instrument().bank):
    return fitted(rows, bank, calibration=None)


# ---- the tests


@pytest.mark.parametrize("name", CASES)
def test_the_remedy_works(name, home):
    _, function, mends, _ = CASES[name]
    error = refused(name, home)
    for mend in mends:
        changes = mend.of(error.remedy) if isinstance(mend, Paste) else [mend]
        assert changes, error.remedy
        for each in changes:
            with contextlib.chdir(home):
                assert function(home, **each) is not None


def test_every_remedy_that_the_sources_name_is_tried(tmp_path):
    for package in ("mne", "jcamp", "tifffile", "actigamma", "xraylib", "SpecUtils"):
        pytest.importorskip(package)
    told = [TOLD.get(name) or str(refused(name, tmp_path)) for name in CASES]
    folder = Path(physupport.__file__).parent
    untried = {
        source: [text for text in remedies_named(folder / f"{source}.py") if not any(re.search(text, t) for t in told)]
        for source in SOURCES
    }
    assert not {source: texts for source, texts in untried.items() if texts}

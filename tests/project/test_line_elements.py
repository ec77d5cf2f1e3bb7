"""Nuclides and chemical elements by name: bands that hold every detector in their range, and short projects."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import binom, exponnorm, norm

from physupport import MisuseError
from physupport.io import read_table
from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.project import identify, load_project, run_project, write_example
from physupport.responses import DETECTORS, Detector, Emission, generic_lines, line_bands
from physupport.verify import verify

pytest.importorskip("actigamma")
pytest.importorskip("xraylib")

AXIS = np.arange(100.5, 500.0, 1.5)
EDGES = np.append(AXIS - 0.75, AXIS[-1] + 0.75)
RANGES = {"energy": 0.4, "width": 0.15, "ratio": 0.4, "tail": 0.0, "sums": 0.0, "escape": 0.0, "faint": 0.0}
DETECTOR = Detector(resolution=(0.5, 0.002), escapes=(), efficiency=((1.0, 1.0),), **RANGES)
NUCLIDES = (
    Emission("A", 1.0, np.array([[180.0, 1.0], [300.0, 0.6]])),
    Emission("B", 2.0, np.array([[184.0, 0.8], [420.0, 1.0]])),
    Emission("C", 3.0, np.array([[303.5, 1.0]])),
)


def drawn_response(rng, emission, factor=1.0, detector=DETECTOR):
    """(q,) an answer of a detector in the ranges; factor: of its distances from the middle of these."""
    total = np.zeros(len(AXIS))
    offset, wider = (
        0.5 * (low + high) + factor * rng.uniform(-0.5, 0.5) * (high - low)
        for low, high in (detector.energies, detector.widths)
    )
    for energy, height in emission.lines:
        area = height * (1.0 + DETECTOR.ratio) ** (factor * rng.uniform(-1.0, 1.0))
        deviation = float(DETECTOR.deviations(np.array([energy]))[0]) * (1.0 + wider)
        total += area * np.diff(norm.cdf(EDGES, energy + offset, deviation))
    return total


def test_the_band_holds_every_detector_in_its_ranges_and_not_those_beyond():
    rng = np.random.default_rng(1)
    low, high, _ = line_bands(AXIS, NUCLIDES, DETECTOR)
    for number, emission in enumerate(NUCLIDES):
        inside = [drawn_response(rng, emission) for _ in range(200)]
        assert all((low[:, number] <= each + 1e-9).all() and (each <= high[:, number] + 1e-9).all() for each in inside)
        beyond = [drawn_response(rng, emission, 3.0) for _ in range(200)]
        escaped = [(low[:, number] > each + 1e-9).any() or (each > high[:, number] + 1e-9).any() for each in beyond]
        assert np.mean(escaped) > 0.5


def test_a_range_that_lies_to_one_side_holds_detectors_there_and_not_those_of_the_other():
    detector = replace(DETECTOR, energy=(0.6, 1.2), width=(0.0, 0.2))
    mirrored = replace(DETECTOR, energy=(-1.2, -0.6), width=(-0.2, 0.0))
    rng = np.random.default_rng(3)
    low, high, _ = line_bands(AXIS, NUCLIDES, detector)
    both_low, both_high, _ = line_bands(AXIS, NUCLIDES, replace(DETECTOR, energy=1.2, width=0.2))
    assert (both_low <= low + 1e-12).all()
    assert (high <= both_high + 1e-12).all()
    for number, emission in enumerate(NUCLIDES):
        for each, is_inside in ((detector, True), (mirrored, False)):
            drawn = [drawn_response(rng, emission, 1.0, each) for _ in range(100)]
            held = [(low[:, number] <= d + 1e-9).all() and (d <= high[:, number] + 1e-9).all() for d in drawn]
            assert all(held) if is_inside else not any(held)


def drawn_beside(rng, detector, edges, lines):
    """(q,) tails, sums and escape peaks in the ranges of a detector, of lines (L, 2) wherever these are."""
    total = np.zeros(len(edges) - 1)
    offset, wider = rng.uniform(-1.0, 1.0, 2) * [detector.energy, detector.width]
    areas = lines[:, 1] * detector.efficiencies(lines[:, 0]) * (1.0 + detector.ratio) ** rng.uniform(-1.0, 1.0)
    pairs = [(i, j) for i in range(len(lines)) for j in range(i + 1)]
    peaks = [*zip(lines[:, 0], areas, strict=True)]
    peaks += [(lines[[i, j], 0].sum(), detector.sums * min(areas[i], areas[j])) for i, j in pairs]
    peaks += [
        (energy - lost, detector.escape * area)
        for energy, area in zip(lines[:, 0], areas, strict=True)
        for lost in detector.escapes
        if energy > 1022.0
    ]
    for energy, area in peaks:
        deviation = float(detector.deviations(np.array([energy]))[0])
        smeared = deviation * (1.0 + wider)
        tail = exponnorm(3.0 * deviation / smeared, scale=smeared)  # to higher energies
        total += area * np.diff(norm.cdf(edges, energy + offset, smeared))
        total += area * detector.tail * -np.diff(tail.cdf(energy + offset - edges))
    return total


@pytest.mark.parametrize("last", [2000, 1325])
def test_the_band_holds_tails_sums_and_escapes_of_lines_beyond_the_axis_too(last):
    detector = replace(DETECTORS["gamma lines"], energy=0.5)
    lines = np.array([[45.0, 0.1], [310.0, 0.05], [350.0, 0.06], [1328.0, 1.0], [2614.0, 0.8]])
    axis = np.arange(50.5, last)
    edges = np.append(axis - 0.5, axis[-1] + 0.5)
    low, high, _ = line_bands(axis, [Emission("A", 1.0, lines)], detector)
    rng = np.random.default_rng(2)
    for _ in range(50):
        drawn = drawn_beside(rng, detector, edges, lines)
        assert (low[:, 0] <= drawn + 1e-9).all()
        assert (drawn <= high[:, 0] + 1e-6).all()  # a tail has an end, and less than that beyond it
    wider = drawn_beside(rng, replace(detector, tail=0.2, escape=0.4), edges, lines)
    assert (wider > high[:, 0] + 1e-6).any()


def certain_elements(rng, factor, names=(0, 1)):
    """Which of three nuclides are certain, where two are there, in a detector drawn from the ranges."""
    low, high, pieces = line_bands(AXIS, NUCLIDES, DETECTOR)
    inside = np.any([(a <= AXIS) & (b >= AXIS) for a, b in pieces], axis=0)
    mean = np.full(len(AXIS), 20.0)
    for number in names:
        mean += rng.uniform(300.0, 3000.0) * drawn_response(rng, NUCLIDES[number], factor)
    columns = [np.where((a <= AXIS) & (b >= AXIS), 1.0, 0.0) for a, b in pieces]
    band = low[inside], high[inside]
    supports = [(0, 1, 2), (1, 2), (0, 2), (0, 1)]
    table = CountTable(0.5 * (band[0] + band[1]), supports, np.array(columns).T[inside], band)
    judge = ByCounts(n_splits=1, widths=(0.0, 1.0)).judge(table, rng.poisson(mean)[inside], 0.05, seed=1)
    everything, *without = judge.verdicts(np.arange(4)).codes == Verdict.REJECTED
    return None if everything else [number for number in range(3) if without[number]]


@pytest.mark.parametrize(("factor", "is_valid"), [(1.0, True), (6.0, False)])
def test_false_certain_nuclides_and_lost_truths_are_within_the_level_and_not_beyond_the_ranges(factor, is_valid):
    rng = np.random.default_rng(2)
    answers = [certain_elements(rng, factor) for _ in range(200)]
    wrong = sum(answer is None or 2 in answer for answer in answers)
    assert bool(binom.sf(wrong - 1, 200, 0.05) > 1e-6) is is_valid
    if is_valid:  # and something is said
        assert np.mean([answer == [0, 1] for answer in answers]) > 0.9


def test_a_spectrum_and_names_are_a_project_and_one_call_of_python_says_the_same(tmp_path):
    write_example(tmp_path / "gamma", "gamma")
    names = ["Eu-152", "K-40", "Cs-137"]
    report = identify(tmp_path / "gamma/europium.spe", nuclides=names, folder=tmp_path / "one")
    assert {each.field: str(each.label) for each in report.fields} == {
        "Eu-152": "FINE", "K-40": "FINE", "Cs-137": "SUPPORT_AMBIGUOUS",
    }  # fmt: skip
    written = tomllib.loads((tmp_path / "one/project.toml").read_text())
    assert written["elements"]["nuclides"] == names
    again = run_project(load_project(tmp_path / "one/project.toml")).result.report
    assert again.document["fields"] == report.document["fields"]


def test_lines_anywhere_in_the_channels_are_mixes_of_generic_ones_and_a_place_allows_for_the_energy_scale():
    inside = (AXIS > 200.0) & (AXIS < 400.0)
    columns, (low, high) = generic_lines(AXIS, inside, DETECTOR)
    for energy, wider in ((301.7, -0.15), (250.2, 0.0), (399.0, 0.15), (199.0, 0.1)):
        deviation = float(DETECTOR.deviations(np.array([energy]))[0]) * (1.0 + wider)
        line = np.diff(norm.cdf(EDGES, energy, deviation))[inside]
        assert nnls(columns, line)[1] < 0.002 * np.linalg.norm(line)
    assert np.allclose(high - low, 2.0 * 0.4 + 4.0 * np.gradient(0.5 * (low + high)), rtol=0.1)


NAI = """level = 0.05
[data.deployment]
file = "rows.csv"
window = [560.0, 1100.0]
[elements]
kind = "gamma lines"
nuclides = ["Cs-137"]
bins = 1
[elements.detector]
resolution = [0.0, 0.585]
energy = 2.0
tail = 0.0
sums = 0.0
[unlisted]
peaks = { width = "resolution" }
"""


def test_a_line_that_no_listed_nuclide_has_is_found_with_the_resolution_of_the_detector(tmp_path):
    edges = np.arange(99.0, 1200.0, 6.0)
    lines = [np.diff(norm.cdf(edges, energy, np.sqrt(0.585 * energy))) for energy in (661.7, 1001.0)]
    rows = np.random.default_rng(1).poisson(np.array([3000.0, 1500.0]) @ lines + 10.0)
    header = ",".join(f"{energy:g} keV" for energy in edges[:-1] + 3.0)
    (tmp_path / "rows.csv").write_text(f"{header}\n{','.join(map(str, rows))}\n")
    (tmp_path / "project.toml").write_text(NAI)
    report = run_project(load_project(tmp_path / "project.toml")).result.report
    fields = {field.field: field for field in report.fields}
    assert fields["unlisted"].label == "FINE"
    assert fields["Cs-137"].label == "SUPPORT_AMBIGUOUS"  # a single line, as the unlisted may have
    ((low, high),) = report.document["unlisted"]["intervals"]
    assert report.document["unlisted"]["unit"] == "keV"
    assert low <= 1001.0 <= high <= low + 120.0
    inside = (edges[:-1] + 3.0 >= 560.0) & (edges[:-1] + 3.0 <= 1100.0)
    assert verify(report.json(), {"deployment": rows[None, inside].astype(float)}).is_verified


@pytest.mark.parametrize("form", ["rosettasciio", "pandas"])
def test_objects_of_other_programs_are_spectra_with_energies(form):
    counts = np.random.default_rng(3).poisson(5.0 + 600.0 * norm.pdf(AXIS, 302.85, 0.7))
    axis = {"size": len(AXIS), "scale": 1.5, "offset": 100.5, "units": "keV", "navigate": False}
    spectrum: object = {"data": counts, "axes": [axis]}
    if form == "pandas":
        spectrum = pytest.importorskip("pandas").Series(counts, index=[f"{energy} keV" for energy in AXIS])
    one, other = (identify(each, nuclides=["Ba-133"]) for each in (spectrum, (counts, AXIS)))
    assert one.document["fields"] == other.document["fields"]
    bare = {"data": counts, "axes": [{key: value for key, value in axis.items() if key != "units"}]}
    with pytest.raises(MisuseError, match="in a unit of energy, not others, in no unit"):
        identify(bare, nuclides=["Ba-133"])


def test_files_of_vendors_are_read_with_their_energies(tmp_path):
    utils = pytest.importorskip("SpecUtils")
    write_example(tmp_path, "gamma")
    own = read_table(tmp_path / "europium.spe", channels="channels", label="rows")
    file = utils.SpecFile()
    file.loadFile(str(tmp_path / "europium.spe"), utils.ParserType.Auto)
    for ending, kind in (("n42", "N42_2012"), ("pcf", "Pcf"), ("chn", "Chn"), ("spc", "SpcBinaryInt")):
        path = tmp_path / f"europium.{ending}"
        file.writeToFile(
            str(path), file.sampleNumbers(), file.detectorNumbers(), getattr(utils.SaveSpectrumAsType, kind)
        )
        table = read_table(path, channels="channels", label="rows")
        np.testing.assert_array_equal(table.values, own.values)
        energies, wanted = (np.array([float(name.split()[0]) for name in each.channels]) for each in (table, own))
        assert np.abs(energies - wanted).max() < 0.5  # half a channel: formats differ in what they calibrate


def test_a_csv_is_two_columns_or_below_a_header_of_energies_a_line_a_spectrum(tmp_path):
    counts = np.random.default_rng(3).poisson(5.0 + 600.0 * norm.pdf(AXIS, 300.0, 1.0))
    lines = [f"{energy},{count}" for energy, count in zip(AXIS, counts, strict=True)]
    (tmp_path / "two.csv").write_text("\n".join(["energy (keV),counts", *lines]))
    row = ",".join(map(str, counts))
    (tmp_path / "line.csv").write_text(",".join(f"{energy:g} keV" for energy in AXIS) + f"\n{row}\n{row}\n")
    two, line = (read_table(tmp_path / f"{name}.csv", label="rows") for name in ("two", "line"))
    assert two.channels == line.channels
    np.testing.assert_array_equal(two.values, [counts])
    np.testing.assert_array_equal(line.values, [counts, counts])
    (tmp_path / "names.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    with pytest.raises(MisuseError, match="Name the axis that runs over channels"):
        read_table(tmp_path / "names.csv", label="rows", header=True)


def test_the_usual_detectors_are_those_of_the_page():
    assert 2.3548 * DETECTORS["gamma lines"].deviations([122.0, 1333.0]) == pytest.approx([1.0, 1.9], abs=0.02)
    assert 2.3548 * DETECTORS["xray lines"].deviations([5.9]) == pytest.approx([0.14], abs=0.001)

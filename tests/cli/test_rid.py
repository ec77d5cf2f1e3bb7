"""`physupport rid` on files that another program wrote, in the form for programs and in that of InterSpec."""

import json

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.io import read_foreground
from physupport.project import USUAL_NUCLIDES, category, identify, identify_nuclides, write_example
from physupport.report import Report
from physupport.responses import gamma_lines
from physupport.verify import verify

utils = pytest.importorskip("SpecUtils")
pytest.importorskip("actigamma")

KIND = utils.SaveSpectrumAsType
NAMES = "Eu-152,K-40,Cs-137,Co-60"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rid")
    write_example(folder, "gamma")
    return folder / "europium.spe"


def written(source, path, kind):
    """The spectrum as SpecUtils saves it."""
    file = utils.SpecFile()
    file.loadFile(str(source), utils.ParserType.Auto)
    file.writeToFile(str(path), file.sampleNumbers(), file.detectorNames(), kind)
    return path


def saved(path, counts, calibration):
    """Counts as SpecUtils saves them."""
    file = utils.SpecFile()
    one = utils.Measurement.new()
    one.setGammaCounts(counts.astype(float).tolist(), 60.0, 60.0)
    one.setEnergyCalibration(utils.EnergyCalibration.fromPolynomial(len(counts), calibration))
    file.addMeasurement(one, True)
    file.writeToFile(str(path), file.sampleNumbers(), file.detectorNames(), KIND.N42_2012)
    return path


def answer(*arguments):
    result = CliRunner().invoke(app, ["rid", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.parametrize(("ending", "kind"), [("n42", KIND.N42_2012), ("spc", KIND.SpcBinaryInt), ("pcf", KIND.Pcf)])
def test_files_of_another_program_give_the_answer_of_the_original(source, tmp_path, ending, kind):
    expected = answer(source, "--nuclides", NAMES)
    assert expected["certain"] == ["Eu-152", "K-40"]
    found = answer(written(source, tmp_path / f"s.{ending}", kind), "--nuclides", NAMES)
    for key in ("status", "level", "certain", "possible", "excluded"):
        assert found[key] == expected[key]
    assert [*found["amounts"]] == NAMES.split(",")
    assert found["amounts"]["Eu-152"][0] > 0.0 == found["amounts"]["Cs-137"][0]


def test_a_file_without_an_ending_in_the_form_of_interspec(source, tmp_path):
    path = written(source, tmp_path / "interspec_ana_1", KIND.N42_2012)
    form = ["--mode=command-line", "--out-format=json", "--drf", "auto", "--synthesize-background=1"]
    found = answer(*form, path, "--nuclides", NAMES)
    assert found["code"] == 0
    assert found["drf"] == "auto"
    assert [(each["name"], each["type"], each["confidenceStr"]) for each in found["isotopes"]] == [
        ("Eu152", "Industrial", "H"), ("K40", "NORM", "H"),
    ]  # fmt: skip
    assert all(each["confidence"] == 9.5 for each in found["isotopes"])
    assert "Cs-137" in found["analysisWarnings"][0]


def test_it_lists_its_detectors_as_interspec_asks_for_them():
    assert answer("--command-line", "--out-format", "json", "--drfs")[:2] == ["auto", "HPGe"]


def test_the_report_is_saved_verifies_and_has_the_digest_of_the_answer(source, tmp_path):
    found = answer(source, "--nuclides", NAMES, "--save", tmp_path / "kept/report.json")
    report = Report.load(tmp_path / "kept/report.json")
    assert report.digests["document"] == found["digest"]
    assert verify(report.json()).is_verified


def test_the_answer_goes_into_an_n42_file_that_another_program_reads(source, tmp_path):
    answer(source, "--nuclides", NAMES, "--n42", tmp_path / "answer.n42")
    file = utils.SpecFile()
    file.loadFile(str(tmp_path / "answer.n42"), utils.ParserType.Auto)
    results = file.detectorAnalysisResults()
    assert sorted(each.nuclide() for each in results) == ["Eu-152", "K-40"]
    original = utils.SpecFile()
    original.loadFile(str(source), utils.ParserType.Auto)
    assert file.gammaCountSum() == original.gammaCountSum()


def test_a_background_in_the_file_is_left_out(source, tmp_path):
    file = utils.SpecFile()
    file.loadFile(str(source), utils.ParserType.Auto)
    first = file.measurements()[0]
    beside = first.clone()
    beside.setGammaCounts([1.0] * first.numGammaChannels(), 10.0, 10.0)
    beside.setSampleNumber(2)
    file.addMeasurement(beside, True)
    added = file.measurements()[1]
    file.setSourceType(utils.SourceType.Background, added)
    file.writeToFile(str(tmp_path / "two.n42"), file.sampleNumbers(), file.detectorNames(), KIND.N42_2012)
    assert answer(tmp_path / "two.n42", "--nuclides", NAMES)["certain"] == ["Eu-152", "K-40"]


def test_a_folder_of_measured_spectra_is_a_library(tmp_path):
    rng = np.random.default_rng(2)
    energies = np.arange(20.0, 1500.0, 6.0)
    lines = {"Cs-137": [(662.0, 1.0)], "Co-60": [(1173.0, 1.0), (1332.0, 1.0)], "Ba-133": [(356.0, 1.0), (81.0, 0.5)]}
    shapes = {
        name: sum(h * np.exp(-0.5 * ((energies - e) / (0.03 * e + 5.0)) ** 2) for e, h in listed)
        for name, listed in lines.items()
    }

    def save(path, counts):
        np.savetxt(path, np.stack([energies, counts], axis=1), fmt="%.1f")

    (tmp_path / "library").mkdir()
    for name, shape in shapes.items():
        save(tmp_path / f"library/{name}.txt", rng.poisson(1e5 * shape))
    signal = rng.poisson(600.0 * shapes["Cs-137"] + 300.0 * shapes["Ba-133"] + 20.0)
    found = answer(saved(tmp_path / "s.n42", signal, [17.0, 6.0]), "--library", tmp_path / "library")
    assert found["certain"] == ["Ba-133", "Cs-137"]
    assert found["possible"] == ["Co-60"]


@pytest.mark.parametrize("extra", [0.0, 4000.0])
def test_lines_that_no_nuclide_has_are_found_with_their_place_and_nothing_else_is_certain_beside_them(tmp_path, extra):
    edges = np.arange(30.0, 1602.0, 6.0)
    lines = [np.diff(norm.cdf(edges, energy, np.sqrt(10.0 + 0.57 * energy))) for energy in (661.7, 1050.0)]
    counts = np.random.default_rng(1).poisson(8000.0 * lines[0] + extra * lines[1] + 20.0)
    path = saved(tmp_path / "s.n42", counts, [30.0, 6.0])
    found = answer(path, "--drf", "NaI", "--nuclides", "Cs-137,Zn-65,K-40", "--unlisted")
    assert found["certain"] == []  # one line, which something unlisted may have, too
    assert found["unlisted"]["is_there"] == (extra > 0.0)
    assert found["if_complete"] == ([] if extra else ["Cs-137"])
    if extra:
        ((low, high),) = found["unlisted"]["intervals"]
        assert low <= 1050.0 <= high <= low + 160.0
    plain = answer(path, "--drf", "NaI", "--nuclides", "Cs-137,Zn-65,K-40")
    assert plain["unlisted"] == {"is_there": extra > 0.0, "intervals": None}
    assert plain["certain"] == found["if_complete"]
    assert plain["if_complete"] is None


def test_names_of_the_usual_library_are_known_and_apart():
    assert len({*USUAL_NUCLIDES}) == 80
    assert [each.name for each in gamma_lines(USUAL_NUCLIDES)] == [*USUAL_NUCLIDES]
    assert {category(name) for name in USUAL_NUCLIDES} == {"Medical", "NORM", "Nuclear", "Industrial"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--drf", "Detective-EX"], "--drf must be auto, HPGe"),
        (["--nuclides", "Xx-999"], "--nuclides must be nuclides with known decays"),
        (["--mode", "server"], "--mode must be"),
        (["--unlisted"], "--unlisted must make at most 600 peaks"),
        (["--out-format", "xml"], "--out-format must be json"),
    ],
)
def test_what_cannot_be_asked_is_told_by_its_option(source, arguments, said):
    error = CliRunner().invoke(app, ["rid", str(source), *arguments]).exception
    assert isinstance(error, MisuseError)
    assert said in str(error)


def test_a_file_that_is_no_spectrum_is_refused(tmp_path):
    (tmp_path / "note.n42").write_text("nothing")
    error = CliRunner().invoke(app, ["rid", str(tmp_path / "note.n42")]).exception
    assert "be a gamma spectrum" in str(error)


BROKEN = [("nan", "line 7"), ("oops", "line 7"), ("", "line 7"), ("-5", "-5 in channel 5"), ("2.5", "2.5 in channel 5")]


@pytest.mark.parametrize(("cell", "said"), BROKEN)
def test_a_broken_count_is_refused_and_named(tmp_path, cell, said):
    counts = ["7"] * 300
    counts[5] = cell
    rows = "".join(f"{3.0 * i + 1.5},{count}\n" for i, count in enumerate(counts))
    (tmp_path / "s.csv").write_text(f"energy (keV),counts\n{rows}")
    with pytest.raises(MisuseError, match=said):
        identify_nuclides(tmp_path / "s.csv", nuclides=["Cs-137"])
    with pytest.raises(MisuseError, match=f"^spectrum must.*{said}"):
        identify(tmp_path / "s.csv", nuclides="Cs-137", detector="NaI")


@pytest.mark.parametrize(
    ("cell", "said"), [("nan", "in channel 5"), ("", "not 299 of them"), ("-5", "-5 in channel 5")]
)
def test_a_broken_count_of_an_spe_file_is_refused(tmp_path, cell, said):
    counts = ["7"] * 300
    counts[5] = cell
    rows = "\n".join(counts)
    (tmp_path / "s.spe").write_text(f"$SPEC_ID:\ns\n$DATA:\n0 299\n{rows}\n$ENER_FIT:\n1.5 3.0\n$ENDRECORD:\n")
    with pytest.raises(MisuseError, match=said):
        identify_nuclides(tmp_path / "s.spe", nuclides=["Cs-137"])
    with pytest.raises(MisuseError, match=said):
        identify(tmp_path / "s.spe", nuclides=["Cs-137"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"detector": "NaI(Tl)"}, "^detector must be auto, HPGe, NaI"),
        ({"detector": {"tail": 2.0}}, "^detector.tail must be below 1"),
        ({"nuclides": "Xx-1"}, "^nuclides must be nuclides with known decays, not 'Xx-1'"),
    ],
)
def test_python_names_its_arguments(keys, said):
    energies = 3.0 * np.arange(300) + 1.5
    with pytest.raises(MisuseError, match=said):
        identify((np.full(300, 7.0), energies), **{"nuclides": "Cs-137"} | keys)
    with pytest.raises(MisuseError, match=r"^spectrum must .* not 2.5 in channel 5"):
        identify((np.where(np.arange(300) == 5, 2.5, 7.0), energies), nuclides="Cs-137", detector="NaI")


def test_the_assumed_detector_is_named_and_channels_wider_than_its_lines_are_warned_about():
    counts = np.full(300, 7.0), 6.0 * np.arange(300) + 3.0
    assumed = identify(counts, nuclides="Cs-137", at_errors=False).opening()
    assert "Assumed: a detector of germanium, with lines 1.47 keV wide at 662 keV." in assumed
    assert any(said.startswith("Channels are 6 keV wide, wider than lines") for said in assumed)
    told = identify(counts, nuclides="Cs-137", detector="NaI", at_errors=False).opening()
    assert not any("Assumed" in said or "wider" in said for said in told)


def test_counts_on_many_lines_of_xml_are_no_columns(source, tmp_path):
    text = written(source, tmp_path / "s.n42", KIND.N42_2012).read_text()
    begin = text.index("<ChannelData")
    end = text.index("</ChannelData>")
    words = text[begin:end].split()
    lines = " ".join(words[:2]) + "\n" + "\n".join(" ".join(words[i : i + 2]) for i in range(2, len(words), 2))
    (tmp_path / "many.n42").write_text(f"{text[:begin]}{lines}\n{text[end:]}")
    many, one = (read_foreground(tmp_path / name) for name in ("many.n42", "s.n42"))
    np.testing.assert_array_equal(many, one)

"""The comparison of judges uses simulated rows alone, before any data are read."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import assemble, compare_judges, comparison_notes, load_project

# The project of peaks with rows that have a mean, of thirty places on sixteen channels.
MEAN = (
    ("seed = 3", 'seed = 3\njudge = "evidence"'),
    ("covariance", "mean"),
    ("noise = 0.5", "noise = 0.25"),
    ("proposal = 0.4", "proposal = 0.5"),
    ("count = 8", "count = 16"),
    ("strength = 2.0\ntolerance = 0.01\n", "strength = 1.0\n"),
)
GAUSSIAN = (("mean", "gaussian"), ('judge = "evidence"\n', ""), ("proposal = 0.5\n", ""), ("strength = 1.0\n", ""))
OPEN = (*GAUSSIAN, ("noise = 0.25\n", ""))
COUNTS = (*OPEN, ("gaussian", "poisson"))
ELEMENTS = "".join(f"p{i},A,{x!r}\n" for i, x in enumerate(np.linspace(0.2, 0.8, 30).tolist()))


@pytest.fixture
def written(tmp_path, write_peaks):
    def made(*changes, rows=20, value=0.0):
        deployment = np.full((rows, 16), value)
        return write_peaks(tmp_path, *MEAN, *changes, elements=f"id,region,x\n{ELEMENTS}", deployment=deployment)

    return made


@pytest.fixture
def project(written):
    return written()


@pytest.fixture
def compared(written):
    """What is told of each judge, and what of the rows that were made for all."""

    def made(*changes, rows=20):
        assembled = assemble(load_project(written(*changes, rows=rows)))
        forecasts = {forecast.judge: forecast for forecast in compare_judges(assembled, 2)}
        return forecasts, " ".join(comparison_notes(assembled, [*forecasts.values()]))

    return made


def told(found):
    return [(each.judge, each.kept, each.elements, each.extent, each.truth_kept) for each in found]


def test_judges_that_fit_come_first_and_others_say_why(project):
    found = compare_judges(assemble(load_project(project)))
    assert [each.judge for each in found[:2]] == ["simulation", "evidence"]
    simulation, evidence, *others = found
    assert 0.0 < simulation.kept < evidence.kept < 1.0  # all rows against half of them
    assert simulation.extent < evidence.extent
    assert min(simulation.truth_kept, evidence.truth_kept) >= 6  # of 8 at level 0.1
    assert {each.judge for each in others} == {"rotation", "counts", "conformal", "invariant", "learnt"}
    assert all(each.kept is None and each.why and "cannot be asked here" in each.sentence() for each in others)


def test_no_number_of_the_data_is_used(written):
    before = told(compare_judges(assemble(load_project(written())), 3))
    assert told(compare_judges(assemble(load_project(written(value=1e6))), 3)) == before
    assert compare_judges(assemble(load_project(written(rows=80))), 3)[0].kept < before[0][1]  # more rows tell more


def test_the_command_prints_a_line_for_every_judge(project):
    answer = CliRunner().invoke(app, ["plan", "--project", str(project)])
    assert answer.exit_code == 0
    assert "simulation: would leave" in answer.stdout
    assert "Only the number of data rows was used, not their values." in " ".join(answer.stdout.split())
    answer = CliRunner().invoke(app, ["plan", "--project", str(project), "--json"])
    assert json.loads(answer.stdout)[0]["judge"] == "simulation"


def test_free_coefficients_are_as_large_as_is_told(written):
    project = written(*GAUSSIAN, ("seed = 3", 'seed = 3\njudge = "rotation"'))
    assembled = assemble(load_project(project))
    weak, strong = (
        next(each for each in compare_judges(assembled, 4, strength=size) if each.judge == "rotation")
        for size in (0.2, 5.0)
    )
    assert strong.elements < 0.5 * weak.elements
    answer = CliRunner().invoke(app, ["plan", "--project", str(project), "--strength", "-1"])
    assert answer.exit_code != 0
    assert "--strength must" in str(answer.exception)


def test_a_judge_of_replicates_is_tried_on_measured_spectra_whose_unit_it_does_not_know(tmp_path):
    """By unit: spectra of one differ from the others of their element, so that rows of a law would fit none."""
    rng, names = np.random.default_rng(0), ("a", "b", "c")
    shapes, lines = rng.standard_normal((3, 12)), ["element,unit," + ",".join(f"c{i}" for i in range(12))]
    for unit in range(10):
        tilt = 0.05 * rng.standard_normal(12)
        lines += [
            f"{name},u{unit}," + ",".join(f"{v!r}" for v in (shape + tilt).tolist())
            for name, shape in zip(names, shapes, strict=True)
        ]
    (tmp_path / "replicates.csv").write_text("\n".join(lines))
    (tmp_path / "elements.csv").write_text("id,region,x\na,line,0\nb,line,1\nc,line,2\n")
    np.save(tmp_path / "columns.npy", shapes.T)
    np.save(tmp_path / "rows.npy", np.zeros((1, 12)))
    (tmp_path / "project.toml").write_text(
        'level = 0.1\njudge = "conformal"\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\nlaw = "gaussian"\n'
        '[elements]\nfile = "elements.csv"\ncoordinates = ["x"]\nresponses = "columns.npy"\n'
        'replicates = "replicates.csv"\nreplicate_unit = "unit"\n[regions.line]\n'
    )
    found = compare_judges(assemble(load_project(tmp_path / "project.toml")), 6)
    conformal = next(each for each in found if each.judge == "conformal")
    assert conformal.truth_kept >= 4  # of 6 at level .1
    assert conformal.kept < 0.6  # ten units can exclude at this level, nine of them as well


def test_a_strength_beyond_all_counts_is_refused(project):
    with pytest.raises(MisuseError, match="strength must"):
        compare_judges(assemble(load_project(project)), 1, strength=1e30)


# Of every project, what is said of the rows that were made, and what is not, as it is not so there.
SAID = {
    "strengths and noise": (
        (),
        ["the strengths and the noise of the file.", "it names evidence"],
        ["--strength", "0.1"],
    ),
    "judge left out": ((('judge = "evidence"\n', ""),), ["without that, the run takes evidence"], ["it names evid"]),
    "noise known": (GAUSSIAN, ["coefficients of 1 (--strength) and the noise of the file."], ["0.1", "strengths"]),
    "noise unknown": (OPEN, ["noise of deviation 0.1 where the file leaves it open."], ["noise of the file"]),
    "background": ((*OPEN, ("[elements]", "[background]\npolynomial = 1\n[elements]")), [" and no background."], []),
    "counts": (COUNTS, ["amounts of 1 (--strength), where 1 is about", "No other judge takes"], ["noise", "Name"]),
    "threshold": (
        (*OPEN, ("[regions.A]", '[regions.A]\npresence = "optional"\nabsence_threshold = 0.5')),
        ["coefficients of 0.25 or 0.5 (--strength)"],
        [],
    ),
    "variances": (
        (*OPEN, ('law = "gaussian"', 'law = "gaussian"\nrows = "random"')),
        ["coefficients of variance 1 (--strength)"],
        [],
    ),
    "width": (
        (*OPEN, ("[elements]", "[elements]\nerror = 0.01")),
        ["responses at the middle of what they may be"],
        ["rotation."],
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_comparison_fits_the_project(name, compared):
    changes, said, unsaid = SAID[name]
    _, notes = compared(*changes)
    assert all(part in notes for part in said), notes
    assert not any(part in notes for part in (*unsaid, "conformal")), notes
    assert "Only the number of data rows was used, not their values." in notes


def test_judges_that_cannot_be_asked_say_why_in_words_that_are_true_of_these_rows(compared):
    counts, _ = compared(*COUNTS, rows=1)
    for kind in ("rotation", "simulation", "evidence"):
        assert "judge must be 'counts'" in counts[kind].why
    gaussian, _ = compared(*OPEN, rows=1)
    assert "judge must be 'counts' only where one stream has rows that count, not gaussian" in gaussian["counts"].why
    assert "judge must be 'rotation' where coefficients are free" in gaussian["simulation"].why
    assert gaussian["conformal"].why.startswith("elements.replicates is required")
    given, _ = compared()
    assert "judge must be 'rotation' only where one stream has rows that are linear" in given["rotation"].why


def test_the_judge_of_the_file_is_compared_with_the_options_of_the_file(compared):
    """A single row cannot be divided; noise that is added can split it, and the file says so."""
    fission = ('law = "gaussian"', 'law = "gaussian"\nsplit = "fission"')
    named = ("seed = 3", 'seed = 3\njudge = "evidence"')
    exact = ("[elements]", "[elements]\nexact = true")  # cells have evidence only
    forecasts, notes = compared(*GAUSSIAN, exact, fission, named, rows=1)
    assert forecasts["evidence"].kept is not None
    assert "it names evidence" in notes
    plain, _ = compared(*GAUSSIAN, exact, rows=1)
    assert "data.deployment.split must not be 'rows'" in plain["evidence"].why


def test_what_is_left_is_told_by_region_number_and_unit(compared):
    forecasts, _ = compared(('coordinates = ["x"]', 'coordinates = ["x"]\nunit = "mm"'))
    sentence = forecasts["evidence"].sentence()
    assert " of the 30 elements of A, " in sentence
    assert " mm apart at most" in sentence


def test_a_strength_is_refused_where_the_project_has_them(project):
    with pytest.raises(MisuseError, match="strength must be left out where the project has the strengths, not 2"):
        compare_judges(assemble(load_project(project)), 1, strength=2.0)


def test_rows_of_an_estimated_covariance_are_as_noisy_as_it_says(compared, tmp_path):
    noise = np.random.default_rng(3).standard_normal((400, 16)) * 0.02
    np.save(tmp_path / "noise.npy", noise)
    estimated = (*OPEN, ('law = "gaussian"', 'law = "gaussian"\nnoise = { rows = "noise.npy" }'))
    quiet, notes = compared(*estimated)
    assert "the covariance of the noise that is estimated" in notes
    np.save(tmp_path / "noise.npy", 50.0 * noise)
    loud, _ = compared(*estimated)
    assert quiet["rotation"].kept < loud["rotation"].kept  # 0.02 and 1 beside coefficients of 1

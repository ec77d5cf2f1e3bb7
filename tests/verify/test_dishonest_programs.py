"""Reports, details and pages that a dishonest program wrote, every hash made to fit; the project and its rows tell."""

import copy

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.banks import Cover
from physupport.cli import app
from physupport.project import load_project, run_project
from physupport.project._differences import protocol_differences
from physupport.report import Details
from physupport.report.page import page_html
from physupport.verify import verify

AXIS = np.linspace(0.0, 1.0, 20)


def noisy():
    wave = np.exp(-0.5 * ((AXIS - 0.5123) / 0.1) ** 2)
    return wave / np.linalg.norm(wave) + 0.5 * np.random.default_rng(5).standard_normal((16, 20))


def checked(folder, project, *more):
    return CliRunner().invoke(app, ["verify", str(folder), "--project", str(project), *more])


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_a_cover_that_was_run_at_another_level_than_its_own_is_refused(tmp_path, write_cover, monkeypatch, share):
    project = load_project(write_cover(tmp_path, noisy()))
    honest = Cover.level
    with monkeypatch.context() as dishonest:
        dishonest.setattr(Cover, "level", lambda cover, alpha: share * honest(cover, alpha))
        document = run_project(project).result.report.document
    for rows in (None, {"deployment": noisy()}):
        findings = verify(document, rows).findings
        assert any("as its cover says" in finding for finding in findings)
    (finding,) = protocol_differences(project, document["protocol"])[0].findings
    assert finding.endswith("with other level of the run")


@pytest.fixture(scope="module")
def honest(tmp_path_factory, write_peaks):
    """A folder with a project of strong rows, which do not look as its law says, and their report."""
    folder = tmp_path_factory.mktemp("honest")
    rows = 1.5 * np.random.default_rng(0).normal(size=(200, 8))
    return run_project(load_project(write_peaks(folder, ("noise = 0.5", "noise = [0.5, 1.0, 2.0]"), deployment=rows)))


def write_forged(finished, change):
    """The details changed, with their hash, and the page made of them."""
    document = copy.deepcopy(finished.details.document)
    change(document)
    details = Details(document)
    details.save(finished.folder / "details.json")
    (finished.folder / "report.html").write_text(page_html(finished.result.report, details), newline="")


DETAILS = {
    "no misfit": lambda d: d["misfit"][0].update(is_misfit=not d["misfit"][0]["is_misfit"]),
    "another title": lambda d: d.update(title="Certified by the office"),
    "a point of a picture": lambda d: d["library"]["responses"][0].__setitem__(0, 0.25),
    "a label at another level": lambda d: d["fields"][0]["levels"][0].update(label="LOCAL_AMBIGUOUS"),
    "an element that was not tested": lambda d: d["fields"][0]["elements"][0].update(state="not asked"),
    "the number of rows": lambda d: d["inputs"][0].update(held_out_rows=10**6),
    "a command that does something else": lambda d: d.update(verify="physupport verify report.json; rm x"),
    "truth for a number": lambda d: d["outcome"].update(queries=True),
    "nothing left out": lambda d: d.update(library=None),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_that_the_rows_do_not_give_are_refused_with_their_project(honest, name):
    project = honest.assembled.project.path
    write_forged(honest, lambda document: None)
    assert checked(honest.folder, project).exit_code == 0
    write_forged(honest, DETAILS[name])
    answer = checked(honest.folder, project)
    assert answer.exit_code == 3
    assert "refused: details.json: " in answer.stderr


def test_without_the_project_it_is_said_that_details_are_taken_as_they_stand(honest):
    write_forged(honest, lambda document: None)
    note = "details.json, and what the page shows of it, is taken as it stands"
    alone = CliRunner().invoke(app, ["verify", str(honest.folder)])
    assert alone.exit_code == 0
    assert note in alone.stderr
    assert note not in checked(honest.folder, honest.assembled.project.path).stderr


def test_times_and_rounding_of_details_are_not_held_against_them(honest):
    def change(document):
        document["seconds"]["ask"] += 1.0
        document["misfit"][0]["statistic"] *= 1.0 + 1e-12

    write_forged(honest, change)
    assert checked(honest.folder, honest.assembled.project.path).exit_code == 0


def test_details_of_a_report_with_another_policy_and_budget_are_compared_all_the_same(honest):
    write_forged(honest, DETAILS["another title"])
    path = honest.assembled.project.path
    text = path.read_text()
    path.write_text(text.replace("budget = 1.0", "budget = 0.9"))
    answer = checked(honest.folder, path)
    path.write_text(text)
    assert answer.exit_code == 3
    assert "labels are safe at any" in answer.stderr
    assert "refused: details.json: title" in answer.stderr


WRITTEN = {
    "the judge": lambda d: d["protocol"]["judge"].update(assumes="nothing at all"),
    "the bank": lambda d: d["bank"]["states"]["shared"].update(shape=[3, 0]),
    "the law of deployment": lambda d: d["protocol"]["streams"][0]["law"].update(is_complex=0),
    "the numerator of deployment": lambda d: d["protocol"]["streams"][0]["numerator"].update(key=True),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_what_is_written_otherwise_than_a_run_writes_it_is_refused(honest, resealed, what):
    document = copy.deepcopy(honest.result.report.document)
    WRITTEN[what](document)
    assert what in " ".join(verify(resealed(document)).findings)


@pytest.mark.parametrize("version", ["0.2.0 (certified)", "<b>1</b>", "", "1" * 65])
def test_a_version_is_a_version(honest, resealed, version):
    document = copy.deepcopy(honest.result.report.document)
    document["program"]["physupport"] = version
    assert "document.program.physupport must be a version" in " ".join(verify(resealed(document)).findings)


def test_truth_is_no_number_among_the_facts_of_a_judge(tmp_path, write_lines, resealed):
    lines = np.array([np.exp(-0.5 * ((AXIS - x) / 0.1) ** 2) for x in (0.2, 0.4, 0.8)]).T
    row = 2.0 * lines[:, 1] + 0.1 * np.random.default_rng(2).standard_normal((3, 20))
    project = load_project(write_lines(tmp_path, (0.2, 0.4, 0.8), rows=row, lines=lines))
    document = run_project(project).result.report.document
    assert verify(document, {"deployment": row}).is_verified
    place = next(i for i, each in enumerate(document["gate"]["findings"]) if "is_own" in each)
    forged = copy.deepcopy(document)
    forged["gate"]["findings"][place]["is_own"] = int(forged["gate"]["findings"][place]["is_own"])
    assert not verify(resealed(forged), {"deployment": row}).is_verified


@pytest.mark.parametrize("name", ["cut", "resumed", "withheld", "stopped"])
def test_an_honest_folder_is_verified_with_its_project_however_the_run_ended(tmp_path, write_peaks, name):
    elements = "id,region,x\n" + "".join(f"a{i},A,{x}\n" for i, x in enumerate(np.linspace(0.1, 0.9, 9)))
    rows = (9.0 if name == "withheld" else 1.0) * np.random.default_rng(0).normal(size=(40, 8))
    change = ("budget = 1.0", "budget = 1.0" if name in ("withheld", "stopped") else "budget = 3")
    path = write_peaks(tmp_path, change, elements=elements, deployment=rows)
    finished = run_project(load_project(path), callback=(lambda _: False) if name == "stopped" else None)
    if name == "resumed":
        finished = run_project(load_project(path, {"budget": 5}), resume=True)
    ending = finished.result.report.document["outcome"]["ending"]
    assert ending == {"withheld": "CERTIFIED", "stopped": "STOPPED"}.get(name, "BUDGET")
    assert checked(finished.folder, path).stderr.count("refused") == 0

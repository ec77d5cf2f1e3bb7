"""Projects that know neither strengths nor noise, and projects that ask whether anything in their bank fits."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import as_pairs
from physupport.project import assemble, load_project, response_error, run_project, write_error
from physupport.verify import verify

Q, ANGLES = 10, np.linspace(-50.0, 50.0, 11)
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(np.deg2rad(ANGLES))) / np.sqrt(Q)
PROJECT = """
level = 0.05

[data.deployment]
file = "rows.npy"
channels = 1
law = "covariance"
proposal = 0.4

[elements]
file = "sources.csv"
coordinates = ["angle"]
responses = "responses.npy"

[regions.sky]
count = 2
strength = "unknown"
"""
NOISE = ("proposal = 0.4", "proposal = 0.4\nnoise = 1.0")
KNOWN = (("count = 2\n", ""), ('strength = "unknown"', "strength = 16.0"), NOISE)


@pytest.fixture
def folder(tmp_path):
    """A project, of which texts may be replaced."""

    def made(rows, *replaced, responses=WAVES):
        text = PROJECT
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "project.toml").write_text(text)
        np.save(tmp_path / "rows.npy", rows)
        np.save(tmp_path / "responses.npy", responses)
        listed = [f"S{i},sky,{angle}" for i, angle in enumerate(ANGLES)]
        (tmp_path / "sources.csv").write_text("\n".join(["id,region,angle", *listed]))
        return tmp_path / "project.toml"

    return made


def normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def snapshots(seed, columns, strength=5.0, n_rows=200, correlation=0.9):
    """Sources that are correlated, in noise of variance 1."""
    rng, r = np.random.default_rng(seed), columns.shape[1]
    root = np.linalg.cholesky(correlation * np.ones((r, r)) + (1.0 - correlation) * np.eye(r))
    return (strength * normal(rng, n_rows, r) @ root.T) @ columns.T + normal(rng, n_rows, Q)


def answer(path):
    return run_project(load_project(path)).result.report


def refusal(path):
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(path))
    return str(caught.value)


@pytest.mark.parametrize("noise", ["", "\nnoise = 1.0", '\nnoise = "unknown"'])
def test_correlated_sources_of_unknown_strength_are_named_and_the_report_verifies(folder, noise):
    rows = snapshots(1, WAVES[:, [3, 6]])
    report = answer(folder(rows, ("proposal = 0.4", f"proposal = 0.4{noise}")))
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("S3 + S6",))]
    stream = report.document["protocol"]["streams"][0]
    assert (stream["law"]["kind"], stream["law"]["rows"]) == ("gaussian", "random")
    assert report.document["protocol"]["judge"]["judge"] == "evidence"
    found = verify(report.json(), {"deployment": as_pairs(rows)})
    assert found.is_verified
    assert found.are_verdicts_scored


def test_another_opponent_than_the_proposal_rows_give_is_found(folder):
    rows = snapshots(1, WAVES[:, [3, 6]])
    document = json.loads(answer(folder(rows)).json())
    document["protocol"]["streams"][0]["numerator"]["mixture"][-1]["law"]["covariance_point"]["noise"] *= 1.5
    findings = verify(json.dumps(document), {"deployment": as_pairs(rows)}).findings
    assert any("numerator" in finding for finding in findings)


def test_a_third_source_that_the_bank_has_no_room_for_leaves_nothing(folder):
    off = np.exp(1j * np.pi * np.arange(Q) * np.sin(np.deg2rad(75.0))) / np.sqrt(Q)
    report = answer(folder(snapshots(2, np.column_stack([WAVES[:, [3, 6]], off]), correlation=0.5)))
    assert report.status == "EMPTY"
    assert (
        "rows of the proposal look like sources along 3 independent directions, in noise of variance " in report.text()
    )


def test_rotations_take_such_rows_too(folder):
    rows = snapshots(3, WAVES[:, [3, 6]])
    report = answer(folder(rows, ("level = 0.05", 'level = 0.05\njudge = "rotation"'), ("proposal = 0.4", "")))
    assert [field.cell for field in report.fields] == [("S3 + S6",)]


def test_rotations_judge_snapshots_of_unknown_strength_unless_a_key_needs_evidence(folder):
    rows = snapshots(3, WAVES[:, [3, 6]])
    for replaced, judge in (("", "rotation"), ("splits = 2", "evidence")):
        run = run_project(load_project(folder(rows, ("proposal = 0.4", replaced))))
        assert [field.cell for field in run.result.report.fields] == [("S3 + S6",)]
        assert run.result.report.document["protocol"]["judge"]["judge"] == judge
        assert any("all rows judge without a split" in note for note in run.assembled.notes) == (judge == "rotation")


def test_regions_of_unknown_strength_that_are_left_out_one_by_one_need_evidence(folder):
    optional = ("count = 2", 'presence = "optional"'), ("[elements]", "[supports]\nleave_one_out = true\n\n[elements]")
    path = folder(snapshots(3, WAVES[:, [3, 6]]), ("proposal = 0.4", ""), *optional)
    assert assemble(load_project(path)).protocol.judge.kind == "evidence"


def test_a_mean_of_unknown_strength_is_that_of_open_coefficients(folder):
    rows = 3.0j * WAVES[:, 4] + normal(np.random.default_rng(7), 60, Q)
    report = answer(folder(rows, ("count = 2\n", ""), ('law = "covariance"', 'law = "mean"')))
    assert [field.cell for field in report.fields] == [("S4",)]
    assert report.document["protocol"]["streams"][0]["law"]["rows"] == "same mean"


def test_evidence_of_several_splits_and_of_real_rows(folder):
    curves = np.exp(-0.5 * ((np.arange(Q)[:, None] - np.linspace(0.0, 9.0, 11)) / 1.5) ** 2)
    rng = np.random.default_rng(4)
    rows = 6.0 * rng.standard_normal((120, 2)) @ curves[:, [2, 8]].T + rng.standard_normal((120, Q))
    report = answer(folder(rows, ("proposal = 0.4", "proposal = 0.4\nsplits = 2"), responses=curves))
    assert [field.cell for field in report.fields] == [("S2 + S8",)]
    assert verify(report.json(), {"deployment": rows}).is_verified


def test_a_missing_element_is_wrong_with_the_bank_alone_and_empty_with_a_free_opponent(folder):
    """A source between two of the grid: the best of the bank against the others finds one of them, and is wrong."""
    off = np.exp(1j * np.pi * np.arange(Q) * np.sin(np.deg2rad(4.0)))[:, None] / np.sqrt(Q)
    rows = snapshots(5, off, 4.0, 400)
    assert [str(field.label) for field in answer(folder(rows, *KNOWN)).fields] == ["FINE"]
    free = answer(folder(rows, *KNOWN, ("proposal = 0.4", 'proposal = 0.4\nopponent = "free"')))
    assert free.status == "EMPTY"
    found = verify(free.json(), {"deployment": as_pairs(rows)})
    assert found.is_verified
    assert found.are_verdicts_scored
    on_grid = snapshots(6, WAVES[:, [5]], 4.0, 400)
    report = answer(folder(on_grid, *KNOWN, ("proposal = 0.4", 'proposal = 0.4\nopponent = "free"')))
    assert [field.cell for field in report.fields] == [("S5",)]


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ((("proposal = 0.4", 'proposal = 0.4\nnoise = "unkown"'),), "be 'unknown', a number, several, or one of { var"),
        ((NOISE, ('"unknown"', '"unkown"')), "strength must be 'unknown', a number, a list of numbers"),
        (
            (*KNOWN[:2], ("0.4", '0.4\nnoise = "unknown"')),
            "numbers with the law covariance, not 'unknown'. Or write st",
        ),
        ((('law = "covariance"', 'law = "gaussian"'),), "strength must be left out or numbers with the law gaussian"),
        ((("count = 2", "absence_threshold = 1.0"),), "left open where every row has its own"),
        ((("0.4", f"0.4\nnoise = {[*range(1, Q + 1)]}"),), "be either values to try or one variance for each"),
        (
            (*KNOWN[:2], ("0.4", f"0.4\nnoise = {[*range(1, Q + 1)]}")),
            "be either values to try or one variance for each",
        ),
        ((("0.4", '0.4\nrows = "free"'),), "rows must be left out with the law covariance"),
        ((('"covariance"', '["covariance"]'),), "law must be"),
        ((("0.4", '0.4\nopponent = "free"'),), "opponent must be left out with the law gaussian"),
        ((*KNOWN, ("0.4", '0.4\nopponent = "fre"')), "opponent"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_message(folder, replaced, message):
    assert message in refusal(folder(snapshots(1, WAVES[:, [3, 6]], n_rows=20), *replaced))


WIDE = ("[regions.sky]\ncount = 2\n", "error = 0.25\n\n[regions.sky]\n")


def test_a_source_whose_response_is_off_is_named_with_a_measured_width_and_nothing_fits_without(folder):
    aside = WAVES[:, 7] - WAVES[:, 3] * (WAVES[:, 3].conj() @ WAVES[:, 7])
    off = WAVES[:, 3] + 0.22 * aside / np.linalg.norm(aside)
    rows = snapshots(8, (off / np.linalg.norm(off))[:, None])
    path = folder(rows, WIDE)
    run = run_project(load_project(path))
    (sky,) = run.result.report.fields
    assert (str(sky.label), sky.cell) == ("FINE", ("S3",))
    assert run.result.report.document["protocol"]["streams"][0]["law"]["error"] == 0.25
    assert verify(run.result.report.json(), {"deployment": as_pairs(rows)}).is_verified
    exact = ("[regions.sky]\ncount = 2\n", "[regions.sky]\n")
    assert str(run_project(load_project(folder(rows, exact))).result.report.fields[0].label) == "EMPTY"


def test_a_ball_goes_with_sources_of_unknown_strength(folder):
    rows = snapshots(8, WAVES[:, [3]])
    known = [WIDE, ('strength = "unknown"', "strength = 16.0"), NOISE]
    with pytest.raises(MisuseError, match="be left out with the law covariance"):
        run_project(load_project(folder(rows, *known)))


def test_as_many_noises_as_channels_are_asked_about_in_calibration_rows_too(folder):
    """One region, so one code after the channels of every row."""
    table = f"""
[data.calibration]
file = "codes.npy"
channels = 1
law = "known codes"
proposal = 0.5
noise = {[*range(1, Q + 1)]}
"""
    path = folder(snapshots(1, WAVES[:, [3]], n_rows=20), *KNOWN, ("\n[elements]", f"{table}\n[elements]"))
    np.save(path.parent / "codes.npy", normal(np.random.default_rng(2), 20, Q + 1))
    assert "data.calibration.noise must be either values to try or one variance for each channel" in refusal(path)


def test_noise_of_a_known_covariance_is_whitened_for_evidence_too(folder):
    deviations = np.linspace(0.5, 2.0, Q)
    rows = snapshots(1, WAVES[:, [3, 6]] / deviations[:, None], 8.0) * deviations
    known = ("proposal = 0.4", 'proposal = 0.4\nnoise = { variance = "v.npy" }')
    path = folder(rows, known)
    np.save(path.parent / "v.npy", deviations**2)
    report = answer(path)
    assert [field.cell for field in report.fields] == [("S3 + S6",)]
    assert verify(report.json(), {"deployment": as_pairs(rows)}).is_verified


PHASE = """
[parameters.phase_{}]
kind = "phase"
pattern = {}
values = [-0.6, 0.0, 0.6]
"""
PHASES = "".join(PHASE.format(i, [int(c == i) for c in range(Q)]) for i in (3, 7))


def test_single_sensors_may_have_phases_of_their_own(folder):
    """Two sensors are off, in opposite ways: without that nothing fits; the state that is named has both."""
    turns = np.ones(Q, dtype=complex)
    turns[[3, 7]] = np.exp([0.6j, -0.6j])
    rows = snapshots(9, WAVES[:, [5]] * turns[:, None])
    single = ("[regions.sky]\ncount = 2\n", "[regions.sky]\n")
    assert str(answer(folder(rows, single)).fields[0].label) == "EMPTY"
    run = run_project(load_project(folder(rows, single, ("[elements]", PHASES + "\n[elements]"))))
    (sky,) = run.result.report.fields
    assert (str(sky.label), sky.cell) == ("FINE", ("S5",))
    bank, kept = run.assembled.bank, [e for e, code in enumerate(run.result.seal.verdicts().codes) if code == 0]
    assert {tuple(bank.explanation(e).settings.values()) for e in kept} == {(0.6, -0.6)}


def test_the_width_of_an_array_is_measured_from_its_own_sources_and_then_holds_a_further_one(folder, tmp_path):
    """Every response is off by a sine of .2, each in its own way; the source that is asked about measures nothing."""
    rng, lines = np.random.default_rng(10), ["element,file"]
    aside = normal(rng, Q, len(ANGLES))
    aside = aside - WAVES * (WAVES.conj() * aside).sum(axis=0)
    true = np.sqrt(0.96) * WAVES + 0.2 * aside / np.linalg.norm(aside, axis=0)
    for i in range(len(ANGLES)):
        if i != 4:
            np.save(tmp_path / f"source{i}.npy", snapshots(20 + i, true[:, [i]], 30.0))
            lines.append(f"S{i},source{i}.npy")
    path = folder(snapshots(11, true[:, [4]]), ("[regions.sky]\ncount = 2\n", "[regions.sky]\n"))
    (tmp_path / "sources.csv").rename(tmp_path / "elements.csv")
    path.write_text(path.read_text().replace("sources.csv", "elements.csv"))
    (tmp_path / "sources.csv").write_text("\n".join(lines))
    assert str(answer(path).fields[0].label) == "EMPTY"
    project = load_project(path)
    found = response_error(project)
    assert 0.2 < found.error < 0.23  # noise of a thirtieth of the signal enlarges it a little
    write_error(project, found)
    assert answer(path).fields[0].cell == ("S4",)


def test_noise_that_nobody_knows_is_a_key_of_the_file(folder):
    rng = np.random.default_rng(4)
    rows = snapshots(5, WAVES[:, [1, 4]], 8.0, 300, 0.5) + 0.5 * normal(rng, 300, Q) @ normal(rng, Q, Q)
    kinds = ('{ kind = "any", ratio = 0.2 }', '{ kind = "low rank", rank = 2 }', '{ kind = "diagonal" }')
    for kind in kinds:
        report = answer(folder(rows, ("proposal = 0.4", f"proposal = 0.4\nnoise = {kind}")))
        assert verify(report.json(), {"deployment": as_pairs(rows)}).is_verified
        assert "noise is" in report.sentence
        assert report.status == "EMPTY" or "S1 + S4" in report.fields[0].cell
        assert ("staircase" in report.document) == ("any" in kind)


def test_rotation_and_other_noise_refuse_a_kind(folder):
    rows = snapshots(5, WAVES[:, [1, 4]])
    kind = ("proposal = 0.4", 'noise = { kind = "any" }')
    assert "have an error" in refusal(folder(rows, kind, ("level", 'judge = "rotation"\nlevel')))
    unknown = ("proposal = 0.4", 'proposal = 0.4\nnoise = { kind = "pink" }')
    assert "noise.kind must be one of 'low rank', 'diagonal', 'any'" in refusal(folder(rows, unknown))
    simple = (*KNOWN[:2], ("proposal = 0.4", 'proposal = 0.4\nnoise = { kind = "any" }'))
    assert "noise.kind must be left out with the law covariance" in refusal(folder(rows, *simple))

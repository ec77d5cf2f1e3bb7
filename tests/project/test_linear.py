"""Projects with rows as people have them: one row, unknown amplitudes, background and noise level."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import as_pairs
from physupport.project import forecast, load_project, run_project
from physupport.verify import verify

Q, PLACES = 80, np.linspace(8.0, 72.0, 17)
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 2.5) ** 2)
BASELINE = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, Q), 2) @ [30.0, -8.0, 4.0]


@pytest.fixture
def folder(tmp_path, write_lines):
    """A project, of which texts may be replaced and files added."""
    amount = ("[regions.line]\n", '[regions.line]\ncoefficient = ">= 0"\n')

    def made(rows, *replaced, lines=LINES, **files):
        return write_lines(tmp_path, PLACES, amount, *replaced, rows=np.atleast_2d(rows), lines=lines, **files)

    return made


def noise(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape or (Q,))


def answer(path):
    return run_project(load_project(path)).result.report


def refusal(path):
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(path))
    return str(caught.value)


def test_one_row_names_its_line_and_the_report_verifies(folder):
    row = 12.0 * LINES[:, 6] + BASELINE + noise(1)
    path = folder(row)
    report = answer(path)
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("L6",))]
    found = verify(report.json(), {"deployment": row[None]})
    assert found.is_verified
    assert found.are_verdicts_scored


def test_a_line_that_is_not_in_the_list_makes_the_answer_empty_and_says_where(folder):
    row = 12.0 * LINES[:, 6] + 12.0 * np.exp(-0.5 * ((AXIS - 50.0) / 1.0) ** 2) + BASELINE + noise(2)
    report = answer(folder(row))
    assert report.status == "EMPTY"
    assert "something that the bank does not contain, at channel" in report.sentence
    place = min(report.document["gate"]["findings"], key=lambda finding: finding["p"])["place"]
    assert any(46 <= int(word) <= 54 for word in place.split() if word.isdigit())


def test_what_is_left_where_the_best_fit_is_means_its_shape_and_another_element_is_no_stranger(folder):
    """A line between two of the list is no further one; and of two lines of the list the second is named."""
    row = 80.0 * np.exp(-0.5 * ((AXIS - 33.0) / 2.5) ** 2) + BASELINE + noise(2)
    between = answer(folder(row))
    assert between.status == "EMPTY"
    assert "at the best fit itself: its place, width or shape differs" in between.sentence
    both = answer(folder(15.0 * LINES[:, 6] + 10.0 * LINES[:, 12] + BASELINE + noise(2)))
    assert both.status == "EMPTY"
    assert "point to element L12 in a combination, or with a coefficient, that no explanation" in both.sentence
    assert "at the best fit itself" not in both.sentence
    forged = json.loads(between.json())
    own = next(finding for finding in forged["gate"]["findings"] if finding.pop("is_own", None))
    assert own["part"] == "columns"
    assert any("is_own" in found for found in verify(forged, {"deployment": row[None]}).findings)


def test_nothing_there_is_absent_below_a_threshold(folder):
    threshold = ('presence = "optional"', 'presence = "optional"\nabsence_threshold = 25.0')
    report = answer(folder(BASELINE + noise(3), threshold))
    assert [str(field.label) for field in report.fields] == ["ABSENT"]
    strong = answer(folder(30.0 * LINES[:, 6] + BASELINE + noise(3), threshold))
    assert [str(field.label) for field in strong.fields] == ["FINE"]


def test_the_wrong_sign_is_rejected(folder):
    row = -12.0 * LINES[:, 6] + BASELINE + noise(4)
    report = answer(folder(row))
    assert report.status == "EMPTY"
    assert "no sign of a misfit" not in report.csv()
    free = answer(folder(row, ('coefficient = ">= 0"', 'coefficient = "free"')))
    assert [field.cell for field in free.fields] == [("L6",)]


@pytest.mark.parametrize("kind", ["variance", "covariance", "rows"])
def test_what_is_known_of_the_noise_is_used(folder, kind):
    some = slice(0, Q, 2)  # half the channels, for rows that give a covariance
    deviations = np.linspace(0.5, 2.0, Q)[some]
    rows = deviations * noise(5, 400, Q // 2)
    given = {"variance": deviations**2, "covariance": np.diag(deviations**2), "rows": rows}
    row = 20.0 * LINES[some, 6] + BASELINE[some] + deviations * noise(6)[some]
    known = ('law = "gaussian"', f'law = "gaussian"\nnoise = {{ {kind} = "n.npy" }}')
    report = answer(folder(row, known, lines=LINES[some], n=given[kind]))
    assert [field.cell for field in report.fields] == [("L6",)]
    assert report.document["protocol"]["streams"][0]["law"]["covariance_freedom"] == (399 if kind == "rows" else None)
    assert verify(report.json(), {"deployment": row[None]}).is_verified


def test_an_estimated_covariance_is_told_with_what_it_assumes(folder):
    some = slice(0, Q, 8)  # ten channels, of which a hundred rows give the covariance and thirty the answer
    places = LINES[some]
    rows = 12.0 * places[:, 6] + BASELINE[some] + noise(11, 30, 10)
    law = ('law = "gaussian"', 'law = "gaussian"\nnoise = { rows = "n.npy" }')
    finished = run_project(load_project(folder(rows, law, lines=places, n=noise(12, 100, 10))))
    assert any("so that the level holds exactly" in note for note in finished.assembled.notes)
    report = finished.result.report
    for told in (report.sentence, report.text(), report._repr_html_(), report.csv()):
        assert "rows without a signal (99 degrees of freedom). These rows are assumed to have the same noise" in told
    assert "with probability at least 0.95" in report.sentence
    parts = {finding["part"] for finding in finished.result.report.document["gate"]["findings"]}
    assert parts == {"columns", "spectrum", "noise"}
    assert verify(report.json(), {"deployment": rows}).is_verified
    assert "hold at least 20 rows without a signal" in refusal(folder(rows, law, lines=places, n=noise(12, 19, 10)))
    by_evidence = (*law[:1], law[1] + "\nproposal = 0.5")
    told = refusal(
        folder(rows, by_evidence, ("level", 'judge = "evidence"\nlevel'), lines=places, n=noise(12, 100, 10))
    )
    assert "judge must be 'rotation' where the covariance of the noise is estimated from rows" in told


def test_rows_of_unknown_waveforms_are_read_through_their_second_moments(folder):
    waveforms = 4.0 * (noise(7, 12, 2) @ [[1.0, 0.9], [0.0, 0.4]])  # correlated
    lines = LINES * np.exp(0.3j * AXIS[:, None] * PLACES / 10.0)
    complex_noise = (noise(8, 12, Q) + 1j * noise(9, 12, Q)) / np.sqrt(2.0)
    some = slice(0, Q, 4)
    rows, lines = (waveforms[:, :1] * lines[:, 6] + complex_noise)[:, some], lines[some]
    law = ('law = "gaussian"', 'law = "gaussian"\nrows = "free"')
    path = folder(rows, law, ('coefficient = ">= 0"', 'coefficient = "free"'), lines=lines)
    report = answer(path)
    assert [field.cell for field in report.fields] == [("L6",)]
    assert verify(report.json(), {"deployment": rows}).is_verified  # complex as they are, or as pairs
    assert verify(report.json(), {"deployment": as_pairs(rows)}).is_verified


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        (
            ("polynomial = 2", 'atoms = "lines.npy"'),
            "toml: data.deployment: background must leave something of every element, but it spans 'L0'",
        ),
        (('law = "gaussian"', 'law = "gaussian"\nnoise = { covariance = "n.npy" }'), "have no negative eigenvalue"),
        (
            ('law = "gaussian"', 'law = "gaussian"\nproposal = 0.5'),
            "of rows.npy to the proposal, not 0.5. Leave it out",
        ),
        (
            ('law = "gaussian"', 'law = "gaussian"\nsplits = 8'),
            "data.deployment.splits must be left out with the judge rotation, but it is given. It goes with",
        ),
        (
            ("level = 0.05", 'level = 0.05\njudge = "evidence"'),
            'single row, but there is 1 row. Take split = "fission" where',
        ),
        (
            ('law = "gaussian"', f"law = 'gaussian'\nnoise = {[*range(1, Q + 1)]}"),
            "be either values to try or one variance for each channel",
        ),
        (
            ('coefficient = ">= 0"', "coefficient = [0, 20]\nabsence_threshold = 50.0"),
            "regions.line.absence_threshold must be at most 20, the largest coefficient",
        ),
        (("[elements]", "[claims.some]\nany = []\n\n[elements]"), "claims.some.any must name at least one element"),
        (
            ("[elements]", "[claims.some]\nall = ['L1', 'L1']\n[elements]"),
            "some.all must name at least one element or group, each once, not",
        ),
        (("[elements]", "[claims.some]\nall = ['L1', 'Fe']\n[elements]"), "toml: claims must name elements or groups"),
        (('law = "gaussian"', 'law = "gaussian"\nsplits = 1000000000'), "splits must be at most 1000, not 1000000000"),
        (("level = 0.05", "level = 5e-324"), ", not 999. Or raise the level."),
        (('coefficient = ">= 0"', "strength = 1.0"), "strength must be left out with the law gaussian"),
        (('law = "gaussian"', 'law = "gaussian"\nrows = "free"'), "must be left open where every row has its own"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key_and_a_remedy(folder, replaced, message):
    bad = -np.eye(Q)
    assert message in refusal(folder(BASELINE + noise(10), replaced, n=bad))


EVIDENCE = ("level = 0.05", 'level = 0.05\njudge = "evidence"')


@pytest.mark.parametrize(
    ("n_rows", "keys"),
    [
        (1, 'split = "fission"\nnoise = 1.0'),
        (1, 'split = "fission"\nsplits = 3\nnoise = { variance = "n.npy" }'),
        (6, 'split = "rows"\nsplits = 4\nproposal = 0.4'),
        (6, "proposal = 0.4"),
        (6, ""),
    ],
)
def test_evidence_of_one_split_or_several_names_the_line_and_is_asked_for_again(folder, n_rows, keys):
    rows = 20.0 * LINES[:, 6] + BASELINE + noise(13, n_rows, Q)
    report = answer(folder(rows, EVIDENCE, ('law = "gaussian"', f'law = "gaussian"\n{keys}'), n=np.ones(Q)))
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("L6",))]
    found = verify(report.json(), {"deployment": rows})
    assert found.is_verified
    assert found.are_verdicts_scored
    assert not verify(report.json(), {"deployment": rows[:, ::-1]}).is_verified


@pytest.mark.parametrize("keys", ["", "splits = 4", 'split = "fission"\nnoise = 1.0'])
def test_evidence_holds_coefficients_to_their_bounds(folder, keys):
    """Nothing as strong as a threshold is ABSENT, and a line of the wrong sign no line of the list."""
    n_rows, law = 1 if "fission" in keys else 12, ('law = "gaussian"', f'law = "gaussian"\n{keys}')
    threshold = ('presence = "optional"', 'presence = "optional"\nabsence_threshold = 25.0')
    weak, negative = BASELINE + noise(16, n_rows, Q), BASELINE - 15.0 * LINES[:, 6] + noise(17, n_rows, Q)
    report = answer(folder(weak, EVIDENCE, law, threshold))
    assert [str(field.label) for field in report.fields] == ["ABSENT"]
    assert verify(report.json(), {"deployment": weak}).is_verified
    assert answer(folder(negative, EVIDENCE, law)).status == "EMPTY"


def test_fission_of_an_unknown_noise_is_refused(folder):
    split = ('law = "gaussian"', 'law = "gaussian"\nsplit = "fission"')
    assert "split must be 'rows' where the noise is not known" in refusal(folder(BASELINE + noise(14), EVIDENCE, split))


def test_nothing_proposes_to_rotations(folder):
    path = folder(BASELINE + noise(15, 4, Q), ('law = "gaussian"', 'law = "gaussian"\nproposal = 0.5'))
    assert "data.deployment.proposal must be left out with the judge rotation" in refusal(path)


def test_too_few_channels_beside_the_background_are_refused(folder):
    few = slice(30, 37)
    assert "leave a residual of at least 5 dimensions" in refusal(folder(noise(11)[few], lines=LINES[few]))


def test_a_span_of_variants_explains_what_none_of_them_does_alone(folder, tmp_path):
    """A line and its derivative: one that lies between two places of the list, or is a little off its own."""
    np.save(tmp_path / "turned.npy", np.gradient(LINES, axis=0))
    row = 60.0 * np.exp(-0.5 * ((AXIS - PLACES[6] - 0.7) / 2.5) ** 2) + BASELINE + noise(12)
    files = ('responses = "lines.npy"', 'responses = ["lines.npy", "turned.npy"]\nvariants = "span"')
    free = ('coefficient = ">= 0"', 'coefficient = "free"')
    assert answer(folder(row, free)).status == "EMPTY"
    report = answer(folder(row, files, free))
    assert [field.cell for field in report.fields] == [("L6",)]
    assert verify(report.json(), {"deployment": row[None]}).is_verified
    assert "not mix where coefficients are bounded" in refusal(folder(row, files))


SHIFT = "\n[parameters.shift]\nvalues = [-2.0, 0.0, 2.0]\n"


def test_a_shift_between_its_values_is_found_with_tangents_and_lost_without(folder):
    """Half a step off: no value of the shift is right, and with good data all are rejected."""
    row = 200.0 * np.exp(-0.5 * ((AXIS - PLACES[6] - 1.0) / 2.5) ** 2) + BASELINE + noise(31)
    shifted = ('presence = "optional"\n', 'presence = "optional"\n' + SHIFT)
    assert answer(folder(row, shifted)).status == "EMPTY"
    tangents = ('responses = "lines.npy"', 'responses = "lines.npy"\ntangents = ["shift"]')
    weaker = 0.1 * (row - BASELINE - noise(31)) + BASELINE + noise(31)
    run = run_project(load_project(folder(weaker, shifted, tangents)))
    assert "L6" in run.result.report.fields[0].cell
    assert any("within half a step of its values" in note for note in run.assembled.notes)
    found = verify(run.result.report.json(), {"deployment": weaker[None]})
    assert found.is_verified
    assert found.are_verdicts_scored


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ([('tangents = ["shift"]', 'tangents = ["phase"]')], "be names of parameters (shift), not 'phase'"),
        ([("values = [-2.0, 0.0, 2.0]", "values = 0.0")], "be parameters of two values or more"),
        (
            [('law = "gaussian"', 'law = "gaussian"\nrows = "free"'), ('">= 0"', '"free"')],
            "be left out where every row has coefficients of its own",
        ),
        ([('coefficient = ">= 0"', "absence_threshold = 5.0")], "absence_threshold must be left out with tangents"),
        (
            [('responses = "lines.npy"', 'responses = ["lines.npy", "lines.npy"]\nvariants = "span"')],
            "be left out unless variants are states",
        ),
    ],
)
def test_tangents_go_with_what_they_can_and_with_nothing_else(folder, replaced, message):
    given = [
        ('presence = "optional"\n', 'presence = "optional"\n' + SHIFT),
        ("[elements]", '[elements]\ntangents = ["shift"]'),
    ]
    assert message in refusal(folder(BASELINE + noise(1), *given, *replaced))


def test_a_cone_does_not_go_with_rows_of_their_own_coefficients_and_a_unit_not_without_an_axis(folder):
    both = ('responses = "lines.npy"', 'responses = ["lines.npy", "lines.npy"]\nvariants = "cone"')
    free = ('law = "gaussian"', 'law = "gaussian"\nrows = "free"')
    message = refusal(folder(BASELINE + noise(1), both, free))
    assert "elements.variants must be 'states' or 'span' where every row has coefficients of its own" in message
    unit = ('responses = "lines.npy"', 'responses = "lines.npy"\naxis_unit = "eV"')
    assert "elements.axis_unit must be left out without axis" in refusal(folder(BASELINE + noise(1), unit))


def test_a_dry_run_refuses_what_the_judge_would_refuse_and_looks_at_no_row(folder):
    spanned = ("polynomial = 2", 'atoms = "lines.npy"')
    with pytest.raises(MisuseError, match="background must leave something of every element"):
        forecast(load_project(folder(BASELINE + noise(12), spanned)))
    rows = np.full(Q, np.nan)  # which a run would refuse
    assert forecast(load_project(folder(rows))).seconds > 0.0


FISSION = ('law = "gaussian"', 'law = "gaussian"\nnoise = 1.0\nsplit = "fission"')
BY_EVIDENCE = ("level = 0.05", 'level = 0.05\njudge = "evidence"')
ROTATION = ("level = 0.05", 'level = 0.05\njudge = "rotation"')
WIDE = ('responses = "lines.npy"', 'responses = "lines.npy"\nerror = 0.2')


def test_a_response_that_is_off_by_an_angle_is_found_with_width_and_lost_without(folder):
    aside = LINES[:, 9] - 0.6 * LINES[:, 8]  # broader than it should be, on one side
    truth = LINES[:, 6] / np.linalg.norm(LINES[:, 6]) + 0.19 * aside / np.linalg.norm(aside)
    row = 200.0 * truth + BASELINE + noise(8)
    run = run_project(load_project(folder(row, FISSION, BY_EVIDENCE, WIDE)))
    assert [(str(field.label), field.cell) for field in run.result.report.fields] == [("FINE", ("L6",))]
    assert any("differ by an angle whose sine is 0.2" in note for note in run.assembled.notes)
    assert verify(run.result.report.json(), {"deployment": row[None]}).are_verdicts_scored
    assert str(answer(folder(row, FISSION, BY_EVIDENCE)).fields[0].label) == "EMPTY"


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ([ROTATION], "judge must be 'evidence' where responses have an error"),
        ([], "split must not be 'rows' for a single row"),  # evidence, as nobody else takes responses of such a width
        ([BY_EVIDENCE, ("error = 0.2", "error = 1.0")], "elements.error"),
        ([("error = 0.2", 'error = 0.2\nvariants = "span"'), ('"lines.npy"', '["lines.npy", "lines.npy"]'),
          ('">= 0"', '"free"')], "Leave error out"),
        ([("error = 0.2", 'error = 0.2\ntangents = ["shift"]'),
          ("[elements]", "[parameters.shift]\nvalues = [-1.0, 1.0]\n\n[elements]")], "Leave error out"),
    ],
)  # fmt: skip
def test_a_ball_goes_with_evidence_and_with_no_other_width(folder, replaced, message):
    assert message in refusal(folder(12.0 * LINES[:, 6] + BASELINE + noise(1), WIDE, *replaced))


def test_a_cone_of_variants_explains_ratios_between_two_and_none_beyond(folder):
    strong, weak = (LINES + ratio * np.roll(LINES, 12, axis=0) for ratio in (0.8, 0.2))
    cone = ('responses = "lines.npy"', 'responses = ["lines.npy", "weak.npy"]\nvariants = "cone"')
    free = ('coefficient = ">= 0"\n', "")

    def path(ratio, *more):
        row = 150.0 * (LINES + ratio * np.roll(LINES, 12, axis=0))[:, 5] + BASELINE + noise(9)
        return folder(row, FISSION, cone, free, *more, lines=strong, weak=weak)

    chosen = run_project(load_project(path(0.5)))  # by evidence, though the file names no judge
    assert [field.cell for field in chosen.result.report.fields] == [("L5",)]
    assert any("as rotations take no responses" in note for note in chosen.assembled.notes)
    assert str(answer(path(1.4, BY_EVIDENCE)).fields[0].label) == "EMPTY"
    beside = refusal(folder(BASELINE + noise(9), cone, free, ROTATION, lines=strong, weak=weak))
    assert "or mix without negative parts" in beside


@pytest.mark.parametrize(("entry", "words"), [(np.nan, "be finite"), (1e300, "largest entries lie"), (1e-300, "lie")])
def test_columns_of_a_background_that_no_arithmetic_takes_are_refused_by_their_key(folder, entry, words):
    path = folder(BASELINE + noise(1), ("polynomial = 2", 'atoms = "pile.npy"'), pile=np.full((Q, 1), entry))
    message = refusal(path)
    assert message.startswith("project.toml: background.atoms must")
    assert words in message

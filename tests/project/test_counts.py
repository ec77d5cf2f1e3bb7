"""Projects with counts: one spectrum, unknown amounts and background, none of them negative."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import forecast, load_project, run_project
from physupport.project._assemble import assemble
from physupport.verify import verify

Q, PLACES = 80, np.linspace(8.0, 72.0, 9)
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 2.5) ** 2)


@pytest.fixture
def folder(tmp_path, write_lines):
    """A project, of which texts may be replaced."""
    counted = ("gaussian", "poisson")

    def made(rows, *replaced, lines=LINES):
        return write_lines(tmp_path, PLACES, counted, *replaced, rows=np.atleast_2d(rows), lines=lines)

    return made


def counts(means, seed=1):
    return np.random.default_rng(seed).poisson(means)


def answer(path):
    return run_project(load_project(path)).result.report


def labels(report):
    return [(str(field.label), field.cell) for field in report.fields]


def test_one_spectrum_names_its_line_and_the_report_verifies(folder):
    row = counts(30.0 * LINES[:, 4] + 5.0 + AXIS / 20)
    report = answer(folder(row))
    assert labels(report) == [("FINE", ("L4",))]
    found = verify(report.json(), {"deployment": row[None].astype(float)})
    assert found.is_verified
    assert found.are_verdicts_scored
    assert report.document["protocol"]["judge"]["judge"] == "counts"
    # Halves see less than a gate of all rows: a line of 7 standard deviations is called in about half of the spectra.
    assert "a misfit below 7 to 9 standard deviations of the noise could go unnoticed" in report.sentence


def test_a_line_that_is_not_in_the_list_makes_the_answer_empty_and_says_where(folder):
    row = counts(30.0 * LINES[:, 4] + 60.0 * np.exp(-0.5 * ((AXIS - 60.0) / 1.0) ** 2) + 5.0)
    report = answer(folder(row))
    assert report.status == "EMPTY"
    assert "something that the bank does not contain, mostly at channel" in report.sentence
    place = report.document["gate"]["findings"][0]["place"]
    assert any(58 <= int(word) <= 62 for word in place.split() if word.isdigit())


def test_few_counts_leave_a_set_with_the_truth(folder):
    report = answer(folder(counts(1.5 * LINES[:, 4] + 1.0)))
    assert labels(report)[0][0] != "FINE"


def test_rows_with_live_times_are_split_by_rows_or_thinned(folder):
    times = [1.0, 1.0, 4.0, 2.0, 6.0]
    rows = counts(np.outer(times, 10.0 * LINES[:, 4] + 2.0))
    for split in ("rows", "thin"):
        keys = f'law = "poisson"\nsplit = "{split}"\nsplits = 2\nexposure = {times}'
        report = answer(folder(rows, ('law = "poisson"', keys)))
        assert labels(report) == [("FINE", ("L4",))]
        assert report.document["protocol"]["judge"]["split"] == split
        assert report.document["protocol"]["judge"]["n_splits"] == 2


def test_a_dry_run_says_that_all_rows_judge(folder):
    found = forecast(load_project(folder(counts(30.0 * LINES[:, 4] + 5.0))))
    assert any("All deployment rows judge" in sentence for sentence in found.sentences())


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        (('law = "poisson"', 'law = "poisson"\nnoise = 1.0'), "noise must be left out with the law poisson"),
        (('law = "poisson"', 'law = "poisson"\nsplit = "half"'), "split"),
        (('law = "poisson"', 'law = "poisson"\nexposure = [1.0, 2.0]'), "exposure must have shape (1)"),
        (('law = "poisson"', 'law = "poisson"\nexposure = 0.0'), "exposure must be above 0"),
        (('presence = "optional"', 'coefficient = "free"'), "coefficient must be left out with the law poisson"),
        (("level = 0.05", 'level = 0.05\njudge = "rotation"'), "judge must be 'counts' for rows of the law poisson"),
        (("level = 0.05", 'level = 0.05\njudge = "evidence"'), "judge must be 'counts' for rows of the law poisson"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(folder, replaced, message):
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(folder(counts(np.full(Q, 5.0)), replaced)))
    assert message in str(caught.value)


def test_numbers_that_are_no_counts_and_negative_responses_are_refused(folder):
    with pytest.raises(MisuseError, match="be counts: whole numbers"):
        answer(folder(np.full(Q, 0.5)))
    with pytest.raises(MisuseError, match="not be negative with the law poisson"):
        answer(folder(counts(np.full(Q, 5.0)), lines=LINES - 0.1))


SHIFTED = """
[parameters.shift]
values = { from = -2.0, to = 2.0, count = 5 }
"""


def test_a_scale_that_is_off_is_a_shift_of_tabulated_responses(folder, tmp_path):
    """The line lies a channel and a half to the right of every place in the list, between two shifts of a grid.

    With 200 counts at its top the half channel that is left is seen by one split in four, and the answer EMPTY.
    """
    energies = 10.0 * AXIS  # eV
    row = counts(120.0 * np.exp(-0.5 * ((AXIS - PLACES[4] - 1.5) / 2.5) ** 2) + 5.0)
    assert answer(folder(row)).status == "EMPTY"
    np.save(tmp_path / "energy.npy", energies)
    axis = ('responses = "lines.npy"', 'responses = "lines.npy"\naxis = "energy.npy"\naxis_unit = "eV"')
    grid = ('presence = "optional"', 'presence = "optional"\n' + SHIFTED.replace("2.0", "20.0"))
    report = run_project(load_project(folder(row, axis, grid)))
    assert labels(report.result.report) == [("FINE", ("L4",))]
    assert any("shifted along their axis by -20 to 20 eV" in note for note in report.assembled.notes)


def test_a_scale_that_is_off_by_something_between_the_values_lies_in_their_range(folder):
    row = counts(3000.0 * np.exp(-0.5 * ((AXIS - PLACES[4] - 1.5) / 2.5) ** 2) + 5.0)
    grid = 'presence = "optional"\n[parameters.shift]\nvalues = [-2.0, 0.0, 2.0]'
    assert answer(folder(row, ('presence = "optional"', grid))).status == "EMPTY"
    ends = grid.replace("values = [-2.0, 0.0, 2.0]", "between = [-3.0, 3.0]")
    assert labels(answer(folder(row, ('presence = "optional"', ends)))) == [("FINE", ("L4",))]
    straight = ('responses = "lines.npy"', 'responses = "lines.npy"\ntangents = ["shift"]')
    with pytest.raises(MisuseError, match=r"elements.tangents must .* poisson.*\[parameters.shift\] between"):
        load_project(folder(row, ('presence = "optional"', grid), straight))


ALONG = """
[parameters.shift]
values = { from = -10.0, to = 10.0, count = 3 }

[parameters.width]
values = [1.0, 1.4]

[parameters.scale]
values = [1.0, 1.02]
"""


def test_an_axis_may_be_off_in_offset_scale_and_resolution_at_once_and_many_channels_empty(folder, tmp_path):
    energies = 2000.0 + 10.0 * AXIS
    np.save(tmp_path / "energy.npy", energies)
    truth = np.exp(-0.5 * ((energies - 1.02 * (2000.0 + 10.0 * PLACES[4]) + 10.0) / (1.4 * 25.0)) ** 2)
    row = counts(80.0 * truth)  # and no background: nearly everywhere no count
    assert (row == 0).sum() > Q / 2
    keys = (
        ('law = "poisson"', 'law = "poisson"\nsplit = "thin"\nsplits = 4'),
        ("[background]\npolynomial = 2\n", ""),
        ('responses = "lines.npy"', 'responses = "lines.npy"\naxis = "energy.npy"\naxis_unit = "eV"'),
    )
    assert answer(folder(row, *keys)).status == "EMPTY"
    report = answer(folder(row, *keys, ('presence = "optional"', ALONG)))
    assert labels(report) == [("FINE", ("L4",))]
    assert report.document["protocol"]["judge"]["n_splits"] == 4


def test_variants_are_states_of_which_one_is_right(folder, tmp_path):
    wide = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 3.5) ** 2)
    np.save(tmp_path / "wide.npy", wide)
    row = counts(200.0 * wide[:, 4] + 5.0)
    assert answer(folder(row)).status == "EMPTY"
    report = answer(folder(row, ('responses = "lines.npy"', 'responses = ["lines.npy", "wide.npy"]')))
    assert labels(report) == [("FINE", ("L4",))]
    np.save(tmp_path / "short.npy", wide[1:])
    with pytest.raises(MisuseError, match="have as many channels in every variant"):
        answer(folder(row, ('responses = "lines.npy"', 'responses = ["lines.npy", "short.npy"]')))


def test_variants_may_be_lines_of_the_element_list(folder, tmp_path):
    wide = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 3.5) ** 2)
    np.save(tmp_path / "wide.npy", wide)
    row = counts(200.0 * wide[:, 4] + 5.0)
    files = assemble(load_project(folder(row, ('responses = "lines.npy"', 'responses = ["lines.npy", "wide.npy"]'))))
    both, listed = np.stack([LINES, wide], axis=2).reshape(Q, -1), [*enumerate(PLACES)]
    path = folder(row, lines=both)

    def lists(*more):
        lines = [f"L{i},line,{place},{name}" for i, place in listed for name in ("narrow", "wide")]
        (tmp_path / "elements.csv").write_text("\n".join(["id,region,place,variant", *lines, *more]))

    lists()
    states = assemble(load_project(path)).bank.states
    np.testing.assert_array_equal(states.elements, files.bank.states.elements)
    assert states.grid.names == ("variant",)
    assert labels(answer(path)) == [("FINE", ("L4",))]
    for more, message in (("L0,line,8.0,wide", "one of them twice"), ("L0,line,8.0,third", "none of 'third' for 'L1'")):
        lists(more)
        with pytest.raises(MisuseError, match=f"have a line for each variant of each element, not {message}"):
            assemble(load_project(path))
    lists(*(f"L{i},line,{place + 1},third" for i, place in listed))
    with pytest.raises(MisuseError, match=r"region and place of an element alike .*'L0' in lines 2 and 20"):
        assemble(load_project(path))


def test_a_cone_of_variants_explains_what_none_of_them_does_alone(folder, tmp_path):
    """Two lines of an element whose ratio is only known to lie between two values."""
    strong, weak = (LINES + ratio * np.roll(LINES, 12, axis=0) for ratio in (0.8, 0.2))
    np.save(tmp_path / "weak.npy", weak)
    row = counts(400.0 * (strong[:, 3] + weak[:, 3]) + 5.0)
    both = 'responses = ["lines.npy", "weak.npy"]'
    assert answer(folder(row, ('responses = "lines.npy"', both), lines=strong)).status == "EMPTY"
    path = folder(row, ('responses = "lines.npy"', both + '\nvariants = "cone"'), lines=strong)
    report = answer(path)
    assert labels(report) == [("FINE", ("L3",))]
    assert verify(report.json(), {"deployment": row[None].astype(float)}).is_verified
    for files, message in ((both, "'span'"), ('responses = "lines.npy"', "unless responses is a list")):
        word = "span" if "span" in message else "cone"
        with pytest.raises(MisuseError, match=f"elements.variants must be .*{message}"):
            answer(folder(row, ('responses = "lines.npy"', f'{files}\nvariants = "{word}"'), lines=strong))


CALIBRATION = """
[data.calibration]
file = "calibration.npy"
channels = 1
law = "known codes"
noise = 0.01
proposal = 0.5

[elements]"""


def test_evidence_of_a_calibration_multiplies_that_of_the_counts(folder, tmp_path):
    """Two lines that a shift makes alike: counts alone cannot tell them apart; a calibrated marker knows the shift."""
    lines = np.exp(-0.5 * ((AXIS[:, None] - np.array([30.0, 34.0, 60.0])) / 2.5) ** 2)
    marker = (
        'presence = "optional"',
        '[regions.marker]\npresence = "optional"\n[parameters.shift]\nvalues = [0.0, 4.0]',
    )
    row = counts(100.0 * lines[:, 1] + 5.0)

    def kept(*more):
        path = folder(row, marker, *more, lines=lines)
        (tmp_path / "elements.csv").write_text("id,region,place\nL0,line,30\nL1,line,34\nM,marker,60\n")
        report = answer(path)
        return {name for name in ("L0", "L1") if any(name in field.cell for field in report.fields)}, report

    assert kept()[0] == {"L0", "L1"}
    codes = np.random.default_rng(4).standard_normal((60, 2))
    unit = lines[:, 1:] / np.linalg.norm(lines[:, 1:], axis=0)
    rows = np.hstack([codes @ unit.T + 0.1 * np.random.default_rng(3).standard_normal((60, Q)), codes])
    np.save(tmp_path / "calibration.npy", rows)
    names, report = kept(("[elements]", CALIBRATION))
    assert names == {"L1"}
    assert verify(report.json(), {"deployment": row[None].astype(float), "calibration": rows}).is_verified


def test_lines_whose_tails_underflow_are_judged_without_a_background(folder):
    """Means near the smallest numbers have slopes beyond all numbers, and no fit to polish."""
    narrow = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 0.9) ** 2)
    report = answer(folder(counts(300.0 * narrow[:, 4] + 5.0), ("[background]\npolynomial = 2\n", ""), lines=narrow))
    assert report.status == "EMPTY"

"""Replicates in a project: from a table of spectra to a report, and what is wrong with other tables."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis.diagnose._remedies import _units
from physupport.project import assemble, load_project, run_project
from physupport.project._examples import stored_spectra

Q, UNITS = 30, 9
MANY = "{ from = 0.0, to = 1.0, count = 101 }"
LINES = {name: np.exp(-0.5 * ((np.arange(Q) - place) / 2.0) ** 2) for name, place in (("a", 6), ("b", 7), ("c", 20))}
PROJECT = """
level = 0.1
judge = "conformal"

[data.deployment]
file = "row.npy"
channels = 1
law = "gaussian"

[background]
polynomial = 0

[elements]
file = "elements.csv"
coordinates = ["x"]
responses = "responses.npy"
replicates = "replicates.csv"
replicate_unit = "unit"

[regions.stone.groups]
ab = ["a", "b"]
"""


def spectrum(name, unit):
    rng = np.random.default_rng([ord(name), unit])
    return (20.0 + unit) * LINES[name] * (1.0 + 0.1 * np.sin(unit + np.arange(Q) / 5.0)) + 4.0 + rng.normal(size=Q) / 5


@pytest.fixture
def folder(tmp_path):
    def made(*replaced, row=None, table=None, units=UNITS):
        text = PROJECT
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "project.toml").write_text(text)
        np.save(tmp_path / "row.npy", (spectrum("b", 50) if row is None else row)[None])
        np.save(tmp_path / "responses.npy", np.array(list(LINES.values())).T)
        (tmp_path / "elements.csv").write_text("id,region,x\na,stone,1\nb,stone,2\nc,stone,3\n")
        lines = [f"{n},u{u}," + ",".join(map(repr, spectrum(n, u).tolist())) for n in LINES for u in range(units)]
        header = "element,unit," + ",".join(f"ch {i}" for i in range(Q))
        (tmp_path / "replicates.csv").write_text("\n".join([header, *lines]) if table is None else table)
        return load_project(tmp_path / "project.toml")

    return made


def test_with_a_share_and_as_many_units_as_are_told_the_members_of_a_group_are_told_apart(folder):
    (field,) = run_project(folder()).details.document["fields"]
    (fact,) = field["remedies"]
    assert (fact["kind"], fact["needed"], fact["now"]) == ("units", 19, UNITS)
    shared = ('replicate_unit = "unit"', 'replicate_unit = "unit"\nreplicate_share = 0.5')
    cells = [run_project(folder(shared, units=n)).result.report.fields[0].cell for n in (18, fact["needed"])]
    assert cells[1] == ("b",)
    assert len(cells[0]) > 1


def test_units_of_an_element_are_counted_however_many_its_group_has_and_never_wanted_where_there_are_enough(folder):
    lines = [f"{n},{n}{u}," + ",".join(map(repr, spectrum(n, u).tolist())) for n in LINES for u in range(UNITS)]
    apart = "\n".join(["element,unit," + ",".join(f"ch {i}" for i in range(Q)), *lines])
    wanted = []
    for options in ({"table": apart}, {"units": 19}):
        details = run_project(folder(**options)).details
        (fact,) = details.document["fields"][0]["remedies"]
        wanted.append((fact["needed"], fact["now"]))
        assert any("units of each element" in text for text in details.remedies) == (fact["now"] < fact["needed"])
    assert wanted == [(19, UNITS), (19, 19)]


def test_with_the_whole_level_half_as_many_units_are_wanted_unless_there_are_pairs():
    judge = {"share": 1.0, "elements": [*"aabbb"], "units": [*"12123"]}
    found = [_units(judge, 0.1, has_pairs=has_pairs) for has_pairs in (False, True)]
    assert [(fact["needed"], fact["now"]) for fact in found] == [(9, 2), (19, 2)]


def test_a_project_names_the_group_of_its_row_and_keeps_the_elements_in_it(folder):
    finished = run_project(folder())
    (stone,) = finished.result.report.fields
    assert (str(stone.label), stone.cell, stone.group) == ("GROUP", ("a", "b"), "ab")
    assert "Replicates of more units may separate them. Within a group, `share` may help, too." in stone.sentence
    assert "Every explanation with another answer is rejected, such as explanation 2 (stone: c)." in stone.sentence
    read = {entry["stream"]: entry["shape"] for entry in finished.details.document["inputs"]}
    assert read["elements.replicates"] == [3 * UNITS, Q + 2]
    assert not [note for note in finished.assembled.notes if "Nothing can exclude" in note]


def test_what_is_of_no_kind_is_empty(folder):
    odd = run_project(folder(row=np.exp(-0.5 * ((np.arange(Q) - 13.0) / 2.0) ** 2))).result.report
    assert [str(field.label) for field in odd.fields] == ["EMPTY"]


def test_too_few_units_are_noted(folder):
    notes = assemble(folder(units=8)).notes
    assert "Nothing can exclude a (8), b (8), c (8): 9 units are needed at this level." in notes


@pytest.mark.parametrize(
    ("replaced", "options", "message"),
    [
        ([], {"table": "element,unit,x\na,u,1\n"}, "element, unit, and either file or one for each of 30 channels"),
        ([], {"table": "place,element\nu,a\n"}, "have the columns element, unit"),
        ([], {"table": "element,unit,file\na,u,../a.npy\n"}, "stay in the folder of the project"),
        ([], {"table": "element,unit,file\na,u,\n"}, "name files, not ''"),
        ([], {"table": "element,unit,file\n"}, "have a line for each spectrum, but there is none"),
        (
            [('replicate_unit = "unit"', f'replicate_unit = "unit"\nreplicate_noise = {MANY}')],
            {},
            "at most 100 numbers",
        ),
        ([('replicates = "replicates.csv"\nreplicate_unit = "unit"', "")], {}, "replicates is required"),
        ([('replicates = "replicates.csv"\n', "")], {}, "replicate_unit must be left out without replicates"),
        ([('replicate_unit = "unit"', "")], {}, "elements.replicate_unit is required"),
        ([('replicate_unit = "unit"', 'replicate_unit = "unit"\nreplicate_noise = -1.0')], {}, "be 0 or more"),
        ([('judge = "conformal"', 'judge = "rotation"')], {}, "replicates must be left out with the judge rotation"),
        (
            [("[elements]", "[parameters.shift]\nvalues = [0.0, 1.0]\n[elements]")],
            {},
            "parameters must be left out",
        ),
        ([("[elements]", "[elements]\nerror = 0.1")], {}, "elements.error must be left out with replicates"),
    ],
)
def test_tables_that_say_something_else(folder, replaced, options, message):
    with pytest.raises(MisuseError, match=message):
        assemble(folder(*replaced, **options))


def test_names_and_numbers_of_the_table_are_checked(folder, tmp_path):
    folder()
    text = (tmp_path / "replicates.csv").read_text()
    with pytest.raises(MisuseError, match="name elements of the list, not 'z'"):
        assemble(folder(table=text.replace("\nc,", "\nz,")))
    with pytest.raises(MisuseError, match=r"hold numbers, not 'x.*' in line 2"):
        assemble(folder(table=text.replace("\na,u0,", "\na,u0,x", 1)))


@pytest.mark.parametrize(
    ("cell", "rule"), [("nan", "finite"), ("1e999", "finite"), ("1_0", "numbers"), ("", "numbers")]
)
def test_a_cell_that_is_no_number_is_named_with_its_line(folder, tmp_path, cell, rule):
    folder()
    lines = (tmp_path / "replicates.csv").read_text().splitlines()
    cells = lines[2].split(",")
    lines[2] = ",".join([*cells[:-1], cell])
    with pytest.raises(MisuseError, match=rf"{rule}.*, not '{cell}' in line 3, column"):
        assemble(folder(table="\n".join(lines)))


def test_the_spectra_that_are_shipped_have_a_unit_each():
    for name, shape, names in (("raman.npz", (70, 151), 7), ("soil.npz", (169, 60), 4)):
        spectra, elements, units, axis = stored_spectra(name)
        assert spectra.shape == shape == (len(elements), len(axis))
        assert (len(set(elements)), len(units)) == (names, len(elements))


def test_the_report_holds_units_and_p_values_and_says_what_they_are_too_few_for(folder):
    enough = run_project(folder()).result.report
    assert enough.document["gate"]["units"] == {"a": UNITS, "b": UNITS, "c": UNITS}
    assert set(enough.document["gate"]["smallest_p"].values()) == {1 / (1 + UNITS)}
    assert "too few replicates" not in enough.sentence
    few = run_project(folder(units=8)).result.report
    assert few.document["gate"]["cannot_exclude"] == ["a", "b", "c"]
    assert "No signal can exclude a (8), b (8), c (8): each has too few replicate units" in few.sentence


def test_the_column_of_the_unit_has_a_name_and_elements_may_be_pooled(folder):
    lines = [f"{n},u{u}," + ",".join(map(repr, spectrum(n, u).tolist())) for n in LINES for u in range(5)]
    header = "element,site," + ",".join(f"ch {i}" for i in range(Q))
    keys = ('replicate_unit = "unit"', 'replicate_unit = "site"\npool = "ratio"')
    report = run_project(folder(keys, table="\n".join([header, *lines]))).result.report
    assert "on average" in report.document["protocol"]["judge"]["assumes"]
    # Two other elements with as many units.
    assert report.document["gate"]["units"] == {"a": 2, "b": 2, "c": 2}
    assert report.document["gate"]["cannot_exclude"] == ["a", "b", "c"]


def test_spectra_may_lie_in_files_of_their_own_and_noise_that_they_lack_is_added(folder, tmp_path):
    lines = ["unit,file,element"]
    for name in LINES:
        for unit in range(UNITS):
            np.save(tmp_path / f"{name}{unit}.npy", spectrum(name, unit))
            lines.append(f"u{unit},{name}{unit}.npy,{name}")
    columns, files = (run_project(folder(table=table)).result.report for table in (None, "\n".join(lines)))
    assert files.document["protocol"]["judge"] == columns.document["protocol"]["judge"]
    noisy = ('replicate_unit = "unit"', 'replicate_unit = "unit"\nreplicate_noise = [0.0, 5.0]\nreplicate_share = 0.5')
    report = run_project(folder(noisy, units=19)).result.report
    judge = report.document["protocol"]["judge"]
    assert (judge["noise"], judge["share"]) == ([0.0, 5.0], 0.5)
    assert "noise is the one that is stated" not in report.sentence  # of replicates the key means another noise
    assert "These ranks are the only test of misfit." in report.sentence


def test_a_mixture_of_two_elements_is_named(folder):
    groups = ('[regions.stone.groups]\nab = ["a", "b"]', "[regions.stone]\ncount = 2")
    mixture = 0.6 * spectrum("b", 50) + 0.4 * spectrum("c", 50)
    report = run_project(folder(groups, row=mixture)).result.report
    (stone,) = report.fields
    assert report.document["gate"]["units"]["b and c"] == [UNITS]
    # Alone of all pairs it is kept, and no number of groups excludes what is not in the library beside a pair.
    assert (str(stone.label), stone.cell) == ("GROUP", ("b + c",))
    assert "b and c are there, unless it is something that is not in the library." in stone.answer
    assert "K = 9 units, so no p-value can be below 0.1" in report.sentence


def test_elements_of_different_numbers_of_units_are_told_as_one_range(folder):
    units = {"a": 40, "b": 40, "c": 24}
    lines = [f"{n},u{u}," + ",".join(map(repr, spectrum(n, u).tolist())) for n in LINES for u in range(units[n])]
    header = "element,unit," + ",".join(f"ch {i}" for i in range(Q))
    report = run_project(folder(table="\n".join([header, *lines]))).result.report
    assert report.document["gate"]["units"] == units
    told = "ranked among K = 24 to 40 units by explanation, so no p-value can be below 0.0244 to 0.04."  # 1 / (K + 1)
    assert told in report.sentence
    assert report.sentence.count("ranked among") == report.sentence.count("so no p-value") == 1

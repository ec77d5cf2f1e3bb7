"""The same experiment written another way has the same answer, and where nothing that counts differs the same hash."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from physupport.project import load_project, run_project
from physupport.verify import verify

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
LISTED = [("a1", "A", 0.2), ("a2", "A", 0.35), ("b1", "B", 0.7), ("b2", "B", 0.9)]


def elements(order=range(4), scale=1.0, names="id,region,x"):
    return "\n".join([names, *(f"{i},{region},{scale * x!r}" for i, region, x in (LISTED[k] for k in order))]) + "\n"


@pytest.fixture
def answer(write):
    """The report of the small project, written in some way."""

    def made(*changes, **options):
        return run_project(load_project(write(*changes, **options))).result.report

    return made


def said(report):
    return [(field.field, str(field.label), frozenset(field.cell)) for field in report.fields]


def digests(report):
    return report.document["digests"]


@pytest.fixture
def rows(small):
    return small.make_rows(small.columns([0.2, 0.7]), 400)


def save(folder, kind, rows):
    """The rows in a file of this kind, and what the project says of it."""
    if kind == "turned":
        np.save(folder / "rows.npy", np.ascontiguousarray(rows.T))
        return 'file = "rows.npy"\nchannels = 0'
    if kind == "fortran":
        np.save(folder / "rows.npy", np.asfortranarray(rows))
        return 'file = "rows.npy"\nchannels = 1'
    if kind == "big-endian":
        np.save(folder / "rows.npy", rows.astype(">f8"))
        return 'file = "rows.npy"\nchannels = 1'
    if kind == "csv":
        np.savetxt(folder / "rows.csv", rows, delimiter=",", fmt="%.17g")
        return 'file = "rows.csv"\nchannels = 1'
    if kind == "csv with a header":
        header = ",".join(f"c{i}" for i in range(8))
        np.savetxt(folder / "rows.csv", rows, delimiter=",", fmt="%.17g", header=header, comments="")
        return 'file = "rows.csv"\nchannels = "columns"'
    if kind == "npz":
        np.savez_compressed(folder / "rows.npz", first=rows, second=rows[:3])
        return 'file = "rows.npz"\nmember = "first"\nchannels = 1'
    if kind == "hdf5":
        with h5py.File(folder / "rows.h5", "w") as file:
            file.create_dataset("run/rows", data=rows, chunks=(64, 8), compression="gzip")
        return 'file = "rows.h5"\nmember = "run/rows"\nchannels = 1'
    savemat(folder / "rows.mat", {"rows": rows})
    return 'file = "rows.mat"\nmember = "rows"\nchannels = 1'


KINDS = ("turned", "fortran", "big-endian", "csv", "csv with a header", "npz", "hdf5", "mat")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_a_file_of_any_kind_are_the_same_rows(answer, rows, tmp_path, kind):
    plain = answer()
    other = answer(('file = "deployment.npy"\nchannels = 1', save(tmp_path, kind, rows)))
    assert digests(other)["protocol"] == digests(plain)["protocol"]
    assert digests(other)["data"] == digests(plain)["data"]
    assert digests(other)["chain"] == digests(plain)["chain"]
    assert said(other) == said(plain)


@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 0, 3, 2), (2, 0, 3, 1)])
def test_elements_in_another_order_have_the_same_answer(answer, order):
    plain, other = answer(), answer(elements=elements(order))
    assert {*said(other)} == {*said(plain)}


def test_the_unit_of_places_does_not_matter(answer):
    """Millimetres instead of metres, in the list, in the response and in the tolerances."""
    changes = [("from = 0, to = 1", "from = 0, to = 1000"), ("width = 0.15", "width = 150"),
               ("tolerance = 0.01", "tolerance = 10"), ("tolerance = 0.01", "tolerance = 10")]  # fmt: skip
    assert said(answer(*changes, elements=elements(scale=1000.0))) == said(answer())


@pytest.mark.parametrize("scale", [1e-6, 32.0, 1e5])
def test_the_unit_of_the_rows_does_not_matter(answer, rows, scale):
    """Volts or microvolts: strengths and noise are variances, which go with the square."""
    louder = ("strength = 2.0", f"strength = {2.0 * scale**2!r}")
    changes = [("noise = 0.5", f"noise = {0.5 * scale**2!r}"), louder, louder]
    plain, other = answer(), answer(*changes, deployment=scale * rows)
    assert said(other) == said(plain)
    asked = [report.document["outcome"]["queries"] for report in (plain, other)]
    assert asked[0] == asked[1]


def test_responses_from_a_table_are_those_of_the_formula(answer, small):
    """The same numbers, so the same bank and the same chain of verdicts."""
    table = small.columns([x for _, _, x in LISTED])
    plain, other = answer(), answer((RESPONSE, 'responses = "table.npy"'), table=table)
    assert said(other) == said(plain)
    scaled = answer((RESPONSE, 'responses = "table.npy"'), table=table * np.array([1.0, 7.0, 0.01, 3.0]))
    assert said(scaled) == said(plain)  # responses have the norm that strengths are relative to


def test_a_formula_written_out_is_the_peak_of_the_same_name(answer):
    axis = "axis = { from = 0, to = 1, count = 8 }"
    formula = f'response = {{ kind = "formula", formula = "exp(-((t - x) / 0.15)**2 / 2)", {axis} }}'
    assert said(answer((RESPONSE, formula))) == said(answer())


@pytest.mark.parametrize(
    "change",
    [("title = \"Small\"", "title = \"Other\""), ("seed = 3", "seed = 3\noutput.folder = \"elsewhere\"")],
)  # fmt: skip
def test_what_decides_nothing_is_no_part_of_the_protocol(answer, change):
    plain, other = answer(), answer(change)
    assert digests(other)["protocol"] == digests(plain)["protocol"]
    assert digests(other)["chain"] == digests(plain)["chain"]


@pytest.mark.parametrize(
    "change",
    [
        ("level = 0.1", "level = 0.05"),
        ("seed = 3", "seed = 4"),
        ("budget = 1.0", "budget = 0.5"),
        ("noise = 0.5", "noise = 0.6"),
        ("proposal = 0.4", "proposal = 0.3"),
        ("strength = 2.0", "strength = 2.5"),
        ("tolerance = 0.01", "tolerance = 0.02"),
        ("width = 0.15", "width = 0.16"),
        ('presence = "optional"', 'presence = "always"'),
        ("seed = 3", 'seed = 3\npolicy = "fixed"'),
        ("seed = 3", 'seed = 3\njudge = "simulation"'),
    ],
)
def test_what_decides_something_is_part_of_the_protocol(answer, change):
    assert digests(answer(change))["protocol"] != digests(answer())["protocol"]


def test_the_same_project_twice_is_the_same_report_but_for_nothing(answer):
    assert answer().json() == answer().json()


@pytest.mark.parametrize("line", ["# a comment", "", "   "])
def test_blank_lines_and_comments_change_nothing(answer, line):
    assert answer(("seed = 3", f"{line}\nseed = 3")).json() == answer().json()


def test_several_strengths_hold_what_one_of_them_says(answer):
    """More explanations can only leave more: the cell of each region holds that of the smaller bank."""
    one, several = answer(), answer(("strength = 2.0", "strength = [1.0, 2.0, 4.0]"))
    for small, large in zip(one.fields, several.fields, strict=True):
        assert {*small.cell} <= {*large.cell} or not small.cell


def test_a_report_is_verified_by_the_rows_as_any_file_has_them(answer, rows):
    report = answer()
    for table in (rows, np.asfortranarray(rows), rows.astype(">f8"), rows.astype(np.longdouble)):
        found = verify(report.json(), {"deployment": table})
        assert found.is_verified
        assert found.are_verdicts_scored
    assert not verify(report.json(), {"deployment": rows[::-1]}).is_verified
    assert not verify(report.json(), {"deployment": rows[:, ::-1]}).is_verified
    assert not verify(report.json(), {"deployment": rows.astype(np.float32)}).is_verified

"""Small mistakes in data and lists end in one message that helps, or in a sentence of the report."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank
from physupport.project import load_project, run_project

PLACES = np.linspace(8.0, 72.0, 9)
AXIS = np.arange(80)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 2.5) ** 2)
ROW = np.random.default_rng(1).poisson(3e3 * LINES[:, 4] + 5.0)[None].astype(float)


def test_rows_of_no_counts_are_named():
    library = Library([f"e{i}" for i in range(9)], ["line"] * 9, PLACES[:, None], LINES / np.linalg.norm(LINES, axis=0))
    bank = library_bank(library, [["line"]], {"line": [1.0]})
    plan = StreamPlan("poisson", background=np.ones((80, 1)))
    model = PhysicalSupport(bank, {"line": 0.0}, calibration=None, deployment=plan).fit()
    assert "2 rows are 0 in all channels" in model.report(np.vstack([ROW, np.zeros((2, 80))])).sentence
    assert "0 in all channels" not in model.report(ROW).sentence


def test_a_number_that_is_none_is_named_where_the_file_of_one_column_has_it(tmp_path, write_lines):
    path = write_lines(
        tmp_path, PLACES, ("gaussian", "poisson"), ("channels = 1", "channels = 0"), rows=ROW, lines=LINES
    )
    column = ROW.T.copy()
    column[17] = np.nan
    np.save(tmp_path / "rows.npy", column)
    with pytest.raises(MisuseError, match=r"nan in row 17, column 0 of the file"):
        run_project(load_project(path))


def test_names_alone_with_equal_responses_have_a_remedy_that_works(tmp_path, write_lines):
    lines = LINES.copy()
    lines[:, 5] = lines[:, 4]
    bare = ('coordinates = ["place"]', "")
    path = write_lines(tmp_path, PLACES, ("gaussian", "poisson"), bare, rows=ROW, lines=lines)
    with pytest.raises(
        MisuseError, match=r"elements must not list both .* whose responses are equal.* list one of them"
    ):
        run_project(load_project(path))

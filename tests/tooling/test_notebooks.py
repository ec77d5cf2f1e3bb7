"""The notebooks run from top to bottom in a scratch folder, and print what they show."""

import doctest
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def executed(path):
    """(what a cell shows, what it prints) for each cell of code."""
    names = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shown = "".join(line for output in cell["outputs"] for line in output.get("text", ()))
            with redirect_stdout(StringIO()) as printed:
                exec(compile("".join(cell["source"]), path.name, "exec"), names)
            yield shown, printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_prints_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [*executed(path)]
    assert cells
    for shown, printed in cells:
        assert doctest.OutputChecker().check_output(shown, printed, OPTIONS), printed

"""`physupport demo` is the example from its project file to its page."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from physupport.cli import app
from physupport.project import FILES


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new"
    answer = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert answer.exit_code == 0, answer.exception
    return answer.stdout, out


def test_the_answer_is_that_of_the_certificate(shown):
    answer = next(line for line in shown[0].splitlines() if line.startswith("10.5 keV line: "))
    assert "arsenic" in answer
    assert "lead" in answer
    assert answer.endswith("at least one of arsenic and lead is there, and these data cannot tell which.")


def test_the_answer_comes_first(shown):
    assert shown[0].startswith("10.5 keV line: ")


def test_the_page_is_where_the_demo_says(shown):
    text, out = shown
    assert f"Open {out / 'report' / 'report.html'} in a browser." in text
    assert {path.name for path in (out / "report").iterdir()} == {*FILES}


def test_a_second_demo_runs_the_project_that_is_there(shown):
    _, out = shown
    text = (out / "project.toml").read_text()
    (out / "project.toml").write_text(text.replace("level = 0.05", "level = 0.05\nbudget = 9"))
    again = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert again.exit_code == 0, again.exception
    assert f"The project in {out} was run as it was." in again.stdout
    assert "9 of 210 explanations (candidates) tested" in again.stdout


def test_without_any_extra_the_demo_runs_from_an_empty_folder(tmp_path):
    """Packages of the extras cannot be imported, as if they were not installed."""
    content = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = content["project"]["optional-dependencies"]
    names = [re.match(r"[\w-]+", each)[0] for extra in ("plot", "io", "learn", "maps") for each in extras[extra]]
    modules = ["sklearn" if name == "scikit-learn" else name for name in names]
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({modules!r}))\n"
        "from physupport.__main__ import main\nsys.argv = ['physupport', 'demo']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "arsenic and lead is there" in done.stdout) == (0, True), done.stderr

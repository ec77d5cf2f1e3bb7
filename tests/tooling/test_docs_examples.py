"""The examples of the guides run, in order, in a scratch folder, and print what is shown."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


INCLUDED = re.compile(r'^--8<-- "(docs/examples/\w+\.py)"\n', re.MULTILINE)


def included(mark):
    """The text of a file that a page shows."""
    return (DOCS.parent / mark[1]).read_text()


def run_python(code, page, names, capsys):
    exec(compile(code, page, "exec"), names)
    return capsys.readouterr().out


def run_session(text, page, names):
    example = doctest.DocTestParser().get_doctest(f"{text}\n", names, page, page, 0)
    found = doctest.DocTestRunner(optionflags=OPTIONS).run(example, clear_globs=False)
    names.update(example.globs)
    assert found.attempted
    assert not found.failed


def run_shell(lines, monkeypatch):
    """Commands of the program in this process, and `cd`; what they print to either end of the terminal."""
    printed = ""
    for line in lines.splitlines():
        command, *arguments = shlex.split(line, comments=True)
        if command == "cd":
            monkeypatch.chdir(arguments[0])
            continue
        assert command == "physupport", line
        answer = CliRunner().invoke(app, arguments)
        printed += answer.output
        if isinstance(answer.exception, MisuseError):
            printed += f"physupport: {answer.exception}\n"  # as `main` tells it
        else:
            assert answer.exit_code == 0, answer.exception
    return printed


def write_file(text):
    """A file that the page shows, named in a comment in its first line."""
    path = Path(re.match(r"# (\S+)", text)[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "tutorial.md",
        "choosing-a-bank.md",
        "project-file.md",
        "python.md",
        "examples.md",
        "cells.md",
        "width.md",
        "learnt.md",
        "diagnosis.md",
        "unlisted.md",
        "orbits.md",
        "correspondence.md",
        "guides/array.md",
        "guides/endmembers.md",
        "guides/learnt-array.md",
    ],
)
def test_the_examples_of_a_page_print_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("physupport.cli._text._SECONDS_BETWEEN_LINES", 3600.0)  # a busy machine prints progress
    names, printed, n_run = {}, None, 0
    for language, text in FENCE.findall(INCLUDED.sub(included, (DOCS / page).read_text())):
        n_run += language != "text"
        match language:
            case "python":
                printed = run_python(text, page, names, capsys)
            case "pycon":
                run_session(text, page, names)
            case "sh":
                printed = run_shell(text, monkeypatch)
            case "toml":
                write_file(text)
            case "text":
                assert doctest.OutputChecker().check_output(text, printed, OPTIONS), printed
            case _:
                pytest.fail(f"a fence of {language} on {page} is neither run nor compared")
    assert n_run


def test_the_page_of_the_correspondence_has_it_in_five_lines_and_names_what_exists(resolve):
    page = (DOCS / "correspondence.md").read_text()
    shown = re.search(r"# The five lines.*?\n(.*?)```", page, re.DOTALL)[1].splitlines()
    assert len(shown) == 5
    assert "Correspondence(" in shown[2]
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| $")]
    assert len(rows) == 20
    for symbol, _, code in rows:
        for path in re.findall(r"`(physupport\.[\w.]+)`", code):
            assert resolve(path) is not None, symbol
    for name in ("Correspondence", "Correspondence.level", "optimal_resolution", "plan"):
        assert f"`physupport.{name}`" in page

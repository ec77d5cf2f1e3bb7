"""The examples of the planning page run and print what it shows."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text()
# What stands between fences, with the language in the first line.
FENCED = PAGE.split("```")[1::2]


def fenced(language):
    (only,) = (block for block in FENCED if block.startswith(f"{language}\n"))
    return only.removeprefix(f"{language}\n")


def test_the_example_prints_what_the_page_shows(capsys):
    exec(compile(fenced("python"), "planning.md", "exec"), {})
    assert capsys.readouterr().out.split() == fenced("text").split()

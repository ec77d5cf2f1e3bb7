"""The examples of the README run and print what it shows."""

from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()
# What stands between fences, with the language in the first line.
FENCED = README.split("```")[1::2]


def fenced(language):
    (only,) = (block for block in FENCED if block.startswith(f"{language}\n"))
    return only.removeprefix(f"{language}\n")


def test_the_example_prints_what_the_readme_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(fenced("python"), "README.md", "exec"), {})
    assert capsys.readouterr().out == fenced("text")  # without a blank at the end of a line


def test_a_newcomer_needs_two_commands():
    assert fenced("").splitlines() == ["make demo", "make test"]


def test_the_readme_is_short():
    assert len(README.splitlines()) < 90

"""The examples on the page about covers run, and the cell of their truth is kept."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "covers.md").read_text()


def blocks(kind):
    return [block.removeprefix(f"{kind}\n") for block in PAGE.split("```")[1::2] if block.startswith(f"{kind}\n")]


def run(text):
    names = {}
    exec(compile(text, "docs/covers.md", "exec"), names)
    return names


def test_the_example_in_python_keeps_the_cell_of_its_truth(capsys):
    names = run(blocks("python")[1])
    cover, field = names["cover"], names["field"]
    assert cover.names()[cover.regions["line"].cell_of([0.4142])] in field.cell
    assert capsys.readouterr().out.startswith(f"{len(cover.places)} 0.03")


def test_the_project_keeps_the_place_of_its_truth_and_prints_what_the_page_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (project,) = blocks("toml")
    (tmp_path / "project.toml").write_text(project)
    names = run(blocks("python")[0])
    low, high = names["field"].box[0]
    assert low <= 0.4142 <= high
    assert capsys.readouterr().out == blocks("text")[0]

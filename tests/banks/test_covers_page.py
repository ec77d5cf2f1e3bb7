"""The example on the page about covers runs, and the cell of its truth is kept."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "covers.md").read_text()


def test_the_example_keeps_the_cell_of_its_truth(capsys):
    (example,) = (block for block in PAGE.split("```")[1::2] if block.startswith("python\n"))
    names = {}
    exec(compile(example.removeprefix("python\n"), "docs/covers.md", "exec"), names)
    cover, field = names["cover"], names["field"]
    assert cover.library("line").ids[cover.cell_of([0.4142])] in field.cell
    assert capsys.readouterr().out.startswith(f"{len(cover.places)} 0.0")

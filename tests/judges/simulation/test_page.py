"""The example on the page about simulation says what the page says it says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "simulation.md").read_text()


def test_the_example_prints_what_the_page_shows(capsys):
    example, printed = (block for block in PAGE.split("```")[1::2])
    exec(compile(example.removeprefix("python\n"), "docs/simulation.md", "exec"), {})
    assert capsys.readouterr().out == printed.removeprefix("text\n")

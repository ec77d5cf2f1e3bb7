"""The example on the page about counts runs and prints what the page says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "counts.md").read_text()


def test_the_example_prints_what_the_page_says(capsys):
    example, expected = (block for block in PAGE.split("```")[1::2] if block.startswith(("python\n", "text\n")))
    exec(compile(example.removeprefix("python\n"), "docs/counts.md", "exec"), {})
    assert capsys.readouterr().out == expected.removeprefix("text\n")

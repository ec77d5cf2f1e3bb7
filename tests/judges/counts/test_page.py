"""The examples on the page about counts run and print what the page says."""

from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "counts.md").read_text()
BLOCKS = [block for block in PAGE.split("```")[1::2] if block.startswith(("python\n", "text\n"))]


@pytest.mark.parametrize("number", range(2))
def test_an_example_prints_what_the_page_says(number, capsys):
    example, expected = BLOCKS[2 * number : 2 * number + 2]
    exec(compile(example.removeprefix("python\n"), "docs/counts.md", "exec"), {})
    assert capsys.readouterr().out == expected.removeprefix("text\n")

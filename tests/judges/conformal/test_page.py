"""The examples on the page about replicates run and print what the page says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "conformal.md").read_text()


def test_the_examples_print_what_the_page_says(capsys):
    blocks = [block for block in PAGE.split("```")[1::2] if block.startswith(("python\n", "text\n"))]
    names = {}
    for example, expected in zip(blocks[::2], blocks[1::2], strict=True):
        exec(compile(example.removeprefix("python\n"), "docs/conformal.md", "exec"), names)
        assert capsys.readouterr().out == expected.removeprefix("text\n")

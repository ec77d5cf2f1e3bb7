"""The examples on the page about evidence run and say what the page says they say."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()
EXAMPLES = [block.removeprefix("python\n") for block in PAGE.split("```")[1::2] if block.startswith("python\n")]


def printed(number, capsys):
    exec(compile(EXAMPLES[number], "docs/evidence.md", "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_a_single_row_of_unknown_noise_names_its_line(capsys):
    assert printed(0, capsys) == ["FINE ('b',)"]


def test_looks_at_rows_that_keep_arriving_end_with_the_place(capsys):
    assert printed(1, capsys)[-1] == "FINE ('p2',)"

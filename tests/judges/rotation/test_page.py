"""The example on the page about rotation runs and says what the page says it says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "rotation.md").read_text()


def test_the_example_prints_what_the_page_says(capsys):
    examples = [block.removeprefix("python\n") for block in PAGE.split("```")[1::2] if block.startswith("python\n")]
    shown = [block.removeprefix("text\n") for block in PAGE.split("```")[1::2] if block.startswith("text\n")]
    exec(compile(examples[0], "docs/rotation.md", "exec"), {})
    assert [capsys.readouterr().out] == shown

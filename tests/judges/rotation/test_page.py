"""The example on the page about rotation runs and says what the page says it says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "rotation.md").read_text()


def test_the_example_keeps_the_truth_and_finds_the_outsider(capsys):
    examples = [block.removeprefix("python\n") for block in PAGE.split("```")[1::2] if block.startswith("python\n")]
    shown = [block.removeprefix("text\n") for block in PAGE.split("```")[1::2] if block.startswith("text\n")]
    exec(compile(examples[0], "docs/rotation.md", "exec"), {})
    assert [capsys.readouterr().out] == shown
    exec(compile(examples[1], "docs/rotation.md", "exec"), {})
    retained, outsider = capsys.readouterr().out.splitlines()
    assert "(11,)" in retained
    assert "()," not in retained
    is_rejected, part, place = outsider.split(maxsplit=2)
    assert (is_rejected, part) == ("True", "columns")
    assert place == "channels 68 to 71"

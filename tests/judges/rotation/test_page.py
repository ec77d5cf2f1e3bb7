"""The example on the page about rotation runs and says what the page says it says."""

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "rotation.md").read_text()


def test_the_example_keeps_the_truth_and_finds_the_outsider(capsys):
    (example,) = (block for block in PAGE.split("```")[1::2] if block.startswith("python\n"))
    exec(compile(example.removeprefix("python\n"), "docs/rotation.md", "exec"), {})
    retained, outsider = capsys.readouterr().out.splitlines()
    assert "(11,)" in retained
    assert "()," not in retained
    is_rejected, part, place = outsider.split(maxsplit=2)
    assert (is_rejected, part) == ("True", "columns")
    assert place == "channels 68 to 71"

"""The example on the page about evidence runs and says what the page says it says."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()


def test_the_example_keeps_the_truth(capsys):
    (example,) = (block for block in PAGE.split("```")[1::2] if block.startswith("python\n"))
    exec(compile(example.removeprefix("python\n"), "docs/evidence.md", "exec"), {})
    # Explanation 32 is the truth: angle 0, the sixth of eleven; p = 0.2 is the second of three, noise 0.1 the first.
    counts, judgement = capsys.readouterr().out.splitlines()
    assert sum(int(n) for n in counts.strip("[]").split()) == 66
    code, lower, upper = (float(number) for number in judgement.split())
    assert code == 0
    assert lower <= upper <= 0.0

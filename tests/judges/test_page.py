"""The examples on the page about evidence run and say what the page says they say."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()
EXAMPLES = [block.removeprefix("python\n") for block in PAGE.split("```")[1::2] if block.startswith("python\n")]


def printed(number, capsys):
    exec(compile(EXAMPLES[number], "docs/evidence.md", "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_the_example_keeps_the_truth(capsys):
    # Explanation 32 is the truth: angle 0, the sixth of eleven; p = 0.2 is the second of three, noise 0.1 the first.
    counts, judgement = printed(0, capsys)
    assert sum(int(n) for n in counts.strip("[]").split()) == 66
    code, lower, upper = (float(number) for number in judgement.split())
    assert code == 0
    assert lower <= upper <= 0.0


def test_a_single_row_of_known_noise_names_its_line(capsys):
    assert printed(1, capsys) == ["FINE ('b',)"]


def test_a_single_row_of_unknown_noise_names_its_line(capsys):
    assert printed(2, capsys) == ["FINE ('b',)"]


def test_sources_of_unknown_strength_are_named(capsys):
    assert printed(3, capsys) == ["FINE ('-10 degrees + 20 degrees',)"]


def test_directions_are_named_in_noise_of_an_unknown_covariance(capsys):
    assert printed(4, capsys) == ["FINE ('-20 degrees + 20 degrees',)"]


def test_an_element_that_is_missing_is_seen_with_a_free_opponent_alone(capsys):
    assert printed(5, capsys) == ["bank GROUP ('b', 'd')", "free EMPTY ()"]


def test_looks_at_rows_that_keep_arriving_end_with_the_place(capsys):
    assert printed(6, capsys)[-1] == "FINE ('p2',)"

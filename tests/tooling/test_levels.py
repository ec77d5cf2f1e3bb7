"""The fine count of levels tells a judge that is a little off from one that is right."""

import pytest
from benchmarks.levels import Line, data_sets, measured


def judge_of_level(level):
    return lambda rng: rng.random() < level


@pytest.mark.parametrize(("level", "told"), [(0.1, "holds"), (0.12, "BROKEN")])
def test_a_level_of_12_percent_is_seen_and_10_percent_is_not(level, told):
    line = Line("a judge", judge_of_level(level), "a control", judge_of_level(0.5))
    row, is_right = measured("line", line)
    assert f"| {told} |" in row
    assert is_right == (told == "holds")


def test_a_control_that_is_not_seen_is_told():
    line = Line("a judge", judge_of_level(0.05), "a control that loses no more", judge_of_level(0.05))
    row, is_right = measured("line", line)
    assert "control NOT SEEN" in row
    assert not is_right


def test_the_page_says_how_many_data_sets_a_line_has():
    assert data_sets() == (9337, 1025)

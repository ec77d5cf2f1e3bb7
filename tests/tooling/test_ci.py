"""The continuous integration runs tests that exist."""

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def expanded(word):
    """The paths that the shell makes of braces, such as tests/test_{a,b}.py."""
    parts = [part.strip("{}").split(",") for part in re.split(r"(\{[^}]*\})", word)]
    return ["".join(each) for each in itertools.product(*parts)]


def test_every_path_of_a_test_that_the_script_names_is_there():
    words = re.findall(r"tests/[\w/{},.]+", (ROOT / ".ci" / "run").read_text())
    paths = [path for word in words for path in expanded(word)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_braces_are_expanded_as_the_shell_does():
    assert expanded("tests/test_{a,b}.py") == ["tests/test_a.py", "tests/test_b.py"]

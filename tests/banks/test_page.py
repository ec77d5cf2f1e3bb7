"""The examples of the page on banks run and print what it shows."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page_hold():
    page = Path(__file__).parents[2] / "docs" / "banks.md"
    # Fences are no output: each example ends with an empty line before its fence.
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 15
    assert results.failed == 0

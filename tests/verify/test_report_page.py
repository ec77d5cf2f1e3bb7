"""The page about reports shows what happens."""

import doctest
import importlib.util
from pathlib import Path

import pytest

from physupport.report._form import Document, _Digests, _Facts, _Field, _Outcome, _Protocol, _Set, _Staircase

PAGE = Path(__file__).parents[2] / "docs" / "report-format.md"


def test_every_example_on_the_page_gives_what_it_shows():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert (failed, tried > 5) == (0, True)


@pytest.mark.parametrize("form", [Document, _Outcome, _Protocol, _Field, _Set, _Facts, _Staircase, _Digests])
def test_the_page_has_every_name_of_a_form_with_what_it_means(form):
    spec = importlib.util.spec_from_file_location("reference", PAGE.parent / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert f"<!-- names of {form.__name__} -->" in PAGE.read_text()
    rows = [line.split("|")[1:3] for line in reference.table("names", form.__name__, None).splitlines()[2:]]
    assert [name.strip(" `") for name, _ in rows] == [*form.__annotations__]
    assert all(content.strip() for _, content in rows)

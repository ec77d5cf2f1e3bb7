"""The page about reports shows what happens."""

import doctest
from pathlib import Path

from physupport.report._schema import Document, _Digests, _Field, _Outcome, _Protocol

PAGE = Path(__file__).parents[2] / "docs" / "report-format.md"


def test_every_example_on_the_page_gives_what_it_shows():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert (failed, tried > 5) == (0, True)


def test_the_page_names_every_part_of_the_document():
    text = PAGE.read_text(encoding="utf-8")
    forms = (Document, _Outcome, _Protocol, _Field, _Digests)
    names = [name for form in forms for name in form.__annotations__]
    assert [name for name in names if f"`{name}`" not in text] == []

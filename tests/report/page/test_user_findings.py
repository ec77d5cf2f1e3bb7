"""Problems that readers reported: states that nobody asked for, names of numbers, small screens, paper."""

import copy
import re

import pytest

from physupport.report import Details
from physupport.report._diagnosis import field_notes
from physupport.report.page import page_html


def with_library(details, **changes):
    library = {
        "ids": ["place 0", "place 1"], "regions": ["block", "block"], "channels": ["0", "1"], "setting": {},
        "responses": [[1.0, 0.0], [0.0, -1.0]], "is_complex": False, "shown": 2, "of": 2, "envelopes": {},
    }  # fmt: skip
    return Details(details.document | {"library": library | changes})


def test_a_question_without_elements_has_no_states_and_no_map(kit):
    found, details = kit.make_resolution()
    text = page_html(found, with_library(details))
    library = text[text.index('id="library"') : text.index('id="check"')]
    assert "place 1" in library
    assert not re.search("possible|not asked|excluded</span>|drawn pale", library)
    assert ">Map</a>" not in text
    assert '<a href="#map">Answer</a>' in text


def test_a_map_is_announced_where_there_is_one(four_regions):
    text = page_html(*four_regions)
    assert '<a href="#map">Map</a>' in text
    assert "What is excluded is drawn pale." in text


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (None, "6 more in the details file"),
        (12, "6 more in the details file"),
        (15, "9 more, 6 of them in the details"),
    ],
)
def test_explanations_that_the_details_do_not_list_are_not_said_to_be_there(four_regions, total, said):
    """Of an element 6 are shown and 12 listed; details of before the number of all was told do not have it."""
    found, details = four_regions
    document = copy.deepcopy(details.document)
    element = next(each for each in document["fields"][0]["elements"] if each["state"] == "kept")
    element.pop("n_explanations", None)
    rows = [{**element["explanations"][0], "verdict": "ADMISSIBLE", "explanation": e} for e in range(12)]
    element |= {"explanations": rows} | ({} if total is None else {"n_explanations": total})
    assert f">{said}" in page_html(found, Details(document))


def test_of_complex_responses_the_real_part_is_drawn_and_named(kit):
    found, details = kit.make_resolution()
    text = page_html(found, with_library(details, is_complex=True))
    assert "their real part is drawn" in text
    assert "Real part of the response of 2 elements of block over the channels" in text


def test_other_levels_say_where_nothing_may_be_there(four_regions):
    found, details = four_regions
    levels = {field["field"]: field["levels"] for field in details.document["fields"]}
    assert {name: {each["or_nothing"] for each in found} for name, found in levels.items()} == {
        "A": {False}, "B": {False}, "C": {True}, "D": {True},
    }  # fmt: skip
    text = page_html(found, details)
    (panel,) = re.findall('id="field-2-panel".*?</article>', text, flags=re.DOTALL)
    assert panel.count("<td>C 0.64, C 0.7, C 0.76, or nothing</td>") == len(levels["C"])


def test_numbers_have_plain_names(four_regions, kit):
    text = page_html(*four_regions)
    assert "In numbers" in text
    assert "<dt>possible explanations with nothing there</dt><dd>72</dd>" in text  # region D, which is ABSENT
    assert "at threshold" not in text
    assert "<dt>diameter of the remaining set, at most</dt><dd>1</dd>" in page_html(*kit.make_resolution())


def test_elements_left_alone_are_named_in_their_field(four_regions):
    found, details = four_regions
    (note,) = field_notes(details.document["fields"][1])
    alone = [e["id"] for e in details.document["fields"][1]["elements"] if e["state"] == "not asked"]
    # The study asks for a GROUP where it can be had, not for the finest.
    assert note == (f"{', '.join(alone)} were not tested: "
                    f"the label stays true whatever the verdict.")  # fmt: skip
    assert note in page_html(found, details)


@pytest.mark.parametrize("width", [400, 500])
def test_pictures_of_evidence_and_queries_fit_small_screens(width, four_regions, opened):
    page = opened(*four_regions)
    page.resize(width, 900)
    ends = page.value(
        "['#evidence', '#queries'].map(id => [...document.querySelectorAll(id + ' .picture, ' + id + ' .picture text')]"
        ".filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().right)).flat()"
    )
    assert len(ends) > 20
    assert max(ends) <= width


def test_many_fields_are_printed_short_and_open_ones_whole(kit, opened):
    many = {f"R{j}": [f"R{j}.{(i * (j + 1)) % 4}" for i in range(12)] for j in range(40)}
    page = opened(*kit.make_map(many, [0, 0, 0] + [1] * 9))
    page.click("[data-field=field-3]")
    page.emulate(media="print")
    shown = page.value("[...document.querySelectorAll('.panel')].map(e => e.checkVisibility())")
    assert [i for i, is_shown in enumerate(shown) if is_shown] == [3]
    assert page.value("document.querySelector('.paper-only').checkVisibility()")

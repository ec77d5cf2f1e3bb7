"""Where what is left lies, told for points and for pairs, and drawn as what it is."""

from dataclasses import replace

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import Library, bank_regions, library_bank
from physupport.judges import TableJudge
from physupport.questions import RegionalMap
from physupport.report.page._page import report_fields
from physupport.report.pictures import COMPACT, WIDE, map_pictures, members_picture, pairs_picture

PLACES = np.array([0.0, 1.0, 2.0, 4.0])


def told(kept, counts=None, places=PLACES[:, None]):
    """The report of a region of four places on a line, or in a plane, of which some explanations are kept."""
    library = Library(["a", "b", "c", "d"], ["line"] * 4, places, np.eye(4), "mm")
    bank = library_bank(library, [["line"]], {"line": [1.0]}, counts=counts)
    codes = np.ones(bank.size, dtype=np.uint8)
    codes[kept] = 0
    margins = np.where(codes[:, None] == 1, [[1.0, 1.5]], [[-3.0, -2.0]]) - 0.1 * np.arange(bank.size)[:, None] * (
        codes[:, None] == 0
    )
    judge = TableJudge(codes, margins)
    protocol = AnalysisProtocol(RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.05, 1.0, bank, stop="set")
    seal = protocol.freeze(judge)
    return report(seal, seal.run())


def test_a_set_has_a_centre_an_extent_a_nearest_element_and_a_share():
    (where,) = told([1, 2, 3]).where()
    assert where.centre == (pytest.approx(7.0 / 3.0),)
    assert where.extents == ((1.0, 4.0),)
    assert (where.nearest, where.left, where.total, where.share) == ("c", 3, 4, 0.75)
    said = "line: 3 of 4 places are possible, 1 to 4 mm; centre 2.333 mm, where the nearest place is c."
    assert where.words == said


def test_numbers_without_a_unit_have_no_centre_in_words():
    (where,) = told([1, 2, 3]).where()
    assert replace(where, unit="").words == "line: 3 of 4 elements are possible."


def test_pairs_are_told_as_sets_and_drawn_at_both_of_their_places():
    found = told([0, 4], counts={"line": (2, 2)})
    (where,) = found.where()
    assert where.has_sets
    assert where.words.startswith("line: 2 combinations are possible, made of 3 of 4 places")
    (entry,) = report_fields(found.document)["fields"]
    pairs = pairs_picture(entry | {"set": found.document["fields"][0]["set"]}, COMPACT)
    (signs,) = [mark for mark in pairs.panel.marks if mark.kind == "points"]
    assert {*zip(signs.xs, signs.ys, strict=True)} == {(0.0, 1.0), (1.0, 4.0)}
    assert pairs_picture(entry, COMPACT) is None


def test_elements_of_a_set_in_a_plane_are_joined():
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    found = told([0, 4], counts={"line": (2, 2)}, places=places)
    (entry,) = report_fields(found.document)["fields"]
    ((drawn,),) = map_pictures([entry | {"set": found.document["fields"][0]["set"]}], WIDE)
    (links,) = [mark for mark in drawn.panel.marks if mark.role == "open-line"]
    ends = {*zip(links.xs[:2], links.ys[:2], strict=True), *zip(links.xs[3:5], links.ys[3:5], strict=True)}
    assert ends == {(0.0, 0.0), (1.0, 0.0), (3.0, 3.0)}


def test_members_stand_in_the_order_of_their_evidence():
    found = told([1, 2, 3])
    drawn = members_picture(found.document["fields"][0], COMPACT)
    assert [tick.text for tick in drawn.panel.y.ticks] == ["d", "c", "b"]
    (bars,) = drawn.panel.marks
    assert [*bars.xs] == sorted(bars.xs, reverse=True)
    assert members_picture(told([2]).document["fields"][0], COMPACT) is None

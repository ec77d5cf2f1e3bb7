"""Responses over cells of parameters: every point of a cell lies between its ends, and the ends close in."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.responses import (
    Cell,
    Family,
    Formula,
    Lines,
    Parameter,
    Peak,
    least_evidence,
    settings_grid,
)

AXIS = np.linspace(0.0, 10.0, 40)
PLACES = np.array([[3.0], [5.5]])
LINES = [[3.0, 2.5, 1.0], [3.0, 6.0, 0.4], [5.5, 5.0, 1.0]]
TABLE = np.exp(-0.5 * ((AXIS[:, None] - PLACES[:, 0]) / 0.8) ** 2)
SHIFT, SCALE = Parameter("shift", [-0.5, 0.7]), Parameter("scale", [0.95, 1.04])
WIDTH, GAIN = Parameter("width", [0.7, 1.3]), Parameter("gain", [-0.2, 0.3])
POSITION = Parameter("position", [-0.4, 0.4])


def along(shift=0.0, scale=1.0):
    """The axis as a response sees it."""
    return (AXIS - shift) / scale


def gain(value):
    return (1.0 + value * np.linspace(-1.0, 1.0, len(AXIS)))[:, None]


CASES = {
    "peak": (
        Peak(AXIS, 0.6),
        (SHIFT, WIDTH, GAIN),
        lambda s, w, g: Peak(along(s), 0.6 * w)(PLACES) * gain(g),
    ),
    "voigt at places": (
        Peak(AXIS, 0.6, "pseudo-voigt"),
        (POSITION, SCALE),
        lambda p, c: Peak(along(0.0, c), 0.6, "pseudo-voigt")(PLACES + p),
    ),
    "lines": (
        Lines(AXIS, LINES, [0.2, 0.05]),
        (SHIFT, SCALE, WIDTH),
        lambda s, c, w: Lines(along(s, c), LINES, [0.2, 0.05], w)(PLACES),
    ),
    "formula": (
        Formula("exp(-(t - x)**2 / width**2) + 0.1 / (1 + t**2)", AXIS),
        (SHIFT, WIDTH),
        lambda s, w: Formula("exp(-(t - x)**2 / width**2) + 0.1 / (1 + t**2)", along(s), width=w)(PLACES),
    ),
    "table": (
        TABLE,
        (SHIFT, SCALE),
        lambda s, c: settings_grid(TABLE, PLACES, [Parameter("shift", [s]), Parameter("scale", [c])], AXIS).responses[
            0
        ],
    ),
}


def family(name):
    response, parameters, _ = CASES[name]
    return Family(response, PLACES, parameters, AXIS if name == "table" else None, norms=np.ones(2))


def is_between(value, ends, scale=1.0):
    """True within the rounding of the value itself, of some operations on numbers of size 1."""
    return (ends.low <= value * scale + 1e-13).all() and (value * scale <= ends.high + 1e-13).all()


@pytest.mark.parametrize("name", CASES)
def test_every_point_of_a_cell_lies_between_its_ends(name):
    rng = np.random.default_rng(1)
    own, compute = family(name), CASES[name][2]
    box = own.box
    for _ in range(30):
        ends = np.sort(rng.uniform(box.low, box.high, (2, len(box.low))), axis=0)
        found = own.ends(Cell(*ends))
        for point in [*ends, *rng.uniform(*ends, (4, len(box.low)))]:
            value = compute(*point)
            if name == "table":  # whose columns come at unit norm
                exact = own.ends(Cell.at(point))
                value = value * np.linalg.norm(0.5 * (exact.low + exact.high), axis=0)
            assert is_between(value, found)


@pytest.mark.parametrize("name", CASES)
def test_ends_of_smaller_cells_lie_within_and_meet_at_a_point(name):
    own = family(name)
    box = own.box
    outer = own.ends(box)
    for half in box.halves(0):
        inner = own.ends(half)
        assert (inner.low >= outer.low - 1e-12).all()
        assert (inner.high <= outer.high + 1e-12).all()
    point = own.ends(Cell.at(box.middle))
    assert (point.high - point.low).max() < 1e-11  # roundings of a dozen steps, and 1e-13 of interpolation


def test_a_family_is_read_back_as_it_was_written_with_channels_of_a_window():
    window = (AXIS > 2.0) & (AXIS < 8.0)
    for response, parameters, _ in CASES.values():
        axis = None if callable(response) else AXIS
        own = Family(response, PLACES, parameters, axis, window)
        again = Family.decode(own.encode())
        assert np.array_equal(again.ends(own.box).high, own.ends(own.box).high)
        assert len(own.ends(own.box).low) == window.sum()


def test_kinds_without_an_enclosure_are_refused():
    with pytest.raises(MisuseError, match="position, width, shift, scale, gain"):
        Family(Peak(AXIS, 1.0), PLACES, [Parameter("offset", [0.0, 0.1])])
    with pytest.raises(MisuseError, match="be at least one"):
        Family(Peak(AXIS, 1.0), PLACES, [])
    with pytest.raises(MisuseError, match="the ends of its range"):
        Family(Peak(AXIS, 1.0), PLACES, [Parameter("shift", [0.0, 0.1, 0.2])])
    with pytest.raises(MisuseError, match="have an enclosure"):
        Family(lambda places: TABLE, PLACES, [WIDTH])


def searched(threshold, root, target, seeks=True, side=1e-3):
    """A search for the least squared distance from a target; the bound is that of the box, exactly."""

    def bound(cell):
        return float((np.maximum(np.maximum(cell.low - target, target - cell.high), 0.0) ** 2).sum())

    def witness(point):
        return float(((point - target) ** 2).sum())

    def split(cell):
        return cell.split(np.ones(len(target)), np.full(len(target), side))

    return least_evidence(root, bound, witness if seeks else None, split, threshold)


def test_a_search_rejects_finds_a_witness_or_leaves_what_covers_all_that_is_kept():
    root = Cell([0.0, 0.0], [1.0, 2.0])
    far = searched(0.5, root, np.array([2.0, 1.0]))
    assert far.lower == 1.0
    assert not far.left
    near = searched(1e-4, root, np.array([0.3, 1.7]))
    assert near.upper <= 1e-4
    assert near.lower <= near.upper
    target = np.array([0.3, 1.7])
    kept = searched(0.01, root, target, seeks=False, side=0.05)
    rng = np.random.default_rng(2)
    turns = rng.uniform(0.0, 2.0 * np.pi, 200)
    inside = target + 0.0999 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    assert all(any(cell.holds(point) for cell in kept.left) for point in inside)
    # Within a disc of radius .1, and cells of .05 around it: at most (.2 + 2 * .05)^2 of the area.
    assert sum(cell.sides.prod() for cell in kept.left) < 0.09

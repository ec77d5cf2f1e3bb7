"""Invalid settings of an instrument are refused by name; slopes and source errors are those of their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.responses import (
    RESPONSES,
    CircularArray,
    Formula,
    Parameter,
    Peak,
    UniformLinearArray,
    box_bounds,
    register,
    settings_grid,
    source_errors,
)
from physupport.responses._instruments import gaussian_slope, largest_cosine
from physupport.responses._settings import MOST_ENTRIES

AXIS = np.linspace(0.0, 1.0, 12)
PEAK, PLACES = Peak(AXIS, 0.2), np.array([[0.1], [0.6]])
SEEDS = st.integers(0, 2**32 - 1)


def test_a_kind_is_registered_once():
    kind = next(iter(RESPONSES))
    with pytest.raises(MisuseError, match=f"kind must be new, not {kind!r}"):
        register(kind)(Peak)


@pytest.mark.parametrize(
    ("parameter", "response", "message"),
    [
        (
            ("conductivity", [0.5, 2.0]),
            PEAK,
            "parameter 'conductivity' must go with a response that has a conductivity",
        ),
        (("phase", [0.0, 1.0]), PEAK, "parameter 'phase' must go with a complex response, not real answers"),
        (("position", [0.0, 0.1]), PEAK(PLACES), "must go with a response that can be asked at other places"),
        (("shift", [0.0, 0.1]), np.ones((1, 2)), "parameter 'shift' must go with two channels or more, not 1"),
        (("width", [1.0, 2.0]), np.ones((5, 2)), "parameter 'width'"),
    ],
)
def test_a_parameter_that_could_only_be_without_effect_is_refused(parameter, response, message):
    name, values = parameter
    axis = {"axis": np.arange(len(response))} if isinstance(response, np.ndarray) else {}
    with pytest.raises(MisuseError, match=message):
        settings_grid(response, PLACES, [Parameter(name, np.array(values))], **axis)


def test_a_place_is_moved_along_a_coordinate_that_it_has():
    with pytest.raises(MisuseError, match="must move along one of the 1 coordinates, not 1"):
        settings_grid(PEAK, PLACES, [Parameter("position", np.array([0.0, 0.1]), coordinate=1)])


def test_two_parameters_that_do_the_same_are_refused():
    twins = [
        Parameter("gain", np.array([0.0, 0.1]), called="one"),
        Parameter("gain", np.array([0.0, 0.2]), called="two"),
    ]
    with pytest.raises(MisuseError, match="parameters must differ in pattern or coordinate where they are of one kind"):
        settings_grid(PEAK, PLACES, twins)


def test_more_settings_than_memory_holds_are_refused_before_they_are_made():
    count = int(np.sqrt(MOST_ENTRIES)) + 1
    many = [Parameter("gain", np.arange(count) * 1e-6), Parameter("offset", np.arange(count) * 1e-6)]
    with pytest.raises(
        MisuseError, match=r"parameters must give at most .* numbers, settings times channels times elements"
    ):
        settings_grid(PEAK, PLACES, many)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Formula("t + x", np.array([])), "axis must hold at least one channel, but there is none"),
        (lambda: Parameter("gain", np.array([])), "values of gain must be distinct, and at least one"),
        (lambda: Parameter("gain", np.array([1.0, 1.0])), "values of gain must be distinct"),
        (lambda: Parameter("width", np.array([0.0, 1.0])), r"values of width must be factors above 0, not 0\.0"),
        (lambda: Parameter("gain", np.array([1.0]), coordinate=1), "coordinate must be left out unless the name is"),
        (lambda: Parameter("colour", np.array([1.0])), "name must be one of 'gain'"),
    ],
)
def test_formulas_and_parameters_of_nothing_are_refused(make, message):
    with pytest.raises(MisuseError, match=message):
        make()


class Tilted:
    """A response with slopes of its own, which are none."""

    def __call__(self, places):
        return np.stack([np.ones(len(places)), places[:, 0]])

    def slopes(self, low, high):
        return np.array([-1.0])


def test_slopes_below_0_are_refused():
    with pytest.raises(MisuseError, match=r"slopes of the response must be at least 0, not -1\.0"):
        box_bounds(Tilted(), np.array([0.0]), np.array([1.0]))


@given(low=st.floats(-720.0, 720.0), width=st.floats(0.0, 400.0))
def test_the_largest_cosine_of_a_range_is_no_less_than_any_within(low, width):
    found = largest_cosine(low, low + width)
    sampled = np.abs(np.cos(np.deg2rad(np.linspace(low, low + width, 2001)))).max()
    assert sampled <= found + 1e-12
    assert found <= sampled + 1e-3 + 0.5 * np.deg2rad(width / 2000.0) ** 2 * 4.0


def turned(response, places, step=1e-5):
    """Numerical speed of the unit answer along the place, sampled."""

    def unit(where):
        answers = np.asarray(response(where[:, None]))
        return answers / np.linalg.norm(answers, axis=0)

    return np.linalg.norm(unit(places + step) - unit(places - step), axis=0) / (2.0 * step)


@pytest.mark.parametrize("width", [0.05, 0.2, 1.0])
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.9), (-1.0, 2.0), (0.5, 0.500001)])
def test_no_peak_turns_faster_than_its_slope_says(width, low, high):
    bound = gaussian_slope(AXIS, width, low, high)
    fastest = turned(Peak(AXIS, width), np.linspace(low, high, 400)).max()
    assert fastest <= bound * (1.0 + 1e-6)
    assert bound <= 1.5 * fastest + 1e-9  # nor is the bound far above


def test_slopes_of_an_axis_of_one_channel_are_0_and_too_fine_ones_are_refused():
    assert gaussian_slope(np.array([0.3]), 0.1, 0.0, 1.0) == 0.0
    with pytest.raises(MisuseError, match=r"box must need at most .* points to bound the slope of a peak"):
        gaussian_slope(AXIS, 1e-9, 0.0, 1.0)


@pytest.mark.parametrize(
    ("response", "low", "high"),
    [
        (UniformLinearArray(6, 0.5), -40.0, 30.0),
        (UniformLinearArray(6, 0.5), 60.0, 85.0),
        (CircularArray(5, 0.7), -180.0, 180.0),
        (Formula("exp(-((t - x) / 0.2)**2 / 2) + +0.2", AXIS), 0.1, 0.9),
        (Formula("-x * t + 2 * cos(3 * t)", AXIS), 0.5, 1.5),
    ],
)
def test_no_response_turns_faster_than_its_bounds_say(response, low, high):
    bounds = box_bounds(response, np.array([low]), np.array([high]))
    fastest = turned(response, np.linspace(low, high, 300)).max()
    assert fastest <= bounds.slopes[0] * (1.0 + 1e-6)


# -------------------------------------------------------------------------------------------------------- source errors


@settings(max_examples=30)
@given(seed=SEEDS, is_complex=st.booleans(), has_background=st.booleans())
def test_errors_of_sources_are_sines_beside_the_background_leave_one_out(seed, is_complex, has_background):
    rng = np.random.default_rng(seed)

    def drawn(*shape):
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if is_complex else 0.0)

    states, rows = drawn(3, 6, 4), [np.outer(drawn(5), drawn(6)) for _ in range(4)]
    background = drawn(6, 1) if has_background else None
    found = source_errors(states, rows, background)
    basis = np.linalg.qr(background)[0] if has_background else np.zeros((6, 0))
    project = np.eye(6) - basis @ basis.conj().T
    sines = np.empty((3, 4))
    for v in range(3):
        for s in range(4):
            atom, measured = states[v, :, s], project @ rows[s][0]
            beside = project @ atom
            cosine = abs(np.vdot(measured, beside)) / np.linalg.norm(measured) / np.linalg.norm(beside)
            sines[v, s] = np.sqrt(max(1.0 - cosine**2, 0.0)) * np.linalg.norm(beside) / np.linalg.norm(atom)
    assert found.state == sines.max(axis=1).argmin()
    for s in range(4):
        others = [i for i in range(4) if i != s]
        chosen = sines[:, others].max(axis=1).argmin()
        assert found.sines[s] == pytest.approx(sines[chosen, s], abs=1e-7)


@pytest.mark.parametrize(
    ("states", "rows", "background", "message"),
    [
        (np.ones((1, 3)), [np.ones(3)] * 2, None, "states must have shape"),
        (np.ones((1, 3, 1)), [np.ones(3)], None, "of two sources or more"),
        (np.ones((1, 3, 2)), [np.ones(3)] * 3, None, "states must have shape"),
        (np.ones((1, 3, 2)), [np.ones(4)] * 2, None, "rows of source 0 must be finite, with 3 channels"),
        (np.ones((1, 3, 2)), [np.ones(3), np.full(3, np.nan)], None, "rows of source 1 must be finite"),
        (np.ones((1, 3, 2)), [np.ones(3)] * 2, np.ones((4, 1)), "background must have 3 rows, one for each channel"),
        (np.ones((1, 3, 2)), [np.ones(3)] * 2, np.ones((3, 1)), "rows of source 0 must have something beside the"),
    ],
)
def test_sources_that_tell_nothing_are_refused(states, rows, background, message):
    with pytest.raises(MisuseError, match=message):
        source_errors(states, rows, background)

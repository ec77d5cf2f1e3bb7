"""Settings of an instrument: their order, what each parameter does, and what it must not be asked to do."""

import cmath
from itertools import product

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import as_pairs
from physupport.responses import NearFieldArray, Parameter, Peak, UniformLinearArray, settings_grid

AXIS = np.linspace(0.0, 1.0, 6)
PEAK, PLACES = Peak(AXIS, 0.2), np.array([[0.1], [0.45], [0.8]])
LINE, ANGLES = UniformLinearArray(4, 0.5), np.array([[-20.0], [35.0]])

# A few operations on numbers of size one.
ROUNDING = 1e-14


def unit(columns):
    return columns / np.linalg.norm(columns, axis=0)


def check_columns(found, expected):
    np.testing.assert_allclose(found, unit(np.asarray(expected)), atol=ROUNDING)


def test_without_parameters_there_is_one_setting():
    found = settings_grid(PEAK, PLACES)
    assert (found.names, found.values.shape, found.is_complex) == ((), (1, 0), False)
    check_columns(found.responses[0], PEAK(PLACES))


def test_complex_answers_stand_as_the_pairs_that_streams_read():
    found = settings_grid(LINE, ANGLES)
    assert found.is_complex
    assert found.responses.shape == (1, 8, 2)
    np.testing.assert_allclose(found.responses[0], as_pairs(unit(LINE(ANGLES)), axis=0), atol=ROUNDING)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_first_parameter_is_the_slowest(order):
    given = [Parameter("width", [0.9, 1.1]), Parameter("gain", [-0.2, 0.0, 0.2]), Parameter("offset", [0.0, 0.1])]
    given = [given[i] for i in order]
    found = settings_grid(PEAK, PLACES, given)
    assert found.names == tuple(parameter.name for parameter in given)
    assert [tuple(row) for row in found.values.tolist()] == list(product(*(each.values.tolist() for each in given)))
    assert found.responses.shape == (12, 6, 3)
    for values, columns in zip(found.values, found.responses, strict=True):
        alone = settings_grid(PEAK, PLACES, [Parameter(p.name, [v]) for p, v in zip(given, values, strict=True)])
        np.testing.assert_array_equal(columns, alone.responses[0])


@pytest.mark.parametrize(
    ("name", "neutral"), [("gain", 0.0), ("offset", 0.0), ("phase", 0.0), ("width", 1.0), ("position", 0.0)]
)
def test_a_parameter_does_nothing_at_its_neutral_value_and_something_elsewhere(name, neutral):
    response, places = (LINE, ANGLES) if name == "phase" else (PEAK, PLACES)
    found = settings_grid(response, places, [Parameter(name, [neutral, neutral + 0.1])])
    np.testing.assert_array_equal(found.responses[0], settings_grid(response, places).responses[0])
    # Every element must notice: a tenth turns each response by more than a hundredth.
    assert (np.abs(found.responses[1] - found.responses[0]).max(axis=0) > 0.01).all()


@pytest.mark.parametrize("is_nominal", [False, True])
def test_gain_and_offset_entry_by_entry(is_nominal):
    pattern = [0.0, 1.0, -1.0, 0.5, 0.0, 2.0]
    response = PEAK(PLACES) if is_nominal else PEAK
    parameters = [Parameter("offset", [0.05]), Parameter("gain", [0.3], pattern)]
    expected = np.empty((6, 3))
    for e, (x,) in enumerate(PLACES):
        column = np.exp(-((AXIS - x) ** 2) / (2 * 0.2**2))
        for c in range(6):
            expected[c, e] = column[c] * (1 + 0.3 * pattern[c]) + 0.05 * column.max()
    check_columns(settings_grid(response, PLACES, parameters).responses[0], expected)


def test_the_pattern_runs_from_minus_one_to_one_unless_given():
    parameter, given = Parameter("gain", [0.3]), Parameter("gain", [0.3], [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0])
    found, expected = (settings_grid(PEAK, PLACES, [each]).responses for each in (parameter, given))
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_phase_entry_by_entry():
    found = settings_grid(LINE, ANGLES, [Parameter("phase", [0.4], [0.0, 1.0, 2.0, -1.0])]).responses[0]
    for e, column in enumerate(LINE(ANGLES).T):
        for c, weight in enumerate([0.0, 1.0, 2.0, -1.0]):
            turned = column[c] * cmath.exp(0.4j * weight) / 2.0  # four entries of modulus one have norm two
            assert complex(*found[2 * c : 2 * c + 2, e]) == pytest.approx(turned, abs=ROUNDING)


def test_an_offset_of_a_complex_response_is_real_and_scaled_by_the_modulus():
    answers = np.array([[3.0 + 4.0j], [1.0j]])
    found = settings_grid(answers, [[0.0]], [Parameter("offset", [0.2])]).responses[0]
    check_columns(found, as_pairs([[4.0 + 4.0j], [1.0 + 1.0j]], axis=0))


def test_the_width_of_tabulated_lines_is_that_of_wider_ones_and_leaves_their_places():
    axis, places = np.linspace(100.0, 300.0, 201), np.array([[160.0], [231.0]])
    peaks = Peak(axis, 8.0)
    for factor in (0.8, 1.3):
        found = settings_grid(peaks(places), places, [Parameter("width", [factor])], axis).responses[0]
        wider = Peak(axis, 8.0 * factor)(places)
        # Cubics between channels of an eighth of the width.
        np.testing.assert_allclose(found, wider / np.linalg.norm(wider, axis=0), atol=2e-3)
    for wrong in (peaks(places).sum(axis=1, keepdims=True), peaks(np.array([[102.0]]))):
        with pytest.raises(MisuseError, match=r"Give their lines.*or the responses at other widths as variants"):
            settings_grid(wrong, [[0.0]], [Parameter("width", [1.1])], axis)


def test_width_and_position_are_those_of_another_peak():
    found = settings_grid(PEAK, PLACES, [Parameter("width", [1.5]), Parameter("position", [0.03])])
    check_columns(found.responses[0], Peak(AXIS, 0.3)(PLACES + 0.03))


def test_positions_move_along_their_own_coordinates():
    response, places = NearFieldArray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 2.0), np.array([[3.0, 4.0], [5.0, 1.0]])
    given = [Parameter("position", [0.0, 0.1]), Parameter("position", [0.0, 0.2], coordinate=1)]
    found = settings_grid(response, places, given)
    assert found.names == ("position", "position 1")
    for shift, columns in zip(found.values, found.responses, strict=True):
        check_columns(columns, as_pairs(response(places + shift), axis=0))


def test_a_function_of_ones_own_is_a_response():
    def response(places):
        return np.vstack([np.ones(len(places)), places[:, 0]])

    found = settings_grid(response, [[1.0], [2.0]], [Parameter("position", [0.0, 1.0])])
    check_columns(found.responses[1], [[1.0, 1.0], [2.0, 3.0]])


def test_columns_have_norm_one_however_faint_the_answer():
    found = settings_grid(np.array([[3e-200, 3e200], [4e-200, 4e200]]), [[0.0], [1.0]])
    np.testing.assert_allclose(found.responses[0], [[0.6, 0.6], [0.8, 0.8]], rtol=1e-15)


def test_settings_cannot_be_written_to():
    found = settings_grid(PEAK, PLACES)
    for array in (found.values, found.responses):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("response", "places", "parameters", "complaint"),
    [
        (
            LINE,
            ANGLES,
            [Parameter("width", [1.1])],
            "go with a peak, or with real responses along an axis",
        ),
        (
            PEAK(PLACES),
            PLACES,
            [Parameter("width", [1.1])],
            "'width' must go with responses of one line each within the axis",
        ),
        (PEAK(PLACES), PLACES, [Parameter("position", [0.1])], "not fixed nominal answers"),
        (PEAK, PLACES, [Parameter("position", [0.1], coordinate=1)], "move along one of the 1 coordinates, not 1"),
        (PEAK, PLACES, [Parameter("phase", [0.1])], "'phase' must go with a complex response, not real answers"),
        (PEAK, PLACES, [Parameter("gain", [0.1], [1.0])], r"pattern of gain must have shape \(6\)"),
        (PEAK, PLACES, [Parameter("gain", [0.1]), Parameter("gain", [0.2])], "parameters must be distinct"),
        (PEAK, PLACES, ["gain"], "parameters must be of type Parameter"),
        (PEAK(PLACES), PLACES[:2], [], r"response must have shape \(channels, 2\)"),
        (PEAK, np.zeros((0, 1)), [], "places must hold at least one place"),
        (PEAK, [[0.1], [1e9]], [], "not none for place 1."),
        (np.ones((3, 1)), [[0.0]], [Parameter("offset", [-1.0])], "none for place 0 with offset = -1"),
        (np.full((3, 1), 0.7) / 0.3, [[0.0]], [Parameter("offset", [-1.0 + 1e-15])], "none for place 0"),
        (np.array([[np.nan]]), [[0.0]], [], "response must be finite, but the number at place 0 is not"),
        (np.array([["a"]]), [[0.0]], [], "response must hold real or complex numbers"),
        (lambda x: x.T + (0j if x[0, 0] > 1 else 0), [[1.0]], [Parameter("position", [0.5])], "real everywhere or"),
        (lambda x: np.ones((int(x[0, 0]), 1)), [[1.0]], [Parameter("position", [1.0])], r"have shape \(1, 1\)"),
    ],
)
def test_what_could_only_be_ignored_or_misread_is_refused(response, places, parameters, complaint):
    with pytest.raises(MisuseError, match=complaint):
        settings_grid(response, places, parameters)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            {"name": "drift", "values": [0.0]},
            "name must be one of 'gain', 'offset', 'phase', 'width', 'conductivity', 'position'",
        ),
        ({"name": "gain", "values": []}, "values of gain must be distinct, and at least one"),
        ({"name": "gain", "values": [0.1, 0.1]}, "values of gain must be distinct"),
        ({"name": "gain", "values": [np.inf]}, "values of gain must be finite"),
        ({"name": "width", "values": [1.0, 0.0]}, "values of width must be factors above 0"),
        ({"name": "width", "values": [1.0], "pattern": [1.0]}, "pattern must be left out"),
        ({"name": "gain", "values": [1.0], "coordinate": 1}, "coordinate must be left out"),
        ({"name": "position", "values": [1.0], "coordinate": -1}, "coordinate must be a whole number at least 0"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused(arguments, complaint):
    with pytest.raises(MisuseError, match=complaint):
        Parameter(**arguments)


def test_shift_and_scale_move_answers_along_the_axis_and_keep_them_from_being_negative():
    axis = np.linspace(0.0, 20.0, 81)

    def line(place, width=1.0):
        return np.exp(-0.5 * ((axis - place) / width) ** 2)[:, None]

    def answer(name, value):
        columns = settings_grid(line(8.0), [[0.0]], [Parameter(name, [value])], axis).responses[0]
        assert columns.min() >= 0.0
        return columns

    # Monotone cubics over a quarter of a width are off by less than a hundredth of the peak.
    for name, value, expected in (("shift", 0.6, line(8.6)), ("scale", 1.1, line(8.8, 1.1))):
        np.testing.assert_allclose(answer(name, value), expected / np.linalg.norm(expected), atol=0.01 * 0.4)
    np.testing.assert_allclose(answer("shift", 0.0), line(8.0) / np.linalg.norm(line(8.0)), rtol=1e-12)


def test_complex_answers_are_shifted_in_both_parts():
    wave = np.exp(0.3j * np.arange(30.0))[:, None]
    grid = settings_grid(wave, [[0.0]], [Parameter("shift", [1.0])])
    moved = grid.responses[0][::2] + 1j * grid.responses[0][1::2]
    np.testing.assert_allclose(moved[1:], (wave / np.linalg.norm(wave))[:-1], atol=0.01)


@pytest.mark.parametrize("axis", [[2.0, 1.0, 0.0], [0.0, 1.0]])
def test_an_axis_increases_with_every_channel(axis):
    with pytest.raises(MisuseError, match="axis must"):
        settings_grid(np.ones((3, 1)), [[0.0]], [Parameter("shift", [1.0])], axis)


@pytest.mark.parametrize(
    ("name", "value"), [("shift", 14.0), ("shift", -1e9), ("shift", 30.0), ("scale", 100.0), ("scale", 0.01)]
)
def test_a_response_that_is_moved_off_the_axis_is_refused(name, value):
    """Lines at 8 and 10 of 20, of one of which nothing would be left but what its tail has at an end."""
    axis = np.arange(20.0) if name == "shift" else np.arange(1.0, 21.0)
    lines = np.exp(-0.5 * (axis[:, None] - np.array([8.0, 10.0])) ** 2)
    with pytest.raises(MisuseError, match=r"parameters must leave a share of 0\.01 .* on the axis, but shift = "):
        settings_grid(lines, [[0.0], [1.0]], [Parameter(name, [value])], axis)


def test_a_response_may_lose_most_of_itself_at_an_end_and_one_that_fills_the_axis_nearly_all():
    axis = np.arange(20.0)
    line = np.exp(-0.5 * (axis - 17.0) ** 2)[:, None]
    found = settings_grid(line, [[0.0]], [Parameter("shift", [3.0])], axis).responses[0, :, 0]
    check_columns(found[3:], np.exp(-0.5 * (axis[3:] - 20.0) ** 2))  # before, it is as at the first channel: 1e-63
    settings_grid(np.ones((20, 1)), [[0.0]], [Parameter("shift", [19.0])], axis)

"""Bounds of derivatives hold everywhere in their box, and are not far above what is reached."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.responses import (
    CircularArray,
    Formula,
    NearFieldArray,
    Parameter,
    Peak,
    SphericalHead,
    UniformLinearArray,
    box_bounds,
    decode_parameter,
    decode_response,
    encode_parameter,
    encode_response,
    settings_grid,
)

AXIS = np.linspace(0.0, 1.0, 25)
SENSORS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, -0.3]])
CASES = {
    "linear": (UniformLinearArray(6, 0.5), [(-30.0, 50.0)]),
    "circular": (CircularArray(7, 0.8), [(-40.0, 90.0)]),
    "near": (NearFieldArray(SENSORS, 0.7), [(2.0, 2.4), (2.0, 2.4)]),
    "gaussian": (Peak(AXIS, 0.08), [(0.1, 0.9)]),
    "lorentzian": (Peak(AXIS, 0.08, "lorentzian"), [(0.2, 0.8)]),
    "voigt": (Peak(AXIS, 0.08, "pseudo-voigt"), [(0.2, 0.8)]),
    "formula": (Formula("exp(-((t - x) / width)**2) + 0.2", AXIS, width=0.1), [(0.2, 0.8)]),
}


def differences(response, box, parameters=(), *, second_too=True):
    """Largest first and second differences of answers at unit norm, over random points of the box."""
    rng, ends = np.random.default_rng(2), np.array([*box, *(each.values for each in parameters)])
    steps, d = 1e-4 * (ends[:, 1] - ends[:, 0]), len(box)
    points = rng.uniform(ends[:, 0] + steps, ends[:, 1] - steps, (60, len(ends)))

    def unit(point):
        chosen = [
            Parameter(each.name, [value], each.pattern, each.coordinate)
            for each, value in zip(parameters, point[d:], strict=True)
        ]
        return settings_grid(response, point[None, :d], chosen).responses[0, :, 0]

    first, second = np.zeros(len(ends)), np.zeros((len(ends), len(ends)))
    for point in points:
        moves = np.diag(steps)
        for k, move in enumerate(moves):
            first[k] = max(first[k], np.linalg.norm(unit(point + move) - unit(point - move)) / (2 * steps[k]))
            for m, other in enumerate(moves if second_too else ()):
                cross = unit(point + move / 2 + other / 2) - unit(point + move / 2 - other / 2)
                cross -= unit(point - move / 2 + other / 2) - unit(point - move / 2 - other / 2)
                second[k, m] = max(second[k, m], np.linalg.norm(cross) / (steps[k] * steps[m]))
    return first, second


def slopes_reached(response, box, parameters):
    return differences(response, box, parameters, second_too=False)[0]


@pytest.mark.parametrize("name", CASES)
def test_no_derivative_in_the_box_exceeds_its_bound(name):
    response, box = CASES[name]
    low, high = np.array(box).T
    first, second = differences(response, box)
    plain, bent = box_bounds(response, low, high), box_bounds(response, low, high, second=True)
    assert (first <= plain.slopes * (1 + 1e-6)).all()
    assert (first <= bent.slopes * (1 + 1e-6)).all()
    assert (second <= bent.bends * (1 + 1e-3) + 1e-6).all()
    assert (np.diag(bent.bends) <= 2.5 * np.diag(second)).all()  # and not far too large
    assert (bent.slopes <= 1.5 * first).all()


def test_a_part_that_is_alike_in_all_channels_counts_once_in_each():
    """Fewer channels than boxes, so that summing along the wrong axis would show; written with t it cannot happen."""
    low, high = np.array([0.2]), np.array([0.8])
    alike, told = (
        Formula("exp(-((t - x) / width)**2)", AXIS[::3], imaginary=part, width=0.3)
        for part in ("3 * x", "3 * x + 0 * t")
    )
    found, wanted = (box_bounds(each, low, high, second=True) for each in (alike, told))
    np.testing.assert_allclose(found.slopes, wanted.slopes, rtol=1e-12)
    np.testing.assert_allclose(found.bends, wanted.bends, rtol=1e-12)
    first, second = differences(alike, [(0.2, 0.8)])
    assert first[0] <= found.slopes[0]
    assert second[0, 0] <= found.bends[0, 0]


def test_parameters_between_their_values_have_bounds_too():
    peak, box = Peak(AXIS, 0.1), [(0.3, 0.7)]
    parameters = [Parameter("width", [0.9, 1.2]), Parameter("position", [-0.05, 0.05])]
    bounds = box_bounds(peak, *np.array(box).T, parameters, second=True)
    first, second = differences(peak, box, parameters)
    assert (first <= bounds.slopes * (1 + 1e-6)).all()
    assert (second <= bounds.bends * (1 + 1e-3) + 1e-6).all()
    gains = [Parameter("gain", [-0.2, 0.3]), Parameter("width", [0.9, 1.1])]
    assert (slopes_reached(peak, box, gains) <= box_bounds(peak, *np.array(box).T, gains).slopes).all()
    array, angles = UniformLinearArray(5, 0.5), [(-20.0, 20.0)]
    phases = [Parameter("phase", [-0.2, 0.2], pattern=[0, 1, -1, 2, 0])]
    slopes = box_bounds(array, *np.array(angles).T, phases).slopes
    assert (slopes_reached(array, angles, phases) <= slopes * (1 + 1e-6)).all()
    assert slopes[1] == 2.0


@pytest.mark.parametrize("offsets", [(-0.06, 0.04), (0.0, 0.1)])
def test_an_offset_between_two_values_has_a_bound_beside_all_else(offsets):
    peak, box = Peak(AXIS, 0.1), [(0.3, 0.7)]
    parameters = [Parameter("gain", [-0.2, 0.1]), Parameter("offset", offsets), Parameter("width", [0.9, 1.1])]
    found, first = box_bounds(peak, *np.array(box).T, parameters).slopes, slopes_reached(peak, box, parameters)
    assert (first <= found).all()
    alone = box_bounds(peak, *np.array(box).T, parameters[1:2]).slopes
    reached = slopes_reached(peak, box, parameters[1:2])
    assert (reached <= alone).all()
    assert (alone <= 6.0 * reached).all()  # lengths are added up: not far too large for small offsets
    array, angles = UniformLinearArray(5, 0.5), [(-20.0, 20.0)]
    both = [Parameter("offset", offsets), Parameter("phase", [-0.2, 0.2], pattern=[0, 1, -1, 2, 0])]
    assert (slopes_reached(array, angles, both) <= box_bounds(array, *np.array(angles).T, both).slopes).all()
    with pytest.raises(MisuseError, match=r"stay below 0.2 of the largest channel"):
        box_bounds(peak, *np.array(box).T, [Parameter("offset", [-0.3, 0.1])])


def test_what_proves_nothing_is_refused():
    low, high = np.array([10.0, 10.0, 10.0]), np.array([20.0, 20.0, 20.0])
    with pytest.raises(MisuseError, match="bound its own slopes"):
        box_bounds(SphericalHead(np.eye(3)), low, high)
    with pytest.raises(MisuseError, match=r"gain, phase or offset to have a proven slope.*take 'position'"):
        box_bounds(Peak(AXIS, 0.1), np.array([0.3]), np.array([0.7]), [Parameter("shift", [0.0, 1.0])])
    with pytest.raises(MisuseError, match="position or width to have a proven slope"):
        box_bounds(Peak(AXIS, 0.1), np.array([0.3]), np.array([0.7]), [Parameter("gain", [0.0, 0.1])], second=True)
    with pytest.raises(MisuseError, match="factor above 0"):
        box_bounds(Peak(AXIS, 0.1), np.array([0.3]), np.array([0.7]), [Parameter("gain", [0.0, 2.0])])
    with pytest.raises(MisuseError, match="smooth and not 0"):
        box_bounds(Formula("t + 1 / x", [1.0, 2.0]), np.array([-1.0]), np.array([1.0]), second=True)


@pytest.mark.parametrize("name", CASES)
def test_responses_and_parameters_come_back_as_they_were_written(name):
    response, box = CASES[name]
    again = decode_response(encode_response(response))
    places = np.array(box).mean(axis=1)[None]
    assert np.array_equal(again(places), response(places))
    parameter = Parameter("gain", [0.1, 0.2], pattern=[1.0, 2.0], called="g")
    assert encode_parameter(decode_parameter(encode_parameter(parameter))) == encode_parameter(parameter)
    assert encode_response(lambda places: places) is None

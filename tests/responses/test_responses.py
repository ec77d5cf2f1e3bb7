"""Responses against formulas written out entry by entry, and against the physics they must share."""

import cmath
import math

import numpy as np
import pytest

from physupport import MisuseError
from physupport.responses import CircularArray, NearFieldArray, Peak, UniformLinearArray

AXIS = [0.0, 0.3, 0.7, 1.5]
ANGLES = np.array([[-63.0], [0.0], [12.5], [90.0]])
PLACES = [[0.1], [0.9]]

# Formulas differ by the order of a few operations on numbers of size one.
ROUNDING = 1e-13


def voigt(u):
    return (2.0 ** (-u * u) + 1 / (1 + u * u)) / 2


FORMULAS = {"gaussian": lambda u: math.exp(-u * u / 2), "lorentzian": lambda u: 1 / (1 + u * u), "pseudo-voigt": voigt}


@pytest.mark.parametrize("shape", FORMULAS)
def test_a_peak_entry_by_entry(shape):
    found = Peak(AXIS, 0.4, shape)(PLACES)
    assert found.shape == (4, 2)
    for c, t in enumerate(AXIS):
        for e, (x,) in enumerate(PLACES):
            assert found[c, e] == pytest.approx(FORMULAS[shape]((t - x) / 0.4), rel=ROUNDING)


@pytest.mark.parametrize("shape", ["lorentzian", "pseudo-voigt"])
def test_the_width_is_half_the_width_at_half_height(shape):
    np.testing.assert_allclose(Peak([-0.4, 0.0, 0.4], 0.4, shape)([[0.0]])[:, 0], [0.5, 1.0, 0.5], rtol=ROUNDING)


def test_the_width_of_a_gaussian_is_its_standard_deviation():
    axis = np.linspace(-5.0, 5.0, 2001)
    weights = Peak(axis, 0.4)([[0.0]])[:, 0]
    # The sum over a fine grid that reaches twelve deviations is the integral, to rounding.
    assert weights @ axis**2 / weights.sum() == pytest.approx(0.16, rel=1e-10)


def test_a_linear_array_entry_by_entry():
    found = UniformLinearArray(5, 0.45)(ANGLES)
    for m in range(5):
        for e, (degrees,) in enumerate(ANGLES.tolist()):
            path = m * 0.45 * math.sin(math.radians(degrees))
            assert found[m, e] == pytest.approx(cmath.exp(2j * math.pi * path), abs=ROUNDING)


def test_the_mirrored_angle_gives_the_conjugate():
    array = UniformLinearArray(6, 0.5)
    np.testing.assert_allclose(array(-ANGLES), array(ANGLES).conj(), atol=ROUNDING)


def test_a_source_at_broadside_meets_all_sensors_at_once():
    np.testing.assert_array_equal(UniformLinearArray(6, 0.5)([[0.0]]), np.ones((6, 1)))


def test_a_circular_array_entry_by_entry():
    found = CircularArray(4, 0.8)(ANGLES)
    for m, (x, y) in enumerate([(0.8, 0.0), (0.0, 0.8), (-0.8, 0.0), (0.0, -0.8)]):
        for e, (degrees,) in enumerate(ANGLES.tolist()):
            path = x * math.cos(math.radians(degrees)) + y * math.sin(math.radians(degrees))
            assert found[m, e] == pytest.approx(cmath.exp(2j * math.pi * path), abs=ROUNDING)


def test_turning_a_circular_array_by_one_sensor_moves_its_entries_on():
    array = CircularArray(8, 1.3)
    np.testing.assert_allclose(array(ANGLES + 45.0), np.roll(array(ANGLES), 1, axis=0), atol=ROUNDING * 8)


def test_a_nearby_source_entry_by_entry():
    sensors, places = [[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]], [[0.0, 3.0, 4.0], [1.0, 0.0, 0.0]]
    found = NearFieldArray(sensors, 0.7)(places)
    for m, s in enumerate(sensors):
        for e, x in enumerate(places):
            r = math.dist(s, x)
            assert found[m, e] == pytest.approx(cmath.exp(-2j * math.pi * r / 0.7) / r, rel=ROUNDING)


def as_directions(columns):
    """Columns of unit norm whose first entry is positive: what a complex coefficient cannot change."""
    columns = columns * np.abs(columns[0]) / columns[0]
    return columns / np.linalg.norm(columns, axis=0)


@pytest.mark.parametrize("kind", ["line", "circle"])
def test_a_source_far_away_is_a_plane_wave(kind):
    wavelength, angles = 0.5, np.deg2rad(ANGLES[:, 0])
    if kind == "line":
        sensors = np.column_stack([0.45 * wavelength * np.arange(5), np.zeros(5)])
        directions, far = np.column_stack([np.sin(angles), np.cos(angles)]), UniformLinearArray(5, 0.45)
    else:
        around = 2 * np.pi * np.arange(5) / 5
        sensors = 0.9 * wavelength * np.column_stack([np.cos(around), np.sin(around)])
        directions, far = np.column_stack([np.cos(angles), np.sin(angles)]), CircularArray(5, 0.9)

    def gap(distance):
        near = NearFieldArray(sensors, wavelength)(distance * directions)
        return np.abs(as_directions(near) - as_directions(far(ANGLES))).max()

    # The wave front is curved by at most pi L^2 / (wavelength distance), L = 0.9 the reach of the array, and its
    # strength varies by at most L / distance: 7 / distance with a margin, as long as phases come out to 1e-9.
    assert gap(1e3) < 7e-3
    assert gap(1e5) < 7e-5
    assert gap(10.0) > 7e-3


def test_a_response_keeps_its_own_copy():
    axis = np.array(AXIS)
    peak = Peak(axis, 0.4)
    axis[:] = 0.0
    assert peak.axis.tolist() == AXIS
    with pytest.raises(ValueError, match="read-only"):
        peak.axis[0] = 1.0


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Peak(AXIS, 0.0), "width must lie strictly between"),
        (lambda: Peak(AXIS, 1.0, "square"), "shape must be one of 'gaussian', 'lorentzian', 'pseudo-voigt'"),
        (lambda: Peak([], 1.0), "axis must hold at least one channel"),
        (lambda: Peak([AXIS], 1.0), "axis must have shape"),
        (lambda: Peak(AXIS, 1.0)([0.1, 0.2]), "places must have shape"),
        (lambda: UniformLinearArray(0, 0.5), "n_sensors must be a whole number between 1 and 1048576, not 0"),
        (lambda: UniformLinearArray(3, -0.5), "spacing must"),
        (lambda: UniformLinearArray(3, 0.5)([[0.0, 1.0]]), "places must have shape"),
        (lambda: CircularArray(3, math.inf), "radius must"),
        (lambda: NearFieldArray(np.zeros((0, 2)), 1.0), "sensors must hold at least one sensor"),
        (lambda: NearFieldArray(np.eye(2), 0.0), "wavelength must"),
        (lambda: NearFieldArray(np.eye(2), 1.0)([[5.0, 5.0], [0.0, 1.0]]), "but place 1 lies at sensor 1"),
        (lambda: NearFieldArray(np.eye(2), 1.0)([[5.0]]), "places must have shape"),
    ],
)
def test_misuse_is_named(make, complaint):
    with pytest.raises(MisuseError, match=complaint):
        make()

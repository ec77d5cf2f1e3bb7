"""Potentials on a head of spheres: a closed form, the conditions between shells solved anew, and what is refused."""

import numpy as np
import pytest
from scipy.special import eval_legendre

from physupport import MisuseError
from physupport.responses import Parameter, SphericalHead, settings_grid

RNG = np.random.default_rng(6)
SENSORS = RNG.normal(size=(25, 3))
PLACES = np.array([[0.0, 0.0, 60.0], [30.0, 20.0, 50.0], [-50.0, 10.0, 30.0], [5.0, -65.0, 10.0]])
UNIT = SENSORS / np.linalg.norm(SENSORS, axis=1)[:, None]
DEPTHS = np.linalg.norm(PLACES, axis=1)
COSINES = UNIT @ (PLACES / DEPTHS[:, None]).T


def test_one_conductivity_is_the_closed_form_of_a_sphere():
    """2 (cos g - b) / d^3 + (1 / d - 1) / b, with b the depth over the radius and d the distance to the electrode."""
    found = SphericalHead(SENSORS, conductivity=1.0)(PLACES)
    b = DEPTHS / 92.0
    d = np.sqrt(1.0 + b**2 - 2.0 * b * COSINES)
    expected = 2.0 * (COSINES - b) / d**3 + (1.0 / d - 1.0) / b
    ratio = found / expected
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-8)  # the terms left out


def test_shells_meet_as_potentials_and_currents_must():
    """For each order, six conditions solved as one linear system."""
    radii, sigmas = (80.0, 85.0, 92.0), (1.0, 0.02, 1.0)
    expected = np.zeros_like(COSINES)
    for n in range(1, 60):
        up, down = [lambda r, s=s: (r / 92.0) ** s for s in (n, -n - 1)]
        system, right = np.zeros((5, 5)), np.zeros(5)  # unknown A1, A2, B2, A3, B3; B1 is 1
        for i, r in enumerate(radii[:2]):
            inner = [0, None] if i == 0 else [1, 2]
            outer = [1, 2] if i == 0 else [3, 4]
            for row, (f, g, s, t) in enumerate([(1.0, 1.0, 1.0, 1.0), (n, -n - 1, sigmas[i], sigmas[i + 1])]):
                system[2 * i + row, inner[0]] = s * f * up(r)
                if i:
                    system[2 * i + row, inner[1]] = s * g * down(r)
                else:
                    right[2 * i + row] = -s * g * down(r)
                system[2 * i + row, outer] = -t * f * up(r), -t * g * down(r)
        system[4, 3:] = n, -n - 1
        scalp = np.linalg.solve(system, right)[3:].sum()
        expected += n * (DEPTHS / 92.0) ** (n - 1) * scalp * eval_legendre(n, COSINES)
    ratio = SphericalHead(SENSORS, conductivity=0.02)(PLACES) / expected
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)


def test_a_dipole_of_any_direction_is_the_derivative_of_a_closed_form():
    """The potential of a homogeneous sphere: 2 / r - log(r + R - p cos g) / R, differentiated numerically."""
    radius, place, step = 92.0, np.array([-30.0, 20.0, 40.0]), 1e-3

    def potential(p):
        r = np.linalg.norm(radius * UNIT - p, axis=1)
        return 2.0 / r - np.log(r + radius - UNIT @ p) / radius

    expected = np.stack(
        [(potential(place + e) - potential(place - e)) / (2.0 * step) for e in step * np.eye(3)], axis=1
    )
    head = SphericalHead(SENSORS, conductivity=1.0, orientation="free")
    found = np.hstack([axis([place]) for axis in head.variants])
    # One factor for all axes: a step of 1e-3 is off by a part in 1e8 or so.
    np.testing.assert_allclose(found / found[0, 0], expected / expected[0, 0], rtol=1e-5)
    outwards = SphericalHead(SENSORS, conductivity=1.0)([place])[:, 0]
    np.testing.assert_allclose(found @ place / np.linalg.norm(place), outwards, rtol=1e-9)


def test_a_free_orientation_is_asked_by_its_variants_alone():
    head = SphericalHead(SENSORS, orientation="free")
    with pytest.raises(MisuseError, match="Ask its variants"):
        head(PLACES)
    assert [each.orientation for each in head.variants] == ["x", "y", "z"]
    assert SphericalHead(SENSORS).variants[0].orientation == "outwards"
    with pytest.raises(MisuseError, match="orientation must be outwards, x, y, z or free"):
        SphericalHead(SENSORS, orientation="up")


def test_the_skull_blurs_and_a_parameter_scales_it():
    head, grid = SphericalHead(SENSORS), [Parameter("conductivity", [0.5, 2.0])]
    found = settings_grid(head, PLACES, grid).responses
    for value, responses in zip((0.5, 2.0), found, strict=True):
        nominal = SphericalHead(SENSORS, conductivity=0.0125 * value)(PLACES)
        np.testing.assert_allclose(responses, nominal / np.linalg.norm(nominal, axis=0), rtol=1e-12)
    sharp, blurred = (SphericalHead(SENSORS, conductivity=value)(PLACES) for value in (0.1, 0.001))
    assert np.all(np.ptp(sharp, axis=0) > 3.0 * np.ptp(blurred, axis=0))


@pytest.mark.parametrize(
    ("options", "places", "message"),
    [
        ({"sensors": np.zeros((2, 3))}, PLACES, "sensors must lie outside the middle"),
        ({"skull": 70.0}, PLACES, "radii must grow from brain to skull to scalp"),
        ({}, [[0.0, 0.0, 79.9]], "places must lie in the brain"),
        ({}, [[0.0, 0.0, 0.0]], "places must lie in the brain"),
        ({"conductivity": 0.0}, PLACES, "conductivity must lie strictly"),
    ],
)
def test_heads_that_there_are_not(options, places, message):
    with pytest.raises(MisuseError, match=message):
        SphericalHead(**{"sensors": SENSORS} | options)(places)

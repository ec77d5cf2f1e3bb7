from dataclasses import replace

import numpy as np
import pytest
from tests.local.theory.margins import center_radius, vertex_separation

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.local.shell import Block, LocalDictionary, Shell, separated_atom


def _dictionary(shell, *, shape=1.0, center=0.0, tilt=0.0, flipped=False):
    """The balanced block of the shell, stretched, shifted, with a tilted separated atom; all in units of the scale."""
    across = shell.q - 1
    block = Block(shell.frame, shell.scale * center * np.eye(across)[0], shell.scale * shape * np.eye(across))
    away = shell.frame.basis[:, 1]  # orthogonal to the reference, which lies in the span of axis and first basis vector
    sine = tilt * shell.scale / np.sqrt(2.0)
    atom = separated_atom(shell.reference, away * sine / np.sqrt(1.0 - sine**2))
    return LocalDictionary(block, -atom if flipped else atom)


VIOLATIONS = {
    "atoms within C_0 s of the axis": ({"center": 1.0}, 1.0),
    "kappa_- s at most the smallest stretch": ({"shape": 0.7}, 1.0),
    "largest stretch at most kappa_+ s": ({"shape": 1.3}, 1.0),
    "separated atom within C_a s of its reference": ({"tilt": 0.8}, 1.0),
    "separated atom on the side of its reference": ({"flipped": True, "tilt": 0.5}, 1.0),
    "nu_- at most the noise variance": ({}, 0.4),
    "noise variance at most nu_+": ({}, 2.5),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violated_condition_is_the_one_that_is_named(make_shell, name):
    shell = make_shell(5)
    change, noise = VIOLATIONS[name]
    membership = shell.membership(_dictionary(shell, **change), noise)
    assert membership.violated == (name,)
    assert not membership.inside
    worst = min(membership.conditions, key=lambda condition: condition.slack)
    assert worst.name == name
    assert worst.slack < 0.0


def test_a_dictionary_that_meets_every_condition_is_inside(make_shell):
    shell = make_shell(5)
    membership = shell.membership(_dictionary(shell, center=0.3, tilt=0.6), 1.0)
    assert membership.inside
    assert membership.violated == ()
    assert len(membership.conditions) == len(VIOLATIONS)


def test_the_values_of_the_conditions_are_the_quantities_of_the_shell(make_shell):
    shell = make_shell(4)
    values = {c.name: c.value for c in shell.membership(_dictionary(shell, shape=1.1, tilt=0.5), 1.0).conditions}
    # Rounding of a norm of numbers near one tenth.
    assert values["atoms within C_0 s of the axis"] == pytest.approx(1.1 * shell.scale, rel=1e-14)
    assert values["separated atom within C_a s of its reference"] == pytest.approx(0.5 * shell.scale, rel=1e-13)


@pytest.mark.parametrize("q", [3, 4, 8])
def test_samples_are_inside_the_shell(make_shell, q):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=0.3)
    for _ in range(200):
        assert shell.membership(shell.sample(rng), 1.0).violated == ()


@pytest.mark.parametrize("q", [3, 5, 8])
def test_no_centre_is_longer_than_the_centre_radius(make_shell, make_rotation, q):
    rng = np.random.default_rng(q)
    shell = make_shell(q)
    for _ in range(300):
        block = shell.sample(rng).block
        # The identity behind the bound, then the bound on the block pushed along its centre as far as the cap allows.
        mean_square = np.mean(np.sum(block.coordinates**2, axis=0))
        assert mean_square == pytest.approx(np.sum(block.center**2) + np.sum(block.shape**2) / (q - 1), rel=1e-13)
        pushed = _pushed_to_the_cap(shell, block)
        assert np.linalg.norm(pushed) <= center_radius(shell) * (1.0 + 1e-12)


def _pushed_to_the_cap(shell, block):
    direction = block.center / np.linalg.norm(block.center)
    legs = block.shape @ shell.frame.template
    # ||t direction + leg||^2 = (C_0 s)^2 at the atom that meets the cap first.
    along, squares = direction @ legs, np.sum(legs**2, axis=0)
    steps = -along + np.sqrt(along**2 + (shell.cap * shell.scale) ** 2 - squares)
    return steps.min() * direction


def test_shell_quantities_are_the_stated_formulas(make_shell):
    shell = make_shell(6, scale=0.2, cap=1.5, stretch=(0.8, 1.2), angle=1.1)
    assert shell.axial_floor == pytest.approx(np.sqrt(1.0 - 0.09), rel=1e-15)
    assert center_radius(shell) == pytest.approx(0.2 * np.sqrt(1.5**2 - 0.8**2), rel=1e-15)
    assert vertex_separation(shell) == pytest.approx(0.16 * np.sqrt(12 / 5), rel=1e-15)
    assert shell.axial_cosine == pytest.approx(np.cos(1.1), rel=1e-14)
    assert shell.axial_sine == pytest.approx(np.sin(1.1), rel=1e-14)


MISUSES = {
    "scale must satisfy cap \\* scale < 1 with cap = 1.5": {"scale": 0.7},
    "scale must lie strictly between 0 and inf, not nan": {"scale": np.nan},
    "cap must be at least the smallest stretch 0.8, or the shell is empty": {"cap": 0.7},
    "interval must satisfy 0 < lower <= upper": {"stretch": (1.2, 0.8)},
    "separated_radius must lie strictly between": {"separated_radius": 0.0},
    "reference must be separated from the axis by a positive angle": {"angle": 0.0},
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_names_the_argument_and_the_rule(make_shell, message):
    with pytest.raises(MisuseError, match=message):
        make_shell(4, **MISUSES[message])


def test_a_pair_of_numbers_is_no_interval(make_shell):
    for name in ("stretch", "noise"):
        with pytest.raises(MisuseError, match=rf"{name} must be of type Interval, not tuple \(0.8, 1.2\)"):
            replace(make_shell(4), **{name: (0.8, 1.2)})


def test_a_reference_that_is_not_unit_is_refused(make_shell):
    shell = make_shell(4)
    with pytest.raises(MisuseError, match="reference must have columns of norm 1"):
        Shell(shell.frame, 0.1, 1.5, Interval(0.8, 1.2), np.ones(4), 0.7, Interval(0.5, 2.0))

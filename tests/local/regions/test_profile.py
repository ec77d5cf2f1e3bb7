from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import lsq_linear

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.local import regions

BOX = Interval(0.5, 2.0)


class Fit(NamedTuple):
    losses: np.ndarray
    coefficients: np.ndarray
    lower_bounds: np.ndarray


def profile_losses(target, atoms, box):
    return Fit(*regions.profile_losses(target, atoms, box))


def coherent_atoms(rng, k, q, r, s):
    """Unit atoms within about s of the last axis; their condition number is about 1/s."""
    atoms = s * rng.standard_normal((k, q, r))
    atoms[:, -1, :] += 1.0
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def exact_squared_minimum(target, atoms, box):
    """The least squared residual over all 3^r faces, in rational arithmetic: no rounding at all."""
    z = [Fraction(float(v)) for v in target]
    columns = [[Fraction(float(v)) for v in column] for column in atoms.T]
    low, high = Fraction(box.lower), Fraction(box.upper)
    best = None
    for face in product((low, high, None), repeat=len(columns)):
        x = solve_face(z, columns, face)
        if x is not None and all(low <= value <= high for value in x):
            residual = [v - sum(value * c[i] for value, c in zip(x, columns, strict=True)) for i, v in enumerate(z)]
            loss = sum(v * v for v in residual)
            best = loss if best is None or loss < best else best
    return best


def solve_face(z, columns, face):
    """Least squares in the coefficients left None, by Gauss elimination on the normal equations."""
    free = [j for j, value in enumerate(face) if value is None]
    rest = [v - sum(b * c[i] for b, c in zip(face, columns, strict=True) if b is not None) for i, v in enumerate(z)]
    rows = [[dot(columns[i], columns[j]) for j in free] + [dot(columns[i], rest)] for i in free]
    for i in range(len(free)):
        pivot = next((k for k in range(i, len(free)) if rows[k][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(free)):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    solution = dict(zip(free, (row[-1] for row in rows), strict=True))
    return [solution.get(j, value) for j, value in enumerate(face)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("s", [0.5, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_the_exact_minimum_lies_between_lower_bound_and_loss(r, s):
    rng = np.random.default_rng(r)
    atoms = coherent_atoms(rng, 8, 4, r, s)
    target = atoms[0] @ rng.uniform(0.4, 2.1, r) + 0.3 * s * rng.standard_normal(4)
    fit = profile_losses(target, atoms, BOX)
    for j in range(8):
        exact = exact_squared_minimum(target, atoms[j], BOX)
        assert Fraction(fit.lower_bounds[j]) ** 2 <= exact
        # A residual of numbers below 10 carries rounding below 1e-14.
        assert Fraction(fit.losses[j] + 1e-14) ** 2 >= exact
        assert fit.losses[j] == pytest.approx(float(exact) ** 0.5, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("s", [0.5, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize(("q", "r"), [(4, 2), (8, 4), (16, 5), (20, 12), (3, 6)])
def test_losses_are_never_above_an_independent_solver_and_bounds_close_the_gap(q, r, s):
    rng = np.random.default_rng(q)
    atoms = coherent_atoms(rng, 60, q, r, s)
    target = atoms[0] @ rng.uniform(0.4, 2.1, r) + 0.3 * s * rng.standard_normal(q)
    fit = profile_losses(target, atoms, BOX)
    for j in range(60):
        other = lsq_linear(atoms[j], target, (BOX.lower, BOX.upper), method="bvls", tol=1e-15, max_iter=2000)
        # The other solver stops on relative progress, so it may be above but not below by more than rounding of z - Ax.
        assert fit.losses[j] <= np.linalg.norm(target - atoms[j] @ other.x) + 1e-14
    # The duality gap certifies all of them, whatever the other solver found.  At s = 1e-6 the sign of a slope of 1e-6
    # times the loss drowns in rounding, hence the absolute part.
    assert np.all(fit.losses - fit.lower_bounds <= 1e-11 * fit.losses + 1e-9 * (s < 1e-5) + 1e-12)


def test_losses_belong_to_the_feasible_coefficients_beside_them():
    rng = np.random.default_rng(1)
    atoms = coherent_atoms(rng, 500, 6, 4, 1e-3)
    target = rng.standard_normal(6)
    fit = profile_losses(target, atoms, BOX)
    assert fit.coefficients.min() >= BOX.lower
    assert fit.coefficients.max() <= BOX.upper
    residuals = target - np.einsum("kqr,kr->kq", atoms, fit.coefficients)
    assert np.allclose(fit.losses, np.linalg.norm(residuals, axis=1), rtol=1e-14, atol=1e-15)
    assert np.all(fit.lower_bounds <= fit.losses)


@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from([0.5, 1e-2, 1e-5]))
def test_a_mean_made_of_allowed_coefficients_has_no_loss(seed, r, s):
    rng = np.random.default_rng(seed)
    atoms = coherent_atoms(rng, 1, 5, r, s)
    # Corners and edges of the box too: there several bounds meet and the active set is degenerate.
    x = np.clip(rng.uniform(-0.5, 3.0, r), BOX.lower, BOX.upper)
    fit = profile_losses(atoms[0] @ x, atoms, BOX)
    # Rounding of sums below 10.
    assert fit.losses[0] < 1e-14
    assert fit.lower_bounds[0] <= fit.losses[0]


def test_optimality_conditions_hold_at_every_solution():
    rng = np.random.default_rng(2)
    atoms = coherent_atoms(rng, 2000, 6, 4, 0.2)
    target = atoms[0] @ np.array([0.4, 1.0, 2.2, 1.5]) + 0.1 * rng.standard_normal(6)
    fit = profile_losses(target, atoms, BOX)
    residuals = target - np.einsum("kqr,kr->kq", atoms, fit.coefficients)
    slopes = np.einsum("kqr,kq->kr", atoms, residuals)
    at_lower, at_upper = fit.coefficients == BOX.lower, fit.coefficients == BOX.upper
    # Slopes are sums of six products of order one.
    assert np.abs(slopes[~at_lower & ~at_upper]).max() < 1e-13
    assert slopes[at_lower].max() < 1e-13
    assert slopes[at_upper].min() > -1e-13
    assert at_lower.any()
    assert at_upper.any()


def test_the_separated_alternative_is_a_clipped_inner_product():
    rng = np.random.default_rng(3)
    atom, target = np.array([0.6, 0.8, 0.0]), rng.standard_normal((50, 3)) * 2.0
    for z in target:
        fit = profile_losses(z, atom[None, :, None], BOX)
        gamma = np.clip(atom @ z, BOX.lower, BOX.upper)
        assert fit.coefficients[0, 0] == pytest.approx(gamma, rel=1e-13)
        assert fit.losses[0] == pytest.approx(np.linalg.norm(z - gamma * atom), rel=1e-13)


def test_equal_atoms_share_their_coefficient():
    atom = np.array([0.6, 0.0, 0.8])
    twice = np.stack([atom, atom], axis=1)[None]
    for total, loss in ((0.3, 0.7), (1.0, 0.0), (3.1, 0.0), (5.0, 1.0)):
        fit = profile_losses(total * atom, twice, BOX)
        assert fit.losses[0] == pytest.approx(loss, abs=1e-14)
        assert fit.lower_bounds[0] == pytest.approx(loss, abs=1e-13)


def test_a_box_of_one_point_leaves_nothing_to_fit():
    atoms = coherent_atoms(np.random.default_rng(4), 3, 4, 2, 0.1)
    fit = profile_losses(np.ones(4), atoms, Interval(1.5, 1.5))
    assert np.all(fit.coefficients == 1.5)
    assert np.allclose(fit.losses, np.linalg.norm(1.0 - 1.5 * atoms.sum(axis=2), axis=1), rtol=1e-14)
    assert np.allclose(fit.lower_bounds, fit.losses, rtol=1e-12)


def test_layout_and_batching_do_not_change_the_answer():
    rng = np.random.default_rng(6)
    atoms, target = coherent_atoms(rng, 20, 5, 3, 0.1), rng.standard_normal(10)
    whole = profile_losses(target[::2], np.asfortranarray(atoms), BOX)
    single = [profile_losses(target[::2].copy(), atoms[j : j + 1], BOX) for j in range(20)]
    assert np.array_equal(whole.coefficients, np.concatenate([fit.coefficients for fit in single]))
    # BLAS may sum a batch in another order.
    assert np.allclose(whole.losses, np.concatenate([fit.losses for fit in single]), rtol=1e-14)
    assert profile_losses(target[::2], atoms[:0], BOX).losses.shape == (0,)


def test_ten_thousand_explanations_are_enclosed_at_once():
    rng = np.random.default_rng(7)
    atoms = coherent_atoms(rng, 10_000, 16, 5, 1e-2)
    target = atoms[0] @ rng.uniform(0.4, 2.1, 5)
    fit = profile_losses(target, atoms, BOX)
    assert fit.losses[0] < 1e-12  # the target lies in the range of the first, up to rounding
    assert np.all(fit.lower_bounds <= fit.losses)
    # Coherent atoms of scale 1e-2: the gap of the certified bound is rounding times their condition number.
    assert np.max(fit.losses - fit.lower_bounds) < 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: profile_losses(np.ones(3), np.ones((2, 4, 1)), BOX), r"atoms must have shape \(any, 3, any\)"),
        (lambda: profile_losses(np.ones(3), np.ones((2, 3, 0)), BOX), "atoms must hold at least one atom"),
        (lambda: profile_losses([1.0, np.inf], np.ones((1, 2, 1)), BOX), "target must be finite"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.expansions import (
    projector_increment,
    projector_remainder,
    projector_terms,
    remainder_constants,
    subset_moments,
)

from physupport._errors import MisuseError
from physupport.local.regions import inclusion_probabilities
from physupport.local.shell import Frame

SIZES = range(3, 9)
ROUNDING = 1e-14


def _coordinates(rng, q, norm):
    z = rng.standard_normal(q - 1)
    return norm * z / np.linalg.norm(z)


@pytest.mark.parametrize("q", SIZES)
def test_the_increment_is_the_difference_of_projectors_and_the_sum_of_its_terms(q):
    rng = np.random.default_rng(q)
    frame = Frame.standard(q)
    for norm in (0.0, 1e-3, 0.3, 0.95):
        z = _coordinates(rng, q, norm)
        (d,) = frame.atoms(z[:, None]).T
        increment = projector_increment(frame, z)
        assert np.abs(increment - (np.outer(d, d) - np.outer(frame.axis, frame.axis))).max() < ROUNDING
        whole = sum(projector_terms(frame, z)) + projector_remainder(frame, z)
        assert np.abs(increment - whole).max() < ROUNDING


@given(st.integers(3, 8), st.floats(0.1, 1.9), st.integers(0, 2**32 - 1))
def test_each_term_is_homogeneous_of_its_degree(q, factor, seed):
    frame = Frame.standard(q)
    z = _coordinates(np.random.default_rng(seed), q, 0.5)
    for degree, (term, scaled) in enumerate(
        zip(projector_terms(frame, z), projector_terms(frame, factor * z), strict=True), start=1
    ):
        assert np.abs(scaled - factor**degree * term).max() < ROUNDING


def test_the_remainder_is_of_degree_five():
    frame = Frame.standard(4)
    z = _coordinates(np.random.default_rng(0), 4, 1.0)
    sizes = [np.linalg.norm(projector_remainder(frame, t * z)) for t in (1e-3, 1e-2)]
    # The factor 1/(1 + c)^2 changes by 5e-5 between the two.
    assert sizes[1] / sizes[0] == pytest.approx(1e5, rel=1e-4)


@pytest.mark.parametrize("radius", [0.05, 0.4, 0.9])
def test_the_remainder_and_its_derivative_obey_their_constants_and_attain_them_at_the_rim(radius):
    rng = np.random.default_rng(1)
    frame, constants = Frame.standard(5), remainder_constants(radius)
    for _ in range(200):
        norm = radius * rng.uniform()
        size = np.linalg.norm(projector_remainder(frame, _coordinates(rng, 5, norm)))
        assert size <= constants[0] * norm**4 * (1 + 1e-13)
        assert _derivative_norm(frame, _coordinates(rng, 5, norm)) <= constants[1] * norm**3 * (1 + 1e-6) + 1e-10
    rim = _coordinates(rng, 5, radius)
    assert np.linalg.norm(projector_remainder(frame, rim)) == pytest.approx(constants[0] * radius**4, rel=1e-13)
    # Central differences with step 1e-5 carry about 1e-11 of rounding and a truncation of a few 1e-9 near the rim.
    assert _derivative_norm(frame, rim) == pytest.approx(constants[1] * radius**3, rel=1e-5, abs=1e-10)


def _derivative_norm(frame, z, step=1e-5):
    """Largest stretch of the derivative of the remainder, as a linear map from coordinates to matrices."""
    columns = [
        (projector_remainder(frame, z + step * e) - projector_remainder(frame, z - step * e)).ravel() / (2 * step)
        for e in np.eye(len(z))
    ]
    return np.linalg.norm(np.column_stack(columns), 2)


@pytest.mark.parametrize("q", [3, 4, 6, 7])
def test_subset_moments_are_the_averages_over_all_subsets(q):
    rng = np.random.default_rng(q)
    values = rng.standard_normal((q, 5))
    for h in range(q + 1):
        sums = np.array([values[list(c)].sum(axis=0) for c in combinations(range(q), h)])
        for order, moment in enumerate(subset_moments(values, h), start=1):
            # Cubes of sums of up to seven normal numbers.
            assert np.abs(moment - np.mean(sums**order, axis=0)).max() < 1e-12


def test_subset_moments_average_symmetric_products_of_projector_increments():
    rng = np.random.default_rng(2)
    q, h = 5, 3
    frame = Frame.standard(q)
    matrices = np.array([projector_increment(frame, _coordinates(rng, q, 0.4)) for _ in range(q)])
    probes = rng.standard_normal((4, q))
    values = np.einsum("ta,jab,tb->jt", probes, matrices, probes)
    sums = [matrices[list(c)].sum(axis=0) for c in combinations(range(q), h)]
    dense = np.mean([np.multiply.outer(np.multiply.outer(x, x), x) for x in sums], axis=0)  # not yet symmetrised
    # A form evaluated at equal arguments does not see whether it has been symmetrised.
    expected = np.einsum("abcdef,ta,tb,tc,td,te,tf->t", dense, *[probes] * 6, optimize=True)
    assert np.abs(subset_moments(values, h)[2] - expected).max() < 1e-11 * np.abs(expected).max()


@given(st.integers(1, 8), st.integers(1, 5), st.data())
def test_inclusion_probabilities_count_subsets(n, most, data):
    h = data.draw(st.integers(0, n))
    subsets = [set(c) for c in combinations(range(n), h)]
    table = inclusion_probabilities(n, most)
    assert table.shape == (most, n + 1)
    for m, probability in enumerate(table[:, h], start=1):
        assert probability == pytest.approx(np.mean([set(range(m)) <= c for c in subsets]), abs=1e-15)


def test_a_subset_larger_than_the_set_is_refused():
    with pytest.raises(MisuseError, match="h must be a whole number between 0 and 4"):
        subset_moments(np.ones(4), 5)

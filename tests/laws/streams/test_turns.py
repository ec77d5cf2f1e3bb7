"""Directions of active sets that follow from those of larger ones, against a solve for each of them."""

import numpy as np
import pytest

from physupport.laws import BernoulliGaussian
from physupport.laws.streams._latent import Factors, nested_passes
from physupport.laws.streams._latent_errors import law_families


def factors(atoms, noise):
    (family,) = law_families((BernoulliGaussian(0.2),), np.array([noise]), atoms.shape[1])
    return Factors.prepare(family, atoms[None], np.array([noise]), np.ones(1))


def lacking(mask, n):
    return [j for j in range(n) if not mask >> j & 1]


def turned(found, n):
    """The factors of the coordinates in the row loop, for every set but the full one: (2^n - 1, d)."""
    g = np.zeros((2**n, found.directions.shape[2]))
    for mask in reversed(range(2**n - 1)):
        first, *others = lacking(mask, n)
        if others:
            a, b = found.turns[0, mask]
            g[mask] = a * g[mask | 1 << others[0]] + b * g[mask | 1 << first]
        else:
            g[mask] = found.directions[0, first]
    return g[:-1]


def solved(atoms, noise, mask):
    r"""The direction :math:`\sqrt{\log_2(e)/(2s)}\,C_J^{-1} d_k` of a set that adds its lowest missing atom, (q,)."""
    q, n = atoms.shape
    active = atoms[:, [j for j in range(n) if mask >> j & 1]]
    added = atoms[:, lacking(mask, n)[0]]
    direction = np.linalg.solve(noise * np.eye(q) + active @ active.T, added)
    return np.sqrt(np.log2(np.e) / 2.0 / (1.0 + added @ direction)) * direction


@pytest.mark.parametrize(("q", "n"), [(2, 3), (4, 5), (7, 5), (6, 6)])
@pytest.mark.parametrize("noise", [1.0, 0.01])
def test_every_direction_follows_from_those_of_the_sets_that_lack_one_atom(q, n, noise):
    rng = np.random.default_rng([q, n])
    atoms = rng.standard_normal((q, n))
    atoms /= np.linalg.norm(atoms, axis=0)
    found = turned(factors(atoms, noise), n)[:, : min(q, n)]
    in_rows = found if n >= q else found @ atoms.T  # in atom coordinates h = D h'
    expected = np.array([solved(atoms, noise, mask) for mask in range(2**n - 1)])
    # A condition number of up to 1e3 or so, squared where the coordinates are those of the atoms.
    np.testing.assert_allclose(in_rows, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("n", [3, 4, 7])
def test_passes_visit_every_set_with_the_first_three_atoms_once_after_the_set_it_comes_from(n):
    on_level = {}
    seen = []
    for level, atom, mask, size in nested_passes(n).tolist():
        if seen:
            assert on_level[level] == mask | 1 << atom
            assert lacking(mask, n)[0] == atom
        on_level[level + 1] = mask
        assert size == mask.bit_count() - 3
        seen.append(mask)
    assert sorted(seen) == [mask for mask in range(2**n) if mask & 7 == 7]
    assert seen[-1] == 7

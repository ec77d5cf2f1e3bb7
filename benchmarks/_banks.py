"""The banks that are timed: the global study's, the four-region study's, and a library of a million explanations."""

from itertools import product

import numpy as np

from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.laws import BernoulliGaussian, latent_stream
from physupport.local.shell import orbit_bank

ANGLES = np.linspace(-0.4, 0.4, 41)
ACTIVITIES = [0.15, 0.175, 0.20, 0.25, 0.30]
NOISES = [0.8, 0.9, 1.0, 1.1, 1.2]


def tetrahedral_dictionary(s):
    """Four coherent atoms about the fourth axis and one separated atom, (4, 5)."""
    vertices = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]).T / np.sqrt(3)
    coherent = np.vstack([s * vertices, np.full(4, np.sqrt(1 - s**2))])
    return np.column_stack([coherent, np.array([1, 0, 0, 1]) / np.sqrt(2)])


def global_bank(angles=ANGLES, activities=ACTIVITIES, noises=NOISES):
    """Angle by activity by noise: 1025 explanations of one coherent block in its default size."""
    turn = np.zeros((4, 4))
    turn[1, 2], turn[2, 1] = -1.0, 1.0
    grid = product_grid(p=activities, noise=noises)
    return orbit_bank(tetrahedral_dictionary(0.3), turn, angles, supports=[(0, 1)], calibration=grid)


def global_rows(n_rows, rng):
    """Rows of the global study's law at angle 0, p = 0.2 and unit noise."""
    codes = (rng.random((n_rows, 5)) < 0.2) * rng.standard_normal((n_rows, 5))
    return codes @ tetrahedral_dictionary(0.3).T + rng.standard_normal((n_rows, 4))


def global_stream(bank, rows, checkpoints):
    """The latent-code stream of a global bank."""
    laws = [BernoulliGaussian(p) for p in bank.calibration.column("p")]
    return latent_stream(ArrayRows(rows), bank.states, laws, bank.calibration.column("noise"), checkpoints)


def large_library(per_region, rng, q=16):
    """Four regions of smooth random responses, neighbours coherent."""
    regions = [r for r in "ABCD" for _ in range(per_region)]
    t = (np.arange(q) + 0.5) / q
    places = np.linspace(0.02, 0.98, 4 * per_region)
    responses = np.exp(-((t[:, None] - places) ** 2) / (2 * 0.1**2)) + 0.05 * rng.standard_normal((q, len(places)))
    ids = [f"{r}{k}" for r, k in product("ABCD", range(per_region))]
    return Library(ids, regions, places[:, None], responses / np.linalg.norm(responses, axis=0))


def large_bank(rng, per_region=20):
    """160 000 states by seven supports: 1.12 million explanations."""
    supports = ["AB", "ABC", "ABD", "ABCD", "AC", "BD", "CD"]
    return library_bank(large_library(per_region, rng), supports, dict.fromkeys("ABCD", 1.0))

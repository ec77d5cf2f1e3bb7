"""The bank of the four-region study, and small banks to compare with everything written out."""

import numpy as np
import pytest

from physupport.banks import Library, library_bank

PLACES = {
    "A": (0.10, 0.20),
    "B": (0.405, 0.435, 0.465, 0.495),
    "C": (0.64, 0.70, 0.76),
    "D": (0.86, 0.91, 0.96),
}


@pytest.fixture(scope="session")
def four_regions():
    """Twelve bumps seen by sixteen sensors."""
    regions = [region for region, places in PLACES.items() for _ in places]
    places = np.concatenate([np.array(found) for found in PLACES.values()])
    away = (np.arange(16)[:, None] + 0.5) / 16 - places
    responses = np.exp(-(away**2) / (2 * 0.085**2)) + 0.12 * np.cos(2 * np.pi * away)
    ids = [f"{region} {place:.3f}" for region, place in zip(regions, places, strict=True)]
    return Library(ids, regions, places[:, None], responses / np.linalg.norm(responses, axis=0))


@pytest.fixture(scope="session")
def fifth_atom(four_regions):
    """+1, -1, +1, ... made orthogonal to all responses."""
    basis = np.linalg.svd(four_regions.responses)[0][:, 12:]
    left = basis @ (basis.T @ (-1.0) ** np.arange(16))
    return left[:, None] / np.linalg.norm(left)


@pytest.fixture(scope="session")
def four_region_bank(four_regions, fifth_atom):
    strengths = {"A": 1.0, "B": 0.8, "C": 0.1, "D": 1.0}
    return library_bank(four_regions, ["AB", "ABC", "ABD"], strengths, extra=fifth_atom)

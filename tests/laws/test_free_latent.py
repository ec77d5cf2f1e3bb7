"""A latent law off the bank is what expectation-maximisation makes of the proposal rows."""

import numpy as np
import pytest

from physupport.laws._latent import refined_point
from physupport.laws._opponents import latent_point


def test_the_refined_law_has_the_noise_and_the_activity_of_the_rows():
    """Of 4000 rows both are known to within a few per cent; the start is off by a factor of 3."""
    rng = np.random.default_rng(6)
    atoms = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    codes = rng.standard_normal((4000, 3)) * (rng.random((4000, 3)) < 0.3)
    rows = codes @ atoms.T + np.sqrt(0.1) * rng.standard_normal((4000, 6))
    found = refined_point(rows, latent_point(atoms, 0.1, 0.3)).numbers
    assert found["noise"] == pytest.approx(0.1, rel=0.05)
    assert found["p"] == pytest.approx(0.3, rel=0.15)

"""Likeness of responses."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis.diagnose import coherence
from physupport.io import as_pairs


def test_it_is_the_absolute_cosine():
    columns = np.random.default_rng(0).standard_normal((5, 4))
    found = coherence(columns)
    for i in range(4):
        for j in range(4):
            cosine = columns[:, i] @ columns[:, j] / np.linalg.norm(columns[:, i]) / np.linalg.norm(columns[:, j])
            assert found[i, j] == pytest.approx(abs(cosine), abs=1e-14)
    assert np.diag(found).tolist() == [1.0] * 4
    assert found.max() <= 1.0


def test_pairs_are_as_coherent_as_the_complex_numbers_and_phases_do_not_matter():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((5, 3)) + 1j * rng.standard_normal((5, 3))
    turned = columns * np.exp(1j * np.array([0.3, 1.7, 2.9]))
    expected = np.abs(columns.conj().T @ columns)
    expected /= np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    for given, is_complex in ((columns, False), (as_pairs(columns, axis=0), True), (as_pairs(turned, axis=0), True)):
        np.testing.assert_allclose(coherence(given, is_complex=is_complex), expected, atol=1e-14)
    # Read as real numbers they look less alike: this is what the complex product is for.
    assert coherence(as_pairs(turned, axis=0)).sum() < expected.sum() - 0.1


def test_what_has_no_direction_is_refused():
    with pytest.raises(MisuseError, match="norm above 0"):
        coherence([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(MisuseError, match="even number of entries"):
        coherence(np.ones((3, 2)), is_complex=True)

"""The law of counts: what it fits, what it writes down, and what it refuses."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import Library, library_bank
from physupport.io import ArrayRows
from physupport.laws import Poisson, decode_law

AXIS = np.arange(30)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.array([8.0, 20.0])) / 2.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
BANK = library_bank(Library(["a", "b"], ["L", "L"], [[8.0], [20.0]], ATOMS), [["L"]], {"L": [1.0]})


def test_the_mean_that_fits_best_is_the_one_that_made_many_counts():
    law = Poisson(background=np.ones((30, 1))).completed(BANK)
    mean = 400.0 * ATOMS[:, 1] + 20.0
    rows = np.random.default_rng(1).poisson(mean, (50, 30)).astype(float)
    # A few standard errors of 50 rows: sqrt(200 / 50) = 2.
    np.testing.assert_allclose(law.fitted(BANK, 1, ArrayRows(rows)), mean, atol=8.0)


def test_counts_of_a_sample_have_the_mean_of_their_explanation():
    rows = Poisson().sample(BANK, 0, np.random.default_rng(2), 20000)
    np.testing.assert_allclose(rows.mean(axis=0), ATOMS[:, 0], atol=6 * np.sqrt(0.5 / 20000))


def test_exposure_background_and_variants_are_read_back():
    law = Poisson(background=np.ones((30, 1)), exposure=[1.0, 2.0], variants=ATOMS[None])
    back = decode_law(law.encode())
    assert back.encode() == law.encode()
    design = back.completed(BANK).design(BANK)
    assert design.supports.tolist() == [[0, 2], [1, 3]]
    assert design.exposure.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "errors",
    [
        {"error": 0.03},
        {"relative_error": 0.1},
        {"error": [0.03, 0.0], "relative_error": 0.1},
        {"error": np.full((30, 1), 0.2)},
        {"error": 0.03, "variants": ATOMS[None, :, ::-1]},
    ],
)
def test_a_band_holds_the_responses_and_what_they_may_be_and_is_read_back(errors):
    law = Poisson(**errors)
    back = decode_law(law.encode())
    assert back.encode() == law.encode()
    design = back.completed(BANK).design(BANK)
    copies = 1 if "variants" not in errors else 2
    columns = np.hstack([ATOMS, *errors.get("variants", ())])
    peak, relative = (
        np.tile(np.broadcast_to(errors.get(name, 0.0), (30, 2)), copies) for name in ("error", "relative_error")
    )
    half = peak * columns.max(axis=0) + relative * columns
    low, high = design.band
    assert (low <= np.maximum(columns - half, 0.0)).all()
    assert (columns + half <= high).all()
    np.testing.assert_allclose(low, np.maximum(columns - half, 0.0), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(high, columns + half, rtol=1e-14)


def test_exact_responses_have_no_band_and_those_of_one_error_a_scale():
    assert Poisson().design(BANK).band is None
    design = Poisson(error=0.03).design(BANK)
    assert design.error == 0.03
    wider = design.widened(0.1)
    assert (wider.band[0] <= design.band[0]).all()
    assert (wider.band[1] >= design.band[1]).all()
    assert Poisson(relative_error=0.2).design(BANK).error_scale == "value"


@pytest.mark.parametrize("errors", [{"error": [0.1, 0.2]}, {"error": 0.1, "relative_error": 0.2}])
def test_errors_of_other_kinds_have_a_scale_of_their_multiples(errors):
    design = Poisson(**errors).design(BANK)
    assert (design.error, design.error_scale) == (1.0, "stated")
    for own, other in zip(design.widened(1.0).band, design.band, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": 1.0}, "error must be at least 0 and below 1"),
        ({"error": "3 %"}, "error must be a number or an array of numbers, not '3 %'"),
        ({"error": {"relative": 0.1}}, "Give a share of the value in each channel as relative_error"),
        ({"relative_error": -0.1}, "relative_error must be at least 0 and below 1"),
        ({"is_complex": True}, "is_complex must be False"),
        ({"exposure": [0.0]}, "exposure must be above 0"),
        ({"background": -np.ones((30, 1))}, "background must not be negative"),
        ({"background": np.ones((29, 1))}, "background must have shape"),
        ({"variants": -ATOMS[None]}, "variants must not be negative"),
    ],
)
def test_misuse_is_told_by_name(options, message):
    with pytest.raises(MisuseError, match=message):
        Poisson(**options).completed(BANK)


@pytest.mark.parametrize("error", [np.full(5, 0.1), np.full((6, 30), 0.1)])
def test_an_error_of_another_shape_is_refused(error):
    with pytest.raises(MisuseError, match="error must be one number, one for each of 2 elements, or 30 rows"):
        Poisson(error=error).design(BANK)

"""Laws that do not fit their bank, and laws in documents that are none, are refused with what would be right."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport._codec import Refusal
from physupport.banks import Library, cover_boxes, library_bank, product_grid
from physupport.laws import (
    BernoulliGaussian,
    Covariance,
    ExchangeableGaussian,
    Latent,
    Linear,
    Mean,
    Poisson,
    check_cover,
    decode_law,
    decode_opponent,
    law_named,
    make_law,
    whitening,
)
from physupport.laws._design import whitener_of
from physupport.responses import Peak

ATOMS = np.eye(6)[:, :3]
LIBRARY = Library(["a", "b", "c"], ["A", "A", "B"], np.arange(3.0)[:, None], ATOMS)


def made_bank(**options):
    given_options = {"calibration": product_grid(p=[0.2], noise=[0.5]), "deployment": product_grid(noise=[0.5, 0.9])}
    return library_bank(LIBRARY, ["A", "AB"], {"A": 1.0, "B": 1.0}, **given_options | options)


@pytest.mark.parametrize(
    ("law", "options", "message"),
    [
        (Mean(noises=[0.5]), {}, "noises must"),
        (Mean(noises=[0.5, 0.8]), {}, r"noises must be those of the bank in mean rows, 0\.9 in setting 1, not 0\.8"),
        (Mean(), {"deployment": product_grid()}, r"deployment plan must be given what the bank's nuisances \(\) lack"),
        (Covariance(), {"deployment": product_grid(gain=[1.0])}, "or make the bank with deployment=product_grid"),
        (
            Latent(),
            {"calibration": product_grid(noise=[0.5])},
            "calibration plan must be given what the bank's nuisances",
        ),
        (Linear(noises=[0.5]), {}, "noises must be those of the bank"),
        (Linear(noises=[0.5, 0.5]), {}, "noises must be those of the bank"),
        (Linear(noises=[-1.0]), {"deployment": product_grid()}, "noises must lie strictly between 0 and inf, not -1"),
        (Linear(background=np.ones((5, 1))), {}, r"background must have shape \(6, any\)"),
        (Linear(covariance=np.ones(5)), {}, "covariance must have shape"),
        (Linear(covariance=np.zeros(6)), {}, r"covariance must have variances above 0, not 0\.0"),
        (Linear(covariance=np.eye(5)), {}, r"covariance must have shape \(6, 6\), or \(6,\)"),
        (Linear(coefficients={"C": (0.0, 1.0)}), {}, r"coefficients must name regions of the bank \(A, B\), not 'C'"),
        (Linear(thresholds={"C": 1.0}), {}, "thresholds must name regions of the bank"),
        (Poisson(background=-np.ones((6, 1))), {}, "background must"),
    ],
)
def test_a_law_that_does_not_fit_its_bank_is_refused(law, options, message):
    with pytest.raises(MisuseError, match=message):
        law.completed(made_bank(**options))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(rows="some"), "rows must be one of 'same mean', 'free', 'random', not 'some'"),
        (lambda: Linear(error=1.5), "error must"),
        (lambda: Linear(error=0.1, variants=np.ones((1, 6, 3))), "error must|variants must"),
        (lambda: Linear(half_steps=[0.1]), "half_steps must"),
        (lambda: Linear(is_cone=True, rows="free"), "must"),
        (lambda: Linear(coefficients={"A": (2.0, 1.0)}), "coefficient"),
        (lambda: Linear(thresholds={"A": -1.0}), "threshold"),
        (
            lambda: Linear(variants=np.ones((1, 6, 3)), thresholds={"A": 1.0}),
            "variants must not mix where",
        ),
        (lambda: law_named("gamma"), "law must be one of"),
        (lambda: make_law("profiled mean", {}), "box"),
        (lambda: make_law("mean", {"colour": 1}), "colour must be one of noises, is_complex, not 1"),
        (lambda: Latent(laws=[object()]), "laws must be Bernoulli-Gaussian or exchangeable, not object"),
        (lambda: Latent().code_laws, "law must be completed with a bank, but it has no laws of the codes"),
        (lambda: Mean().variances, "law must be completed with a bank, but it has no noises"),
    ],
)
def test_options_of_a_law_that_make_no_sense_are_refused(make, message):
    with pytest.raises(MisuseError, match=message):
        make()


def written(name, **options):
    """A law as a document holds it."""
    bank = made_bank()
    return json.loads(json.dumps(make_law(name, options).completed(bank).encode()))


BOX = {"box": ([0.0, 0.0], [1.0, 2.0])}
LAWS = {
    "latent": {},
    "known codes": {},
    "covariance": {},
    "mean": {},
    "profiled mean": BOX,
    "gaussian": {},
    "poisson": {},
}


@pytest.mark.parametrize("name", LAWS)
def test_a_written_law_with_a_name_more_or_less_or_of_another_kind_is_refused(name):
    node = written(name, **LAWS[name])
    assert decode_law(node).encode() == decode_law(decode_law(node).encode()).encode()
    for key in node:
        without = {other: value for other, value in node.items() if other != key}
        with pytest.raises((MisuseError, Refusal)):
            decode_law(without)
    with pytest.raises((MisuseError, Refusal)):
        decode_law(node | {"more": 1})
    with pytest.raises((MisuseError, Refusal)):
        decode_law(node | {"kind": "gamma"})


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("mean", {"noises": []}, "the noise of the stream is not positive"),
        ("mean", {"noises": [0.5, -0.1]}, "the noise of the stream is not positive"),
        ("latent", {"laws": []}, "has not one coefficient law for each noise"),
        ("latent", {"laws": [{"law": "gamma"}]}, "a coefficient law of the stream is malformed"),
        ("latent", {"laws": [3]}, "a coefficient law of the stream is malformed"),
        ("latent", {"laws": [BernoulliGaussian(0.2).encode() | {"p": 0.7}]}, "does not lie between 0 and 0.5"),
        (
            "profiled mean",
            {"box": {"type": "real", "shape": [2, 1, 3], "values": [0.0] * 6}},
            "box of the stream is malformed",
        ),
        ("gaussian", {"coefficients": [["A", 0.0]]}, "has malformed bounds"),
        ("gaussian", {"thresholds": [["A"]]}, "has malformed bounds"),
    ],
)
def test_a_written_law_with_numbers_that_no_law_has_is_refused(name, change, message):
    with pytest.raises((MisuseError, Refusal), match=message):
        decode_law(written(name, **LAWS[name]) | change)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({}, "has other names than one of"),
        ({"key": 0, "more": 1}, "has other names than one of"),
        ({"mixture": []}, "is no law"),
        ({"mixture": [{"weight": -0.5, "law": {"key": 0}}]}, "is no law"),
        ({"mixture": [{"weight": 0.6, "law": {"key": 0}}, {"weight": 0.6, "law": {"key": 1}}]}, "is no law"),
        ({"mixture": [{"weight": 0.5, "law": {"gamma": 0}}]}, "mixes what is no law"),
        ({"mixture": [{"weight": 0.5, "law": {"key": 0, "more": 1}}]}, "mixes what is no law"),
        ({"mixture": [{"weight": "x", "law": {"key": 0}}]}, "weight must be a number"),
    ],
)
def test_a_written_opponent_that_is_no_density_is_refused(node, message):
    """Weights that add up to more than 1 would make evidence out of nothing."""
    law = Mean().completed(made_bank())
    assert decode_opponent(law, {"mixture": [{"weight": 0.5, "law": {"key": 0}}, {"weight": 0.5, "law": {"key": 1}}]})
    with pytest.raises((MisuseError, Refusal), match=message):
        decode_opponent(law, node)


def test_laws_of_codes_come_back_from_documents():
    for law in (BernoulliGaussian(0.3), ExchangeableGaussian([0.5, 0.3, 0.2], [0.0, 1.0, 2.0])):
        bank = made_bank(calibration=product_grid(noise=[0.5]))
        node = json.loads(json.dumps(Latent(laws=[law]).completed(bank).encode()))
        back = decode_law(node)
        assert back.encode() == node
        np.testing.assert_array_equal(back.code_laws[0].subset_weights(2), law.subset_weights(2))


# ------------------------------------------------------------------------------------------------------------ whitening


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 5), is_complex=st.booleans())
def test_whitened_noise_is_white_in_all_directions_that_have_some(seed, rank, is_complex):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((5, rank)) + (1j * rng.standard_normal((5, rank)) if is_complex else 0.0)
    covariance = factor @ factor.conj().T
    whitener = whitening(covariance)
    assert whitener.shape == (rank, 5)
    np.testing.assert_allclose(whitener @ covariance @ whitener.conj().T, np.eye(rank), atol=1e-6)


def test_variances_keep_channels_in_their_places():
    np.testing.assert_allclose(whitener_of(np.array([4.0, 0.25])), np.diag([0.5, 2.0]))
    found = whitener_of(np.diag([1.0, 4.0]) + 0j)
    np.testing.assert_allclose(np.abs(found @ np.diag([1.0, 4.0]) @ found.conj().T), np.eye(2), atol=1e-9)
    with pytest.raises(MisuseError, match=r"covariance must have variances above 0, not 0\.0"):
        whitener_of(np.array([1.0, 0.0]))


def test_a_covariance_of_low_rank_leaves_room_for_explanations():
    flat = np.diag([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(MisuseError, match="covariance must have a rank above"):
        Linear(covariance=flat, background=np.ones((6, 1))).completed(made_bank())


# --------------------------------------------------------------------------------------------------------------- covers


def covered(**options):
    """A bank of the cells of a cover, its law and the cover."""
    peak = Peak(np.linspace(0.0, 1.0, 12), 0.2)
    law = Mean()
    cover = cover_boxes(
        peak, {"A": [(0.3, 0.6)]}, **{"snr": 8.0, "eta": 1.0, "unit": law.cover_sizes.moved(1)} | options
    )
    bank = library_bank(cover.library(), ["A"], {"A": 1.0}, deployment=product_grid(noise=[0.5]))
    return cover, bank, law.completed(bank)


def test_a_cover_goes_with_the_bank_and_the_law_that_it_was_made_for():
    cover, bank, law = covered()
    check_cover(cover, bank, [(law, 10)])
    with pytest.raises(MisuseError, match="cover must go with one stream, and with the bank that it made"):
        check_cover(cover, bank, [(law, 10), (law, 10)])
    with pytest.raises(MisuseError, match="cover must go with one stream"):
        check_cover(cover, None, [(law, 10)])
    with pytest.raises(MisuseError, match=r"snr must be at least .*, which the strengths of the bank have"):
        check_cover(cover, bank, [(law, 1000)])
    with pytest.raises(MisuseError, match="cover must be of 1 active elements of covariance rows"):
        check_cover(cover, bank, [(Covariance().completed(bank), 10)])
    with pytest.raises(MisuseError, match="cover must go with a law that says how far its rows move, not 'latent'"):
        check_cover(cover, bank, [(Latent(), 10)])
    other = replace(cover.library(), coordinates=cover.library().coordinates + 0.01)
    moved = library_bank(other, ["A"], {"A": 1.0}, deployment=product_grid(noise=[0.5]))
    with pytest.raises(MisuseError, match="bank must have the cells of the cover as its elements, not other ones"):
        check_cover(cover, moved, [(law, 10)])
    with pytest.raises(MisuseError, match="tangents must be of the cover and of the law alike"):
        check_cover(replace(cover, tangents=True), bank, [(law, 10)])

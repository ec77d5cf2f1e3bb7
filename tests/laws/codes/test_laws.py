import re
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.means import law_nondegeneracy

from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, ExchangeableGaussian, law_moments
from physupport.laws._codes import support_masks

# Sums of at most 2^6 positive terms of rounded products.
ROUNDING = 1e-14


@st.composite
def exchangeable_laws(draw):
    n = draw(st.integers(1, 6))
    masses = np.array(draw(st.lists(st.integers(0, 9), min_size=n + 1, max_size=n + 1)), dtype=float)
    masses[draw(st.integers(0, n))] += 1.0
    variances = np.array(draw(st.lists(st.floats(0.1, 5.0), min_size=n + 1, max_size=n + 1)))
    return ExchangeableGaussian(masses / masses.sum(), variances)


def moments_by_enumeration(law, n):
    """The definition (eq:supp-exchangeable-coefficients), summed over every active set."""
    weights, variances = law.subset_weights(n), law.active_variances(n)
    sets = [set(chosen) for k in range(n + 1) for chosen in combinations(range(n), k)]
    a1 = sum(weights[len(j)] * variances[len(j)] for j in sets if 0 in j)
    a2d = sum(weights[len(j)] * variances[len(j)] ** 2 for j in sets if 0 in j)
    a2o = sum(weights[len(j)] * variances[len(j)] ** 2 for j in sets if {0, 1} <= j)
    return a1, a2d, a2o


@pytest.mark.parametrize("p", [0.01, 0.2, 0.499])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_bernoulli_moments_are_p_p_and_p_squared(p, n):
    moments = law_moments(BernoulliGaussian(p), n)
    assert [moments.a1, moments.a2d, moments.a2o] == pytest.approx([p, p, p * p], rel=ROUNDING)
    assert moments.delta == pytest.approx(p * (1 - p), rel=ROUNDING)


@given(exchangeable_laws())
def test_moments_equal_the_sum_over_all_active_sets(law):
    moments = law_moments(law, law.n_atoms)
    assert [moments.a1, moments.a2d, moments.a2o] == pytest.approx(
        moments_by_enumeration(law, law.n_atoms), rel=ROUNDING
    )


@given(exchangeable_laws())
def test_moments_and_contrast_equal_the_expectations_over_the_number_of_active_atoms(law):
    n, size = law.n_atoms, np.arange(law.n_atoms + 1)
    pi, variances, moments = law.size_probabilities, law.variances, law_moments(law, n)
    assert moments.a1 == pytest.approx(pi @ (variances * size) / n, rel=ROUNDING)
    assert moments.a2d == pytest.approx(pi @ (variances**2 * size) / n, rel=ROUNDING)
    if n > 1:
        assert moments.a2o == pytest.approx(pi @ (variances**2 * size * (size - 1)) / (n * (n - 1)), rel=ROUNDING)
        contrast = pi @ (variances**2 * size * (n - size)) / (n * (n - 1))
        assert moments.delta == pytest.approx(contrast, abs=ROUNDING * moments.a2d)  # a difference of a2d and a2o


@given(st.floats(0.001, 0.499), st.integers(1, 8))
def test_the_weights_of_all_active_sets_sum_to_one(p, n):
    weights = BernoulliGaussian(p).subset_weights(n)
    assert sum(comb(n, k) * weights[k] for k in range(n + 1)) == pytest.approx(1.0, rel=ROUNDING)


@given(exchangeable_laws())
def test_subset_weights_of_a_known_law_add_up_to_its_size_probabilities(law):
    weights = law.subset_weights(law.n_atoms)
    sizes = [comb(law.n_atoms, k) * weights[k] for k in range(law.n_atoms + 1)]
    assert sizes == pytest.approx(law.size_probabilities.tolist(), rel=ROUNDING)


def test_a_known_law_with_binomial_sizes_is_the_bernoulli_law():
    n, p = 5, 0.3
    binomial = ExchangeableGaussian([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)], np.ones(n + 1))
    np.testing.assert_allclose(binomial.subset_weights(n), BernoulliGaussian(p).subset_weights(n), rtol=ROUNDING)


@pytest.mark.parametrize(
    "law",
    [BernoulliGaussian(0.3), ExchangeableGaussian([0.1, 0.4, 0.2, 0.3], [0.0, 0.5, 2.0, 1.5])],
    ids=["bernoulli", "exchangeable"],
)
def test_samples_have_the_size_law_and_the_variances_of_the_contract(law):
    n, rows = 3, 200_000
    coefficients = law.sample(np.random.default_rng(5), rows, n)
    active = coefficients != 0.0
    for mask in product((0, 1), repeat=n):
        k = sum(mask)
        chosen = (active == np.array(mask, dtype=bool)).all(axis=1)
        weight = law.subset_weights(n)[k]
        # Five binomial standard errors; sixteen comparisons in all, so a false alarm in about one of 1e5 seeds.
        assert abs(chosen.mean() - weight) < 5 * np.sqrt(weight / rows)
        if k:
            values = coefficients[chosen][:, np.array(mask, dtype=bool)] ** 2
            assert abs(values.mean() - law.active_variances(n)[k]) < 5 * values.std() / np.sqrt(values.size)


def test_samples_of_the_bernoulli_law_draw_indicators_then_values():
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    indicators = two.random((7, 5)) < 0.2
    np.testing.assert_array_equal(BernoulliGaussian(0.2).sample(one, 7, 5), indicators * two.standard_normal((7, 5)))


def test_masks_come_in_the_order_of_itertools_product():
    np.testing.assert_array_equal(support_masks(5), np.array(list(product((False, True), repeat=5))))


def test_nondegeneracy_names_the_condition_that_fails():
    spread = ExchangeableGaussian([0.2, 0.3, 0.5, 0.0], np.ones(4))
    assert law_nondegeneracy(spread, 3, least_signal=0.1, least_contrast=0.1).inside
    all_or_nothing = ExchangeableGaussian([0.5, 0.0, 0.0, 0.5], np.ones(4))
    membership = law_nondegeneracy(all_or_nothing, 3, least_signal=0.1, least_contrast=1e-9)
    assert membership.violated == ("Delta_min at most the fourth-order contrast",)
    silent = ExchangeableGaussian([1.0, 0.0, 0.0, 0.0], np.ones(4))
    assert len(law_nondegeneracy(silent, 3, least_signal=1e-9, least_contrast=1e-9).violated) == 2


@pytest.mark.parametrize("p", [0.0, -0.1, 0.5, 0.7, np.nan, np.inf])
def test_an_activity_outside_the_open_lower_half_is_refused(p):
    with pytest.raises(MisuseError, match=r"p must lie strictly between 0 and 0\.5"):
        BernoulliGaussian(p)


@pytest.mark.parametrize(
    ("sizes", "variances", "message"),
    [
        ([0.5, 0.6], [1, 1], "size_probabilities must sum to 1, not 1.1"),
        ([1.5, -0.5], [1, 1], "size_probabilities must be nonnegative"),
        ([0.5, 0.5], [1, -1], "variances must be nonnegative"),
        (
            [0.5, 0.5],
            [1, 0],
            "variances must be positive at every nonzero size of positive probability, not 0 at size 1",
        ),
        ([0.5, 0.5], [1, 1, 1], "variances must have shape (2)"),
        ([0.5, np.nan], [1, 1], "size_probabilities must be finite"),
        ([1.0], [1.0], "n_atoms must be a whole number at least 1"),
    ],
)
def test_a_malformed_known_law_is_refused(sizes, variances, message):
    with pytest.raises(MisuseError, match=re.escape(message)):
        ExchangeableGaussian(sizes, variances)


def test_variances_that_no_draw_uses_may_be_zero():
    law = ExchangeableGaussian([0.5, 0.5, 0.0], [0.0, 1.0, 0.0])
    assert law_moments(law, 2).a1 == 0.25


def test_a_known_law_refuses_another_number_of_atoms():
    law = ExchangeableGaussian([0.5, 0.5], [0.0, 1.0])
    for call in (law.subset_weights, law.active_variances, lambda n: law.sample(np.random.default_rng(0), 1, n)):
        with pytest.raises(MisuseError, match="n_atoms must be 1, the number the law was written for, not 2"):
            call(2)


def test_too_many_atoms_to_enumerate_are_refused():
    with pytest.raises(MisuseError, match="n_atoms must be a whole number between 1 and 20"):
        support_masks(21)

"""Properties of every registered law."""

import numpy as np
import pytest
from flint import arb

from physupport._errors import MisuseError
from physupport.analysis import StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.laws import (
    LAWS,
    BernoulliGaussian,
    Covariance,
    ExchangeableGaussian,
    Law,
    decode_law,
    decode_opponent,
    make_law,
    opponents_of,
)

BOX = (np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
CASES = [(name, False) for name in LAWS] + [(name, True) for name, law in LAWS.items() if not law.why_real]
# Counts are scored in halves by their own judge.
SCORED = [case for case in CASES if not LAWS[case[0]].is_counted]
# The energy of rows whose coefficients are free says nothing beside that of their residual.
ENERGETIC = [case for case in CASES if not LAWS[case[0]].is_linear and LAWS[case[0]].energy is not Law.energy]
FREE = [case for case in SCORED if LAWS[case[0]].free_opponent is not Law.free_opponent]


def make_bank(is_complex=False, shift=0):
    atoms = np.roll(np.random.default_rng(0).random((6, 3)), shift, axis=0)  # not negative, as counts have it
    if is_complex:
        atoms = as_pairs(atoms + 1j * np.random.default_rng(1).standard_normal((6, 3)), axis=0)
    atoms /= np.linalg.norm(atoms, axis=0)
    library = Library(["a1", "a2", "b"], ["A", "A", "B"], [[0.0], [1.0], [0.0]], atoms)
    nuisances = {"calibration": product_grid(p=[0.1, 0.2], noise=[0.3]), "deployment": product_grid(noise=[0.5, 0.7])}
    return library_bank(library, ["A", "AB"], {"A": 1.0, "B": 1.0}, **nuisances)


def make(name, is_complex, bank):
    box = tuple(end + 1j * end for end in BOX) if is_complex else BOX
    options = {"box": box} if name == "profiled mean" else {}
    return make_law(name, options | {"is_complex": is_complex}).completed(bank)


@pytest.mark.parametrize(("name", "is_complex"), CASES)
def test_a_law_is_read_back_as_it_was_written(name, is_complex):
    law = make(name, is_complex, make_bank(is_complex))
    back = decode_law(law.encode())
    assert type(back) is type(law)
    assert back.encode() == law.encode()


@pytest.mark.parametrize(("name", "is_complex"), SCORED)
def test_rows_have_the_width_of_the_law_and_their_own_explanation_a_proven_score(name, is_complex):
    bank = make_bank(is_complex)
    law = make(name, is_complex, bank)
    explanation = bank.size - 1
    rows = law.sample(bank, explanation, np.random.default_rng(3), 24)
    assert rows.shape == (24, law.width(bank))
    stream = law.stream(bank, ArrayRows(rows), [8, 24])
    assert stream.n_keys == law.n_keys(bank)
    keys = np.unique(law.keys(bank)(np.arange(bank.size)))
    scores = stream.log_likelihood(keys)
    assert np.isfinite(scores.errors).all()
    own = int(law.keys(bank)(explanation)[0])
    for key in {own, int(keys[0])}:
        for c, ball in enumerate(stream.enclosure(key, 200)):
            value, error = scores.values[keys == key, c][0], scores.errors[keys == key, c][0]
            assert abs(ball - arb(float(value))) <= arb(float(error))


@pytest.mark.parametrize(("name", "is_complex"), SCORED)
def test_the_opponent_of_a_key_is_a_density_and_is_read_back(name, is_complex):
    bank = make_bank(is_complex)
    law = make(name, is_complex, bank)
    rows = ArrayRows(law.sample(bank, 0, np.random.default_rng(4), 24))
    opponent = law.opponent(bank, law.proposed(bank, rows), int(law.keys(bank)(0)[0]))
    stream, key = opponent.numerator(law.stream(bank, rows, [24]), rows)
    assert stream.is_density
    assert np.isfinite(stream.log_likelihood(np.array([key])).errors).all()
    assert decode_opponent(law, opponent.encode()).agrees(opponent)


@pytest.mark.parametrize("offered", [FREE, ENERGETIC], ids=["free opponent", "energy"])
def test_laws_with_given_coefficients_offer_what_others_may_leave_out(offered):
    assert {"covariance", "known codes", "latent", "mean", "profiled mean"} <= {name for name, _ in offered}


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_linear_law_has_no_free_opponent_beside_its_own(is_complex):
    bank = make_bank(is_complex)
    law = make("gaussian", is_complex, bank)
    rows = ArrayRows(law.sample(bank, 0, np.random.default_rng(6), 400))
    assert law.free_opponent(bank, law.proposed(bank, rows), 0) is None


@pytest.mark.parametrize(("name", "is_complex"), FREE)
def test_a_free_opponent_fits_rows_that_the_bank_cannot_and_is_read_back(name, is_complex):
    """Rows of another bank, of which half propose: the free one predicts the others better than any explanation."""
    bank = make_bank(is_complex)
    law, other = make(name, is_complex, bank), make_bank(is_complex, shift=3)
    rows = make(name, is_complex, other).sample(other, other.size - 1, np.random.default_rng(6), 400)
    rows[:, : len(other.states.elements)] *= 2.0
    proposal, held_out = ArrayRows(rows[::2]), ArrayRows(rows[1::2])
    keys = np.unique(law.keys(bank)(np.arange(bank.size)))
    proposed = law.proposed(bank, proposal)
    free = law.free_opponent(bank, proposed, int(keys[0]))
    denominator = law.stream(bank, held_out, [200])
    stream, key = free.numerator(denominator, held_out)
    assert stream.is_density
    best = denominator.log_likelihood(keys).values.max()
    assert stream.log_likelihood(np.array([key])).values[0, 0] > best + 10.0
    (mixture,) = opponents_of(law, bank, proposed, int(keys[0]), "free")
    assert mixture.weights == (0.5, 0.5)
    back = decode_opponent(law, mixture.encode())
    assert back.agrees(mixture)
    assert any(back.agrees(given) for given in opponents_of(law, bank, proposed, int(keys[0]), None))
    others = law.proposed(bank, ArrayRows(rows[::3]))
    (other,) = opponents_of(law, bank, others, int(keys[0]), "free")
    assert not back.agrees(other)


@pytest.mark.parametrize(("name", "is_complex"), ENERGETIC)
def test_the_energy_of_its_own_rows_is_as_expected(name, is_complex):
    """Five deviations either way: about one in a million for chi-square, and fixed by the seed."""
    bank = make_bank(is_complex)
    law = make(name, is_complex, bank)
    rows = ArrayRows(law.sample(bank, bank.size - 1, np.random.default_rng(5), 2000))
    energy = law.energy(bank, bank.size - 1, rows)
    assert abs(energy.statistic - energy.expected) <= 5.0 * energy.deviation
    loud = rows.table.copy()
    loud[:, : len(bank.states.elements)] *= 2.0
    far = law.energy(bank, bank.size - 1, ArrayRows(loud))
    assert far.statistic > energy.expected + 5.0 * energy.deviation


@pytest.mark.parametrize("name", LAWS)
def test_divergences_are_positive_and_vanish_from_itself(name):
    bank = make_bank()
    law = make(name, False, bank)
    divergences = law.divergences(bank, 0, np.arange(law.n_keys(bank)))
    if divergences is not None:
        assert divergences[0] == 0.0
        assert (divergences[1:] > 0.0).all()


@pytest.mark.parametrize(("name", "is_complex"), CASES)
def test_what_a_law_draws_in_the_place_of_rows_is_what_rows_would_give(name, is_complex):
    """Means and covariances of the log likelihoods, against those of rows; both errors are those of 300 records."""
    bank = make_bank(is_complex)
    law, rng, explanation = make(name, is_complex, bank), np.random.default_rng(8), bank.size - 1
    given = law.sample(bank, explanation, rng, 12)
    draw = law.sampler(bank, ArrayRows(given))
    if draw is None:
        return
    keys = np.unique(law.keys(bank)(np.arange(bank.size)))[:6]
    own, q, runs = int(law.keys(bank)(explanation)[0]), len(bank.states.elements), 300
    by_rows = np.empty((runs, len(keys)))
    for run in range(runs):
        rows = law.sample(bank, explanation, rng, 12)
        if rows.shape[1] > q:  # given the codes that there are
            rows[:, :q] += law._signal(bank.explanation(explanation).atoms, given[:, q:] - rows[:, q:])
            rows[:, q:] = given[:, q:]
        by_rows[run] = law.stream(bank, ArrayRows(rows), [12]).log_likelihood(keys).values[:, 0]
    drawn = draw(own, keys, np.random.default_rng(9), 20000)
    off = (by_rows.mean(axis=0) - drawn.mean(axis=0)) / (drawn.std(axis=0) / np.sqrt(runs))
    assert np.abs(off).max() < 5.0
    ratios = np.log(by_rows.std(axis=0) / drawn.std(axis=0))
    assert np.abs(ratios).max() < 5.0 / np.sqrt(
        runs
    )  # a deviation errs by about 1 / sqrt(2 runs), heavier tails included
    few, many = np.corrcoef(by_rows.T), np.corrcoef(drawn.T)
    assert np.abs(few - many).max() < 5.0 / np.sqrt(runs)


def test_options_that_a_law_does_not_take_are_refused():
    remedy = "Latent codes are real"
    with pytest.raises(MisuseError, match=rf"is_complex must be left out for 'latent', but it is True\. {remedy}"):
        StreamPlan("latent", 0.5, is_complex=True)
    with pytest.raises(MisuseError, match="laws must be given for 'latent' only"):
        StreamPlan("covariance", 0.5, laws=[BernoulliGaussian(0.2)])
    with pytest.raises(MisuseError, match="propose must be given for 'latent' only"):
        StreamPlan("mean", 0.5, propose=lambda rows: rows)
    with pytest.raises(MisuseError, match="nois must be one of noises, is_complex, not"):
        StreamPlan("mean", 0.5, nois=[0.5])
    with pytest.raises(MisuseError, match="noises must be given to the law itself"):
        StreamPlan(Covariance(), 0.5, noises=[0.5])


def test_a_plan_takes_a_law_or_its_name_with_options():
    bank = make_bank()
    by_name = StreamPlan("covariance", 0.5, noises=[0.5, 0.7]).law.completed(bank)
    assert StreamPlan(Covariance(noises=[0.5, 0.7]), 0.5).law.completed(bank).encode() == by_name.encode()


def test_a_law_that_says_otherwise_than_the_bank_is_refused():
    """A report names the nuisances of the bank; rows scored with others would say nothing about these."""
    bank = make_bank()
    with pytest.raises(MisuseError, match=r"noises must be those of the bank in mean rows, 0\.5 in setting 0, not"):
        StreamPlan("mean", 0.5, noises=[0.4, 0.7]).law.completed(bank)
    with pytest.raises(MisuseError, match="laws must be those of the bank in latent rows"):
        StreamPlan("latent", 0.5, laws=[BernoulliGaussian(0.1), BernoulliGaussian(0.3)]).law.completed(bank)
    with pytest.raises(MisuseError, match="laws must be one for each of the 2 nuisance settings"):
        StreamPlan("latent", 0.5, laws=[BernoulliGaussian(0.1)]).law.completed(bank)


def test_laws_of_codes_are_read_back():
    laws = [BernoulliGaussian(0.3), ExchangeableGaussian([0.5, 0.3, 0.2], [0.0, 1.0, 2.0])]
    law = make_law("latent", {"laws": laws, "noises": [0.1, 0.2]})
    assert decode_law(law.encode()).encode() == law.encode()

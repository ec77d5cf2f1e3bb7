"""Noise that is neither white nor known: bounds of the likelihood over families of covariances."""

import numpy as np
import pytest
from scipy import stats

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.laws._noise_shape import NoiseShape, Spectra, independent

Q, PLACES, LEVEL = 6, 7, 0.1
ANGLES = np.linspace(-60.0, 60.0, PLACES)
WAVES = np.exp(1j * np.pi * np.arange(Q)[:, None] * np.sin(np.deg2rad(ANGLES))) / np.sqrt(Q)
SUPPORTS = [(i,) for i in range(PLACES)]
BANK = array_bank(as_pairs(WAVES, axis=0)[None], SUPPORTS)
LOW_RANK = {"kind": "low rank", "rank": 2}
DIAGONAL = {"kind": "diagonal", "ratio": 4.0}
ANY = {"kind": "any", "ratio": 0.2}
TRUTH = 2


def normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def covariance(shape, rng, beyond=1.0):
    """A covariance on the edge of a family; beyond: by how much its source is weaker, or its noise more uneven."""
    atom = WAVES[:, [TRUTH]]
    if shape["kind"] == "low rank":
        further = 3.0 * normal(rng, Q, 2 if beyond == 1.0 else 4)
        return 50.0 * atom @ atom.conj().T + further @ further.conj().T + np.eye(Q)
    if shape["kind"] == "diagonal":
        return 50.0 * atom @ atom.conj().T + np.diag(np.where(np.arange(Q) % 2, 4.0 * beyond, 1.0))
    basis = np.linalg.qr(np.hstack([atom, normal(rng, Q, Q - 1)]))[0]
    return (basis * np.array([10.0, 2.0 * beyond, 2.0 * beyond, 0.1, 0.1, 0.1])) @ basis.conj().T


def test_no_independent_noise_is_more_likely_than_the_bound_and_a_wrong_place_is_rejected_without_a_ratio():
    rng = np.random.default_rng(4)
    for is_true in (True, False):
        sigma = 50.0 * WAVES[:, [TRUTH]] @ WAVES[:, [TRUTH]].conj().T + np.diag(rng.uniform(0.2, 5.0, Q))
        rows = rows_of(sigma, rng, 500)
        moments = rows.T @ rows.conj() / len(rows)
        column = WAVES[:, [TRUTH if is_true else 4]]
        least = np.linalg.slogdet(moments)[1] + Q
        found = independent(moments, column, 1e-12)
        assert found.error < 1e-6
        assert found.cost - least == pytest.approx(np.log(2.0) - 0.5) if not is_true else found.cost - least < 0.1
        for _ in range(300):
            least_noise = np.append(rng.choice([1e-6, 1.0]), np.ones(Q - 1))
            noise = np.diag(np.exp(rng.normal(0.0, rng.uniform(0.1, 1.5), Q)) * least_noise)
            member = 10.0 ** rng.uniform(-1, 2.5) * column @ column.conj().T + noise
            exact = np.linalg.slogdet(member)[1] + np.trace(np.linalg.solve(member, moments)).real
            assert found.cost - found.error <= exact
        if is_true:
            exact = np.linalg.slogdet(found.covariance)[1] + np.trace(np.linalg.solve(found.covariance, moments)).real
            assert found.cost == pytest.approx(exact, abs=1e-5)
            assert found.cost <= np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, moments)).real
    codes = opened(rows, {"kind": "diagonal"}, 1).verdicts(np.arange(PLACES)).codes
    assert np.flatnonzero(codes != Verdict.REJECTED).tolist() == [TRUTH]


def rows_of(sigma, rng, count):
    return normal(rng, count, Q) @ np.linalg.cholesky(sigma).T


def opened(rows, shape, seed):
    law = Linear(rows="random", is_complex=True, noise_shape=shape).completed(BANK)
    stream = SealedStream("deployment", ArrayRows(as_pairs(rows)), law, law.keys(BANK), lambda: None)
    return ByEvidence("rows", 2).open(Sealed(BANK, LEVEL, (stream,), seed))


@pytest.mark.parametrize("shape", [LOW_RANK, DIAGONAL, ANY], ids=lambda shape: shape["kind"])
def test_the_bound_is_below_the_cost_of_every_member_of_the_family(shape):
    rng = np.random.default_rng(3)
    made = NoiseShape.of(shape)
    for _ in range(40):
        sigma = covariance(shape, rng)
        rows = rows_of(sigma, rng, 12)
        moments = rows.T @ rows.conj() / len(rows)
        (cost,), (error,) = made.costs([Spectra.of(moments, WAVES[:, [TRUTH]], 1, 1e-12)])
        assert error < 1e-6
        for member in (sigma, covariance(shape, rng)):
            exact = np.linalg.slogdet(member)[1] + np.trace(np.linalg.solve(member, moments)).real
            assert cost - error <= exact


def test_the_bounded_minimum_agrees_with_a_fine_search():
    rng = np.random.default_rng(5)
    for rank, ratio in ((0, 3.0), (2, 1.0), (0, 1.0)):
        rows = rows_of(covariance(LOW_RANK, rng), rng, 30)
        moments = rows.T @ rows.conj() / len(rows)
        beside = np.linalg.svd(WAVES[:, [TRUTH]])[0][:, 1:]
        inner = beside.conj().T @ moments @ beside
        values = np.linalg.eigvalsh(inner)[::-1]
        levels = np.geomspace(values[-1] / ratio, values[0], 20001)[:, None]
        tops = np.where(np.arange(len(values)) < rank, np.inf, ratio * levels)
        fitted = np.clip(values, levels, tops)
        searched = (np.log(fitted) + values / fitted).sum(axis=1).min()
        given = np.exp(np.linalg.slogdet(moments)[1] - np.linalg.slogdet(inner)[1])
        assert given > values[-1]  # so that the floor of the conditional variance is of no consequence
        expected = searched + np.log(given) + 1.0
        (cost,), _ = NoiseShape("diagonal", rank, ratio).costs([Spectra.of(moments, WAVES[:, [TRUTH]], 1, 1e-12)])
        assert cost == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shape", [LOW_RANK, DIAGONAL, ANY], ids=lambda shape: shape["kind"])
def test_the_truth_on_the_edge_is_kept_and_noise_beyond_the_family_is_seen(shape):
    rng = np.random.default_rng(7)
    runs = 12
    lost = [
        sum(
            opened(rows_of(covariance(shape, rng, beyond), rng, 100), shape, seed).verdicts(np.array([TRUTH])).codes[0]
            == Verdict.REJECTED
            for seed in range(runs)
        )
        for beyond in (1.0, 20.0)
    ]
    assert stats.binom.sf(lost[0] - 1, runs, LEVEL) > 1e-6
    assert stats.binom.sf(lost[1] - 1, runs, LEVEL) < 1e-6


def test_wrong_places_are_rejected_although_the_noise_is_open():
    rng = np.random.default_rng(9)
    for shape in (LOW_RANK, DIAGONAL, ANY):
        codes = opened(rows_of(covariance(shape, rng), rng, 300), shape, 1).verdicts(np.arange(PLACES)).codes
        assert codes[TRUTH] != Verdict.REJECTED
        assert (np.delete(codes, TRUTH) == Verdict.REJECTED).sum() >= PLACES - 3


def test_weaker_sources_are_kept_as_the_ratio_grows():
    rng = np.random.default_rng(11)
    judge = opened(rows_of(covariance(ANY, rng), rng, 300), {"kind": "any"}, 1)
    assert judge.error == 0.01
    kept = [judge.verdicts_at(ratio, np.arange(PLACES)).codes != Verdict.REJECTED for ratio in (0.01, 0.2, 0.5)]
    assert not kept[0].any()
    assert kept[1][TRUTH]
    assert (kept[1] <= kept[2]).all()


def test_options_are_refused_by_name():
    with pytest.raises(MisuseError, match=r"noise\.kind must be one of"):
        Linear(rows="random", noise_shape={"kind": "pink"})
    with pytest.raises(MisuseError, match=r"noise\.rank must be left out"):
        Linear(rows="random", noise_shape={"kind": "diagonal", "rank": 2})
    with pytest.raises(MisuseError, match=r"noise\.ratio must be 1 or more"):
        Linear(rows="random", noise_shape={"kind": "diagonal", "ratio": 0.5})
    with pytest.raises(MisuseError, match="coefficients are random"):
        Linear(noise_shape=LOW_RANK)


@pytest.mark.parametrize("shape", [LOW_RANK, DIAGONAL, ANY], ids=lambda shape: shape["kind"])
def test_the_balls_of_a_key_are_its_scores_with_their_errors(shape):
    rng = np.random.default_rng(8)
    law = Linear(rows="random", is_complex=True, noise_shape=shape).completed(BANK)
    rows = as_pairs(rows_of(covariance(shape, rng), rng, 16))
    stream = law.stream(BANK, ArrayRows(rows), [12, 16])
    scores = stream.log_likelihood(np.arange(3))
    for key in range(3):
        balls = stream.enclosure(key, 128)
        assert [float(ball.mid()) for ball in balls] == scores.values[key].tolist()
        assert [float(ball.rad()) for ball in balls] == pytest.approx(scores.errors[key].tolist(), rel=1e-6)

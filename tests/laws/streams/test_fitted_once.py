"""Supports are fitted once to the rows that propose and once to those that judge, whatever is made of the fits."""

from collections import Counter

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import ByEvidence, Sealed, SealedStream
from physupport.laws import Linear, LinearStream
from physupport.questions import RegionalMap

Q, N_ROWS = 10, 30
PLACES = np.linspace(2.0, 7.0, 5)
CURVES = np.exp(-0.5 * ((np.arange(Q)[:, None] - PLACES) / 1.5) ** 2)
LIBRARY = Library(
    [f"p{i}" for i in range(5)], ["A"] * 3 + ["B"] * 2, PLACES[:, None], CURVES / np.linalg.norm(CURVES, axis=0)
)
KINDS = {
    "same mean": Linear(),
    "bounds": Linear(coefficients={"A": (0.0, np.inf)}),
    "free": Linear(rows="free"),
    "random": Linear(rows="random"),
}


def make_bank(noises=(0.04,)):
    return library_bank(LIBRARY, ["A", "B", "AB"], {"A": 1.0, "B": 1.0}, deployment=product_grid(noise=noises))


@pytest.fixture
def fits(monkeypatch):
    """How often each support is fitted to so many rows."""
    counted, fitted = Counter(), LinearStream._fitted

    def count(stream, key):
        counted[stream.rows.n_rows, key // len(stream.design.deviations)] += 1
        return fitted(stream, key)

    monkeypatch.setattr(LinearStream, "_fitted", count)
    return counted


@pytest.mark.parametrize("kind", KINDS)
def test_asking_fits_every_support_once_to_each_part_of_the_rows(fits, kind):
    bank = make_bank()
    rows = KINDS[kind].completed(bank).sample(bank, 1, np.random.default_rng(1), N_ROWS)
    plans = {"deployment": StreamPlan(KINDS[kind], 0.4)}
    protocol = AnalysisProtocol(RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.05, 1.0, bank, plans)
    seal = protocol.read(deployment=rows)
    seal.run()
    assert [*seal.content["streams"][0]["numerator"]] == ["mixture"]
    assert {support for n_rows, support in fits if n_rows == 12} == {*range(bank.n_deployment_keys)}
    assert {*fits.values()} == {1}


@pytest.mark.parametrize("kind", KINDS)
def test_opponents_from_kept_fits_are_those_of_fits_made_anew(kind):
    bank = make_bank()
    law = KINDS[kind].completed(bank)
    rows = ArrayRows(law.sample(bank, 1, np.random.default_rng(2), N_ROWS))
    proposal = law.proposed(bank, rows)
    anew = law.stream(bank, rows, [N_ROWS])
    assert anew.fits is None
    assert law.opponent(bank, proposal, 0).encode() == anew.opponent(proposal.keys).encode()


def test_a_division_of_the_rows_is_fitted_once_for_all_noise_levels(fits):
    bank = make_bank((0.04, 0.09, 0.16))
    law = Linear().completed(bank)
    rows = ArrayRows(law.sample(bank, 1, np.random.default_rng(3), N_ROWS))
    stream = SealedStream("deployment", rows, law, law.keys(bank), lambda: None)
    judge = ByEvidence("rows", 4, 0.4).open(Sealed(bank, 0.1, (stream,), 5))
    assert judge.log_evidence.lower.shape == (bank.n_deployment_keys,)
    assert {*fits.values()} == {4}  # splits, each of 12 rows that propose and 18 that judge
    assert len(fits) == 2 * bank.n_deployment_keys // 3

"""Small instruments with known truths, measured under every kind of law."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import as_pairs
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.questions import RegionalMap, RegionRule

CHANNELS, NOISE, LAW = 6, 0.4, BernoulliGaussian(0.3)
IDS, REGIONS = ["A0", "A1", "A2", "B0", "B1"], ["A", "A", "A", "B", "B"]


def make_library(is_complex=False, twin=False):
    """Five elements; A0 and A1 are near in space and in response, or the same response with `twin`."""
    rng = np.random.default_rng(3)
    responses = rng.standard_normal((CHANNELS, 5)) + (1j * rng.standard_normal((CHANNELS, 5)) if is_complex else 0.0)
    responses[:, 1] = responses[:, 0] + (0.0 if twin else 0.4) * responses[:, 1]
    responses /= np.linalg.norm(responses, axis=0)
    columns = as_pairs(responses, axis=0) if is_complex else responses
    return Library(IDS, REGIONS, [[0.0], [1.0], [2.0], [5.0], [6.0]], columns)


def make_bank(is_complex=False, twin=False, noise=(NOISE,), settings=None):
    grid = product_grid(p=[LAW.p], noise=[NOISE])
    return library_bank(
        make_library(is_complex, twin),
        ["A", "AB"],
        {"A": 1.0, "B": 0.7},
        calibration=grid,
        deployment=product_grid(noise=list(noise)),
        **({} if settings is None else {"settings": settings}),
    )


def make_strengths(threshold):
    """A bank in which B is weak, strong or absent, and the question whether anything as strong as this is there."""
    grid = product_grid(p=[LAW.p], noise=[NOISE])
    bank = library_bank(make_library(), ["A", "AB"], {"A": 1.0, "B": [0.02, 2.0]}, calibration=grid,
                        deployment=product_grid(noise=[NOISE]))  # fmt: skip
    rules = {"A": RegionRule(0.5), "B": RegionRule(0.5, absence_threshold=threshold)}
    return bank, RegionalMap(bank_regions(bank), rules)


def true_explanation(bank):
    """A1 with B0."""
    return next(e for e in range(bank.size) if bank.explanation(e).ids == ("A1", "B0"))


def _normal(rng, shape, is_complex):
    """White noise of variance NOISE for each entry, circular if complex."""
    real = rng.standard_normal(shape)
    return np.sqrt(NOISE / 2) * (real + 1j * rng.standard_normal(shape)) if is_complex else np.sqrt(NOISE) * real


def make_rows(bank, kind, rng, n, is_complex=False, truth=None):
    """Rows from the true explanation, drawn from the model and not from its density; complex ones as pairs."""
    member = bank.explanation(true_explanation(bank) if truth is None else truth)
    atoms = member.atoms[0::2] + 1j * member.atoms[1::2] if is_complex else member.atoms
    active = atoms[:, list(member.positions)]
    noise = _normal(rng, (n, CHANNELS), is_complex)
    if kind == "latent":
        return make_calibration(LAW, atoms, NOISE, rng, n)
    if kind == "known codes":
        codes = rng.standard_normal((n, atoms.shape[1]))
        if is_complex:
            codes = codes + 1j * rng.standard_normal(codes.shape)
        rows = np.hstack([codes @ atoms.T + noise, codes])
    elif kind in ("mean", "profiled mean"):
        rows = active @ member.strengths + noise
    else:
        sources = rng.standard_normal((n, active.shape[1]))
        if is_complex:
            sources = (sources + 1j * rng.standard_normal(sources.shape)) / np.sqrt(2)
        rows = sources * np.sqrt(member.strengths) @ active.T + noise
    return as_pairs(rows) if is_complex else rows


def run(
    bank,
    kinds,
    n_rows,
    *,
    level=0.05,
    budget=1.0,
    is_complex=False,
    seed=1,
    question=None,
    policy=None,
    truths=None,
    fraction=0.5,
):
    """A result for rows of these kinds, calibration before deployment.

    truths: the explanations that make them, the true one unless given.  fraction: of the rows, that propose.
    """
    rng = np.random.default_rng(seed)
    names = ["calibration" if kind in ("latent", "known codes") else "deployment" for kind in kinds]
    ends = np.full(2, 0.2 + 0j if is_complex else 0.2)
    box = {"profiled mean": (ends, 9.0 * ends)}
    plans = [StreamPlan(kind, fraction, is_complex=is_complex, first=16, box=box.get(kind)) for kind in kinds]
    parts = zip(kinds, n_rows, truths or [None] * len(kinds), strict=True)
    tables = [make_rows(bank, kind, rng, n, is_complex, truth) for kind, n, truth in parts]
    asked = RegionalMap(bank_regions(bank), {"A": RegionRule(0.5), "B": RegionRule(0.5)})
    streams = dict(zip(names, plans, strict=True))
    protocol = AnalysisProtocol(question or asked, policy or RegionalPolicy(), level, budget, bank, streams)
    return analyse(protocol, dict(zip(names, tables, strict=True)))


@pytest.fixture(scope="session")
def kit():
    """Helpers that test files share, since they do not import each other."""
    return SimpleNamespace(
        make_library=make_library,
        make_bank=make_bank,
        make_strengths=make_strengths,
        make_rows=make_rows,
        true_explanation=true_explanation,
        run=run,
        with_rows=lambda part, rows: replace(part, table=rows),
        law=LAW,
        noise=NOISE,
        channels=CHANNELS,
    )


@pytest.fixture(scope="session")
def empty(bank):
    """The instrument was calibrated with other elements than it met later: nothing explains both."""
    others = [e for e in range(bank.size) if bank.explanation(e).ids == ("A2", "B1")]
    return run(bank, ("latent", "covariance"), (600, 400), truths=[others[0], None])


@pytest.fixture(scope="session")
def bank():
    return make_bank()


@pytest.fixture(scope="session")
def result(bank):
    """Few rows: more than one element of A stays admissible."""
    return run(bank, ("latent", "covariance"), (120, 40), seed=6)

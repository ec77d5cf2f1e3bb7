"""Evidence that no coefficient and no noise level changes: its mean is 1, and rounding is accounted for."""

import numpy as np
import pytest
from scipy import integrate, stats

from physupport import PhysicalSupport, StreamPlan
from physupport._errors import MisuseError
from physupport.banks import Library, library_bank, product_grid
from physupport.io import as_pairs
from physupport.judges import ByEvidence, ByInvariant, Verdict
from physupport.judges._invariant import (
    Contrast,
    DataSets,
    InvariantEvidence,
    Rivals,
    _mixed,
    calibrated,
    rival_blocks,
    telling_scale,
)
from physupport.judges.rotation import Companions, Rotation, RotationTable
from physupport.judges.rotation._free import FreeRows
from physupport.judges.rotation._mean import MeanRows
from physupport.laws import Linear

LEVEL, CHANNELS = 0.1, 24
AXIS = np.arange(CHANNELS)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 20, 8)) / 2.0) ** 2)
LINES /= np.linalg.norm(LINES, axis=0)
BASE = np.stack([np.ones(CHANNELS), AXIS / CHANNELS], axis=1)


def evidence(rows, atoms=LINES, supports=None, kind="same mean", sigma=None, companions=None, background=BASE):
    """The evidence against supports of rows (T, q), with every atom as rival."""
    listed = supports or [(i,) for i in range(atoms.shape[1])]
    table = RotationTable(atoms, listed, background)
    spec = Rotation(table, kind, sigma=sigma, companions=companions)
    judged = (FreeRows if kind == "free" else MeanRows)(spec, rows)
    rivals = Rivals.of(table, atoms, [(i,) for i in range(atoms.shape[1])])
    return InvariantEvidence(judged, ((1.0, rivals),)).log_evidence(np.arange(len(listed)))


def mean_under_the_explanation(dimensions, freedom, coordinates, sign, *, is_known):
    """The exact mean of the e-value of one rival, over the law of what the rows are along it."""
    d = dimensions * coordinates

    nothing = np.zeros((1, 1))
    contrast = Contrast(nothing, nothing, nothing, nothing, np.array([[dimensions]]), nothing)
    rows = DataSets(nothing, nothing, nothing, np.array([freedom]), coordinates, float(is_known))

    def value(c, log_density):
        return float(np.exp(_mixed(contrast, np.array([[[c]]]), np.array([sign]), rows)[0, 0] + log_density))

    if is_known:
        law, low = (stats.norm, -9.0) if sign else (stats.chi(d), 0.0)
        return integrate.quad(lambda x: value(x, law.logpdf(x)), low, 120.0, limit=400)[0]
    if sign:  # one coordinate of a uniform direction in n dimensions
        law = stats.beta(0.5 * (freedom - 1), 0.5 * (freedom - 1))
        return integrate.quad(lambda u: value(2.0 * u - 1.0, law.logpdf(u)), 0.0, 1.0, limit=800)[0]
    law = stats.beta(0.5 * d, 0.5 * (freedom - d))
    return integrate.quad(lambda t: value(np.sin(t), law.logpdf(np.sin(t) ** 2)) * np.sin(2.0 * t), 0.0, 0.5 * np.pi,
                          limit=800)[0]  # fmt: skip


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("dimensions", "freedom", "coordinates", "sign"),
    [(1, 5, 1, 0.0), (1, 60, 1, 0.0), (3, 20, 1, 0.0), (1, 14, 2, 0.0), (2, 96, 16, 0.0), (1, 5, 1, 1.0),
     (1, 40, 1, 1.0)],
)  # fmt: skip
def test_the_mean_e_value_is_one_by_quadrature(dimensions, freedom, coordinates, sign, is_known):
    mean = mean_under_the_explanation(dimensions, freedom, coordinates, sign, is_known=is_known)
    assert mean == pytest.approx(1.0, abs=1e-6)


def test_calibrated_p_values_have_a_mean_of_one_and_fall():
    """With p = exp(-L) the mean is the integral of f exp(-L), which falls as 1 / L^2."""
    body = integrate.quad(lambda x: float(calibrated(np.array([np.exp(-x)]))[0]) * np.exp(-x), 0.0, 600.0, limit=600)[0]
    assert body + 1.0 / 600.0 == pytest.approx(1.0, abs=1e-5)
    values = calibrated(np.logspace(-300, 0, 500))
    assert (np.diff(values) <= 0.0).all()
    assert calibrated(np.array([1.0 - 1e-5, 1.0 - 2e-4]))[0] == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("kind", ["same mean", "free"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_no_coefficient_background_or_unit_changes_the_evidence(kind, is_complex):
    rng = np.random.default_rng(1)
    atoms = LINES * np.exp(0.3j * np.outer(AXIS, np.arange(8))) if is_complex else LINES
    rows = rng.standard_normal((4, CHANNELS)) + (1j * rng.standard_normal((4, CHANNELS)) if is_complex else 0.0)
    one = evidence(rows, atoms, [(2, 5)], kind)
    shape = (4, 2) if kind == "free" else (1, 2)
    added = 30.0 * rng.standard_normal(shape) @ atoms[:, [2, 5]].T + 50.0 * rng.standard_normal(shape) @ BASE.T
    two = evidence(7.0 * (rows + added), atoms, [(2, 5)], kind)
    assert two.lower[0] <= one.upper[0]
    assert one.lower[0] <= two.upper[0]
    assert (two.upper - two.lower).max() < 1e-5


def by_the_definition(rows, e, sigma=None):
    """The mixture over rivals and g as densities of normal laws: marginal likelihoods with a flat law of the rest."""
    basis = np.linalg.qr(np.hstack([BASE, LINES[:, [e]]]))[0]
    beside = np.linalg.svd(np.eye(CHANNELS) - basis @ basis.T)[0][:, : CHANNELS - 3]
    mean, scatter = beside.T @ rows.mean(axis=0) * np.sqrt(len(rows)), ((rows - rows.mean(axis=0)) ** 2).sum()
    n = CHANNELS - 3 + CHANNELS * (len(rows) - 1)
    energy = mean @ mean + (scatter if len(rows) > 1 else 0.0)
    unit = LINES / np.linalg.norm(LINES - np.linalg.qr(BASE)[0] @ np.linalg.qr(BASE)[0].T @ LINES, axis=0)
    sines2 = (np.delete(beside.T @ unit, e, axis=1) ** 2).sum(axis=0)
    weights = 0.5 / len(sines2) + 0.5 / sines2 / (1.0 / sines2).sum()
    total = 0.0
    for weight, rival in zip(weights, np.delete(LINES, e, axis=1).T, strict=True):
        v = beside.T @ rival / np.linalg.norm(beside.T @ rival)
        for share, factor in ((0.75, 1.0), (0.25, 8.0)):
            g = factor * telling_scale(1)
            covariance = np.eye(len(v)) + g * np.outer(v, v)
            inverse = mean @ np.linalg.solve(covariance, mean) + energy - mean @ mean
            ratio = np.linalg.slogdet(covariance)[1]
            exponent = 0.5 * (energy - inverse) / sigma**2 if sigma else -0.5 * n * np.log(inverse / energy)
            total += weight * share * np.exp(exponent - 0.5 * ratio)
    return np.log(total)


@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("sigma", [None, 1.3])
def test_the_evidence_is_that_of_its_definition(n_rows, sigma):
    rows = 2.0 * LINES[:, 3] + np.random.default_rng(2).standard_normal((n_rows, CHANNELS))
    bounds = evidence(rows, sigma=sigma)
    expected = [by_the_definition(rows, e, sigma) for e in range(8)]
    assert (bounds.lower <= np.array(expected) + 1e-9).all()
    assert (bounds.upper >= np.array(expected) - 1e-9).all()
    assert (bounds.upper - bounds.lower).max() < 1e-6


def test_bounds_hold_the_evidence_of_rows_that_are_rounded():
    """At a signal of 1e7 deviations rows in single precision are other rows: bounds of exact rows stay narrow."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((1, CHANNELS))
    exact, strong = evidence(noise, supports=[(3,)]), evidence(noise + 2.0**23 * LINES[:, 3], supports=[(3,)])
    assert strong.upper[0] - strong.lower[0] > exact.upper[0] - exact.lower[0]
    assert strong.lower[0] <= exact.upper[0]
    assert exact.lower[0] <= strong.upper[0]


def test_rows_that_an_explanation_fits_exactly_never_reject_it():
    bounds = evidence(LINES[None, :, 3] * 5.0, supports=[(3,)])
    assert bounds.lower[0] <= np.log(1.0 / LEVEL)


# Six channels, coherence .9999, and coefficients that stand on their bounds.
NARROW = np.stack([np.ones(6), 1.0 + 0.0141 * np.array([1, -1, 1, -1, 1, -1.0])], axis=1)


def hostile(rng, scale=1.0):
    rows = 3.0 * NARROW[:, 0] + scale * rng.standard_normal((1, 6))
    kept = Companions(low=3.0, high=3.0)
    found = evidence(rows, NARROW, [(0,), (1,)], sigma=1.0, companions=kept, background=np.zeros((6, 0)))
    return found.lower[0] > np.log(1.0 / LEVEL)


def test_coherent_rivals_and_coefficients_at_bounds_keep_the_level_and_too_little_noise_does_not():
    cosine = NARROW[:, 0] @ NARROW[:, 1] / np.linalg.norm(NARROW, axis=0).prod()
    assert cosine == pytest.approx(0.9999, abs=2e-5)
    rng = np.random.default_rng(4)
    lost = sum(hostile(rng) for _ in range(200))
    assert stats.binom.sf(lost - 1, 200, LEVEL) > 1e-6
    assert stats.binom.sf(sum(hostile(rng, 4.0) for _ in range(200)) - 1, 200, LEVEL) < 1e-6


def model(judge, **options):
    library = Library([f"e{i}" for i in range(8)], ["line"] * 8, np.arange(8.0)[:, None], LINES)
    noise = {"deployment": product_grid(noise=[1.0])} if judge.kind != "invariant" else {}
    bank = library_bank(library, [["line"]], {"line": [1.0]}, **noise)
    plan = StreamPlan("gaussian", background=BASE, **options)
    return PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment=plan, judge=judge).fit()


def test_it_keeps_fewer_elements_than_fission_that_knows_the_noise():
    kept = {}
    for judge in (ByInvariant(), ByEvidence("fission")):
        asked = model(judge)
        counts = []
        for seed in range(4):
            row = 7.0 * LINES[:, 3] + np.random.default_rng(seed).standard_normal(CHANNELS)
            counts.append(len(asked.report(row[None]).fields[0].cell))
        kept[judge.kind] = sum(counts)
    assert kept["invariant"] < kept["evidence"]


def test_elements_of_an_explanation_are_rivals_as_wholes():
    library = Library(["a", "b"], ["line"] * 2, np.arange(2.0)[:, None], LINES[:, :2])
    bank = library_bank(library, [["line"]], {"line": [1.0]}, counts={"line": (1, 2)})
    law = Linear(variants=LINES[None, :, 2:4]).completed(bank)
    assert [*map(tuple, rival_blocks(law.design(bank)))] == [(0, 2), (1, 3)]


def test_widths_and_estimated_covariances_are_refused():
    for options, wanted in (({"error": 0.1}, "judge must be 'evidence'"), ({"covariance": np.eye(CHANNELS),
                            "covariance_freedom": 40}, "judge must be 'rotation'")):  # fmt: skip
        with pytest.raises(MisuseError, match=wanted):
            model(ByInvariant(), **options).report(LINES[None, :, 3])


def test_complex_snapshots_leave_the_source_and_reject_the_others():
    rng = np.random.default_rng(5)
    atoms = np.exp(1j * np.pi * np.outer(np.arange(8), np.sin(np.deg2rad(np.arange(-60, 61, 15))))) / np.sqrt(8.0)
    noise = (rng.standard_normal((20, 8, 2)) @ [1.0, 1.0j]) / np.sqrt(2.0)
    rows = 3.0 * (rng.standard_normal((20, 2)) @ [1.0, 1.0j])[:, None] * atoms[:, 4] + noise
    library = Library([f"d{i}" for i in range(9)], ["sky"] * 9, np.arange(9.0)[:, None], as_pairs(atoms, axis=0))
    bank = library_bank(library, [["sky"]], {"sky": [1.0]})
    plan = StreamPlan("gaussian", rows="free", is_complex=True)
    asked = PhysicalSupport(bank, {"sky": 0.5}, calibration=None, deployment=plan, judge=ByInvariant()).fit()
    field = asked.report(as_pairs(rows)).fields[0]
    assert (str(field.label), field.cell) == ("FINE", ("d4",))
    assert Verdict.REJECTED in asked.report(as_pairs(rows)).document["trace"]["codes"]["values"]

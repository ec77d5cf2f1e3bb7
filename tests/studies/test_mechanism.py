"""The mechanism study gives the published numbers from its seeds, and its pieces are what the paper says they are."""

import csv
import json
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from physupport.studies import load_study, write_outcome
from physupport.studies._figures import make_figure
from physupport.studies._mechanism import (
    ANGLES,
    BUDGETS,
    SCALES,
    calibration_pair,
    deployment_affinities,
    deployment_rows,
    dictionary,
    grid_tasks,
    labels_are_kept,
    orientation_affinities,
    power_law,
    residual_errors,
    scaling_tasks,
    slope_range,
    step_angle,
    step_tasks,
)
from physupport.studies._outcome import finished
from physupport.studies.mechanism import collapse, drawings

MASKS = np.array(list(product((0, 1), repeat=5)))
KEYS = [
    "jeffreys_slope",
    "jeffreys_range",
    "jeffreys_r2",
    "quadrature_slope",
    "max_spread",
    "median_spread",
    "spread_tolerance_met",
    "equal_residual",
    "contrast_error",
    "h_slope",
    "h_r2",
    "grid_slopes",
]
LINES = [
    "Jeffreys exponent in s",
    "its paired-batch range",
    "its R^2",
    "order-14 quadrature exponent",
    "its R^2",
    "largest spread over s",
    "transition band",
    "median spread in the band",
    "tolerance 0.015 for that median",
    "residual, equal coefficients",
    "error of the contrast formula",
    "labels kept along the path",
    "Jeffreys exponent in h",
    "its R^2",
    "smallest exponent on the grid",
    "where (p, noise)",
    "cells with R^2 above 0.9999",
]
FIGURES = {f"{name}.{kind}" for name in ("scaling", "deployment", "gates", "collapse") for kind in ("png", "pdf")}


def spelled_out_atoms(s, phi):
    """The five atoms, written as the paper writes them."""
    turn = np.array([[1, 0, 0], [0, np.cos(phi), -np.sin(phi)], [0, np.sin(phi), np.cos(phi)]])
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    block = [np.append(s * turn @ corner, np.sqrt(1 - s**2)) for corner in corners]
    return np.column_stack([*block, np.array([1, 0, 0, 1]) / np.sqrt(2)])


def spelled_out_law(s, phi, p, nu):
    """Weights and covariances of the 32 components."""
    atoms = spelled_out_atoms(s, phi)
    weights = [p ** a.sum() * (1 - p) ** (5 - a.sum()) for a in MASKS]
    return np.array(weights), np.array([nu * np.eye(4) + atoms @ np.diag(a) @ atoms.T for a in MASKS])


def spelled_out_batch(seed, s, h, p, nu, size):
    """One batch, drawn and scored row by row, with the data turned back where the turned law is evaluated."""
    rng, phi = np.random.default_rng(seed), np.sqrt(1.5) * h
    marks = np.repeat([0, 1], size // 2)
    rng.shuffle(marks)
    rows = np.empty((size, 4))
    for mark, angle in enumerate((0.0, phi)):
        weights, covariances = spelled_out_law(s, angle, p, nu)
        labels = rng.choice(32, size=size // 2, p=weights)
        normals = rng.normal(size=(size // 2, 4))
        factors = np.linalg.cholesky(covariances)
        rows[marks == mark] = [factors[i] @ z for i, z in zip(labels, normals, strict=True)]
    weights, covariances = spelled_out_law(s, 0.0, p, nu)
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]]

    def log_density(points):
        parts = [
            np.log(w) + multivariate_normal(cov=c).logpdf(points) for w, c in zip(weights, covariances, strict=True)
        ]
        return logsumexp(parts, axis=0)

    ratio = log_density(rows) - log_density(rows @ turn)
    half = ratio / 2
    return 2 * np.mean(ratio * np.tanh(half)), np.mean(np.tanh(half) ** 2 / (1 + 1 / np.cosh(half)))


@pytest.mark.slow
def test_every_published_number_is_met_from_the_seeds(tmp_path):
    study = load_study("mechanism")
    heard = []
    outcome = study.run(2, lambda done, total: heard.append((done, total)))
    made = write_outcome(outcome, tmp_path, study.draw)

    assert [line.name for line in outcome.lines] == LINES
    assert [line.name for line in outcome.lines if not line.agrees] == []
    summary = json.loads((tmp_path / "mechanism" / "summary.json").read_text())
    assert list(summary) == KEYS
    # Half a unit in the last printed digit.
    assert summary["jeffreys_slope"] == pytest.approx(5.9355, abs=5e-5)
    assert summary["jeffreys_range"] == pytest.approx([5.9249, 5.9468], abs=5e-5)
    assert summary["jeffreys_r2"] == pytest.approx(0.99999, abs=5e-6)
    assert summary["quadrature_slope"] == pytest.approx(5.9342, abs=5e-5)
    assert summary["max_spread"] == pytest.approx(0.0243, abs=5e-5)
    assert summary["median_spread"] == pytest.approx(0.0167, abs=5e-5)
    assert summary["spread_tolerance_met"] is False
    assert summary["h_slope"] == pytest.approx(1.943, abs=5e-4)
    assert summary["h_r2"] == pytest.approx(0.99983, abs=5e-6)
    assert len(summary["grid_slopes"]) == 9
    assert min(summary["grid_slopes"]) == summary["grid_slopes"][0] == pytest.approx(5.759, abs=5e-4)
    # Residuals of a few products in float64.
    assert max(summary["equal_residual"], summary["contrast_error"]) < 1e-13

    assert {path.name for path in made} > FIGURES
    assert all(path.stat().st_size > 0 for path in made)
    check_tables(tmp_path / "mechanism", summary)
    check_pictures(tmp_path / "mechanism")
    assert heard == sorted(heard)
    assert heard[-1][0] == heard[-1][1]


def check_tables(folder, summary):
    """Slope, range and spreads follow from the written tables by the plainest route."""
    batches = table(folder, "batches")
    jeffreys = np.array([float(row["jeffreys"]) for row in batches]).reshape(6, 128)
    deficit = np.array([float(row["affinity_deficit"]) for row in batches]).reshape(6, 128).mean(axis=1)
    # Slopes of lines through six points: a few hundred roundings at most.
    assert np.polyfit(np.log(SCALES), np.log(jeffreys.mean(axis=1)), 1)[0] == pytest.approx(
        summary["jeffreys_slope"], abs=1e-12
    )
    rng = np.random.default_rng(2026072202)
    slopes = [
        np.polyfit(np.log(SCALES), np.log(jeffreys[:, rng.integers(0, 128, 128)].mean(axis=1)), 1)[0]
        for _ in range(2000)
    ]
    assert np.percentile(slopes, [2.5, 97.5]) == pytest.approx(summary["jeffreys_range"], abs=1e-12)
    affinity = np.array(
        [[(1 - d) ** round(budget / s**6) for s, d in zip(SCALES, deficit, strict=True)] for budget in BUDGETS]
    )
    # 1 - d keeps d of about 1e-8 only to 1e-16, and the power is of the order of 1e8.
    assert np.ptp(affinity, axis=1).max() == pytest.approx(summary["max_spread"], abs=1e-6)
    assert [row["information"] for row in table(folder, "collapse") if row["in_band"] == "1"] == [
        "4.0",
        "8.0",
        "16.0",
        "32.0",
        "64.0",
    ]
    assert [row["name"] for row in table(folder, "published")] == LINES


def check_pictures(folder):
    """On every page all text is inside, and no legend lies on a point."""
    for shown in drawings(folder).values():
        page = make_figure(shown)
        page.draw_without_rendering()
        assert page.get_size_inches()[0] == 3.4
        for ax in page.axes:
            box, legend = ax.get_tightbbox(), ax.get_legend()
            assert page.bbox.x0 <= box.x0 < box.x1 <= page.bbox.x1
            assert page.bbox.y0 <= box.y0 < box.y1 <= page.bbox.y1
            points = [ax.transData.transform(line.get_xydata()) for line in ax.lines if line.get_marker() != "None"]
            covered = 0 if legend is None else legend.get_window_extent().count_contains(np.concatenate(points))
            assert covered == 0


def table(folder, name):
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_dictionary_is_the_one_the_paper_writes_out():
    for s, phi in ((0.045, 0.0), (0.122, 0.3), (0.1, -0.4)):
        # Matrix exponentials and products of numbers at most 1.
        assert np.abs(dictionary(s, phi).atoms - spelled_out_atoms(s, phi)).max() < 1e-15


def test_the_angle_of_the_path_moves_the_active_vertices_at_unit_speed():
    assert step_angle(0.25) == pytest.approx(np.sqrt(1.5) * 0.25, rel=1e-15)


def test_the_laws_are_the_mixtures_the_paper_writes_out():
    pair = calibration_pair(0.1, 0.25, 0.2, 0.5)
    for law, phi in zip(pair, (0.0, np.sqrt(1.5) * 0.25), strict=True):
        weights, covariances = spelled_out_law(0.1, phi, 0.2, 0.5)
        assert np.abs(law.weights - weights).max() < 1e-16
        assert np.abs(law.covariances - covariances).max() < 1e-14


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        (lambda: scaling_tasks()[2], ((2026072201, 2), 0.122, 0.25, 0.2, 0.5, 8192)),
        (lambda: step_tasks()[31], ((2026072221, 31), 0.082, 0.45, 0.2, 0.5, 8192)),
        (lambda: grid_tasks()[5 * 4 + 1], ((2026072211 + 5, 1), 0.14, 0.25, 0.2, 1.0, 25_000)),
    ],
    ids=["scaling", "steps", "grid"],
)
def test_a_batch_follows_the_published_draw_order(task, arguments):
    (seed, child), *rest = arguments
    found = task()[0]()[-1]  # of the scales or lengths, the last
    expected = spelled_out_batch(np.random.SeedSequence(seed).spawn(child + 1)[child], *rest)
    # Log ratios are of the order of 1e-3 and carry rounding of 1e-15 from log densities of size 10.
    assert (found.jeffreys, found.affinity_deficit) == pytest.approx(expected, rel=1e-9)


def test_negative_control_another_draw_order_gives_other_numbers():
    found = scaling_tasks()[2][0]()[0]
    other = spelled_out_batch(np.random.SeedSequence(2026072201).spawn(4)[3], 0.045, 0.25, 0.2, 0.5, 8192)
    assert abs(found.jeffreys / other[0] - 1.0) > 1e-4


def test_the_number_of_threads_changes_no_number():
    tasks = scaling_tasks()[:6] + grid_tasks()[:3]
    assert sorted(finished(tasks, 1)) == sorted(finished(tasks, 3))


def test_a_power_law_is_fitted_as_by_the_textbook():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0.05, 0.2, 7))
    y = 3.0 * x**5.9 * np.exp(0.01 * rng.standard_normal(7))
    fit = power_law(x, y)
    # Two routes to a slope of order 1 in float64.
    assert fit[0] == pytest.approx(np.polyfit(np.log(x), np.log(y), 1)[0], rel=1e-12)
    assert fit[1] == pytest.approx(np.corrcoef(np.log(x), np.log(y))[0, 1] ** 2, rel=1e-12)


def test_the_range_pairs_the_batches_over_the_scales():
    # A factor shared by all scales in each batch leaves every resampled slope alone.
    common = np.exp(np.random.default_rng(3).standard_normal(16))
    low, high = slope_range((0.1, 0.2, 0.4), np.array([[1.0], [8.0], [64.0]]) * common, seed=1, repeats=50)
    assert (low, high) == pytest.approx((3.0, 3.0), rel=1e-12)


def test_deployment_residuals_are_those_of_least_squares():
    rows = deployment_rows()
    assert len(rows) == 6 * 25 * 3
    for row in rows[::7]:
        before, after = (spelled_out_atoms(row["s"], phi)[:, :2] for phi in (0.0, row["angle"]))
        mean = before @ np.array([1 + row["contrast"] / 2, 1 - row["contrast"] / 2])
        fitted = after @ np.linalg.lstsq(after, mean)[0]
        # The two atoms are within 0.07 of each other, so least squares loses two digits.
        assert row["residual"] == pytest.approx(np.linalg.norm(mean - fitted), abs=1e-13)
        closed = row["s"] * row["contrast"] * np.sqrt(8 / 3) * np.sin(row["angle"]) / 2
        assert row["closed_form"] == pytest.approx(closed, rel=1e-14)


def test_the_deployment_control_holds_at_rounding_level():
    equal, contrast = residual_errors(deployment_rows())
    assert equal < 1e-13
    assert contrast < 1e-13


def test_negative_control_a_wrong_closed_form_is_seen():
    rows = [row | {"closed_form": row["closed_form"] * 1.001} for row in deployment_rows()]
    assert residual_errors(rows)[1] == pytest.approx(1e-3, rel=1e-2)


def test_labels_are_kept_along_the_displayed_path():
    assert ANGLES[0] == 0.0
    assert ANGLES[-1] == 0.6
    assert labels_are_kept()


def test_deployment_gates_follow_their_closed_forms():
    found = deployment_affinities()
    s, budget = np.array(SCALES), np.array(BUDGETS)[:, None]
    # |mu - mu'|^2 = 2 s^2 q/(q - 1) for a swap of one atom; T s^2 = I sigma^2.
    assert found["support"] == pytest.approx(np.exp(-budget * np.full(6, 8 / 3) / 8), rel=1e-4)
    apart = 2 * (np.sqrt(1 - s**2) - s / np.sqrt(3)) ** 2
    assert found["explanation"] == pytest.approx(np.exp(-budget / 4 * apart / 8), rel=1e-3)


def test_the_collapse_is_exact_for_an_exact_power_law():
    mean, spread, _ = collapse(orientation_affinities(0.02 * np.array(SCALES) ** 6))
    # N is a whole number: the smallest, 75,818, is rounded by at most one part in 150,000.
    assert spread.max() < 1e-5
    assert mean[0] == pytest.approx((1 - 0.02 * 0.1**6) ** 250_000, rel=1e-4)


def test_the_transition_band_holds_means_from_a_tenth_to_nine_tenths():
    _, spread, in_band = collapse(np.array([[0.95, 0.93], [0.9, 0.9], [0.5, 0.3], [0.1, 0.1], [0.1, 0.09]]))
    assert in_band.tolist() == [False, True, True, True, False]
    assert np.median(spread[in_band]) == 0.0

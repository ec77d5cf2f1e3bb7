"""The study from its seeds: divergences, fits, tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import final

import numpy as np
from scipy.stats import t as student

from ..._typing import Array
from .._published import Outcome
from .._tasks import run_tasks
from ._compare import Summary, comparison
from ._deployment import deployment_rows, labels_are_kept, residual_errors
from ._divergences import (
    GRID,
    GRID_SCALES,
    ORDERS,
    SCALES,
    STEPS,
    grid_tasks,
    quadrature_tasks,
    scaling_tasks,
    step_tasks,
)
from ._draw import PAGES
from ._fits import PowerLaw, power_law, slope_range
from ._gates import BUDGETS, TOLERANCE, Collapse, collapse, deployment_affinities, orientation_affinities

_BOOTSTRAP_SEEDS = {"jeffreys": 2026072202, "affinity_deficit": 2026072203}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Divergences:
    """Batch means of the main part; Jeffreys divergences of the others."""

    batches: dict[str, Array]  # each (scales, batches)
    quadrature: Array  # (orders, scales)
    steps: Array  # (steps,)
    grid: Array  # (cells, scales of the grid)


@final
@dataclass(frozen=True, slots=True)
class Fits:
    """Exponents in s, in h, and in s on the grid."""

    scaling: dict[str, PowerLaw]
    ranges: dict[str, tuple[float, float]]
    steps: PowerLaw
    grid: list[PowerLaw]


def run(jobs: int, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """All numbers of the mechanism study, from some 60 million densities of mixtures of 32 Gaussians."""
    found = divergences(jobs, progress)
    fits, seen = _fits(found), deployment_rows()
    affinities = orientation_affinities(found.batches["affinity_deficit"].mean(axis=1))  # (budgets, scales)
    collapsed = collapse(affinities)
    summary = _summary(fits, collapsed, residual_errors(seen))
    tables: dict[str, Sequence[Mapping[str, object]]] = {
        "scaling": _scaling_rows(found),
        "batches": _batch_rows(found),
        "fits": _fit_rows(fits),
        "deployment": seen,
        "gates": _gate_rows(deployment_affinities() | {"orientation": affinities}),
        "collapse": _collapse_rows(collapsed),
        "steps": [{"h": h, "jeffreys": float(value)} for h, value in zip(STEPS, found.steps, strict=True)],
    }
    lines = comparison(summary, fits.scaling[f"quadrature_{ORDERS[-1]}"], fits.grid, collapsed, labels_are_kept())
    return Outcome("mechanism", lines, asdict(summary), tables, tuple(PAGES))


def divergences(jobs: int, progress: Callable[[int, int], None] | None) -> Divergences:
    """Every divergence, on as many threads as jobs; the numbers do not depend on them."""
    parts = [scaling_tasks(), quadrature_tasks(), step_tasks(), grid_tasks()]
    results = iter(run_tasks([task for part in parts for task in part], jobs, progress))
    main, rule, steps, grid = ([next(results) for _ in part] for part in parts)
    shape = (len(SCALES), -1)
    return Divergences(
        {name: np.array([getattr(each, name) for each in main]).reshape(shape) for name in _BOOTSTRAP_SEEDS},
        np.array([each.jeffreys for each in rule]).reshape(len(ORDERS), len(SCALES)),
        np.array([each.jeffreys for each in steps]).reshape(len(STEPS), -1).mean(axis=1),
        np.array([each.jeffreys for each in grid]).reshape(len(GRID), len(GRID_SCALES), -1).mean(axis=2),
    )


def _fits(found: Divergences) -> Fits:
    scaling = {name: power_law(SCALES, means.mean(axis=1)) for name, means in found.batches.items()}
    rules = {f"quadrature_{order}": power_law(SCALES, j) for order, j in zip(ORDERS, found.quadrature, strict=True)}
    ranges = {name: slope_range(SCALES, found.batches[name], seed) for name, seed in _BOOTSTRAP_SEEDS.items()}
    grid = [power_law(GRID_SCALES, cell) for cell in found.grid]
    return Fits(scaling | rules, ranges, power_law(STEPS, found.steps), grid)


def _summary(fits: Fits, collapsed: Collapse, errors: tuple[float, float]) -> Summary:
    main = fits.scaling["jeffreys"]
    return Summary(
        jeffreys_slope=main.slope,
        jeffreys_range=fits.ranges["jeffreys"],
        jeffreys_r2=main.r2,
        quadrature_slope=fits.scaling[f"quadrature_{ORDERS[-1]}"].slope,
        max_spread=float(collapsed.spread.max()),
        median_spread=collapsed.median_spread,
        spread_tolerance_met=collapsed.median_spread <= TOLERANCE,
        equal_residual=errors[0],
        contrast_error=errors[1],
        h_slope=fits.steps.slope,
        h_r2=fits.steps.r2,
        grid_slopes=tuple(fit.slope for fit in fits.grid),
    )


def _scaling_rows(found: Divergences) -> list[dict[str, object]]:
    """Means over the batches, the Student interval of level 95 % of the Jeffreys one, and both quadratures."""
    jeffreys, deficit = found.batches["jeffreys"], found.batches["affinity_deficit"]
    count = jeffreys.shape[1]
    half = float(student.ppf(0.975, count - 1)) * jeffreys.std(axis=1, ddof=1) / np.sqrt(count)
    return [
        {
            "s": s,
            "jeffreys": float(jeffreys[i].mean()),
            "jeffreys_low": float(jeffreys[i].mean() - half[i]),
            "jeffreys_high": float(jeffreys[i].mean() + half[i]),
            "affinity_deficit": float(deficit[i].mean()),
            **{f"quadrature_{order}": float(found.quadrature[k, i]) for k, order in enumerate(ORDERS)},
        }
        for i, s in enumerate(SCALES)
    ]


def _batch_rows(found: Divergences) -> list[dict[str, object]]:
    count = found.batches["jeffreys"].shape[1]
    return [
        {"s": s, "batch": b, **{name: float(means[i, b]) for name, means in found.batches.items()}}
        for i, s in enumerate(SCALES)
        for b in range(count)
    ]


def _fit_rows(fits: Fits) -> list[dict[str, object]]:
    """Every exponent; cells of p and noise are empty where they are those of the main part."""
    rows = [_fit_row(name, "s", fit, fits.ranges.get(name)) for name, fit in fits.scaling.items()]
    rows.append(_fit_row("jeffreys", "h", fits.steps))
    return rows + [_fit_row("jeffreys", "s", fit, None, cell) for cell, fit in zip(GRID, fits.grid, strict=True)]


def _fit_row(
    quantity: str,
    variable: str,
    fit: PowerLaw,
    within: tuple[float, float] | None = None,
    cell: tuple[float, float] | None = None,
) -> dict[str, object]:
    low, high = within or ("", "")
    p, noise = cell or ("", "")
    return {
        "quantity": quantity,
        "variable": variable,
        "p": p,
        "noise": noise,
        "slope": fit.slope,
        "low": low,
        "high": high,
        "r2": fit.r2,
    }


def _gate_rows(gates: dict[str, Array]) -> list[dict[str, object]]:
    return [
        {"gate": gate, "information": budget, "s": s, "affinity": float(table[b, i])}
        for gate, table in gates.items()
        for b, budget in enumerate(BUDGETS)
        for i, s in enumerate(SCALES)
    ]


def _collapse_rows(collapsed: Collapse) -> list[dict[str, object]]:
    return [
        {
            "information": budget,
            "mean_affinity": float(collapsed.mean[b]),
            "spread": float(collapsed.spread[b]),
            "in_band": int(collapsed.in_band[b]),
        }
        for b, budget in enumerate(BUDGETS)
    ]

"""The mechanism study: calibration sees a turn of the block at sixth order, deployment only through a contrast."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._typing import Array, BoolArray
from ._divergences import Divergence
from ._figures import Drawing, draw_affinities, draw_deployment, draw_scaling, draw_spreads, write_figures
from ._mechanism import (
    BUDGETS,
    GRID,
    GRID_SCALES,
    ORDERS,
    SCALES,
    STEPS,
    PowerLaw,
    deployment_affinities,
    deployment_rows,
    grid_tasks,
    labels_are_kept,
    orientation_affinities,
    power_law,
    quadrature_tasks,
    residual_errors,
    scaling_tasks,
    slope_range,
    step_tasks,
)
from ._outcome import (
    Line,
    Outcome,
    Progress,
    finished,
    number_line,
    range_line,
    read_columns,
    rounding_line,
    word_line,
)

TOLERANCE = 0.015
FIGURES = ("scaling", "deployment", "gates", "collapse")
_BOOTSTRAP_SEEDS = {"jeffreys": 2026072202, "affinity_deficit": 2026072203}
_SHOWN_SCALE = 0.1
# The question of a gate, and its information.
_GATES = {
    "explanation": ("deployment: which explanation?", "information T r² β² / σ²"),
    "support": ("deployment: which atoms?", "information T β² s² / σ²"),
    "orientation": ("calibration: where are they?", "information N s⁶"),
}

Row = dict[str, Any]


def run(jobs: int, progress: Progress | None = None) -> Outcome:
    """All numbers of the mechanism study, from some 60 million densities of mixtures of 32 Gaussians."""
    parts = [scaling_tasks(), quadrature_tasks(), step_tasks(), grid_tasks()]
    results = iter(sorted(finished([task for part in parts for task in part], jobs, progress)))
    main, rule, turned, cells = ([next(results)[1] for _ in part] for part in parts)
    batches = {name: _table(main, name) for name in _BOOTSTRAP_SEEDS}  # each (scales, batches)
    quadrature = _table(rule, "jeffreys").reshape(len(ORDERS), len(SCALES))
    steps = _table(turned, "jeffreys").mean(axis=1)  # (steps,)
    grid = _table(cells, "jeffreys").reshape(len(GRID_SCALES), len(GRID), -1).mean(axis=2).T  # (cells, scales)
    fits = _fit_rows(batches, quadrature, steps, grid)
    seen = deployment_rows()
    affinities = orientation_affinities(batches["affinity_deficit"].mean(axis=1))  # (budgets, scales)
    mean, spread, in_band = collapse(affinities)
    errors = residual_errors(seen)
    tables: dict[str, Sequence[Mapping[str, object]]] = {
        "scaling": _scaling_rows(batches, quadrature),
        "batches": [
            {"s": s, "batch": b, **{name: float(means[i, b]) for name, means in batches.items()}}
            for i, s in enumerate(SCALES)
            for b in range(batches["jeffreys"].shape[1])
        ],
        "fits": fits,
        "deployment": seen,
        "gates": _gate_rows(deployment_affinities() | {"orientation": affinities}),
        "collapse": [
            {"information": budget, "mean_affinity": float(m), "spread": float(gap), "in_band": int(inside)}
            for budget, m, gap, inside in zip(BUDGETS, mean, spread, in_band, strict=True)
        ],
        "steps": [{"h": h, "jeffreys": float(value)} for h, value in zip(STEPS, steps, strict=True)],
    }
    summary = _summary(fits, spread, in_band, errors)
    band = ", ".join(f"{budget:g}" for budget, inside in zip(BUDGETS, in_band, strict=True) if inside)
    return Outcome("mechanism", _lines(summary, fits, band), summary, tables, FIGURES)


def _table(batches: list[list[Divergence]], name: str) -> Array:
    """One of the two divergences; (pairs, batches)."""
    return np.ascontiguousarray(np.array([[getattr(entry, name) for entry in batch] for batch in batches]).T)


def collapse(affinities: Array) -> tuple[Array, Array, BoolArray]:
    """Means and spreads over the scales, (budgets,) each, and where the mean is in the transition from 1 to 0.

    affinities: (budgets, scales).
    """
    mean = affinities.mean(axis=1)
    return mean, np.ptp(affinities, axis=1), (mean >= 0.1) & (mean <= 0.9)


def _fit_rows(batches: Mapping[str, Array], quadrature: Array, steps: Array, grid: Array) -> list[Row]:
    """Every exponent with its R^2; cells of p and noise are empty where they are those of the main part."""
    rows: list[Row] = []

    def add(
        quantity: str,
        variable: str,
        fit: PowerLaw,
        ends: Sequence[object] = ("", ""),
        cell: Sequence[object] = ("", ""),
    ) -> None:
        row: Row = {"quantity": quantity, "variable": variable, "p": cell[0], "noise": cell[1]}
        rows.append(row | {"slope": fit[0], "low": ends[0], "high": ends[1], "r2": fit[1]})

    for name, means in batches.items():
        ends = slope_range(SCALES, means, _BOOTSTRAP_SEEDS[name])
        add(name, "s", power_law(SCALES, means.mean(axis=1)), ends)
    for order, values in zip(ORDERS, quadrature, strict=True):
        add(f"quadrature_{order}", "s", power_law(SCALES, values))
    add("jeffreys", "h", power_law(STEPS, steps))
    for cell, values in zip(GRID, grid, strict=True):
        add("jeffreys", "s", power_law(GRID_SCALES, values), cell=cell)
    return rows


def _summary(fits: list[Row], spread: Array, in_band: BoolArray, errors: tuple[float, float]) -> Row:
    median = float(np.median(spread[in_band]))
    slopes = [fit["slope"] for fit in fits if fit["p"] != ""]
    main_fit = fits[0]
    return {
        "jeffreys_slope": main_fit["slope"],
        "jeffreys_range": (main_fit["low"], main_fit["high"]),
        "jeffreys_r2": main_fit["r2"],
        "quadrature_slope": _fit(fits, "quadrature_14")["slope"],
        "max_spread": float(spread.max()),
        "median_spread": median,
        "spread_tolerance_met": median <= TOLERANCE,
        "equal_residual": errors[0],
        "contrast_error": errors[1],
        "h_slope": _fit(fits, "jeffreys", "h")["slope"],
        "h_r2": _fit(fits, "jeffreys", "h")["r2"],
        "grid_slopes": slopes,
    }


def _fit(fits: list[Row], quantity: str, variable: str = "s") -> Row:
    return next(fit for fit in fits if (fit["quantity"], fit["variable"]) == (quantity, variable))


def _lines(summary: Mapping[str, Any], fits: list[Row], band: str) -> tuple[Line, ...]:
    """Every printed number of the study."""
    slopes = summary["grid_slopes"]
    straight = sum(fit["p"] != "" and fit["r2"] > 0.9999 for fit in fits)
    missed = "The tolerance was set beforehand and is missed, in the paper and here: the curves do not quite collapse."
    met = "met" if summary["spread_tolerance_met"] else "not met"
    return (
        number_line("Jeffreys exponent in s", "5.9355", summary["jeffreys_slope"]),
        range_line("its paired-batch range", ("5.9249", "5.9468"), summary["jeffreys_range"]),
        number_line("its R^2", "0.99999", summary["jeffreys_r2"]),
        number_line("order-14 quadrature exponent", "5.9342", summary["quadrature_slope"]),
        number_line("its R^2", "0.99999", _fit(fits, "quadrature_14")["r2"]),
        number_line("largest spread over s", "0.0243", summary["max_spread"]),
        word_line("transition band", "4, 8, 16, 32, 64", band),
        number_line("median spread in the band", "0.0167", summary["median_spread"]),
        word_line(f"tolerance {TOLERANCE:g} for that median", "not met", met, missed),
        rounding_line("residual, equal coefficients", "6.82e-16", summary["equal_residual"]),
        rounding_line("error of the contrast formula", "7.01e-15", summary["contrast_error"]),
        word_line("labels kept along the path", "yes", "yes" if labels_are_kept() else "no"),
        number_line("Jeffreys exponent in h", "1.943", summary["h_slope"]),
        number_line("its R^2", "0.99983", summary["h_r2"]),
        number_line("smallest exponent on the grid", "5.759", min(slopes)),
        word_line("where (p, noise)", "0.1, 0.3", "{:g}, {:g}".format(*GRID[slopes.index(min(slopes))])),
        word_line("cells with R^2 above 0.9999", "9 of 9", f"{straight} of {len(GRID)}"),
    )


def _scaling_rows(batches: Mapping[str, Array], quadrature: Array) -> list[Row]:
    """Means over the batches, the 95 % Student interval of the Jeffreys divergence, and both quadratures."""
    jeffreys = batches["jeffreys"]
    count = jeffreys.shape[1]
    half = float(stdtrit(count - 1, 0.975)) * jeffreys.std(axis=1, ddof=1) / np.sqrt(count)
    return [
        {
            "s": s,
            "jeffreys": float(jeffreys[i].mean()),
            "jeffreys_low": float(jeffreys[i].mean() - half[i]),
            "jeffreys_high": float(jeffreys[i].mean() + half[i]),
            "affinity_deficit": float(batches["affinity_deficit"][i].mean()),
            **{f"quadrature_{order}": float(quadrature[k, i]) for k, order in enumerate(ORDERS)},
        }
        for i, s in enumerate(SCALES)
    ]


def _gate_rows(gates: dict[str, Array]) -> list[Row]:
    return [
        {"gate": gate, "information": budget, "s": s, "affinity": float(table[b, i])}
        for gate, table in gates.items()
        for b, budget in enumerate(BUDGETS)
        for i, s in enumerate(SCALES)
    ]


def draw(folder: Path) -> list[Path]:
    """Scaling, deployment, the three gates and the collapse, as PNG and PDF in the folder of the tables."""
    return write_figures(folder, drawings(folder))


def drawings(folder: Path) -> dict[str, list[Drawing]]:
    """The drawings of every figure, from the tables alone."""
    fits = read_columns(folder, "fits")
    main = {name: float(fits[name][0]) for name in ("slope", "low", "high", "r2")}
    scaling, deployment, collapsed = (read_columns(folder, name) for name in ("scaling", "deployment", "collapse"))
    return {
        "scaling": [(216.0, partial(draw_scaling, table=scaling, fit=main))],
        "deployment": [(200.0, partial(draw_deployment, table=deployment, scale=_SHOWN_SCALE))],
        "gates": [_gate(folder, gate, heading, gate == "explanation") for gate, (heading, _) in _GATES.items()],
        "collapse": [
            _gate(folder, "orientation"),
            (144.0, partial(draw_spreads, table=collapsed, tolerance=TOLERANCE)),
        ],
    }


def _gate(folder: Path, gate: str, heading: str = "", has_keys: bool = True) -> Drawing:
    table = read_columns(folder, "gates")
    chosen = table["gate"] == gate
    columns = {name: column[chosen] for name, column in table.items()}
    drawing = partial(draw_affinities, table=columns, name=_GATES[gate][1], heading=heading, has_keys=has_keys)
    return 130.0, drawing

"""Planning: what an experiment can resolve, with numbers and sentences, and what to raise to resolve more."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import ceil, inf, log, sqrt
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from ..._checks import check_positive
from ..._typing import Array
from ..regions import CalibrationParameter, fourth_moment, median_distance_blocks, rounded, total_variances
from ..shell import atom_velocities, check_skew, skew_basis
from ._design import (
    MOST_ROWS,
    Design,
    Gate,
    InformationScales,
    atom_distances,
    block_scale,
    explanation_gate,
    information_scales,
    support_gate,
)
from ._resolution import (
    JointInformation,
    PlannedResolution,
    block_information,
    joint_information,
    planned_resolution,
)

# A change of the mean this small, relative to the changes of its atoms, is rounding: deployment does not show it.
_HIDDEN = 1e-12

# The share of the rows that propose in the studies.
PROPOSAL_SHARE = 0.45

# Rows at which the blocks of the region divide N without a noticeable rest.
_MANY_ROWS = 10**15

# The diameter is smooth in the contrast but need not fall everywhere; this many steps find every wide valley.
_STEPS = 64


@final
@dataclass(frozen=True, slots=True)
class Remedies:
    """The least N, T and contrast that each reach a wanted resolution when it alone is raised.

    None: it cannot, however far it is raised.  inf: it does, but with more than `MOST_ROWS` rows.
    """

    wanted: float
    n_calibration: int | float  # least N, or inf; there always is one
    n_deployment: int | float | None  # least T, inf, or None
    contrast: float | None  # least contrast at the same mean coefficient
    best_by_deployment: float  # diameter that remains however large T, at most the block
    best_by_contrast: float  # least diameter over the contrasts that the amplitude range allows


def remedies(information: Array, design: Design, wanted: float) -> Remedies:
    """The least N, the least T and the least contrast, each with the other two as planned.

    The diameter never rises with N or T, so their search is a bisection over whole numbers.
    """
    joint = joint_information(information, design)
    level = design.level
    rows = design.n_calibration
    replicates = design.n_deployment

    def with_contrast(contrast: float) -> float:
        changed = joint_information(information, design.with_contrast(contrast))
        return changed.diameter(level, rows, replicates)

    rest = unlimited_deployment(joint, design)
    by_rows = _least_count(lambda n: joint.diameter(level, n, replicates) <= wanted, rows)
    by_replicates: float | None = _least_count(lambda t: joint.diameter(level, rows, t) <= wanted, replicates)
    if by_replicates == inf and rest > wanted:
        by_replicates = None
    by_contrast, best = _least_contrast(with_contrast, design.contrast, design.widest_contrast, wanted)
    block = float(atom_distances(design.dictionary).max())  # a wider ellipsoid says nothing
    return Remedies(wanted, by_rows, by_replicates, by_contrast, min(rest, block), min(best, block))


def unlimited_deployment(joint: JointInformation, design: Design) -> float:
    """Diameter that remains when there is no end to the deployment rows: that of the modes which they never show."""
    size = np.abs(design.coefficients) @ np.linalg.norm(joint.moves, axis=(1, 2)) / design.sigma
    shown = joint.worth > (_HIDDEN * size) ** 2
    hidden = replace(joint, moves=np.where(shown, 0.0, joint.moves))
    return hidden.diameter(design.level, design.n_calibration, 0)


def _least_count(reaches: Callable[[int], bool], now: int) -> int | float:
    """Smallest whole number from now on that reaches, for a condition that stays true once it is, or inf."""
    if not reaches(MOST_ROWS):
        return inf
    return now + bisect_left(range(now, MOST_ROWS), True, key=reaches)


def _least_contrast(
    width: Callable[[float], float], now: float, widest: float, wanted: float
) -> tuple[float | None, float]:
    """Smallest contrast from now on that reaches, and the least diameter on the way to the widest."""
    contrasts = np.linspace(now, widest, _STEPS + 1)
    widths = np.array([width(contrast) for contrast in contrasts])
    reached = np.flatnonzero(widths <= wanted)
    if not reached.size:
        return None, float(widths.min())
    first = int(reached[0])
    if first == 0:
        return now, float(widths.min())
    # The wanted width lies between two neighbours; the end that reaches it keeps the promise against rounding.
    root = brentq(lambda c: width(c) - wanted, contrasts[first - 1], contrasts[first], xtol=1e-13)
    return float(root), float(widths.min())


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The gates, the resolution behind them, the paper's scales, and the remedies for a wanted resolution."""

    explanation: Gate
    support: Gate
    resolution: PlannedResolution
    scales: InformationScales
    remedies: Remedies | None
    moment_rows: int | None  # N from which the moment region begins to see turns of that size; None: no inside


def plan(design: Design, wanted: float | None = None, information: Array | None = None) -> Plan:
    r"""Plan one experiment with N calibration and T deployment rows of a block at separation scale s.

    The numbers are local asymptotics of the exact model: what to expect, not a guarantee. `Plan.scales` has the paper's
    :math:`I_G^{(r)}, I_S, I_D = Ns^6` (eq:theorem-three-gates).  `Plan.resolution` has the diameter for this block; its
    order is :math:`\delta_{\mathrm{opt}}(N, s)` (eq:optimal-physical-resolution).

    wanted: a physical diameter to reach.  information: that of the same block, law and noise (`block_information`),
    computed here unless given; pass it again to plan many experiments with one block.
    """
    known = block_information(design) if information is None else information
    scales = information_scales(
        n_calibration=design.n_calibration,
        n_deployment=design.n_deployment,
        scale=block_scale(design.dictionary),
        r=len(design.support),
        weakest=design.amplitudes.block.lower,
        noisiest=design.sigma,
    )
    resolved = planned_resolution(known, design)
    joint = joint_information(known, design)
    block, separated = joint.dictionary_diameters(design.level, design.n_calibration, design.n_deployment)
    return Plan(
        explanation_gate(design, separated),
        support_gate(design, block),
        resolved,
        scales,
        None if wanted is None else remedies(known, design, check_positive("wanted", wanted)),
        moment_region_rows(design, resolved.attainable) if resolved.sees_inside else None,
    )


def moment_region_rows(design: Design, size: float) -> int:
    r"""N at which the fourth-moment radius of the inverted region equals the shift of the least visible turn.

    A turn :math:`\Omega` moves active atom j by :math:`E_j\Omega` and the fourth moment by :math:`J\Omega`, to first
    order.  Of the turns that move some active atom by the given size, the least visible one shifts the moment by
    :math:`\Delta = \mathrm{size}/\max_j\sigma_{\max}(E_jJ^+)`.  The radius is :math:`c\sqrt{V_4/m}` with the block size
    m proportional to N, so :math:`N = (c^2N/m)\,V_4/\Delta^2`, up to the rest of a division.

    With a quarter of these rows the region keeps such turns as a rule: the shift is half a radius, and most data leave
    the truth the other half.  With four times as many the shift is two radii, the most by which two members differ, so
    that the region rejects them as a rule, to first order: a turn of exactly this size lies on the border, and what the
    linearisation leaves out may keep it.  The second moment, which turns hardly change, does not enter.
    """
    block = design.dictionary.block
    across = design.dictionary.q - 1
    turns = skew_basis(across) if design.turn is None else check_skew("turn", design.turn, across)[None]
    velocities = atom_velocities(block, block.shape @ turns @ block.frame.template)  # (k, q, q)
    moves = velocities[:, :, list(design.support)].transpose(2, 1, 0)  # (r, q, k)
    step = 1e-3  # central differences of a polynomial in the atoms: relative error of the order of its square

    def moment(velocity: Array, angle: float) -> Array:
        atoms = block.atoms + angle * velocity
        moved = np.column_stack([atoms / np.linalg.norm(atoms, axis=0), design.dictionary.separated])
        return fourth_moment(design.law, moved, design.noise)

    shifts = [(moment(velocity, step) - moment(velocity, -step)) / (2.0 * step) for velocity in velocities]
    # J = U diag(v) W^T: in the coordinates diag(v) W^T Omega the moment moves by exactly the length of the vector.
    _, values, modes = np.linalg.svd(np.stack(shifts, axis=1), full_matrices=False)  # (k,), (k, k)
    visible = np.linalg.svd(moves @ modes.T / values, compute_uv=False).max()
    shift = check_positive("size", size) / float(visible)
    _, block_size, multiplier = median_distance_blocks(_MANY_ROWS, design.alpha_calibration / 2.0)
    variance = total_variances(CalibrationParameter(design.law, design.dictionary, design.noise))[1]
    return ceil(multiplier**2 * _MANY_ROWS / block_size * variance / shift**2)


def plan_sentences(design: Design, planned: Plan) -> list[str]:
    """One sentence for each gate, one for the resolution, and, when one is wanted, one for each way to reach it."""
    sentences = [_gate(planned.explanation, design), _gate(planned.support, design)]
    sentences += _resolution(planned, design)
    if planned.resolution.sees_inside:
        sentences.append(_judges(design.alpha_calibration))
    sentences.append(_scales(planned.scales))
    if planned.remedies is not None:
        sentences += _remedies(planned.remedies, design, planned.resolution)
    return sentences


def _gate(gate: Gate, design: Design) -> str:
    if gate.rows_needed == inf:
        return f"{gate.question} Not resolved, whatever T: a competing explanation makes the very same mean."
    rows = f"at T = {_count(design.n_deployment)}"
    ball = f"the nearest competing mean is {gate.separation:.3g} away, the confidence ball {2 * gate.radius:.3g} wide"
    if not gate.is_open:
        needed = _count(_rounded_up(ceil(gate.rows_needed)))
        return f"{gate.question} Not resolved {rows}: {ball}. T = {needed} resolves it for a known dictionary."
    resolved = f"{gate.question} Resolved {rows} for a known dictionary: {ball}."
    shift = _up(gate.shift, 2)
    if gate.stays_open:
        return f"{resolved} Calibration leaves competing means open by at most {shift}, so it stays resolved."
    return f"{resolved} Not shown for the planned calibration, which leaves competing means open by up to {shift}."


def _resolution(planned: Plan, design: Design) -> list[str]:
    reached = planned.resolution
    stay_open = planned.explanation.stays_open and planned.support.stays_open
    condition = "" if stay_open else "Once the questions above are resolved: "
    if reached.sees_inside:
        share = f"{reached.attainable / reached.block:.2g} of the block's width of {reached.block:.3g}"
        reach = (
            f"To within {_up(reached.attainable, 3)}, which is {share}, by an efficient confidence set, one from the "
            "likelihood. The moment regions of this package are wider"
        )
        if planned.moment_rows is not None:
            reach += f": they begin to see turns of that size at about N = {_count(_rounded_up(planned.moment_rows))}"
        reach += "."
    else:
        reach = f"No finer than the whole block, {reached.block:.3g} wide: too few calibration rows to see inside it."
    least = f"gets below {rounded(reached.floor, 2, ROUND_FLOOR)} on average in the worst case there, at these N and T"
    sort = "a bound for large ones, which falls as N grows"
    floor = f"No procedure valid near the planned point at level {design.level:.3g} {least}: {sort}."
    answer = f"{condition}How precisely do those atoms map physically? {reach}"
    # From level 1/2 on the bound is 0, which says nothing.
    return [answer, floor] if reached.floor > 0.0 else [answer]


def evidence_ratio(level: float) -> float:
    r"""Ratio of the widths that evidence and an efficient set from all rows leave of a coordinate, for many rows.

    With a share s of the rows proposing, here that of the studies, evidence keeps what lies within
    :math:`\log\frac1\alpha` of the proposal in log likelihood of the others, and the proposal lies below
    their maximum by :math:`\frac1{2s}` in the mean:
    :math:`\sqrt{2(\log\frac1\alpha + \frac1{2s})/(1 - s)}` standard errors instead of :math:`z_{\alpha/2}`.
    """
    share = PROPOSAL_SHARE
    return sqrt(2.0 * (-log(level) + 0.5 / share) / (1.0 - share)) / -float(ndtri(level / 2.0))


def _judges(level: float) -> str:
    return (
        "Of the judges of a bank, simulation comes near an efficient set, if the number of rows is fixed beforehand; "
        f"evidence, with {PROPOSAL_SHARE:.0%} of the rows proposing, leaves about {evidence_ratio(level):.2g} times as "
        "much, and holds at every look. `orbit_bracket`, by evidence too, speaks of every orientation between the "
        "members of a bank as well."
    )


def _scales(scales: InformationScales) -> str:
    return (
        "Information scales of the theory, large where resolved: "
        f"local explanation I_G = {_number(scales.explanation)}, atoms I_S = {_number(scales.support)}, "
        f"physical mapping I_D = N s^6 = {_number(scales.orientation)}."
    )


def _remedies(remedies: Remedies, design: Design, present: PlannedResolution) -> list[str]:
    if remedies.wanted >= present.block:
        return [
            f"The wanted {remedies.wanted:g} is wider than the block, {present.block:.3g}: "
            "it needs no orientation at all."
        ]
    if present.attainable <= remedies.wanted:
        return [f"The wanted {remedies.wanted:g} is reached: nothing to raise."]
    goal = f"To reach {remedies.wanted:g}"
    return [
        f"{goal} with N alone: {_raised(design.n_calibration, remedies.n_calibration)}",
        f"{goal} with T alone: {_raised(design.n_deployment, remedies.n_deployment)}"
        f"{_why_not_deployment(remedies, design, present.block)}",
        f"{goal} with the contrast of the coefficients alone: {_raised_contrast(remedies, design, present.block)}",
    ]


def _raised(now: int, needed: float | None) -> str:
    if needed is None:
        return "impossible."
    if needed == inf:
        return f"possible, but only with more than {_count(MOST_ROWS)} rows."
    return f"raise it from {_count(now)} to {_count(_rounded_up(int(needed)))}."


def _raised_contrast(remedies: Remedies, design: Design, block: float) -> str:
    if remedies.contrast is not None:
        return f"raise it from {design.contrast:.3g} to {_promised(remedies.contrast, design.widest_contrast)}."
    box = design.amplitudes.block
    best = remedies.best_by_contrast
    reach = "reach nothing finer than the whole block" if best >= block else f"reach {best:.3g} at best"
    return f"impossible; coefficients from {box.lower:g} to {box.upper:g} {reach}."


def _why_not_deployment(remedies: Remedies, design: Design, block: float) -> str:
    """The reason why T alone is not enough: the turns of the block that the deployment mean cannot show."""
    if remedies.n_deployment is not None:
        return ""
    left = f"{remedies.best_by_deployment:.3g}" if remedies.best_by_deployment < block else "the whole block"
    rest = f" However large T, {left} remains,"
    if design.turn is None:
        return f"{rest} because turns of the block about the deployment mean do not show in it."
    if design.contrast == 0.0:
        return f"{rest} because with equal coefficients only calibration shows this turn of the block."
    return f"{rest} because changed coefficients can hide this turn of the block."


def _rounded_up(count: int) -> int:
    """To three digits, upwards, so that the promise holds for the number shown."""
    step: int = 10 ** max(0, len(str(count)) - 3)
    return -(-count // step) * step


def _promised(value: float, most: float) -> str:
    """Rounded up, to as few digits from four on as keep it within what is allowed."""
    shown = (_up(value, digits) for digits in range(4, 17))
    return next((text for text in shown if float(text) <= most), repr(value))


def _up(value: float, digits: int) -> str:
    return rounded(value, digits, ROUND_CEILING)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else _count(round(value))


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**9 else f"{value:.3g}".replace("e+", "e")

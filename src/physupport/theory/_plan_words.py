"""A plan in sentences."""

from math import ceil, inf

from ._design import Design
from ._gates import Gate
from ._planner import Plan
from ._remedies import Remedies
from ._resolution import Resolution
from ._scales import InformationScales


def plan_sentences(design: Design, found: Plan) -> list[str]:
    """One sentence for each gate, one for the resolution, and, when one is wanted, one for each way to reach it."""
    are_open = found.explanation.is_open and found.support.is_open
    sentences = [_gate(found.explanation, design), _gate(found.support, design)]
    sentences += _resolution(found.resolution, design, are_open)
    sentences.append(_scales(found.scales))
    if found.remedies is not None:
        sentences += _remedies(found.remedies, design, found.resolution)
    return sentences


def _gate(gate: Gate, design: Design) -> str:
    if gate.rows_needed == inf:
        return f"{gate.question} Not resolved, whatever T: a competing explanation makes the very same mean."
    ball = f"the nearest competing mean is {gate.separation:.3g} away, the confidence ball {2 * gate.radius:.3g} wide"
    if gate.is_open:
        return f"{gate.question} Resolved at T = {_count(design.n_deployment)}: {ball}."
    needed = _count(_rounded_up(ceil(gate.rows_needed)))
    return f"{gate.question} Not resolved at T = {_count(design.n_deployment)}: {ball}. T = {needed} resolves it."


def _resolution(found: Resolution, design: Design, are_open: bool) -> list[str]:
    condition = "" if are_open else "Once the questions above are resolved: "
    if found.sees_inside:
        share = found.attainable / found.block
        reach = f"To within {found.attainable:.3g}, which is {share:.2g} of the block's width of {found.block:.3g}."
    else:
        reach = f"No finer than the whole block, {found.block:.3g} wide: too few calibration rows to see inside it."
    return [
        f"{condition}How precisely do those atoms map physically? {reach}",
        f"No procedure valid at level {design.level:.3g} gets below {found.floor:.2g} on average in the worst case.",
    ]


def _scales(found: InformationScales) -> str:
    return (
        "Information scales of the theory, large where resolved: "
        f"local explanation I_G = {_number(found.explanation)}, atoms I_S = {_number(found.support)}, "
        f"physical mapping I_D = N s^6 = {_number(found.orientation)}."
    )


def _remedies(found: Remedies, design: Design, present: Resolution) -> list[str]:
    if found.wanted >= present.block:
        return [
            f"The wanted {found.wanted:g} is wider than the block, {present.block:.3g}: it needs no orientation at all."
        ]
    if present.attainable <= found.wanted:
        return [f"The wanted {found.wanted:g} is reached: nothing to raise."]
    goal = f"To reach {found.wanted:g}"
    return [
        f"{goal} with N alone: {_raised(design.n_calibration, found.n_calibration)}",
        f"{goal} with T alone: {_raised(design.n_deployment, found.n_deployment)}{_why_not_deployment(found, design)}",
        f"{goal} with the contrast of the coefficients alone: {_raised_contrast(found, design)}",
    ]


def _raised(now: int, needed: int | None) -> str:
    return "impossible." if needed is None else f"raise it from {_count(now)} to {_count(_rounded_up(needed))}."


def _raised_contrast(found: Remedies, design: Design) -> str:
    if found.contrast is not None:
        return f"raise it from {design.contrast:.3g} to {found.contrast:.4g}."
    box = design.amplitudes.block
    return f"impossible; coefficients from {box.lower:g} to {box.upper:g} reach {found.best_by_contrast:.3g} at best."


def _why_not_deployment(found: Remedies, design: Design) -> str:
    """Which turn of the block the deployment mean cannot show."""
    if found.n_deployment is not None:
        return ""
    rest = f" However large T, {found.best_by_deployment:.3g} remains,"
    if design.turn is None:
        return f"{rest} because turns of the block about the deployment mean do not show in it."
    if design.contrast == 0.0:
        return f"{rest} because with equal coefficients only calibration shows this turn of the block."
    return f"{rest} because changed coefficients can hide this turn of the block."


def _rounded_up(count: int) -> int:
    """To three digits, upwards, so that the promise holds for the number shown."""
    step: int = 10 ** max(0, len(str(count)) - 3)
    return -(-count // step) * step


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else _count(round(value))


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**9 else f"{value:.3g}".replace("e+", "e")

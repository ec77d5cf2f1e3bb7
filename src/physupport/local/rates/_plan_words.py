"""A plan in sentences."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import ceil, inf

from ._design import MOST_ROWS, Design
from ._gates import Gate
from ._planner import Plan
from ._remedies import Remedies
from ._resolution import PlannedResolution
from ._scales import InformationScales


def plan_sentences(design: Design, found: Plan) -> list[str]:
    """One sentence for each gate, one for the resolution, and, when one is wanted, one for each way to reach it."""
    sentences = [_gate(found.explanation, design), _gate(found.support, design)]
    sentences += _resolution(found, design)
    sentences.append(_scales(found.scales))
    if found.remedies is not None:
        sentences += _remedies(found.remedies, design, found.resolution)
    return sentences


def _gate(gate: Gate, design: Design) -> str:
    if gate.rows_needed == inf:
        return f"{gate.question} Not resolved, whatever T: a competing explanation makes the very same mean."
    rows, shift = f"at T = {_count(design.n_deployment)}", _up(gate.shift, 2)
    ball = f"the nearest competing mean is {gate.separation:.3g} away, the confidence ball {2 * gate.radius:.3g} wide"
    if not gate.is_open:
        needed = _count(_rounded_up(ceil(gate.rows_needed)))
        return f"{gate.question} Not resolved {rows}: {ball}. T = {needed} resolves it for a known dictionary."
    resolved = f"{gate.question} Resolved {rows} for a known dictionary: {ball}."
    if gate.stays_open:
        return f"{resolved} Calibration leaves competing means open by at most {shift}, so it stays resolved."
    return f"{resolved} Not shown for the planned calibration, which leaves competing means open by up to {shift}."


def _resolution(found: Plan, design: Design) -> list[str]:
    stay_open, reached = found.explanation.stays_open and found.support.stays_open, found.resolution
    condition = "" if stay_open else "Once the questions above are resolved: "
    if reached.sees_inside:
        share = f"{reached.attainable / reached.block:.2g} of the block's width of {reached.block:.3g}"
        reach = (
            f"To within {_up(reached.attainable, 3)}, which is {share}, by an efficient confidence set, one from the "
            "likelihood. The moment regions of this package are wider"
        )
        if found.moment_rows is not None:
            reach += f": they begin to see turns of that size at about N = {_count(_rounded_up(found.moment_rows))}"
        reach += "."
    else:
        reach = f"No finer than the whole block, {reached.block:.3g} wide: too few calibration rows to see inside it."
    least = f"gets below {_down(reached.floor, 2)} on average in the worst case"
    floor = f"No procedure valid at level {design.level:.3g} {least}."
    answer = f"{condition}How precisely do those atoms map physically? {reach}"
    # From level 1/2 on the bound is 0, which says nothing.
    return [answer, floor] if reached.floor > 0.0 else [answer]


def _scales(found: InformationScales) -> str:
    return (
        "Information scales of the theory, large where resolved: "
        f"local explanation I_G = {_number(found.explanation)}, atoms I_S = {_number(found.support)}, "
        f"physical mapping I_D = N s^6 = {_number(found.orientation)}."
    )


def _remedies(found: Remedies, design: Design, present: PlannedResolution) -> list[str]:
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


def _raised(now: int, needed: float | None) -> str:
    if needed is None:
        return "impossible."
    if needed == inf:
        return f"possible, but only with more than {_count(MOST_ROWS)} rows."
    return f"raise it from {_count(now)} to {_count(_rounded_up(int(needed)))}."


def _raised_contrast(found: Remedies, design: Design) -> str:
    if found.contrast is not None:
        return f"raise it from {design.contrast:.3g} to {_promised(found.contrast, design.widest_contrast)}."
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


def _promised(value: float, most: float) -> str:
    """Rounded up, to as few digits from four on as keep it within what is allowed."""
    shown = (_up(value, digits) for digits in range(4, 17))
    return next((text for text in shown if float(text) <= most), repr(value))


def _up(value: float, digits: int) -> str:
    return _rounded(value, digits, ROUND_CEILING)


def _down(value: float, digits: int) -> str:
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, direction: str) -> str:
    """So many significant digits, in one direction, so that a bound stays a bound."""
    exact = Decimal(value)
    cut = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=direction) if value else exact
    return f"{float(cut):.{digits}g}"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else _count(round(value))


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**9 else f"{value:.3g}".replace("e+", "e")

"""A plan in sentences."""

from collections.abc import Callable

from ._planner import Design, Gate, Plan, Remedies, Resolution


def plan_sentences(design: Design, found: Plan) -> list[str]:
    """One sentence a gate, one for the resolution, and, when a resolution is wanted, one for each way to reach it."""
    open_gates = found.explanation.is_open and found.support.is_open
    sentences = [_gate(found.explanation, design), _gate(found.support, design)]
    sentences.append(_resolution(found.resolution, design, open_gates))
    if found.remedies is not None:
        sentences.extend(_remedies(found.remedies, design, found))
    return sentences


def _gate(gate: Gate, design: Design) -> str:
    state = "resolved" if gate.is_open else "not resolved"
    compared = f"competing means are {gate.separation:.3g} apart, the confidence ball is {2 * gate.radius:.3g} wide"
    if gate.is_open:
        return f"{gate.question} {state} at T = {_count(design.n_deployment)}: {compared}."
    if gate.separation == 0.0:
        return f"{gate.question} {state} at any T: two competing explanations make the same mean."
    return f"{gate.question} {state} at T = {_count(design.n_deployment)}: {compared}; T above {_count(gate.rows_needed)} resolves it."


def _resolution(found: Resolution, design: Design, open_gates: bool) -> str:
    condition = "" if open_gates else "Once the gates above are open: "
    if found.attainable >= found.block:
        reach = f"the block only ({found.block:.3g} across); calibration does not see its orientation"
    else:
        share = found.attainable / found.block
        reach = f"to within {found.attainable:.3g}, which is {share:.2g} of the block's {found.block:.3g}"
    return (
        f"{condition}How precisely do those atoms map physically? {reach}. "
        f"No valid procedure of level {design.level:.3g} gets below {found.floor:.2g} in expectation."
    )


def _remedies(found: Remedies, design: Design, plan: Plan) -> list[str]:
    goal = f"To reach {found.wanted:g}"
    if plan.resolution.attainable <= found.wanted:
        return [f"{goal}: nothing to raise."]
    ways = [
        _way(f"{goal} with N alone", found.n_calibration, f"raise it from {_count(design.n_calibration)} to", _count),
        _way(f"{goal} with T alone", found.n_deployment, f"raise it from {_count(design.n_deployment)} to", _count),
        _way(
            f"{goal} with the contrast of the coefficients alone",
            found.contrast,
            f"raise it from {plan.contrast:.3g} to",
            _three,
        ),
    ]
    if found.n_deployment is None and plan.contrast == 0.0:
        ways.append(
            "Equal coefficients hide a turn of the block from the deployment data, however many rows there are."
        )
    return ways


def _way(goal: str, value: float | None, raised: str, shown: Callable[[float], str]) -> str:
    return f"{goal}: it cannot be reached." if value is None else f"{goal}: {raised} {shown(value)}."


def _three(value: float) -> str:
    return f"{value:.3g}"


def _count(value: float) -> str:
    return f"{value:.0f}" if value < 1e5 else f"{value:.3g}"

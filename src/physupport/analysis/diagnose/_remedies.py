r"""Compute what would change an answer: more data, a better known parameter, or more exact responses.

- **More data.** How many times the data part the pair of explanations that holds a label back (`parting_json`).  Laws
  whose rows it cannot take have the rows that `rows_needed` expects.  These are forecasts without a guarantee.
- **A parameter.** Labels hold together for every part of the bank: if the truth is retained and its parameter lies in
  an interval, it is among the retained explanations with such a parameter.  So the labels that these alone would give
  hold at the level of the report if the parameter lies there, for all intervals at once.  The widest one around the
  value of the reference with a finer label is told.
- **Responses.** The staircase says likewise at which smaller error a label is finer.

Where nothing fits: the error from which on something does, and the channels with half of the misfit of the best fit.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import numpy as np

from ..._typing import Array, IntArray
from ...aeb import REJECTED, WITNESSED
from ...io import mean_row
from ...questions import Answer, Label
from ...report import amount_remedy
from .._analyse import Result
from ._parting import NOTHING, half_run, parting_json
from ._rows_needed import RowsNeeded

_MOST_EXPLANATIONS = 1 << 18
_MOST_POSSIBLE = 1 << 14
_MOST_RADII = 12
_MAD = 1.4826  # standard deviations of a Gaussian in its median absolute deviation
_DIGITS = 12  # of distances between values of a grid, which rounding makes unequal


def remedies_json(result: Result, needed: tuple[RowsNeeded, ...]) -> list[list[dict[str, Any]]]:
    """By field, what would make its label finer, facts only; none where it is as fine as can be, or withheld."""
    document = result.report.document
    if document["outcome"]["status"] in ("EMPTY", "WITHHELD") or result.answers != result.trace.answers:
        return [[] for _ in result.answers]
    found = []
    narrowed = _narrowed(result)
    for number, answer in enumerate(result.answers):
        own: list[dict[str, Any]] = []
        if answer.label.rank < Label.FINE.rank:
            own += _more_data(result, number, answer, needed)
            own += narrowed[number]
            own += _exacter(document.get("staircase"), number, answer)
        found.append(own)
    return found


def _more_data(result: Result, number: int, answer: Answer, needed: tuple[RowsNeeded, ...]) -> Iterator[dict[str, Any]]:
    """The data in all that are expected to part what holds a label back."""
    gate = result.report.document.get("gate") or {}
    if "units" in gate:
        has_pairs = any(isinstance(count, list) for count in gate["units"].values())
        judge = result.report.document["protocol"]["judge"]
        yield _units(judge, result.seal.protocol.run_level, has_pairs=has_pairs)
        return
    fact = parting_json(result, number)
    is_open = answer.label is Label.SUPPORT_AMBIGUOUS and (fact is None or fact["times"] is None)
    amount = amount_remedy(result.report.document, answer.field) if is_open else None
    if amount is not None:
        yield {"kind": "amount", **amount}
        return
    if fact is not None:
        yield {"kind": "data", **fact}
        return
    rows = {part.name: len(part.table) for part in result.seal.parts}
    enough = [each for each in needed if each.field == answer.field and each.measured]
    if enough:
        best = min(enough, key=lambda each: (each.measured or 0) / rows[each.stream])
        told = [str(result.says(e).get(answer.field) or NOTHING) for e in (best.reference, best.rival)]
        pair = told if told[0] != told[1] else [f"explanation {best.reference}", f"explanation {best.rival}"]
        times = 1.0 + (best.measured or 0) / rows[best.stream]
        yield {"kind": "data", "pair": pair, "times": times, "data": f"{best.stream} rows", "channels": None}


def _units(judge: Mapping[str, Any], level: float, *, has_pairs: bool) -> dict[str, Any]:
    """The units of each element that let the margin test reject, with half of the level where it has no share yet.

    A signal that ranks last among K units has the p-value 1 / (K + 1), and about 2 / (K + 1) under two elements.
    """
    owned: dict[str, set[str]] = {}
    for element, unit in zip(judge["elements"], judge["units"], strict=True):
        owned.setdefault(element, set()).add(unit)
    share = judge["share"] or 0.5
    needed = ceil((2.0 if has_pairs else 1.0 / share) / level - 1.0 - 1e-9)
    now = min(map(len, owned.values()))
    return {"kind": "units", "is_shared": has_pairs or judge["share"] > 0.0, "needed": needed, "now": now}


def _narrowed(result: Result) -> list[list[dict[str, Any]]]:
    """By field, the widest interval of each parameter, around its value in the reference, with a finer label."""
    found: list[list[dict[str, Any]]] = [[] for _ in result.answers]
    marks = result.trace.brackets().column()
    left = np.flatnonzero(marks != REJECTED)
    if len(marks) > _MOST_EXPLANATIONS or not 1 < len(left) <= _MOST_POSSIBLE:
        return found
    middles = _parameters(result, np.array([result.reference]))
    grids = result.bank.states.parameter_values
    for grid in (result.bank.calibration, result.bank.deployment):
        grids = grids | dict(zip(grid.names, grid.values.T, strict=True))
    for name, values in _parameters(result, left).items():
        middle = float(middles[name][0])
        far = np.abs(values - middle)
        largest = float(far.max())
        if not largest > 0.0:
            continue
        far = np.round(far / largest, _DIGITS)
        radii = np.unique(far)
        if len(radii) < 2:  # the reference itself is not left
            continue
        tried = radii[np.unique(np.linspace(0, len(radii) - 2, _MOST_RADII).astype(int))]
        for radius in tried.tolist():
            again = _answers_of(result, left[far <= radius], marks == WITNESSED)
            beyond = float(radii[np.searchsorted(radii, radius) + 1]) * largest
            inside = np.abs(grids[name] - middle)
            within = 0.5 * (float(inside[inside < beyond * (1.0 - 1e-9)].max()) + beyond)
            for own, answer, other in zip(found, result.answers, again, strict=True):
                own[:] = [fact for fact in own if fact["parameter"] != name or other.label.rank <= answer.label.rank]
                if other.label.rank > answer.label.rank:
                    own.append({"kind": "parameter", "parameter": name, "value": middle, "within": within,
                                "label": str(other.label), "cell": list(other.cell)})  # fmt: skip
    return found


def _answers_of(result: Result, left: IntArray, witnessed: "np.ndarray[Any, Any]") -> tuple[Answer, ...]:
    """The answers if these explanations alone were possible."""
    possible = np.zeros(len(witnessed), dtype=np.bool_)
    possible[left] = True
    return result.question.answers(possible, possible & witnessed)


def _parameters(result: Result, index: IntArray) -> dict[str, Array]:
    """(k,) the values of calibration parameters and of nuisances, by name."""
    bank = result.bank
    columns = bank.split(index)
    states, where = np.unique(columns.state, return_inverse=True)
    settings = [bank.states.setting(state) for state in states.tolist()]
    found = {name: np.array([setting[name] for setting in settings])[where] for name in settings[0]}
    for grid, column in ((bank.calibration, columns.calibration), (bank.deployment, columns.deployment)):
        found |= dict(zip(grid.names, grid.values[column].T, strict=True))
    return found


def _exacter(staircase: dict[str, Any] | None, number: int, answer: Answer) -> Iterator[dict[str, Any]]:
    """The largest smaller error of the responses at which the staircase has a finer label.

    Below twice the smallest error that fits a false element may absorb a misfit, so that nothing is told of it.
    """
    if staircase is None:
        return
    fits = [step["least"] for step in staircase["steps"] if step["fields"][number]["label"] != Label.EMPTY]
    for step in reversed(staircase["steps"]):
        entry = step["fields"][number]
        if 2.0 * fits[0] <= step["most"] < staircase["error"] and Label(entry["label"]).rank > answer.label.rank:
            yield {"kind": "responses", "error": float(step["most"]), "scale": staircase["scale"],
                   "label": entry["label"], "cell": list(entry["cell"])}  # fmt: skip
            return


def empty_json(result: Result) -> list[dict[str, Any]]:
    """Where nothing fits: the smallest error of the responses at which something does, and the channels that misfit."""
    document = result.report.document
    if document["outcome"]["status"] not in ("EMPTY", "WITHHELD"):
        return []
    found = []
    stairs = document.get("staircase") or {"steps": []}
    fits = [step for step in stairs["steps"] if step["fields"][0]["label"] != Label.EMPTY]
    guess = (document.get("diagnosis") or {}).get("error")
    if fits:
        found.append({"kind": "error", "error": float(fits[0]["least"]), "scale": stairs["scale"], "is_proven": True})
    elif guess:
        scale = document["diagnosis"]["scale"]
        found.append({"kind": "error", "error": float(guess), "scale": scale, "is_proven": False})
    misfit = _misfit_channels(result)
    return [*found, misfit] if misfit else found


def _misfit_channels(result: Result) -> dict[str, Any] | None:
    """The shortest run of channels with half of what rows around one real mean have beyond the best fit."""
    part = next((part for part in result.seal.parts if part.name == "deployment"), None)
    fit = None if part is None else part.law.fitted(part.bank, result.best, part.judged)
    if part is None or fit is None or part.law.is_complex:
        return None
    names = result.tables["deployment"].channels
    rest = mean_row(part.judged)[: len(fit)] - fit
    scale = (
        np.sqrt(np.maximum(fit, 1.0) / part.judged.n_rows) if part.law.is_counted else _MAD * np.median(np.abs(rest))
    )
    if len(names) != len(fit) or not np.isfinite(rest).all() or not np.all(scale > 0.0):
        return None
    standard = rest / scale
    run = half_run(np.maximum(standard**2 - 1.0, 0.0))
    if run is None:
        return None
    start, n = run
    inside = standard[start : start + n]
    lean = float(inside.sum() / np.abs(inside).sum())
    return {"kind": "channels", "first": names[start], "last": names[start + n - 1], "n": n, "of": len(names),
            "deviations": float(np.sqrt((inside**2).mean())), "lean": lean}  # fmt: skip

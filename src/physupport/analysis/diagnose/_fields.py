"""Every field of a question with its elements, the explanations behind them, and what would refine it."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_array, check_open
from ..._errors import Clause, MisuseError
from ..._typing import Array, IntArray
from ...aeb import INDETERMINATE, REJECTED, WITNESSED, Trace
from ...banks import JOINT
from ...io import as_complex
from ...judges import Verdict
from ...questions import Answer, FieldElements, abridged
from ...report import coordinate_names
from .._analyse import Result
from ._remedies import remedies_json
from ._rows_needed import contradicts, rivals, rows_needed

MOST_LISTED = 12  # explanations of an element
MOST_ENTRIES = 6000  # explanations of all elements together; elements of large libraries list fewer each
MOST_COHERENT = 60
_BLOCK = 1 << 16


def fields_json(
    result: Result, levels: Mapping[float, tuple[Answer, ...]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """An entry for each answer of the run.

    levels: the answers of `other_levels`.  names: of the coordinates; x, y, z unless given.
    """
    shown = [result.question.elements(number) for number in range(len(result.answers))]
    needed = rows_needed(result)
    counts = _counts(result)
    # Admissible, undecided, not asked, rejected: the asked ones by their margin, the others by plausibility.
    order = np.concatenate(
        [
            result.admissible,
            result.of_code(Verdict.INDETERMINATE),
            result.unasked,
            result.of_code(Verdict.REJECTED),
        ]
    )
    said = result.question.says(order)
    fields = [said[answer.field] for answer, field in zip(result.answers, shown, strict=True) if field.names]
    n_elements = sum(min(len(field.names), MOST_ENTRIES) + 1 for field in fields)
    most = max(1, min(MOST_LISTED, MOST_ENTRIES // max(n_elements, 1)))
    remedies = remedies_json(result, needed)
    entries = []
    for number, (answer, field) in enumerate(zip(result.answers, shown, strict=True)):
        entry = _facts(result, number, field, names)
        if field.names:
            first = _first_numbers(said[answer.field].numbers, order, field, most)
            listed = _listed(result, answer.field, first)
            entry |= _elements(result, field, _element_counts(counts[answer.field], field), listed)
        entry["refine"] = [rows.json() for rows in needed if rows.field == answer.field]
        entry["refine"] += _undecided(result, number, answer.field)
        entry["remedies"] = remedies[number]
        entry["levels"] = [_level_json(level, again[number]) for level, again in levels.items()]
        entries.append(entry)
    return entries


def _facts(result: Result, number: int, field: FieldElements, names: Sequence[str]) -> dict[str, Any]:
    """The facts of a field that the question, the run and a point-valued method state, before any element."""
    answer = result.answers[number]
    library = result.bank.states.library
    width = 0 if field.coordinates is None else field.coordinates.shape[1]
    return {
        "field": answer.field,
        **_said(answer),
        "is_optional": field.is_optional,
        "coordinate_names": coordinate_names(width, "" if library is None else library.unit or "", names),
        "tolerance": field.tolerance,
        "absence_threshold": field.threshold,
        "groups": [[name, list(members)] for name, members in field.groups],
        "is_settled": answer.field not in result.open_fields and bool(result.admissible.size),
        "is_finest": field.is_finest,
        "elements": [],
        "absent": None,
        "coherence": None,
        "plug_in": None if result.plug_in is None else _said(result.plug_in[number], field),
        "best_fit": None if result.best_fit is None else _said(result.best_fit[number], field),
    }


def _said(answer: Answer, shown: FieldElements | None = None) -> dict[str, Any]:
    """Label and cell; with `shown`, the elements of the sets in it."""
    cell = list(answer.cell)
    if shown is not None and shown.sets is not None:
        cell = list(dict.fromkeys(name for joint in cell for name in joint.split(JOINT)))
    return {"label": str(answer.label), "cell": cell}


def _level_json(level: float, answer: Answer) -> dict[str, Any]:
    is_open = dict(answer.numbers).get("possible_absent", 0.0) > 0.0
    return {"level": level, **_said(answer), "or_nothing": is_open}


def _counts(result: Result) -> dict[str, IntArray]:
    """Count the explanations with each element, by field: (4, m + 1), possible, witnessed, undecided and all.

    The last column is for explanations that have none of the elements.
    """
    marks = result.trace.brackets().column()
    tables = dict[str, IntArray]()
    for start in range(0, len(marks), _BLOCK):
        block = marks[start : start + _BLOCK]
        for name, said in result.question.says(np.arange(start, start + len(block))).items():
            shape = len(said.names) + 1, INDETERMINATE + 1
            numbers = said.numbers % shape[0]  # nothing is -1, the last entry
            counts = np.bincount(numbers * shape[1] + block, minlength=shape[0] * shape[1]).reshape(shape)
            tables[name] = counts + tables.get(name, 0)
    counted = {}
    for name, table in tables.items():
        total = table.sum(axis=1)
        counted[name] = np.array([total - table[:, REJECTED], table[:, WITNESSED], table[:, INDETERMINATE], total])
    return counted


def _element_counts(counts: IntArray, shown: FieldElements) -> IntArray:
    """The counts of elements, where sets of these were counted: of every set that has the element."""
    if shown.sets is None:
        return counts
    of_sets = np.repeat(counts[:, :-1], shown.sets.shape[1], axis=1)
    size = len(shown.names) + 1
    totals = [np.bincount(shown.sets.ravel() + 1, row, size)[1:] for row in of_sets]
    return np.column_stack([totals, counts[:, -1]]).astype(np.int64)


def _elements(
    result: Result, shown: FieldElements, counts: IntArray, listed: dict[int, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Every element of a field and the absence of all, each with its counts and its first explanations."""
    parts = []
    for number, (possible, witnessed, undecided, total) in enumerate(counts.T.tolist()):
        kept = witnessed + undecided
        parts.append(
            {
                "state": "kept" if kept else "not asked" if possible else "excluded",
                "n_kept": kept,
                "n_not_asked": possible - kept,
                "n_explanations": total,
                "explanations": listed.get(number if number < len(shown.names) else -1, []),
            }
        )
    places = [[]] * len(shown.names) if shown.coordinates is None else shown.coordinates.tolist()
    named = zip(shown.names, places, parts[:-1], strict=True)
    return {
        "elements": [{"id": name, "coordinates": place, **part} for name, place, part in named],
        "absent": parts[-1] if shown.is_optional else None,
        "coherence": _field_coherence(result, shown.names, counts[0]),
    }


def _first_numbers(numbers: IntArray, order: IntArray, shown: FieldElements, most: int) -> dict[int, IntArray]:
    """The first explanations of each element of a field, also where they have it in a set; -1 for none of them."""
    if shown.sets is not None:
        has = np.vstack([shown.sets, np.full(shown.sets.shape[1], -1)])[numbers]  # (k, r); nothing is -1
        is_there = has >= 0
        is_there[:, 0] |= numbers < 0
        numbers = has[is_there]
        order = np.repeat(order, is_there.sum(axis=1))
    by_element = np.argsort(numbers, kind="stable")
    present, starts = np.unique(numbers[by_element], return_index=True)
    parts = np.split(order[by_element], starts[1:])
    return {number: part[:most] for number, part in zip(present.tolist(), parts, strict=True)}


def _listed(result: Result, field: str, first: dict[int, IntArray]) -> dict[int, list[dict[str, Any]]]:
    """The explanations of each element as the details list them."""
    index = np.concatenate([*first.values()])
    texts = {name: said.texts(None) for name, said in result.question.says(index).items()}
    entries = iter(
        {
            "explanation": e,
            "verdict": result.verdict(e),
            "margin": result.margin(e),
            "says": abridged({name: column[i] for name, column in texts.items()}, field),
            "setting": setting,
        }
        for i, (e, setting) in enumerate(zip(index.tolist(), _settings(result, index), strict=True))
    )
    return {number: [*islice(entries, len(part))] for number, part in first.items()}


def _settings(result: Result, index: IntArray) -> list[dict[str, float]]:
    """Calibration parameters of the states of explanations, and nuisances where there is a choice."""
    bank = result.bank
    columns = bank.split(index)
    settings = [dict(bank.states.setting(state)) for state in columns.state.tolist()]
    for name, grid, column in (
        ("calibration", bank.calibration, columns.calibration),
        ("deployment", bank.deployment, columns.deployment),
    ):
        if len(grid) > 1:
            for setting, number in zip(settings, column.tolist(), strict=True):
                setting |= {f"{name} {key}": value for key, value in grid.setting(number).items()}
    return settings


def _undecided(result: Result, number: int, field: str) -> list[dict[str, Any]]:
    """The explanations that further queries about a field would decide; none if no query can make it finer."""
    # Queries do not help where a field is settled, or contradicted by an admissible explanation.
    if field not in result.open_fields or rivals(result, number).size:
        return []
    trace = result.trace
    undecided = np.concatenate([result.unasked, trace.queries[trace.codes == Verdict.INDETERMINATE]])
    count = int(contradicts(result, number, undecided).sum())
    fact = {
        "undecided": count,  # explanations that contradict the reference
        "reference": result.reference,
        "is_exact": len(result.unasked) >= trace.size - len(trace),  # of very many not all are looked at
        "can_ask": bool(contradicts(result, number, result.unasked).any()),
    }
    return [fact] if count else []


def other_levels(trace: Trace, level: float, levels: Sequence[float]) -> dict[float, tuple[Answer, ...]]:
    r"""The answers of a run at `level`, read again at other levels.

    The margin is :math:`m = \max_k\log E_k + \log\alpha`, so at another level it moves by
    :math:`\log(\alpha'/\alpha)`, and its proven bounds with it.  An explanation that was asked about is rejected if its
    whole interval lies above 0, admissible if none of it does, and undecided otherwise; one that was not tested
    stays possible.  The level of the run gives the answers of the run.
    """
    check_open("level", level, 0.0, 1.0)
    answers = {}
    for other in levels:
        codes = moved_codes(trace, level, other)
        answers[float(other)] = trace.answers
        if codes is not trace.codes:
            progress = trace.question.begin()
            progress.inform(trace.queries, codes)
            answers[float(other)] = progress.answers()
    return answers


def moved_codes(trace: Trace, level: float, other: float) -> NDArray[np.uint8]:
    """(k,) verdict codes of the queries at another level."""
    check_open("levels", other, 0.0, 1.0)
    if other == level:
        return trace.codes
    margins = trace.verdicts.margins()  # (k, 2)
    # Widened by more than the rounding of two logarithms and two sums.
    size = abs(np.log(other)) + abs(np.log(level)) + np.where(np.isfinite(margins), np.abs(margins), 0.0)
    slack = 4.0 * np.finfo(np.float64).eps * size
    lower, upper = (margins + (np.log(other) - np.log(level)) + slack * np.array([-1.0, 1.0])).T
    codes = np.full(len(trace), Verdict.INDETERMINATE, dtype=np.uint8)
    codes[lower > 0.0] = Verdict.REJECTED
    codes[upper <= 0.0] = Verdict.ADMISSIBLE
    return codes


def _field_coherence(result: Result, names: tuple[str, ...], possible: IntArray) -> dict[str, Any] | None:
    """Between the elements of a field in the first setting, the possible ones first if there are too many."""
    library = result.bank.states.library
    if library is None:
        return None
    order = np.argsort(possible[: len(names)] == 0, kind="stable")[:MOST_COHERENT]
    chosen = [names[i] for i in sorted(order.tolist())]
    number = {name: i for i, name in enumerate(library.ids)}
    return coherence_json(result, [number[name] for name in chosen]) if {*chosen} <= {*number} else None


def coherence_json(result: Result, elements: list[int]) -> dict[str, Any]:
    """Between elements of the library in the first setting."""
    states = result.bank.states
    matrix = coherence(states.elements[:, elements], is_complex=result.seal.protocol.is_complex)
    return {"ids": list(states.names(elements)), "matrix": [[round(x, 6) for x in row] for row in matrix.tolist()]}


def coherence(responses: ArrayLike, *, is_complex: bool = False) -> Array:
    r""":math:`|\langle a_i, a_j\rangle| / (\|a_i\|\|a_j\|)` of every two columns, (E, E), exactly 1 on the diagonal.

    responses: (q, E) of any norm above 0.  If complex, columns hold pairs (Re, Im) and the inner product is the complex
    one, so that a common phase makes no difference; columns that are complex numbers are taken as they are.

    >>> coherence([[1.0, 0.0], [0.0, 1.0]], is_complex=True).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    columns: NDArray[np.float64] | NDArray[np.complex128]
    if np.iscomplexobj(responses):
        columns = np.asarray(responses, dtype=np.complex128)
    else:
        real = check_array("responses", responses, (None, None))
        if is_complex and len(real) % 2:
            raise MisuseError(
                "responses", "have an even number of entries, pairs (Re, Im)", Clause(f"there are {len(real)} entries")
            )
        columns = as_complex(real) if is_complex else real
    norms = np.linalg.norm(columns, axis=0)
    if columns.ndim != 2 or not np.isfinite(norms).all() or (norms == 0.0).any():
        raise MisuseError("responses", "be finite columns of norm above 0", f"shape {columns.shape}")
    unit = columns / norms
    # Rounding may carry a product of unit columns past 1.
    cosines = np.minimum(np.abs(unit.conj().T @ unit), 1.0)
    np.fill_diagonal(cosines, 1.0)
    return np.asarray((cosines + cosines.T) / 2.0)

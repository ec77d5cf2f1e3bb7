"""The data of pictures: the measured row with its fits, spectra over directions, the library, evidence and brackets."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..._typing import Array, Field
from ...io import as_complex, mean_row
from ...judges import Verdict
from ...laws import Design
from ...questions import abridged
from .._analyse import Result
from ._fields import MOST_COHERENT, coherence_json

MOST_SHOWN = 120  # elements of the library
MOST_LINES = 12  # of a region; of more an envelope is told as well
MOST_CHANNELS = 1024
MOST_POINTS = 1000
MOST_FITS = 5
_MOST_LOOKED_AT = 200  # kept explanations
_LARGEST = 1e300
_MOST_SETS = 200
_LEAST_DIRECTIONS = 5
# Below the largest value nothing is told: 60 dB.
_FLOOR = 1e-6


def library_json(result: Result, possible: Collection[str]) -> dict[str, Any] | None:
    """Responses in the first setting, complex ones by their real part.

    If there are too many: first those of possible elements, then others, evenly chosen.  Of a region with many
    elements also the smallest and the largest response of all of them, channel by channel.
    """
    states = result.bank.states
    library = states.library
    if library is None:
        return None
    chosen = [i for i, name in enumerate(library.ids) if name in possible][: MOST_SHOWN // 2]
    chosen = sorted({*chosen, *_even(len(library.ids), MOST_SHOWN - len(chosen))})
    if len(library.ids) <= MOST_SHOWN:
        chosen = [*range(len(library.ids))]
    responses = states.elements[:, : len(library.ids)]
    is_complex = result.seal.protocol.is_complex
    if is_complex:
        responses = as_complex(responses).real
    # The names of the last stream that has as many channels; those of a deployment say what is measured now.
    named = [table.channels for table in result.tables.values() if len(table.channels) == len(responses)]
    names = named[-1] if named else tuple(map(str, range(len(responses))))
    kept = _even(len(responses), MOST_CHANNELS)
    members = {region: library.members(region) for region in library.region_names}
    return {
        "envelopes": {
            region: [_short(ends(responses[kept][:, index], axis=1)) for ends in (np.min, np.max)]
            for region, index in members.items()
            if len(index) > MOST_LINES
        },
        "ids": [library.ids[i] for i in chosen],
        "regions": [library.regions[i] for i in chosen],
        "channels": [names[i] for i in kept],
        "responses": [_short(column) for column in responses[kept][:, chosen].T],
        "is_complex": is_complex,
        "setting": dict(states.setting(0)),
        "shown": len(chosen),
        "of": len(library.ids),
    }


def library_coherence_json(result: Result) -> dict[str, Any] | None:
    """Between the elements of the library, evenly chosen if there are too many."""
    library = result.bank.states.library
    if library is None:
        return None
    chosen = _even(len(library.ids), MOST_COHERENT)
    return coherence_json(result, chosen) | {"regions": [library.regions[i] for i in chosen]}


def evidence_json(result: Result) -> dict[str, Any]:
    """Log evidence against explanations that were asked about, at every step of the path.

    Each curve has its first role, and the fields in which its explanation has one.
    """
    threshold = float(-np.log(result.seal.protocol.run_level))
    if not result.has_evidence:
        return {"streams": [], "steps": [], "threshold": threshold, "curves": []}
    roles: dict[int, tuple[str, list[str]]] = {}
    if result.places[result.best] >= 0:
        roles[result.best] = "proposal", []
    for field in result.report.fields:
        parts = [(e, "witness") for e in field.witnesses]
        parts += [] if field.excluded is None else [(field.excluded, "nearest excluded")]
        for e, role in parts:
            fields = roles.setdefault(e, (role, []))[1]
            if field.field not in fields:
                fields.append(field.field)
    evidence = result.seal.evidence
    curves: list[dict[str, Any]] = []
    if roles:
        path = evidence.along_path(np.array([*roles]))
        for row, (e, (role, fields)) in enumerate(roles.items()):
            curve = {"explanation": e, "role": role, "fields": fields}
            curve |= {"verdict": result.verdict(e), "says": abridged(result.says(e))}
            curve["lower"] = [finite(x) for x in path.lower[row].tolist()]
            curve["upper"] = [finite(x) for x in path.upper[row].tolist()]
            curves.append(curve)
    return {
        "streams": [factor.name for factor in evidence.factors],
        "steps": evidence.prefixes.tolist(),
        "threshold": threshold,
        "curves": curves,
    }


def brackets_json(result: Result) -> dict[str, list[int]]:
    """Count the witnessed and possible explanations and the open fields after each number of queries."""
    trace = result.trace
    points = _even(len(trace) + 1, MOST_POINTS)
    progress = trace.question.begin()
    n_open = list[int]()
    done = 0
    for k in points:
        progress.inform(trace.queries[done:k], trace.codes[done:k])
        n_open.append(len(progress.open_fields()))
        done = k
    n_witnessed, n_rejected = (
        np.append(0, np.cumsum(trace.codes == code))[points] for code in (Verdict.ADMISSIBLE, Verdict.REJECTED)
    )
    possible = (trace.size - n_rejected).tolist()
    return {"queries": points, "witnessed": n_witnessed.tolist(), "possible": possible, "open": n_open}


def _even(count: int, most: int) -> list[int]:
    """At most so many of the numbers 0 .. count - 1, evenly, the first and the last among them."""
    return (
        list(range(count)) if count <= most else np.unique(np.linspace(0, count - 1, most).round()).astype(int).tolist()
    )


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return float(value) if np.isfinite(value) else None


def _short(values: Array) -> list[float]:
    """Six digits of each number, enough for a picture."""
    return [float(f"{x:.6g}") for x in values.tolist()]


def rows_json(result: Result) -> dict[str, Any] | None:
    """Mean of the judged deployment rows and the fits of the kept explanations, the least evidence against it first.

    Without a kept one, the fit of the best.  None where rows have no common mean, or numbers whose differences no axis
    can hold.  Complex numbers by their modulus.
    """
    part = next((part for part in result.seal.parts if part.name == "deployment"), None)
    if part is None:
        return None
    # Kept explanations that say different things, the least evidence against it first.
    first: dict[tuple[str | None, ...], int] = {}
    for e in result.admissible[:_MOST_LOOKED_AT].tolist():
        first.setdefault(tuple(result.says(e).values()), e)
        if len(first) == MOST_FITS:
            break
    kept = [*first.values()] or [result.best]
    fits = [part.law.fitted(result.bank, e, part.judged) for e in kept]
    if fits[0] is None:
        return None
    table = result.tables[part.name]
    is_complex = part.law.is_complex
    channels = table.channels[: len(fits[0]) // (2 if is_complex else 1)]
    if not channels:
        return None
    chosen = np.unique(np.linspace(0, len(channels) - 1, min(len(channels), MOST_CHANNELS)).astype(int))
    measured, *curves = (
        None if row is None else _short((np.abs(as_complex(row)) if is_complex else row)[chosen])
        for row in (mean_row(part.judged)[: len(fits[0])], *fits)
    )
    shown = [(e, curve) for e, curve in zip(kept, curves, strict=True) if curve is not None]
    if not max(abs(x) for row in (measured, *(curve for _, curve in shown)) for x in row or ()) < _LARGEST:
        return None
    return {
        "stream": part.name,
        "unit": table.source.unit,
        "rows": part.judged.n_rows,
        "channels": [channels[i] for i in chosen],
        "measured": measured,
        "fits": [{"explanation": e, "says": abridged(result.says(e)), "values": curve} for e, curve in shown],
        "is_kept": bool(result.admissible.size),
        "is_complex": is_complex,
    }


def spectrum_json(result: Result) -> dict[str, Any] | None:
    """Beamformer and MUSIC over the one coordinate of the elements, in dB of their largest value, and the kept sets.

    Both are means over frequencies, of the rows that judge; MUSIC takes as many sources as explanations have at most.
    None of other rows than those with coefficients of their own, and of elements without one coordinate.
    """
    part = next((part for part in result.seal.parts if part.name == "deployment"), None)
    library = result.bank.states.library
    design = None if part is None else part.law.design(result.bank)
    if part is None or library is None or design is None or design.rows != "free":
        return None
    if not result.seal.protocol.judge.fits_elements:
        return None
    if library.coordinates.shape[1] != 1 or len(library.ids) < _LEAST_DIRECTIONS:
        return None
    rows = design.whitened_rows(part.judged, part.law.is_complex)
    most = int((design.supports[:, : result.bank.deployment_parts(np.array([0])).elements.shape[1]] >= 0).sum(1).max())
    beam, music = _spectra(design, rows, len(library.ids), most)
    order = np.argsort(library.coordinates[:, 0], kind="stable")
    sets = _sets(result)
    return {
        "unit": library.unit,
        "places": library.coordinates[order, 0].tolist(),
        "beam": _decibels(beam[order]),
        "music": None if music is None else _decibels(music[order]),
        "n_sources": most,
        "sets": sets[:_MOST_SETS],
        "n_sets": len(sets),
    }


def _spectra(design: Design, rows: Field, count: int, most: int) -> tuple[Array, Array | None]:
    """(E,) powers of a beamformer, and of MUSIC where sources leave channels to the noise."""
    beams, peaks = [], []
    for block, part in zip(design.of_bands(), np.split(rows, design.bands, axis=1), strict=True):
        columns = block.columns[:, :count]
        columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        values, vectors = np.linalg.eigh(part.T @ part.conj() / len(part))
        power = np.maximum(values, 0.0) @ np.abs(vectors.conj().T @ columns) ** 2
        beams.append(power / max(float(power.max()), 1e-300))
        if most < len(values):
            beside = (np.abs(vectors[:, : len(values) - most].conj().T @ columns) ** 2).sum(axis=0)
            peaks.append(1.0 / np.maximum(beside, _FLOOR))
    return np.mean(beams, axis=0), np.mean(peaks, axis=0) if peaks else None


def _decibels(values: Array) -> list[float]:
    levels = 10.0 * np.log10(np.maximum(values / max(float(values.max()), 1e-300), _FLOOR))
    return [float(f"{level:.4g}") for level in levels.tolist()]


def _sets(result: Result) -> list[list[float]]:
    """The coordinates of the elements of every kept explanation, each set once, the least evidence against it first."""
    states, library = result.bank.states, result.bank.states.library
    assert library is not None
    found: dict[tuple[float, ...], None] = {}
    kept = result.admissible
    for start in range(0, len(kept), 4096):
        parts = result.bank.deployment_parts(result.bank.deployment_keys(kept[start : start + 4096]))
        for row in parts.elements:
            own = states.library_index[row[row >= 0]]
            found.setdefault(tuple(sorted(library.coordinates[own, 0].tolist())))
    return [list(each) for each in found]

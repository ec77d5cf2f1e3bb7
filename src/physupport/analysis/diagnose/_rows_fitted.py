"""The measured row beside what the kept explanations make of it: the picture that everybody looks for first."""

from typing import Any

import numpy as np

from ..._typing import Array
from ...io import mean_row
from ...io._rows import as_complex
from .._result import Result

MOST_FITS, _MOST_LOOKED_AT = 5, 200
# Channels of which numbers are kept; more are closer than the eye can tell.
MOST_CHANNELS = 1024


def rows_json(result: Result) -> dict[str, Any] | None:
    """Mean of the judged deployment rows and the fits of the kept explanations, the least evidence against it first.

    Without a kept one, the fit of the best.  None where rows have no common mean.  Complex numbers by their modulus.
    """
    part = next((part for part in result.seal.parts if part.name == "deployment"), None)
    if part is None:
        return None
    kept = _distinct(result) or [result.best]
    fits = [part.law.fitted(result.bank, e, part.judged) for e in kept]
    mean = mean_row(part.judged)
    table, is_complex = result.tables[part.name], part.law.is_complex
    channels = table.channels[: len(fits[0]) // (2 if is_complex else 1)] if fits[0] is not None else ()
    if not channels:
        return None
    chosen = np.unique(np.linspace(0, len(channels) - 1, min(len(channels), MOST_CHANNELS)).astype(int))
    curves = [
        {"explanation": e, "says": result.says(e), "values": _shown(fit, is_complex, chosen)}
        for e, fit in zip(kept, fits, strict=True)
        if fit is not None
    ]
    return {
        "stream": part.name,
        "unit": table.source.unit,
        "rows": part.judged.n_rows,
        "channels": [channels[i] for i in chosen],
        "measured": _shown(mean[: len(fits[0] if fits[0] is not None else ())], is_complex, chosen),
        "fits": curves,
        "is_kept": bool(result.admissible.size),
        "is_complex": is_complex,
    }


def _distinct(result: Result) -> list[int]:
    """Kept explanations that say different things, the least evidence against it first."""
    first: dict[tuple[str | None, ...], int] = {}
    for e in result.admissible[:_MOST_LOOKED_AT].tolist():
        first.setdefault(tuple(result.says(e).values()), e)
        if len(first) == MOST_FITS:
            break
    return [*first.values()]


def _shown(values: Array, is_complex: bool, chosen: Any) -> list[float]:  # noqa: ANN401
    numbers = np.abs(as_complex(values)) if is_complex else values
    return [float(f"{x:.6g}") for x in numbers[chosen].tolist()]

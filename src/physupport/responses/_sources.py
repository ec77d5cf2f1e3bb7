"""How far responses lie from those of sources that were measured at known places."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._errors import MisuseError
from .._typing import Array, Field


class SourceErrors(NamedTuple):
    """Sines of S sources, each in the state that fits the others best; and the state that fits all of them best."""

    sines: Array  # (S,)
    state: int


def source_errors(
    states: ArrayLike, measured: Sequence[ArrayLike], background: ArrayLike | None = None
) -> SourceErrors:
    r"""Sines of the angles between S responses and what was measured of them, leave one out.

    A source has rows (n, q), in each of which its response may have another coefficient: their leading singular vector
    h is what was measured.  With Q the projection beside the background, the least :math:`|d|/|a|` with which a + d
    explains it is :math:`\sin\angle(Qh, Qa)\,|Qa|/|a|`, which noise enlarges on average.  Of several states of the
    instrument, the one with the least largest sine over the other sources counts for a source.  If sources are
    exchangeable with a further one, that lies beyond the largest of them with probability at most 1 / (S + 1), where
    there is one state.

    states: (V, q, S) the responses of these sources.  measured: rows of each, real or complex as these.
    """
    columns = np.asarray(states)
    if columns.ndim != 3 or columns.shape[2] != len(measured) or len(measured) < 2:
        rule = "have shape (states, channels, sources), of two sources or more"
        raise MisuseError("states", rule, f"shape {columns.shape} and {len(measured)} measured")
    q = columns.shape[1]
    basis = _basis(np.zeros((q, 0)) if background is None else np.asarray(background), q)
    directions = np.array([_direction(np.atleast_2d(np.asarray(rows)), basis, i) for i, rows in enumerate(measured)]).T
    beside = columns - basis @ (basis.conj().T @ columns)
    left = beside - directions * (directions.conj() * beside).sum(axis=1, keepdims=True)
    sines = np.linalg.norm(left, axis=1) / np.linalg.norm(columns, axis=1)  # (V, S)
    chosen = [int(np.delete(sines, i, axis=1).max(axis=1).argmin()) for i in range(len(measured))]
    return SourceErrors(read_only(sines[chosen, np.arange(len(measured))]), int(sines.max(axis=1).argmin()))


def _basis(background: Field, q: int) -> Field:
    if background.ndim != 2 or len(background) != q:
        raise MisuseError("background", f"have {q} rows, one for each channel", f"shape {background.shape}")
    left, values, _ = np.linalg.svd(background, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * values.max(initial=0.0)])


def _direction(rows: Field, basis: Field, source: int) -> Field:
    """(q,) of norm 1: the response in rows (n, q), beside the background."""
    if rows.ndim != 2 or rows.shape[1] != len(basis) or not np.isfinite(rows).all():
        raise MisuseError(f"rows of source {source}", f"be finite, with {len(basis)} channels", f"shape {rows.shape}")
    left = rows - (rows @ basis.conj()) @ basis.T
    if not np.linalg.norm(left) > 1e-12 * np.linalg.norm(rows):
        raise MisuseError(f"rows of source {source}", "have something beside the background", "nothing")
    return np.asarray(np.linalg.svd(left, full_matrices=False)[2][0])

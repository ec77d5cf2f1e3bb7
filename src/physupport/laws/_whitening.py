"""Noise of a known covariance: rows and columns are multiplied so that it becomes white."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import SYMMETRY_TOLERANCE, check_array, check_columns
from .._codec import real
from .._errors import MisuseError
from .._typing import Array, Field
from ..io import RowSource, as_pairs
from ..io._rows import as_complex

# Of the largest eigenvalue of a covariance; smaller ones are 0.
_NO_NOISE = 1e-10


@final
@dataclass(frozen=True, slots=True, eq=False)
class WhitenedRows:
    """Rows (n, q) times a whitener (p, q); those of a complex one are pairs (Re, Im)."""

    rows: RowSource
    whitener: Field
    is_complex: bool

    @property
    def n_rows(self) -> int:
        """As many as there are."""
        return self.rows.n_rows

    @property
    def width(self) -> int:
        """Entries of a row."""
        return len(self.whitener) * (2 if self.is_complex else 1)

    def blocks(self) -> Iterator[Array]:
        """As `RowSource` has them."""
        for block in self.rows.blocks():
            if self.is_complex:
                yield as_pairs((self.whitener @ as_complex(block.T)).T)
            else:
                yield np.asarray(block @ self.whitener.T, dtype=np.float64)


def native_covariance(covariance: ArrayLike, is_complex: bool) -> Field:
    """(q,) variances of channels, or (q, q), which is given as pairs of rows if complex."""
    stored = np.asarray(covariance, dtype=np.float64)
    return as_complex(stored) if is_complex and stored.ndim == 2 else stored


def whitener_of(covariance: Field) -> Field:
    """(p, q) of variances (q,), which keep channels in their places, or of a matrix (q, q)."""
    if covariance.ndim != 1:
        return whitening(covariance)
    variances = check_array("covariance", covariance, (None,))
    if not variances.min() > 0.0:
        raise MisuseError("covariance", "have variances above 0", variances.min())
    return np.diag(1.0 / np.sqrt(variances))


def check_covariance(covariance: Field, q: int) -> None:
    """Refuse one of another number of channels."""
    if covariance.shape not in ((q,), (q, q)):
        raise MisuseError("covariance", f"have shape {(q, q)}, or {(q,)}", covariance.shape)


def check_rank(whitener: Field, n_columns: int) -> None:
    """Refuse a covariance of low rank, which leaves nothing of the columns of an explanation with its background."""
    q = whitener.shape[1]
    if len(whitener) <= min(n_columns, q - 1):
        rule = f"have a rank above {n_columns}, the columns of an explanation and its background"
        remedy = "Directions without noise are left out: estimate it from more rows, or give variances of channels."
        raise MisuseError("covariance", rule, f"rank {len(whitener)} of {q} channels", remedy)


def whitening(covariance: ArrayLike) -> Field:
    """(p, q) such that rows of this noise covariance (q, q), multiplied by it, have white noise of variance 1.

    Directions without noise up to rounding (an average reference has one) are dropped, p < q: nothing about
    them is tested.  A covariance with a negative eigenvalue beyond it is refused.
    """
    matrix = np.asarray(covariance)
    check_columns("covariance", matrix, len(matrix))
    asymmetry = np.abs(matrix - matrix.conj().T).max() if matrix.shape[0] == matrix.shape[1] else np.inf
    if asymmetry > SYMMETRY_TOLERANCE * np.abs(matrix).max():
        raise MisuseError("covariance", "be square and equal to its conjugate transpose", f"shape {matrix.shape}")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_NO_NOISE * values[-1]:
        raise MisuseError("covariance", "have no negative eigenvalue", f"{values[0]:.3g}", "Estimate it again.")
    kept = values > _NO_NOISE * values[-1]
    if not kept.any():
        raise MisuseError("covariance", "have an eigenvalue above 0", "0", "Estimate it again, or leave it out.")
    if kept.all():
        # The symmetric root: channels stay in their order, and neighbours neighbours, as far as noise allows it.
        return np.asarray((vectors / np.sqrt(values)) @ vectors.conj().T)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).conj().T)


def decoded_covariance(node: object) -> Array:
    """Variances of channels, or a matrix."""
    axes = node.get("shape") if isinstance(node, dict) else None
    return real(node, None) if isinstance(axes, list) and len(axes) == 1 else real(node, None, None)

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


def whitener_of(covariance: ArrayLike | None, n_channels: int, n_columns: int, is_complex: bool) -> Field | None:
    """(p, q) of variances (q,), which keep channels in their places, or of a matrix, pairs of rows if complex.

    n_columns: of the largest explanation with its background, of which a covariance of low rank leaves nothing.
    """
    if covariance is None:
        return None
    given, q = np.asarray(covariance, dtype=np.float64), n_channels
    if given.ndim == 1:
        variances = check_array("covariance", given, (q,))
        if not variances.min() > 0.0:
            raise MisuseError("covariance", "have variances above 0", variances.min())
        return np.diag(1.0 / np.sqrt(variances))
    matrix = as_complex(given) if is_complex else given
    if matrix.shape != (q, q):
        raise MisuseError("covariance", f"have shape {(q, q)}, or {(q,)}", matrix.shape)
    whitener = whitening(matrix)
    if len(whitener) <= min(n_columns, q - 1):
        rule = f"have a rank above {n_columns}, the columns of an explanation and its background"
        remedy = "Directions without noise are left out: estimate it from more rows, or give variances of channels."
        raise MisuseError("covariance", rule, f"rank {len(whitener)} of {q} channels", remedy)
    return whitener


def whitening(covariance: ArrayLike, tolerance: float = 1e-10) -> Field:
    """(p, q) such that rows of this noise covariance (q, q), multiplied by it, have white noise of variance 1.

    Directions without noise up to the tolerance (an average reference has one) are dropped, p < q: nothing about
    them is tested.  A covariance with a negative eigenvalue beyond it is refused.
    """
    matrix = np.asarray(covariance)
    check_columns("covariance", matrix, len(matrix))
    asymmetry = np.abs(matrix - matrix.conj().T).max() if matrix.shape[0] == matrix.shape[1] else np.inf
    if asymmetry > SYMMETRY_TOLERANCE * np.abs(matrix).max():
        raise MisuseError("covariance", "be square and equal to its conjugate transpose", f"shape {matrix.shape}")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -tolerance * values[-1]:
        raise MisuseError("covariance", "have no negative eigenvalue", f"{values[0]:.3g}", "Estimate it again.")
    kept = values > tolerance * values[-1]
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

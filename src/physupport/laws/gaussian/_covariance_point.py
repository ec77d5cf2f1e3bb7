"""A zero-mean Gaussian law off the bank: directions with the variance that proposal rows have there, in white noise."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from ..._codec import array_json, real
from ..._errors import MisuseError
from ..._stored import Refusal, check_form
from ..._typing import Array, Field
from ...banks import array_bank
from ...io import RowSource, as_pairs
from ...io._rows import as_complex
from .._base import Opponent, Stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class CovariancePoint:
    r"""Rows from :math:`N(0, \nu I + \sum_j\lambda_ju_ju_j^*)`, of orthonormal directions, circular if complex."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    atoms: Array  # (q, k), complex ones as pairs (Re, Im)
    strengths: Array  # (k,)
    noise: float  # of a complex entry if complex
    is_complex: bool

    @classmethod
    def of(cls, directions: Field, strengths: Array, noise: float) -> Self:
        """Directions (q, k) as numbers of the instrument."""
        is_complex = np.iscomplexobj(directions)
        atoms = as_pairs(directions, axis=0) if is_complex else np.asarray(directions, dtype=np.float64)
        return cls(atoms, np.asarray(strengths, dtype=np.float64), float(noise), is_complex)

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        from ._covariance_stream import covariance_stream

        count = len(self.strengths)
        atoms = self.atoms if count else np.eye(len(self.atoms))[:, :1]
        bank = array_bank(atoms[None], [tuple(range(count))], strengths=self.strengths if count else 1.0)
        return covariance_stream(bank, rows, [self.noise], denominator.checkpoints, is_complex=self.is_complex), 0

    @property
    def covariance(self) -> Field:
        """(q, q)."""
        directions = as_complex(self.atoms) if self.is_complex else self.atoms
        signal = (directions * self.strengths) @ directions.conj().T
        return np.asarray(signal + self.noise * np.eye(len(directions)))

    def encode(self) -> dict[str, object]:
        """All of it."""
        entries = {"atoms": array_json(self.atoms), "strengths": self.strengths.tolist(), "noise": self.noise}
        return {"covariance_point": entries | {"is_complex": self.is_complex}}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """What `encode` wrote under `covariance_point`."""
        form = {"atoms": dict, "strengths": [float], "noise": float, "is_complex": bool}
        content = check_form(node, form, f"{where}.covariance_point")
        strengths = np.array(content["strengths"], dtype=np.float64)
        atoms, noise = real(content["atoms"], None, len(strengths)), content["noise"]
        if not len(atoms) or not noise > 0.0 or not strengths.min(initial=1.0) > 0.0:
            raise Refusal(f"{where} is no law")
        return cls(atoms, strengths, noise, content["is_complex"])

    def agrees(self, other: Opponent) -> bool:
        """The same covariance up to the rounding of another machine; directions of equal strength may be others."""
        if not isinstance(other, CovariancePoint) or other.atoms.shape[0] != self.atoms.shape[0]:
            return False
        ours, theirs = self.covariance, other.covariance
        return (
            ours.shape == theirs.shape
            and bool(np.isclose(self.noise, other.noise, rtol=1e-6, atol=0.0))
            and bool(np.allclose(ours, theirs, rtol=0.0, atol=1e-6 * self.noise + 1e-9 * np.abs(ours).max()))
        )


def leading_point(root: Field, n_rows: int) -> CovariancePoint:
    r"""The leading eigenvectors of second moments :math:`R = F^\top\bar F/n`, as many as the shortest description has.

    With k directions, :math:`\log\det` of the fitted covariance is that of the k largest eigenvalues and of the mean s
    of the others; each of its free numbers costs half the logarithm of the number of rows (Wax and Kailath, 1985).
    root: F, (m, q), the rows themselves or fewer with the same second moments.
    """
    q, parts = root.shape[1], 2 if np.iscomplexobj(root) else 1
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    values = np.zeros(q)
    values[: len(singular)] = singular**2 / n_rows
    ranks = np.arange(min(n_rows // 2, q - 1, len(singular)) + 1)
    noises = np.array([values[k:].sum() / (q - k) for k in ranks])
    ranks, noises = ranks[noises > 0.0], noises[noises > 0.0]
    if not len(ranks):
        raise MisuseError("proposal rows", "not all be 0", "rows of zeros")
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    fits = np.array([logs[:k].sum() + (q - k) * np.log(noise) for k, noise in zip(ranks, noises, strict=True)])
    n_free = ranks * (2 * q - ranks) if parts == 2 else ranks * (2 * q - ranks + 1) / 2
    best = int(np.argmin(0.5 * parts * n_rows * fits + 0.5 * np.log(n_rows) * n_free))
    k, noise = int(ranks[best]), float(noises[best])
    k = int(np.count_nonzero(values[:k] > noise))
    return CovariancePoint.of(right[:k].T, values[:k] - noise, noise)

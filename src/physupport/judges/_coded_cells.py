r"""Calibration rows with known codes beside cells: a bound of their likelihood under all dictionaries of a cell.

Rows :math:`Y = CD^\top + \sqrt\nu E` have codes C (N, k) and a dictionary D (q, k), of which column j lies within
:math:`\rho_j` of that in the middle of the cell, :math:`D_0`.  With :math:`C = QR`,

:math:`|Y - CD^\top| ^2 = |Y|^2 - |Q^\top Y|^2 + |Q^\top Y - RD^\top|^2,\quad
|Q^\top Y - RD^\top| \ge |Q^\top Y - RD_0^\top| - \sum_j|c_j|\rho_j`.
"""

from dataclasses import dataclass
from typing import Self, cast, final

import numpy as np

from .._errors import MisuseError
from .._typing import Array, Field
from ..banks import Bank
from ..laws import Law, NoisyLaw, Scores
from ._evidence import Bounds, Factor
from ._specs import SealedStream

_EPS = float(np.finfo(np.float64).eps)


def check_coded(bank: Bank, laws: list[Law]) -> None:
    """Refuse a bank whose calibration rows need more than the elements of an explanation and one noise."""
    if len(laws) > 1 and not (bank.strengths > 0.0).all():
        remedy = "Write presence = 'always' in every region, and leave `shared` out."
        raise MisuseError("calibration", "have the active elements alone beside cells", "others", remedy)
    if len(laws) > 1 and len(bank.calibration) > 1:
        raise MisuseError("calibration noise", "be one number beside cells", f"{len(bank.calibration)} of them")
    if len(laws) > 1 and any(law.is_complex for law in laws):  # a known code fixes the phase, which balls leave open
        raise MisuseError("calibration", "be left out beside cells unless all rows are real", "complex rows")


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Held-out rows with known codes, and the density that proposal rows chose."""

    factor: Factor
    root: Array  # (k, k), R
    within: Array  # (k, q), Q^T Y
    rest: float  # |Y|^2 - |Q^T Y|^2
    count: int  # of numbers in Y
    rounding: float  # of sums of squares
    variance: float

    @classmethod
    def of(cls, stream: SealedStream, q: int) -> Self:
        """Read the rows, of q numbers and their codes."""
        table = np.concatenate([*stream.rows.blocks()])
        basis, root = np.linalg.qr(table[:, q:])
        rows = table[:, :q]
        within = basis.T @ rows
        squares = float((table**2).sum())
        rest = max(float((rows**2).sum() - (within**2).sum()), 0.0)
        variance = float(cast(NoisyLaw, stream.law).variances[0])
        rounding = 64.0 * _EPS * (table.size + 8) * squares
        return cls(stream.factor(), root, within, rest, rows.size, rounding, variance)

    def evidence(self, columns: Field, radii: Array | float = 0.0) -> Bounds:
        """(1,) bounds of the least log evidence against dictionaries with these columns (q, k) or nearer than radii."""
        gap = float(np.linalg.norm(self.within - self.root @ columns.T))
        reach = float((np.linalg.norm(self.root, axis=0) * radii).sum())
        energy = self.rest + max(gap - reach, 0.0) ** 2
        value = -0.5 * (self.count * np.log(2.0 * np.pi * self.variance) + energy / self.variance)
        error = self.rounding / self.variance + 16.0 * _EPS * (abs(value) + self.count)
        shape = (1, len(self.factor.stream.checkpoints))
        found = self.factor.against(Scores(np.full(shape, value), np.full(shape, error)))
        return Bounds(found.lower[:, -1], found.upper[:, -1])

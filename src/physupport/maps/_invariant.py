"""Signals judged by invariant evidence: all that rivals add to explanations is computed once for all of them."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array, Field, IntArray
from ..judges import ByInvariant, SharedEvidence
from ..judges.rotation import Rotation, RotationTable
from ..laws import Design, NoiseLook
from ._judge import BlockJudge, BlockVerdicts, LinearSignals, are_data, in_order, whitened


def is_shared(spec: Rotation) -> bool:
    """True if signals are real rows of one mean, of at most one atom each with no bound of coefficients but a sign."""
    table = spec.table
    if table.is_complex or spec.rows != "same mean" or spec.covariance_freedom is not None:
        return False
    companions = spec.companions
    if int(table.ranks.max()) > 1 or max(map(len, table.supports)) > 1:
        return False
    if companions is None:
        return True
    n_atoms = table.atoms.shape[1]
    low = np.broadcast_to(-np.inf if companions.low is None else companions.low, n_atoms)
    high = np.broadcast_to(np.inf if companions.high is None else companions.high, n_atoms)
    is_sign = np.isin(low, (-np.inf, 0.0)) & np.isin(high, (0.0, np.inf)) & ~((low == 0.0) & (high == 0.0))
    others = (companions.least, companions.largest_noise, companions.cells)
    return bool(is_sign.all()) and all(other is None for other in others)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InvariantSignals(LinearSignals):
    """Have every signal judged by `ByInvariant`, whose e-values a report of the signal has as well.

    keys, whitener: see `RotatedSignals`.  Labels are withheld where a signal refutes the noise that is stated, as by
    `Fission`.
    """

    are_e_values: ClassVar[bool] = True

    spec: Rotation
    design: Design
    judge: ByInvariant
    keys: IntArray | None = None

    def __post_init__(self) -> None:
        if not is_shared(self.spec):
            rule = "be of real rows, at most one atom, and coefficients with no bound but a sign"
            remedy = "MapProtocol.of asks about such signals one by one, as a report does."
            raise MisuseError("spec", rule, Clause("it is another"), remedy)

    @property
    def explained(self) -> tuple[RotationTable, IntArray | None, Field | None]:
        """With the table of the rotation test and the whitener of the design."""
        return self.spec.table, self.keys, self.design.whitener

    def encode(self) -> dict[str, object]:
        """The definition that decides every verdict, as JSON."""
        fixed = {"sigma": self.spec.sigma, "companions": repr(self.spec.companions)}
        return {**self.judge.encode(), **fixed, **self.encode_table()}

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:  # noqa: ARG002
        """The judge of many signals; repeated rows enter by their mean and their scatter."""
        look = None if self.judge.noise is None else NoiseLook.of(self.design, repeats)
        shared = self.judge.shared(self.design, self.spec, repeats, self.channels)
        return partial(self._judge, levels, look, shared)

    def _judge(self, levels: Array, look: NoiseLook | None, shared: SharedEvidence, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q): reject at level a where the evidence exceeds 1/a."""
        white = whitened(rows, self.design.whitener).real
        is_data = are_data(white)
        clean = np.where(is_data[:, None, None], white, 0.0)
        n_rows = rows.shape[1]
        vectors = in_order(np.sqrt(n_rows) * clean.mean(axis=1), self.spec.table.complement)
        scatter = ((clean - clean.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
        along = in_order(vectors, np.ascontiguousarray(self.spec.table.bases[:, 0].T))
        evidence, residual = shared.lower(clean, vectors, scatter, along)
        best = residual.argmin(axis=1)
        misfit = np.full(len(rows), np.nan)
        if look is not None and self.spec.sigma is not None:
            misfit = look.p_values(clean, self.spec.sigma)
        every = np.arange(len(rows))
        codes = (evidence[:, :, None] > -np.log(levels)).sum(axis=2).astype(np.uint8)
        sizes = along[every, best] / np.sqrt(n_rows), residual[every, best]
        tested = misfit, (self.judge.noise or 0.0) * levels[0]
        return BlockVerdicts.of_evidence(codes, best, sizes, tested).of_data(is_data).numbered(self.keys)

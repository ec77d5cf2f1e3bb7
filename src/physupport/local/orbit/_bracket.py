"""The diameter of what the data keep of an orbit: cells without a kept law go, others are split where it matters."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_open, check_support
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ._cells import ROUNDING, LawCells, distances, largest, reaches
from ._evidence import LogBounds, OrbitEvidence, log_likelihoods
from ._orbit import Orbit, RowSums

# The box before any data is halved so often for its diameter.
_PIECES = 8
# Diameters below this share of the box's are not told apart.
_FINEST = 0.1


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrbitBracket:
    r"""Between which two numbers the diameter of what the data keep of an orbit lies, and the cells that are left.

    With probability at least :math:`1 - \alpha` the law that made the held-out rows, anywhere in the box, lies in one
    of the cells, and then no law in any of them has active atoms farther from the true ones than `outer`.
    """

    inner: float  # the largest distance of two kept laws, among those whose likelihood was worked out
    outer: float  # no two kept laws are farther apart
    whole: float  # the same before any data
    level: float  # alpha
    lower: Array  # (m, k + 2) ends of the cells
    upper: Array  # (m, k + 2)
    n_laws: int  # whose likelihood was worked out

    def holds(self, law: ArrayLike) -> bool:
        """Whether a law (k + 2,), angles, noise and activity, lies in one of the cells."""
        point = check_array("law", law, (self.lower.shape[1],))
        return bool(np.any(np.all((self.lower <= point) & (point <= self.upper), axis=1)))


def orbit_bracket(
    proposal: ArrayLike,
    held_out: ArrayLike,
    orbit: Orbit,
    active: tuple[int, ...],
    level: float,
    *,
    tolerance: float = 0.1,
    most_laws: int = 20_000,
) -> OrbitBracket:
    r"""Bracket the physical diameter (eq:physical-diameter) of the active atoms over all kept laws of an orbit.

    A law is kept if `OrbitEvidence` does not reject it at the level. A cell is dropped only if every law in it is
    rejected, by a bound of its largest likelihood from those of its corners (`Orbit.rises`). The others are split as
    long as they may hold a pair that is farther apart than the farthest kept pair seen by more than the tolerance, as
    a share of that distance. Whenever this ends, the outer number holds.

    proposal, held_out: (N, q) independent rows, those that propose and those that judge.  active: columns of
    `Orbit.atoms`.
    """
    judging, proposing = _rows("held_out", held_out, orbit), _rows("proposal", proposal, orbit)
    columns = check_support("active", active, orbit.n_atoms)
    evidence = OrbitEvidence.of_rows(orbit, proposing, judging, check_open("level", level, 0.0, 1.0))
    search = CellSearch(evidence, list(columns), orbit.row_sums(judging))
    return search.run(check_open("tolerance", tolerance, 0.0, 1.0), check_count("most_laws", most_laws))


def _rows(name: str, rows: ArrayLike, orbit: Orbit) -> Array:
    table = check_array(name, rows, (None, len(orbit.turning)))
    if not len(table):
        raise MisuseError(name, "hold at least one row", "none")
    return table


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellSearch:
    """The laws asked about so far, and what follows from them for cells."""

    evidence: OrbitEvidence
    active: list[int]
    rows: RowSums
    seen: dict[bytes, tuple[float, float]] = field(default_factory=dict)  # ends of log likelihoods, by a law's bytes

    def run(self, tolerance: float, most_laws: int) -> OrbitBracket:
        """Split what matters until nothing does, or so many laws were asked about."""
        orbit = self.evidence.orbit
        box = LawCells(orbit.lower[None], orbit.upper[None])
        whole = self._whole(box)
        self._ask(self.evidence.opponents)
        cells = self.left(box)
        while True:  # an opponent is always kept, so that there always is a cell
            inner, (far, range_of) = self._inner(), reaches(orbit, self.active, cells)
            room = tolerance * max(inner, _FINEST * whole)
            axes, reach = self._axes(cells, 0.25 * room / orbit.speed), far.max(axis=1)[range_of]
            split = np.flatnonzero((reach > inner + room) & (axes >= 0))
            # A cut asks about half as many laws as a cell has corners, at most: the farthest cells come first.
            affordable = max(0, most_laws - len(self.seen)) >> orbit.n_angles + 1
            split = split[np.argsort(-reach[split], kind="stable")[:affordable]]
            if not len(split):
                break
            cells = self.left(cells[split].halves(axes[split])) + cells[np.delete(np.arange(len(cells)), split)]
        outer = min(float(far.max()), whole)
        return OrbitBracket(inner, outer, whole, self.evidence.level, cells.lower, cells.upper, len(self.seen))

    def _whole(self, box: LawCells) -> float:
        """The diameter of the box, from pieces of it."""
        pieces = box
        for axis in np.arange(_PIECES) % self.evidence.orbit.n_angles:
            pieces = pieces.halves(np.full(len(pieces), axis))
        return float(reaches(self.evidence.orbit, self.active, pieces)[0].max())

    def _inner(self) -> float:
        """The largest distance of two kept laws, rounded downwards."""
        laws = np.array([np.frombuffer(name) for name in self.seen])
        kept = self.evidence.kept(LogBounds(*np.array(list(self.seen.values())).T))
        angles = np.unique(laws[kept, : self.evidence.orbit.n_angles], axis=0)
        if len(angles) < 2:
            return 0.0
        apart = distances(self.evidence.orbit.atoms(angles)[:, :, self.active])
        return max(0.0, float(apart.max()) - 2.0 * ROUNDING)

    def left(self, cells: LawCells) -> LawCells:
        """Cells that may hold a kept law."""
        return cells[~self.evidence.rejected(self._largest(cells)[0])]

    def _axes(self, cells: LawCells, narrow: float) -> IntArray:
        """Where to cut: across the largest rise, or, if a corner is kept, across the widest angle.

        -1 where no cut helps: a corner is kept, and no angle is wider than narrow.
        """
        angles = (cells.upper - cells.lower)[:, : self.evidence.orbit.n_angles]
        widest = np.where(angles.max(axis=1) > narrow, np.argmax(angles, axis=1), -1)
        has_kept_corner = self.evidence.kept(self._at_corners(cells)).reshape(len(cells), -1).any(axis=1)
        return np.where(has_kept_corner, widest, np.argmax(self._largest(cells)[1], axis=1))

    def _largest(self, cells: LawCells) -> tuple[Array, Array]:
        """Bounds of the log likelihood within cells, (m,), and what each axis adds to it, (m, d)."""
        orbit, upper = self.evidence.orbit, self._at_corners(cells).upper.reshape(len(cells), 2 ** cells.lower.shape[1])
        exact = upper + orbit.rounding(cells.lower, self.rows)[:, None]
        return largest(exact, orbit.rises(cells.lower, cells.upper, self.rows))

    def _at_corners(self, cells: LawCells) -> LogBounds:
        return self._ask(cells.corners.reshape(-1, cells.lower.shape[1]))

    def _ask(self, laws: Array) -> LogBounds:
        """Ends of the log likelihoods of laws (m, d), each worked out once."""
        distinct, row_of = np.unique(laws, axis=0, return_inverse=True)
        names = [law.tobytes() for law in distinct]
        new = np.array([name not in self.seen for name in names], dtype=np.bool_)
        if new.any():
            scores = log_likelihoods(self.evidence.orbit, self.evidence.rows, distinct[new])
            unseen = [name for name, is_new in zip(names, new, strict=True) if is_new]
            self.seen.update(zip(unseen, zip(scores.lower.tolist(), scores.upper.tolist(), strict=True), strict=True))
        ends = np.array([self.seen[name] for name in names]).reshape(-1, 2)[row_of.reshape(-1)]
        return LogBounds(ends[:, 0], ends[:, 1])

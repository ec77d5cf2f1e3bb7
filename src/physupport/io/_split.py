"""Which rows may propose and which only judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.random import SeedSequence

from .._checks import check_count, check_open
from .._errors import MisuseError
from .._typing import IntArray


@final
@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """The two parts of a record of rows: each row is in exactly one of them.

    Held-out rows are handed out here and nowhere else, in the order in which the evidence reads them.
    """

    proposal: IntArray  # (m,)
    held_out: IntArray  # (n - m,)

    @property
    def n_rows(self) -> int:
        """Rows of both parts."""
        return len(self.proposal) + len(self.held_out)


@final
@dataclass(frozen=True, slots=True)
class Split:
    """A random cut of a record: this share of the rows proposes, the rest judges.

    The share is the decimal number as written: 0.29 of 100 rows are 29, although the float64 nearest to 0.29 lies below
    it.

    >>> Split(0.5, seed=7).rows(6).proposal.tolist()
    [5, 2, 0]
    """

    fraction: float
    seed: int | SeedSequence

    def __post_init__(self) -> None:
        check_open("fraction", self.fraction, 0.0, 1.0)
        _seed_sequence(self.seed)

    def rows(self, n_rows: int) -> SplitRows:
        """A permutation of the rows; the first floor(fraction n) propose, the others are held out as permuted."""
        n = check_count("n_rows", n_rows)
        n_proposal = int(Fraction(repr(float(self.fraction))) * n)
        if n_proposal == 0:
            raise MisuseError("split", "leave rows to the proposal", f"{self.fraction:g} of {n} rows")
        order = np.random.default_rng(_seed_sequence(self.seed)).permutation(n).astype(np.int64)
        return SplitRows(order[:n_proposal], order[n_proposal:])


def split_rows(n_rows: int, fraction: float, seed: int | SeedSequence) -> SplitRows:
    """The split of one record of rows; the seed is that of `numpy.random.default_rng`."""
    return Split(fraction, seed).rows(n_rows)


def split_streams(n_rows: Sequence[int], fractions: Sequence[float], seed: int | SeedSequence) -> tuple[SplitRows, ...]:
    """Independent splits of several records, each from a child of one seed, in the order given.

    n_rows and fractions: one a stream, as in (calibration, deployment).
    """
    if len(n_rows) != len(fractions) or not n_rows:
        raise MisuseError(
            "fractions", "number as many as the streams, at least one", f"{len(fractions)}, {len(n_rows)}"
        )
    children = _seed_sequence(seed).spawn(len(n_rows))
    return tuple(split_rows(n, f, child) for n, f, child in zip(n_rows, fractions, children, strict=True))


def _seed_sequence(seed: int | SeedSequence) -> SeedSequence:
    """A fresh sequence: one that has spawned before would give other children the next time."""
    if isinstance(seed, SeedSequence):
        return SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return SeedSequence(check_count("seed", seed, 0))

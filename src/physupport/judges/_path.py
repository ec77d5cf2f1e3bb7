"""At which prefixes of the held-out rows the evidence is looked at, and one path through those of several streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_whole
from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ..laws import check_checkpoints


def doubling_checkpoints(n_rows: int, first: int = 128) -> IntArray:
    """Prefix lengths first, 2 first, 4 first, ... below n_rows, and n_rows itself.

    >>> doubling_checkpoints(700).tolist()
    [128, 256, 512, 700]
    """
    n, length = check_count("n_rows", n_rows), check_count("first", first)
    lengths = []
    while length < n:
        lengths.append(length)
        length *= 2
    return np.array([*lengths, n], dtype=np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class JointPath:
    """Where every stream stands at each step, such as the pairs (n_k, t_k) (eq:supp-six-checkpoints).

    No stream ever goes back and every step reads rows. Along such a path, fixed before the rows are read, the product
    of the streams' likelihood ratios is a martingale under the explanation it tests.
    """

    prefixes: IntArray  # (k, n_streams) rows read
    steps: IntArray  # (k, n_streams) number of the checkpoint within its stream, -1 before the first

    def __post_init__(self) -> None:
        prefixes, steps = check_whole("prefixes", self.prefixes, 2), check_whole("steps", self.steps, 2)
        if prefixes.shape != steps.shape or prefixes.size == 0:
            raise MisuseError(
                "steps", "match the prefixes, at least one step and stream", (prefixes.shape, steps.shape)
            )
        if steps.min() < -1 or np.any((prefixes > 0) != (steps >= 0)):
            raise MisuseError("steps", "be -1 where no row is read and a checkpoint elsewhere", steps.tolist())
        moves = np.diff(prefixes, axis=0, prepend=np.zeros((1, prefixes.shape[1]), dtype=np.int64))
        if np.any(moves < 0) or not np.all(moves.any(axis=1)):
            raise MisuseError("path", "read further rows at every step and never go back", prefixes.tolist())
        object.__setattr__(self, "prefixes", prefixes)
        object.__setattr__(self, "steps", steps)

    @property
    def n_streams(self) -> int:
        """How many streams are read."""
        return int(self.prefixes.shape[1])

    def __len__(self) -> int:
        return len(self.prefixes)


def joint_path(checkpoints: Sequence[ArrayLike], n_rows: Sequence[int] | None = None) -> JointPath:
    """The path through the checkpoints of several streams, each read at its own relative pace.

    A checkpoint stands at its share of the stream's rows. Shares are merged in order, compared as exact fractions; at
    each share every stream stands at its latest checkpoint.

    checkpoints: prefix lengths of each stream.  n_rows: held-out rows of each stream; its last checkpoint if left out.

    >>> joint_path([[128, 256, 300], [40]]).prefixes.tolist()
    [[128, 0], [256, 0], [300, 40]]
    """
    if not checkpoints:
        raise MisuseError("checkpoints", "be those of at least one stream", "none")
    if n_rows is None:
        n_rows = [int(np.max(np.asarray(lengths), initial=1)) for lengths in checkpoints]
    if len(n_rows) != len(checkpoints):
        raise MisuseError("n_rows", f"be given for each of {len(checkpoints)} streams", f"{len(n_rows)} numbers")
    streams = [
        check_checkpoints(lengths, check_count("n_rows", n)) for lengths, n in zip(checkpoints, n_rows, strict=True)
    ]
    shares = [[Fraction(int(t), n) for t in lengths] for lengths, n in zip(streams, n_rows, strict=True)]
    # Each share is the share of some checkpoint, so some stream moves at each: no step repeats the one before.
    merged = sorted({share for stream in shares for share in stream})
    steps = np.array([[sum(s <= share for s in stream) - 1 for stream in shares] for share in merged], dtype=np.int64)
    padded = [np.concatenate([[0], lengths]) for lengths in streams]
    return JointPath(np.stack([lengths[steps[:, i] + 1] for i, lengths in enumerate(padded)], axis=1), steps)

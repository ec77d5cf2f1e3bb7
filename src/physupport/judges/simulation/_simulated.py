"""Log likelihoods of the data of one stream, and of draws that are exchangeable with them under an explanation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import ArrayRows, RowSource
from ...laws import Law, Sampler
from .._scored import Bounds, score_bounds
from ._symmetry import first_alike

# Pieces that rows are cut into, and rows of a piece if that leaves enough pieces.
LEAST_PIECES, MOST_PIECES, _PIECE = 16, 64, 256
# Rows that are simulated at a time, and how many at most if every draw has rows of its own.
_AT_A_TIME, _MOST_ROWS = 8192, 2**19
# Numbers of draws that are held, 256 MiB: what is dropped is drawn again when asked for, from the same seed.
_MOST_HELD = 2**25


@final
@dataclass(frozen=True, eq=False)  # no slots: rows are scored when first asked for
class SimulatedStream:
    r"""The rows of a stream and what is drawn in their place.

    Where a few numbers tell all about the rows, the law draws those.  Else rows are simulated: `copies` records as long
    as the data, all cut into pieces at the same places.  Under the explanation the pieces of the data and of the copies
    at one place are independent and alike, so any of them may stand there: a draw takes, at every place, one of them at
    random.  Random elements of that group, the data as they are among them, are exchangeable.
    """

    number: int
    bank: Bank
    law: Law
    rows: RowSource
    keys_of: Callable[[IntArray], IntArray]
    seed: int
    draws: int
    fewest_copies: int
    _found: dict[int, Array] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def sampler(self) -> Sampler | None:
        """Of the law; None where rows have to be simulated."""
        return self.law.sampler(self.bank, self.rows)

    @property
    def copies(self) -> int:
        """Records that are simulated."""
        is_short = self.rows.n_rows * self.draws <= _MOST_ROWS
        return self.draws if is_short else min(self.draws, self.fewest_copies)

    @cached_property
    def stops(self) -> IntArray:
        """(pieces,) where the rows are cut; one piece where nothing changes places."""
        n = self.rows.n_rows
        is_whole = self.sampler is not None or self.copies == self.draws
        pieces = 1 if is_whole else min(max(n // _PIECE, LEAST_PIECES), MOST_PIECES, n)
        return np.arange(1, pieces + 1) * n // pieces

    @cached_property
    def observed(self) -> tuple[IntArray, Array, Bounds]:
        """The keys of the bank, their log likelihoods of every piece (k, pieces), and bounds of the whole (k,)."""
        keys = np.unique(self.keys_of(np.arange(self.bank.size)))
        stream = self.law.stream(self.bank, self.rows, self.stops)
        if not stream.is_density:
            raise MisuseError(self.law.name, "be the law of simple explanations, which can be simulated", "a supremum")
        scores = stream.log_likelihood(keys)
        bounds = score_bounds(self.law.name, scores)
        return keys, _pieces(scores.values), Bounds(bounds.lower[:, -1], bounds.upper[:, -1])

    def whole(self, explanations: IntArray) -> Bounds:
        """Bounds (k,) of the log likelihood of all rows."""
        keys, _, bounds = self.observed
        where = np.searchsorted(keys, self.keys_of(explanations))
        return Bounds(bounds.lower[where], bounds.upper[where])

    def log_likelihoods(self, tuples: IntArray, model: int) -> Array:
        """(B + 1, r) of the explanations in a tuple (r,), the data first; draws follow the first of them.

        model: an explanation with the same tuple up to symmetry, whose draws are used: `models` finds it.
        """
        keys, pieces, _ = self.observed
        own = pieces[np.searchsorted(keys, self.keys_of(tuples))]  # (r, pieces)
        drawn = self._found[model]
        if self.sampler is not None:
            return np.vstack([own.sum(axis=1), drawn])
        pool = np.concatenate([own[None], drawn])  # (copies + 1, r, pieces)
        places = np.arange(pool.shape[2])
        return np.stack([pool[pick, :, places].sum(axis=0) for pick in self._picks])

    def simulate(self, model: int, rivals: IntArray) -> None:
        """Draw for an explanation and its rivals, once as long as there is room."""
        if model in self._found:
            return
        keys = self.keys_of(np.concatenate([[model], rivals]))
        rng = self._generator(1 + model)
        if self.sampler is not None:
            self._found[model] = self.sampler(int(keys[0]), keys, rng, self.draws)
        else:
            self._found[model] = self._simulated(model, keys, rng)
        while len(self._found) > max(1, _MOST_HELD // self._found[model].size):
            del self._found[next(iter(self._found))]

    def models(self, tuples: IntArray) -> IntArray:
        """(k,) of tuples (k, r) of explanations the first of the earliest that is the same up to symmetry."""
        keys = self.keys_of(tuples.ravel()).reshape(tuples.shape)
        return np.asarray(tuples[first_alike(self.bank, self.law, keys), 0])

    def _simulated(self, model: int, keys: IntArray, rng: Generator) -> Array:
        """(copies, r, pieces) log likelihoods of simulated records."""
        n, found, distinct = self.rows.n_rows, [], np.unique(keys)
        where = np.searchsorted(distinct, keys)
        for start in range(0, self.copies, max(1, _AT_A_TIME // n)):
            count = min(max(1, _AT_A_TIME // n), self.copies - start)
            rows = ArrayRows(self.law.sample(self.bank, model, rng, count * n))
            stops = (np.arange(count)[:, None] * n + self.stops).ravel()
            values = _pieces(self.law.stream(self.bank, rows, stops).log_likelihood(distinct).values)
            found.append(values[where].reshape(len(keys), count, -1).transpose(1, 0, 2))
        return np.concatenate(found)

    @cached_property
    def _picks(self) -> IntArray:
        """(B + 1, pieces) which copy stands at each place; the first has the data everywhere."""
        if self.copies == self.draws:
            return np.arange(self.draws + 1)[:, None]
        picks = self._generator(0).integers(0, self.copies + 1, (self.draws + 1, len(self.stops)))
        picks[0] = 0
        return picks

    def _generator(self, purpose: int) -> Generator:
        return Generator(PCG64(SeedSequence([self.seed, self.number, purpose])))


def _pieces(prefixes: Array) -> Array:
    return np.diff(prefixes, axis=1, prepend=0.0)

"""Whom an explanation is compared with, by what statistic, and draws that are exchangeable with the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import final

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank, Nuisances
from ...io import ArrayRows, RowSource
from ...laws import Law, Sampler
from .._evidence import Bounds, score_bounds

# Numbers in one block of distances between dictionaries, or between supports: 64 MiB.
_ENTRIES = 2**23


# Explanations (k,) of a bank, and how many of a kind, to rivals (k, R); itself where there are fewer.
Rivals = Callable[[Bank, IntArray, int], IntArray]


def neighbours(bank: Bank, explanations: IntArray, count: int) -> IntArray:  # noqa: ARG001
    """Below and above along the states, which are in the order of one coordinate, and along every nuisance.

    At an end the explanation itself stands in the place of the missing one.
    """
    if bank.n_supports > 1:
        rule = "be 'ratio' for a bank of several supports, between which there is no smooth coordinate"
        raise MisuseError("statistic", rule, f"'score' for {bank.n_supports} supports")
    state, support, calibration, deployment = bank.split(explanations)
    last = bank.states.n_states - 1
    found = [bank.index(np.clip(state + step, 0, last), support, calibration, deployment) for step in (-1, 1)]
    return np.column_stack([*found, *_beside(bank, explanations)])


def nearest(bank: Bank, explanations: IntArray, count: int) -> IntArray:
    r"""So many nearest states, as many supports that differ least, and the neighbours along every nuisance.

    States are as far apart as their atoms, :math:`\sum_j|a_j - b_j|^2`; of equal ones the lower index is nearer.
    """
    state, support, calibration, deployment = bank.split(explanations)
    others, where = np.unique(state, return_inverse=True)
    near = _near_states(bank, others, count)[:, where]
    found = [bank.index(column, support, calibration, deployment) for column in near]
    others, where = np.unique(support, return_inverse=True)
    supports = _near_supports(bank, others, count)[:, where]
    found += [bank.index(state, column, calibration, deployment) for column in supports]
    return np.column_stack([explanations, *found, *_beside(bank, explanations)])


def _beside(bank: Bank, explanations: IntArray) -> list[IntArray]:
    """Below and above in each nuisance, (k,) each."""
    state, support, calibration, deployment = bank.split(explanations)
    return [
        *(bank.index(state, support, table[calibration], deployment) for table in _steps(bank.calibration)),
        *(bank.index(state, support, calibration, table[deployment]) for table in _steps(bank.deployment)),
    ]


def _near_supports(bank: Bank, supports: IntArray, count: int) -> IntArray:
    """(count, k) other supports of each, those first that fewest atoms have to join or leave."""
    active = (bank.strengths > 0.0).astype(np.float64)
    sizes = active.sum(axis=1)
    found = (
        _near(sizes[part][:, None] + sizes - 2.0 * active[part] @ active.T, count, part)
        for part in _parts(supports, len(active))
    )
    return np.concatenate([*found], axis=1)


def _parts(numbers: IntArray, width: int) -> list[IntArray]:
    """Numbers (k,) in parts so small that a table of so many columns for each fits a block."""
    step = max(1, _ENTRIES // width)
    return [numbers[start : start + step] for start in range(0, len(numbers), step)]


def _near_states(bank: Bank, states: IntArray, count: int) -> IntArray:
    """(count, k) nearest other states of each."""
    index = bank.states.element_index(np.arange(bank.states.n_states))
    elements = bank.states.elements
    found = []
    for part in _parts(states, max(len(index), elements.shape[1])):
        overlap = np.zeros((len(part), len(index)))
        for atom in index.T:
            overlap += (elements[:, atom[part]].T @ elements)[:, atom]
        found.append(_near(-2.0 * overlap, count, part))
    return np.concatenate(found, axis=1)


def _near(distances: Array, count: int, own: IntArray) -> IntArray:
    """(count, k) columns of the least distances in each row (k, m), other than its own; rounding decides nothing."""
    rounded = np.round(distances, 9)
    rounded[np.arange(len(rounded)), own] = np.inf
    return np.argsort(rounded, axis=1, kind="stable")[:, : min(count, rounded.shape[1] - 1)].T


def _steps(nuisances: Nuisances) -> list[IntArray]:
    """For every parameter two tables (m,): the setting below and above in it and equal in the others, or itself."""
    tables = []
    for axis in range(len(nuisances.names)):
        values = nuisances.values[:, axis]
        others = np.delete(nuisances.values, axis, axis=1)
        same = (others[:, None] == others).all(axis=2)  # (m, m)
        for sign in (-1.0, 1.0):
            gap = sign * (values - values[:, None])
            gap = np.where(same & (gap > 0.0), gap, np.inf)
            tables.append(np.where(np.isfinite(gap.min(axis=1)), gap.argmin(axis=1), np.arange(len(values))))
    return tables


# What the coordinate and the nuisances may take of the level of the score.
_SHARE = 0.9
# A part of a score that is smaller than this is rounding.
_LEAST = 1e-9


# Log ratios (B + 1, R) and their error to values (B + 1,) of a statistic, and how far rounding may have moved each.
Statistic = Callable[[Array, float], tuple[Array, Array]]


def score(ratios: Array, error: float) -> tuple[Array, Array]:
    r""":math:`-\log\min\{2\Phi(-|z|)/.9,\ e^{-Q/2}/.1\}`, z for the coordinate and Q for the nuisances.

    Columns of ratios (B + 1, 2 a) are pairs, log ratios of the neighbours below and above along an axis, the coordinate
    first; their differences x are scores up to scale.  With V the covariance of all rows, z is the part of the first
    score that is uncorrelated with the others, and :math:`Q = x_n^\top V_{nn}^{-1}x_n`.  error: of a log ratio.
    """
    from scipy.special import log_ndtr  # slow to load, and a project file asks for the name of its judge alone

    x, least = _standardised(ratios[:, 1::2] - ratios[:, ::2])  # (B + 1, a)
    own = x[:, 0]
    rest = x[:, 1:]
    root = _inverse_root(rest.T @ rest / len(x))
    white = rest @ root  # (B + 1, a - 1)
    slope = white.T @ own / len(x)
    left = own - white @ slope
    size = max(float(left.std()), _LEAST)
    z = left / size
    squares = np.sum(white**2, axis=1)
    values = np.maximum(np.log(_SHARE / 2.0) - log_ndtr(-np.abs(z)), squares / 2.0 + np.log(1.0 - _SHARE))
    # If every x moves by d, white moves by d times the entries of the root, z by more, and values |z| + 1 times that.
    moved = 4.0 * error / least * (1.0 + np.abs(root).sum() * (1.0 + np.abs(slope).sum())) / size
    return values, moved * (2.0 + np.abs(z) + np.sqrt(squares))


def ratio(ratios: Array, error: float) -> tuple[Array, Array]:
    r""":math:`\max_j\{\ell_j - \ell_e\}` over the rivals j, at least 0; ratios: (B + 1, R).

    Where all rivals are behind beyond doubt, it is 0 without error: such rows and draws are equal.
    """
    others = ratios[:, (ratios != 0.0).any(axis=0)]  # without the explanation itself, and its own law once more
    values = others.max(axis=1, initial=0.0)
    return values, np.where(others.max(axis=1, initial=-np.inf) < -error, 0.0, error)


def _standardised(scores: Array) -> tuple[Array, float]:
    """Scores with mean 0 and deviation 1, and the least deviation; an axis of one value has none and stays 0."""
    centred = scores - scores.mean(axis=0)
    deviation = centred.std(axis=0)
    is_seen = deviation > 0.0
    return centred / np.where(is_seen, deviation, 1.0), float(deviation[is_seen].min(initial=np.inf))


def _inverse_root(covariance: Array) -> Array:
    """(a, a) symmetric W with W V W the projection on the directions in which V is not 0."""
    values, vectors = np.linalg.eigh(covariance)
    is_seen = values > _LEAST
    return np.asarray((vectors[:, is_seen] / np.sqrt(values[is_seen])) @ vectors[:, is_seen].T)


# Decimals by which symmetric explanations are looked for, and how far their numbers may then differ.
_DECIMALS = 9
_SAME = 1e-12
# Tuples whose numbers are held at a time; those of latent codes are the inner products of all their atoms.
_TUPLES_AT_A_TIME = 64


def first_alike(bank: Bank, law: Law, keys: IntArray) -> IntArray:
    """(k,) of tuples of keys (k, r) the number of the earliest that is the same up to symmetry, or its own.

    Tuples are the same if the law says that the same numbers make the joint law of their log likelihoods; those are
    compared, nothing is assumed of the bank.
    """
    seen: dict[bytes, int] = {}
    found = np.arange(len(keys))
    for start in range(0, len(keys), _TUPLES_AT_A_TIME):
        own = _numbers(bank, law, keys[start : start + _TUPLES_AT_A_TIME])
        looked_up = (sha256((row + 0.0).tobytes()).digest() for row in np.round(own, _DECIMALS))  # no -0
        first = np.array([seen.setdefault(digest, start + i) for i, digest in enumerate(looked_up)])
        is_same = np.abs(own - _numbers(bank, law, keys[first])).max(axis=1) <= _SAME
        found[start : start + len(own)][is_same] = first[is_same]
    return found


def is_orbit(bank: Bank, laws: Sequence[Law]) -> bool:
    """True if states follow one smooth coordinate and, under some law, all but the ends are equal up to symmetry.

    These are the orientations of a dictionary that turns in equal steps.
    """
    inner = np.arange(1, bank.states.n_states - 1)
    if len(inner) < 2 or not bank.is_line:  # of a single one nothing is seen to turn
        return False
    middle = bank.index(inner, 0)
    tuples = np.column_stack([middle, neighbours(bank, middle, 0)[:, :2]])
    completed = [law.completed(bank) for law in laws]
    return any(not first_alike(bank, law, _keys(bank, law, tuples)).any() for law in completed)


def _keys(bank: Bank, law: Law, tuples: IntArray) -> IntArray:
    """The keys of tuples of explanations, in the same shape."""
    return law.keys(bank)(tuples.ravel()).reshape(tuples.shape)


def _numbers(bank: Bank, law: Law, keys: IntArray) -> Array:
    """(k, d) as the law has them; the keys themselves where it knows of no symmetry."""
    numbers = law.symmetries(bank, keys)
    return keys.astype(np.float64) if numbers is None else numbers


# Pieces that rows are cut into, and rows of a piece if that leaves enough pieces.
LEAST_PIECES = 16
MOST_PIECES = 64
_PIECE = 256
# Rows that are simulated at a time, and how many at most if every draw has rows of its own.
_ROWS_AT_A_TIME = 8192
_MOST_ROWS = 2**19
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
        """The sampler of the law; None where rows have to be simulated."""
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
        n = self.rows.n_rows
        found = []
        distinct = np.unique(keys)
        where = np.searchsorted(distinct, keys)
        for start in range(0, self.copies, max(1, _ROWS_AT_A_TIME // n)):
            count = min(max(1, _ROWS_AT_A_TIME // n), self.copies - start)
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

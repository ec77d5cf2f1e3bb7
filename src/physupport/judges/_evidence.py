"""Evidence against explanations: how much better a proposal predicts the held-out rows, along a path of checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, NamedTuple, cast, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._checks import check_count, check_indices, check_whole
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ..laws import Scores, Stream, check_checkpoints

if TYPE_CHECKING:
    from ..laws.streams import BandedStream, LinearStream


FLOAT_BITS = 53
_LARGEST = float(np.finfo(np.float64).max)
_MEAN_ERROR = 1e-12


class Bounds(NamedTuple):
    """Arrays of numbers at or below, and at or above, exact ones."""

    lower: Array
    upper: Array

    def peak(self) -> "Bounds":
        """Bounds of the largest number along the last axis."""
        return Bounds(self.lower.max(axis=-1), self.upper.max(axis=-1))


def log_mean(logs: Bounds) -> Bounds:
    """Bounds of the log of the mean of a few exponentials along the first axis, whose rounding is negligible."""
    means = [np.logaddexp.reduce(side, axis=0) - np.log(len(side)) for side in logs]
    slack = [_MEAN_ERROR * (1.0 + np.abs(np.where(np.isfinite(mean), mean, 0.0))) for mean in means]
    return Bounds(means[0] - slack[0], means[1] + slack[1])


def sum_down(a: Array, b: Array) -> Array:
    """The largest float64 at or below a + b, or the one below it; -inf where a term is -inf."""
    total, missing = _two_sum(a, b)
    with np.errstate(over="ignore"):  # below the least number there is only -inf
        lower = np.where(missing < 0.0, np.nextafter(total, -np.inf), total)
    return np.asarray(np.minimum(np.where(np.isnan(lower), -np.inf, lower), _LARGEST))


def sum_up(a: Array, b: Array) -> Array:
    """The smallest float64 at or above a + b, or the one above it; inf where a term is inf."""
    return -sum_down(-np.asarray(a), -np.asarray(b))


def score_bounds(name: str, scores: Scores) -> Bounds:
    """Lower and upper bounds of scores, (k, c) each; a score that overflowed says nothing and is bounded by nothing."""
    values = scores.values
    errors = scores.errors
    if np.isnan(values).any() or np.isnan(errors).any():
        raise MisuseError(f"scores of {name}", "not be NaN", Clause("one of them is"))
    if errors.size and errors.min() < 0.0:
        raise MisuseError(f"errors of {name}", "be nonnegative", f"{errors.min():g}")
    is_finite = np.isfinite(values) & np.isfinite(errors)
    values = np.where(is_finite, values, 0.0)
    errors = np.where(is_finite, errors, np.inf)
    return Bounds(sum_down(values, -errors), sum_up(values, errors))


def ball_bounds(ball: arb) -> tuple[float, float]:
    """Float64 numbers at or below and at or above every point of a ball."""
    if not ball.is_finite():
        return -np.inf, np.inf
    # A float64 is exact as a ball, so the comparisons are decided; the conversion itself rounds either way.
    below = float(ball.lower())
    above = float(ball.upper())
    lower = below if arb(below) <= ball else np.nextafter(below, -np.inf)
    upper = above if arb(above) >= ball else np.nextafter(above, np.inf)
    return float(lower), float(upper)


def threshold_ball(level: float, bits: int) -> arb:
    r""":math:`\tau_\alpha = -\log\alpha` (eq:supp-log-e-margin) of the float64 level, to this many bits."""
    with ctx.workprec(bits):
        return -arb(level).log()


@lru_cache
def threshold_bounds(level: float) -> tuple[float, float]:
    """Float64 bounds of minus the log of a level: equal, or neighbouring numbers."""
    return ball_bounds(threshold_ball(level, 128))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and what it misses, exactly; NaN misses where a term or the sum is infinite."""
    a = np.asarray(a)
    b = np.asarray(b)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        second = total - a
        missing = (a - (total - second)) + (b - second)
    return total, missing


# Bounds kept for one stream, keys times checkpoints: two float64 each, 256 MiB.
MOST_ENTRIES = 2**24
# A question about few keys is answered for this many: reading the rows costs about the same, and neighbours come next.
AHEAD = 64


@final
class ScoredKeys:
    """Bounds of a stream's log likelihoods, key by key, remembered up to a number of entries.

    A batch that does not fit beside what is kept empties the memory first; one that does not fit at all is not kept.
    So memory is bounded and only time depends on the order of the questions. Not for several threads at once.
    """

    def __init__(self, name: str, stream: Stream, most_entries: int = MOST_ENTRIES) -> None:
        self._name = name
        self._stream = stream
        self._most_keys = most_entries // len(stream.checkpoints)
        self._n_kept = 0
        # One more than the row that keeps a key, 0 for none. Pages that are never touched take no memory.
        self._row = np.zeros(stream.n_keys, dtype=np.int32)
        room = min(self._most_keys, stream.n_keys)
        self._keys = np.empty(room, dtype=np.int64)
        self._lower = np.empty((room, len(stream.checkpoints)))
        self._upper = np.empty((room, len(stream.checkpoints)))

    def has(self, keys: IntArray) -> BoolArray:
        """(k,) whether keys are scored and kept."""
        return np.asarray(self._row[keys] > 0)

    def bounds(self, keys: IntArray, near: IntArray | None = None) -> Bounds:
        """Lower and upper bounds at every checkpoint, (k, c) each, of distinct keys.

        near: distinct keys to be scored along with any of them that has to be; if left out, the next few.
        """
        new = keys[self._row[keys] == 0]
        if len(keys) > self._most_keys:
            return score_bounds(self._name, self._scores(keys))
        if self._n_kept + len(new) > self._most_keys:
            self._row[self._keys[: self._n_kept]] = 0
            self._n_kept = 0
            new = keys
        if len(new):
            self._keep(new, self._neighbours(new, near))
        rows = self._row[keys] - 1
        return Bounds(self._lower[rows], self._upper[rows])

    def _neighbours(self, new: IntArray, near: IntArray | None) -> IntArray:
        """Unscored keys besides the new ones, as many as fit."""
        room = self._most_keys - self._n_kept - len(new)
        if near is None:
            near = np.arange(new[-1] + 1, min(new[-1] + 1 + AHEAD, self._stream.n_keys))
            room = min(room, AHEAD - len(new))
        return np.setdiff1d(near[self._row[near] == 0], new)[: max(0, room)]

    def _keep(self, new: IntArray, neighbours: IntArray) -> None:
        """Score and keep keys; neighbours that have no sound score are left for when they are asked about."""
        keys, scores = self._scored_with(new, neighbours)
        is_asked = np.arange(len(keys)) < len(new)
        scored = is_asked | (~np.isnan(scores.values) & (scores.errors >= 0.0)).all(axis=1)
        keys = keys[scored]
        bounds = score_bounds(self._name, Scores(scores.values[scored], scores.errors[scored]))
        start = self._n_kept
        stop = self._n_kept + len(keys)
        self._keys[start:stop] = keys
        self._lower[start:stop] = bounds.lower
        self._upper[start:stop] = bounds.upper
        self._row[keys] = np.arange(start + 1, stop + 1)
        self._n_kept = stop

    def _scored_with(self, new: IntArray, neighbours: IntArray) -> tuple[IntArray, Scores]:
        """Keys and their scores, without the neighbours if these are the reason why there are none."""
        keys = np.concatenate([new, neighbours])
        try:
            return keys, self._scores(keys)
        except Exception:
            # Whatever it was: nobody asked about the neighbours, so it must not show.
            if not len(neighbours):
                raise
            return new, self._scores(new)

    def _scores(self, keys: IntArray) -> Scores:
        scores = self._stream.log_likelihood(keys)
        expected = (len(keys), len(self._stream.checkpoints))
        if scores.values.shape != expected:
            rule = f"have shape {expected}, keys and checkpoints"
            raise MisuseError(f"scores of {self._name}", rule, f"shape {scores.values.shape}")
        return scores


def doubling_checkpoints(n_rows: int, first: int = 128) -> IntArray:
    """Prefix lengths first, 2 first, 4 first, ... below n_rows, and n_rows itself.

    >>> doubling_checkpoints(700).tolist()
    [128, 256, 512, 700]
    """
    n = check_count("n_rows", n_rows)
    length = check_count("first", first)
    lengths = []
    while length < n:
        lengths.append(length)
        length *= 2
    return np.array([*lengths, n], dtype=np.int64)


def joint_path(checkpoints: Sequence[ArrayLike]) -> tuple[IntArray, IntArray]:
    """The path through the checkpoints of several streams, each read at its own relative pace.

    A checkpoint stands at its share of the stream's rows, of which the last checkpoint reads all. Shares are merged in
    order, compared as exact fractions; at each share every stream stands at its latest checkpoint. No stream ever goes
    back and every step reads rows: along such a path, fixed before the rows are read, the product of the streams'
    likelihood ratios is a martingale under the explanation it tests.

    checkpoints: prefix lengths of each stream.  Returns (k, streams) rows read at each step, such as the pairs
    (n_k, t_k) (eq:supp-six-checkpoints), and numbers of the checkpoints, -1 before the first.

    >>> joint_path([[128, 256, 300], [40]])[0].tolist()
    [[128, 0], [256, 0], [300, 40]]
    """
    if not checkpoints:
        raise MisuseError("checkpoints", "be those of at least one stream", Clause("there is none"))
    streams = [check_checkpoints(lengths, int(np.max(np.asarray(lengths), initial=1))) for lengths in checkpoints]
    shares = [[Fraction(t, lengths[-1]) for t in lengths] for lengths in (stream.tolist() for stream in streams)]
    # Each share is the share of some checkpoint, so some stream moves at each: no step repeats the one before.
    merged = sorted({share for stream in shares for share in stream})
    steps = np.array([[sum(s <= share for s in stream) - 1 for stream in shares] for share in merged], dtype=np.int64)
    padded = [np.concatenate([[0], lengths]) for lengths in streams]
    return np.stack([lengths[steps[:, i] + 1] for i, lengths in enumerate(padded)], axis=1), steps


BLOCK = 2**16
# Balls kept for later: explanations that share a factor escalate one after another.
_MOST_BALLS = 4096


@final
@dataclass(frozen=True, eq=False)  # no slots: keys and numerator are scored when first asked for
class Factor:
    """One stream's part in the evidence: a key for every explanation, and the proposal it is compared with.

    keys_of: explanation indices (k,) to keys (k,) of the stream, such as `bank.calibration_keys`.
    numerator: any stream of densities over the same held-out rows with the same checkpoints, and its key; it may lie
    off the bank, but nothing about it may depend on held-out rows.
    Each key and the numerator are scored once and remembered, up to most_entries bounds (keys times checkpoints).
    """

    name: str
    stream: Stream
    keys_of: Callable[[IntArray], IntArray]
    numerator: tuple[Stream, int]
    most_entries: int = MOST_ENTRIES
    _balls: dict[tuple[int, int], list[arb]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        proposal, key = self.numerator
        check_count(f"numerator key of {self.name}", key, 0, proposal.n_keys - 1)
        if not proposal.is_density:
            remedy = "Fit its coefficients on proposal rows and use point_stream at that mean."
            raise MisuseError(f"numerator of {self.name}", "be a density", "a supremum of densities", remedy)
        ours, theirs = (check_whole(f"checkpoints of {self.name}", s.checkpoints) for s in (self.stream, proposal))
        if not np.array_equal(ours, theirs):
            rule = "have the checkpoints of its stream"
            raise MisuseError(
                f"numerator of {self.name}",
                rule,
                Clause(f"they are {theirs.tolist()}, and those of the stream {ours.tolist()}"),
            )

    def widened(self, error: float) -> "Factor":
        """The factor with the same numerator for responses right to within this error, if the stream has a scale."""
        stream = cast("LinearStream | BandedStream", self.stream)  # the only one whose design may have a scale
        return Factor(self.name, stream.widened(error), self.keys_of, self.numerator, self.most_entries)

    @cached_property
    def scored(self) -> ScoredKeys:
        """The scored keys of the stream."""
        return ScoredKeys(self.name, self.stream, self.most_entries)

    @cached_property
    def _numerators(self) -> ScoredKeys:
        proposal = self.numerator[0]
        return self.scored if proposal is self.stream else ScoredKeys(f"the numerator of {self.name}", proposal)

    def keys(self, indices: IntArray) -> IntArray:
        """Keys (k,) of explanations, checked."""
        name = f"keys of {self.name}"
        keys = check_indices(name, self.keys_of(indices), self.stream.n_keys)
        if keys.shape != indices.shape:
            raise MisuseError(name, f"have shape {indices.shape}", f"shape {keys.shape}")
        return keys

    def ratio(self, keys: IntArray) -> Bounds:
        """Bounds of the log likelihood ratio of distinct keys, (k, c + 1): no rows, then every checkpoint.

        A key that is the numerator itself has the ratio 1 exactly.
        """
        proposal, numerator = self.numerator
        lower, upper = self._over(self.scored.bounds(keys))
        if proposal is self.stream:
            lower[keys == numerator] = upper[keys == numerator] = 0.0
        unread = np.zeros((len(keys), 1))
        return Bounds(np.hstack([unread, lower]), np.hstack([unread, upper]))

    def against(self, scores: Scores) -> Bounds:
        """Bounds (k, c) of the log of the numerator over densities with these scores."""
        return self._over(score_bounds(self.name, scores))

    def _over(self, below: Bounds) -> Bounds:
        above = self._numerators.bounds(np.array([self.numerator[1]]))  # (1, c); often among those of the keys
        return Bounds(sum_down(above.lower, -below.upper), sum_up(above.upper, -below.lower))

    def ratio_balls(self, key: int, bits: int) -> list[arb]:
        """The same of one key in balls at this precision, c + 1 of them."""
        proposal, numerator = self.numerator
        if proposal is self.stream and key == numerator:
            return [arb(0)] * (len(self.stream.checkpoints) + 1)
        above = self._enclosure(proposal, numerator, (-1, bits))
        below = self._enclosure(self.stream, key, (key, bits))
        with ctx.workprec(bits):
            return [arb(0), *(a - b for a, b in zip(above, below, strict=True))]

    def _enclosure(self, stream: Stream, key: int, label: tuple[int, int]) -> list[arb]:
        if label not in self._balls:
            if len(self._balls) >= _MOST_BALLS:
                self._balls.clear()
            self._balls[label] = stream.enclosure(key, label[1])
        return self._balls[label]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    r"""The log of the e-process of every explanation of a bank, one factor a stream.

    :math:`\log E_k(e) = \sum_s \{\log f^s_{\hat e}(\text{first } n_{k,s} \text{ rows}) - \log f^s_e(\ldots)\}`
    (eq:conditional-likelihood-ratio-process for one stream, eq:supp-two-stream-eprocess for two). Under e it is the
    logarithm of a martingale started at 1, if streams are independent and numerators were fixed before.

    Nothing is scored before the first question, but streams of sufficient statistics read their rows when they are
    built: build them after everything is fixed, as a protocol does.
    """

    size: int
    factors: Sequence[Factor]
    prefixes: IntArray = field(init=False)  # (steps, streams) rows read, see `joint_path`
    _steps: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_count("size", self.size)
        prefixes, steps = joint_path([factor.stream.checkpoints for factor in self.factors])
        object.__setattr__(self, "prefixes", prefixes)
        object.__setattr__(self, "_steps", steps)

    def along_path(self, indices: ArrayLike) -> Bounds:
        """Bounds of the log evidence of explanations at every step of the path, (k, steps)."""
        chosen = check_indices("indices", indices, self.size)
        return self._along([factor.keys(chosen) for factor in self.factors])

    def log_evidence(self, indices: ArrayLike) -> Bounds:
        r"""Bounds (k,) of :math:`\max_k \log E_k(e)` of explanations."""
        return self.along_path(indices).peak()

    def along(self, index: int, near: IntArray) -> tuple[IntArray, Bounds]:
        """Score an explanation; of those near it that have scores then, their indices and log evidence (k,).

        Nothing about the others can make this fail: keys without a sound score are left out.
        """
        single = check_indices("index", np.array([index]), self.size)
        keys = [factor.keys(near) for factor in self.factors]
        is_known = np.ones(len(near), dtype=np.bool_)
        for factor, part in zip(self.factors, keys, strict=True):
            factor.scored.bounds(factor.keys(single), np.unique(part))
            is_known &= factor.scored.has(part)
        return near[is_known], self._along([part[is_known] for part in keys]).peak()

    def _along(self, keys: Sequence[IntArray]) -> Bounds:
        """Bounds for explanations with these keys (k,) in each factor."""
        lower = upper = np.zeros((len(keys[0]), len(self._steps)))
        for factor, all_keys, steps in zip(self.factors, keys, self._steps.T + 1, strict=True):
            distinct, where = np.unique(all_keys, return_inverse=True)
            ratio = factor.ratio(distinct)
            lower = sum_down(lower, ratio.lower[:, steps][where])
            upper = sum_up(upper, ratio.upper[:, steps][where])
        return Bounds(lower, upper)

    def ball(self, index: int, bits: int) -> arb:
        """The largest log evidence of one explanation in a ball, by enclosures of its keys at this precision."""
        chosen = check_indices("index", np.array([index]), self.size)
        ratios = [factor.ratio_balls(int(factor.keys(chosen)[0]), bits) for factor in self.factors]
        with ctx.workprec(bits):
            steps = (
                sum((ratio[s + 1] for ratio, s in zip(ratios, row, strict=True)), arb(0))
                for row in self._steps.tolist()
            )
            return reduce(arb.max, steps)


def bank_evidence(
    bank: Bank,
    *,
    calibration: tuple[Stream, tuple[Stream, int]] | None = None,
    deployment: tuple[Stream, tuple[Stream, int]] | None = None,
) -> Evidence:
    """Evidence against the explanations of a bank from its calibration stream, its deployment stream, or both.

    Each is given as (stream, numerator); both are read along their joint path, whole to the last checkpoint.
    """
    streams = (
        ("calibration", bank.calibration_keys, bank.n_calibration_keys, calibration),
        ("deployment", bank.deployment_keys, bank.n_deployment_keys, deployment),
    )
    for name, _, n_keys, part in streams:
        if part is not None and part[0].n_keys != n_keys:
            raise MisuseError(f"{name} stream", f"have the {n_keys} keys of the bank", f"{part[0].n_keys} keys")
    factors = [Factor(name, part[0], keys_of, part[1]) for name, keys_of, _, part in streams if part is not None]
    if not factors:
        raise MisuseError("streams", "be given, calibration or deployment or both", Clause("neither is given"))
    return Evidence(bank.size, factors)


def final_bounds(evidence: Evidence | None, explanations: IntArray) -> Bounds:
    """Bounds (k,) of the log evidence at its end, not its peak; 0 without evidence."""
    if evidence is None:
        return Bounds(np.zeros(len(explanations)), np.zeros(len(explanations)))
    path = evidence.along_path(explanations)
    return Bounds(path.lower[:, -1], path.upper[:, -1])

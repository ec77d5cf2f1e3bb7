"""Evidence against explanations: how much better a proposal predicts the held-out rows, along a path of checkpoints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from .._arrays import check_indices, check_whole
from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray
from ..banks import Bank
from ..laws import Stream, check_checkpoints
from ._scored import MOST_ENTRIES, Bounds, ScoredKeys, sum_down, sum_up


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
        prefixes = check_whole("prefixes", self.prefixes, 2)
        steps = check_whole("steps", self.steps, 2)
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


BLOCK = 2**16
# Balls kept for later: explanations that share a factor escalate one after another.
_MOST_BALLS = 4096


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """One stream's part in the evidence: a key for every explanation, and the proposal it is compared with.

    keys_of: explanation indices (k,) to keys (k,) of the stream, such as `bank.calibration_keys`.
    numerator: any stream of densities over the same held-out rows with the same checkpoints, and its key; it may lie
    off the bank, but nothing about it may depend on held-out rows.
    """

    name: str
    stream: Stream
    keys_of: Callable[[IntArray], IntArray]
    numerator: tuple[Stream, int]
    _kept: dict[int, tuple[ScoredKeys, ScoredKeys]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        proposal, key = self.numerator
        check_count(f"numerator key of {self.name}", key, 0, proposal.n_keys - 1)
        if not proposal.is_density:
            remedy = "Fit its coefficients on proposal rows and use point_stream at that mean."
            raise MisuseError(f"numerator of {self.name}", "be a density", "a supremum of densities", remedy)
        ours, theirs = (check_whole(f"checkpoints of {self.name}", s.checkpoints) for s in (self.stream, proposal))
        if not np.array_equal(ours, theirs):
            rule = "have the checkpoints of its stream"
            raise MisuseError(f"numerator of {self.name}", rule, f"{theirs.tolist()}, not {ours.tolist()}")

    def scored(self, most_entries: int) -> tuple[ScoredKeys, ScoredKeys]:
        """Keys and numerator, each scored once for every evidence with this factor and so much memory."""
        if most_entries not in self._kept:
            below = ScoredKeys(self.name, self.stream, most_entries)
            proposal = self.numerator[0]
            above = below if proposal is self.stream else ScoredKeys(f"the numerator of {self.name}", proposal)
            self._kept[most_entries] = below, above
        return self._kept[most_entries]

    def keys(self, indices: IntArray) -> IntArray:
        """Keys (k,) of explanations, checked."""
        name = f"keys of {self.name}"
        keys = check_indices(name, self.keys_of(indices), self.stream.n_keys)
        if keys.shape != indices.shape:
            raise MisuseError(name, f"have shape {indices.shape}", f"shape {keys.shape}")
        return keys


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    r"""The log of the e-process of every explanation of a bank, one factor a stream.

    :math:`\log E_k(e) = \sum_s \{\log f^s_{\hat e}(\text{first } n_{k,s} \text{ rows}) - \log f^s_e(\ldots)\}`
    (eq:conditional-likelihood-ratio-process for one stream, eq:supp-two-stream-eprocess for two). Under e it is the
    logarithm of a martingale started at 1, if streams are independent and path and numerators were fixed before.

    Nothing is scored before the first question, but streams of sufficient statistics read their rows when they are
    built: build them after everything is fixed, as a protocol does. Keys and numerators are scored once and
    remembered: for each stream up to most_entries bounds (keys times checkpoints).
    """

    size: int
    factors: Sequence[Factor]
    path: JointPath
    most_entries: int = MOST_ENTRIES
    _scored: tuple[ScoredKeys, ...] = field(init=False, repr=False)
    _numerators: tuple[ScoredKeys, ...] = field(init=False, repr=False)
    _balls: dict[tuple[int, int, int], list[arb]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_count("size", self.size)
        check_count("most_entries", self.most_entries, 1, 2**31 - 1)
        if self.path.n_streams != len(self.factors):
            raise MisuseError("path", f"lead through {len(self.factors)} streams", f"{self.path.n_streams} streams")
        for i, factor in enumerate(self.factors):
            _check_stations(factor, self.path, i)
        scored, numerators = zip(*(factor.scored(self.most_entries) for factor in self.factors), strict=True)
        for name, value in (("_scored", scored), ("_numerators", numerators), ("_balls", {})):
            object.__setattr__(self, name, value)

    def along_path(self, indices: ArrayLike) -> Bounds:
        """Bounds of the log evidence of explanations at every step of the path, (k, steps)."""
        chosen = check_indices("indices", indices, self.size)
        return self._along([factor.keys(chosen) for factor in self.factors])

    def log_evidence(self, indices: ArrayLike) -> Bounds:
        r"""Bounds (k,) of :math:`\max_k \log E_k(e)` of explanations."""
        chosen = check_indices("indices", indices, self.size)
        peaks = [self.along_path(block).peak() for block in blocks(chosen, BLOCK)]
        return Bounds(np.concatenate([p.lower for p in peaks]), np.concatenate([p.upper for p in peaks]))

    def along(self, index: int, near: IntArray) -> tuple[IntArray, Bounds]:
        """Score an explanation; of those near it that have scores then, their indices and log evidence (k,).

        Nothing about the others can make this fail: keys without a sound score are left out.
        """
        single = check_indices("index", np.array([index]), self.size)
        keys = [factor.keys(near) for factor in self.factors]
        is_known = np.ones(len(near), dtype=np.bool_)
        for factor, scored, part in zip(self.factors, self._scored, keys, strict=True):
            scored.bounds(factor.keys(single), np.unique(part))
            is_known &= scored.has(part)
        return near[is_known], self._along([part[is_known] for part in keys]).peak()

    def _along(self, keys: Sequence[IntArray]) -> Bounds:
        """Of explanations with these keys (k,) in each factor."""
        lower = upper = np.zeros((len(keys[0]), len(self.path)))
        for i, all_keys in enumerate(keys):
            distinct, where = np.unique(all_keys, return_inverse=True)
            ratio = self.ratio(i, distinct)
            steps = self.path.steps[:, i] + 1
            lower = sum_down(lower, ratio.lower[:, steps][where])
            upper = sum_up(upper, ratio.upper[:, steps][where])
        return Bounds(lower, upper)

    def ratio(self, factor: int, keys: IntArray) -> Bounds:
        """Bounds of one factor's log likelihood ratio of distinct keys, (k, c + 1): no rows, then every checkpoint.

        A key that is the numerator itself has the ratio 1 exactly.
        """
        (proposal, numerator) = self.factors[factor].numerator
        stream = self.factors[factor].stream
        below = self._scored[factor].bounds(keys)  # (k, c) each
        above = self._numerators[factor].bounds(np.array([numerator]))  # (1, c) each; often among those of the keys
        lower = sum_down(above.lower, -below.upper)
        upper = sum_up(above.upper, -below.lower)
        if proposal is stream:
            lower[keys == numerator] = upper[keys == numerator] = 0.0
        unread = np.zeros((len(keys), 1))
        return Bounds(np.hstack([unread, lower]), np.hstack([unread, upper]))

    def ratio_balls(self, factor: int, key: int, bits: int) -> list[arb]:
        """The same of one key in balls at this precision, c + 1 of them."""
        proposal, numerator = self.factors[factor].numerator
        stream = self.factors[factor].stream
        if proposal is stream and key == numerator:
            return [arb(0)] * (len(stream.checkpoints) + 1)
        above = self._enclosure(proposal, (factor, -1, bits), numerator)
        below = self._enclosure(stream, (factor, key, bits), key)
        with ctx.workprec(bits):
            return [arb(0), *(a - b for a, b in zip(above, below, strict=True))]

    def ball(self, index: int, bits: int) -> arb:
        """The largest log evidence of one explanation in a ball, by enclosures of its keys at this precision."""
        chosen = check_indices("index", np.array([index]), self.size)
        keys = [int(factor.keys(chosen)[0]) for factor in self.factors]
        ratios = [self.ratio_balls(i, key, bits) for i, key in enumerate(keys)]
        with ctx.workprec(bits):
            steps = [
                sum((ratio[s + 1] for ratio, s in zip(ratios, row, strict=True)), arb(0))
                for row in self.path.steps.tolist()
            ]
            return largest(steps)

    def _enclosure(self, stream: Stream, label: tuple[int, int, int], key: int) -> list[arb]:
        if label not in self._balls:
            if len(self._balls) >= _MOST_BALLS:
                self._balls.clear()
            self._balls[label] = stream.enclosure(key, label[2])
        return self._balls[label]


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
        raise MisuseError("streams", "be given, calibration or deployment or both", "neither")
    return Evidence(bank.size, factors, joint_path([factor.stream.checkpoints for factor in factors]))


def largest(balls: Sequence[arb]) -> arb:
    """A ball around the largest of the numbers in the balls."""
    peak = balls[0]
    for ball in balls[1:]:
        peak = peak.max(ball)
    return peak


def final_bounds(evidence: Evidence | None, explanations: IntArray) -> Bounds:
    """(k,) of the log evidence at its end, not its peak; 0 where there is none."""
    if evidence is None:
        return Bounds(np.zeros(len(explanations)), np.zeros(len(explanations)))
    path = evidence.along_path(explanations)
    return Bounds(path.lower[:, -1], path.upper[:, -1])


def blocks(values: IntArray, size: int) -> Iterator[IntArray]:
    """Consecutive parts of at most this size; one empty part of nothing."""
    for start in range(0, max(1, len(values)), size):
        yield values[start : start + size]


def _check_stations(factor: Factor, path: JointPath, column: int) -> None:
    """The path stands on the stream's own checkpoints."""
    lengths = np.concatenate([[0], factor.stream.checkpoints])
    steps = path.steps[:, column]
    if steps.max() + 1 >= len(lengths):
        rule = f"stay within the {len(lengths) - 1} checkpoints of {factor.name}"
        raise MisuseError("path", rule, f"step {steps.max()}")
    if not np.array_equal(lengths[steps + 1], path.prefixes[:, column]):
        rule = f"stand at the checkpoints of {factor.name}, {lengths[steps + 1].tolist()}"
        raise MisuseError("path", rule, path.prefixes[:, column].tolist())

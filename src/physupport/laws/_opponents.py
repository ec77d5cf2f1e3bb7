"""The contract of a stream, rows and densities scored with a proven error, and of its numerator, the opponent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_whole, read_only
from .._checks import check_count
from .._codec import array_json, real
from .._errors import MisuseError
from .._stored import Real, Refusal, check_form
from .._typing import Array, Field, IntArray
from ..banks import array_bank, array_states
from ..io import RowSource, as_complex, as_pairs
from ._codes import BernoulliGaussian, checked_activity

if TYPE_CHECKING:
    from flint import arb


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Log likelihoods of k keys at c checkpoints, each within its error of the exact real number.

    Exact means: of the stored float64 rows and parameters, in real arithmetic.
    """

    values: Array  # (k, c)
    errors: Array  # (k, c), nonnegative

    def __post_init__(self) -> None:
        if self.values.shape != self.errors.shape or self.values.ndim != 2:
            rule = "have one shape (keys, checkpoints)"
            raise MisuseError("values and errors", rule, (self.values.shape, self.errors.shape))


class Stream(Protocol):
    """Rows and the densities that may have made them, one density a key.

    Adding up log densities over the first t rows for every checkpoint t is all that the evidence needs of the data.
    """

    @property
    def checkpoints(self) -> IntArray:
        """(c,) increasing prefix lengths at which the rows are looked at."""

    @property
    def n_keys(self) -> int:
        """Keys are 0 .. n_keys - 1."""

    @property
    def is_density(self) -> bool:
        """True if a key scores a density; a supremum of densities may only be a denominator of evidence."""

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods of a batch of distinct keys, in the order given."""

    def enclosure(self, key: int, bits: int) -> "list[arb]":
        """The same of one key in ball arithmetic, one ball a checkpoint; slow, and as tight as the bits allow."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Rows that propose, scored once: the best explanation, its rivals and all opponents come from these scores."""

    rows: RowSource
    stream: Stream  # over all of them
    keys: IntArray  # (k,) those of the explanations, increasing
    scores: Scores  # of these keys, (k, 1)
    plausibility: Array  # (M,) log likelihood of the rows under every explanation

    @classmethod
    def of(cls, rows: RowSource, stream: Stream, keys: IntArray) -> Self:
        """keys: (M,) of every explanation."""
        distinct, where = np.unique(keys, return_inverse=True)
        scores = stream.log_likelihood(distinct)
        return cls(rows, stream, distinct, scores, scores.values[where, -1])


class Opponent(Protocol):
    """A density that may be the numerator of evidence."""

    @property
    def is_of_bank(self) -> bool:
        """True if bank and proposal rows give it again."""

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream over held-out rows and the key in it; denominator: that of the explanations over these rows."""

    def encode(self) -> dict[str, object]:
        """Its only entry says which kind it is."""

    def agrees(self, other: "Opponent") -> bool:
        """True if another is the same law, up to the rounding of another machine."""


@final
@dataclass(frozen=True, slots=True)
class BankKey:
    """A law of the bank."""

    is_of_bank: ClassVar[bool] = True

    key: int

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:  # noqa: ARG002
        """The stream of the explanations itself."""
        return denominator, self.key

    def encode(self) -> dict[str, object]:
        """By its number."""
        return {"key": self.key}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """Read what `encode` wrote under `key`."""
        key = check_form(node, int, f"{where}.key")
        if key < 0:
            raise Refusal(f"{where} lies outside the bank")
        return cls(key)

    def agrees(self, other: Opponent) -> bool:
        """The same key."""
        return self == other


def check_checkpoints(checkpoints: ArrayLike, n_rows: int) -> IntArray:
    """Given prefix lengths, positive, increasing and within the rows."""
    lengths = check_whole("checkpoints", checkpoints)
    n = check_count("n_rows", n_rows)
    if len(lengths) == 0:
        raise MisuseError("checkpoints", "hold at least one prefix length", "none")
    if lengths[0] < 1:
        raise MisuseError("checkpoints", "be positive", f"{lengths[0]}")
    if np.any(np.diff(lengths) <= 0):
        raise MisuseError("checkpoints", "increase", lengths.tolist())
    if lengths[-1] > n:
        raise MisuseError("checkpoints", f"lie within the {n} rows", f"checkpoint {lengths[-1]}")
    return lengths


# Several opponents at once: a mixture of densities is a density, and hardly weaker than the best of them.


_EPS = float(np.finfo(np.float64).eps)
# Of keys that oppose: how many, and how far below the best.
_MOST_MIXED = 16
_LEAST_MIXED = 6.0
# How the entry of an opponent is read back.
Kinds = Mapping[str, Callable[[object, str], Opponent]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Opponents with weights that add up to at most 1, all of it fixed on proposal rows."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    parts: tuple[Opponent, ...]
    weights: tuple[float, ...]

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        members = tuple(part.numerator(denominator, rows) for part in self.parts)
        return MixtureStream(members, self.weights, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Every part with its weight."""
        pairs = zip(self.weights, self.parts, strict=True)
        return {"mixture": [{"weight": float(weight), "law": part.encode()} for weight, part in pairs]}

    @classmethod
    def decode(cls, node: object, where: str, kinds: Kinds) -> Self:
        """Read what `encode` wrote under `mixture`; kinds: how parts are read that a law may mix."""
        entries = check_form(node, list[dict[str, Any]], f"{where}.mixture")
        parts = []
        for entry in entries:
            check_form(entry, {"weight": Real, "law": dict[str, Any]}, f"{where}.mixture")
        weights = [entry["weight"] for entry in entries]
        for law in (entry["law"] for entry in entries):
            kind = next(iter(law), "")
            if len(law) != 1 or kind not in kinds:
                raise Refusal(f"{where} mixes what is no law")
            parts.append(kinds[kind](law[kind], where))
        if not parts or min(weights) <= 0.0 or sum(weights) > 1.0 + 1e-12:
            raise Refusal(f"{where} is no law")
        return cls(tuple(parts), tuple(weights))

    def agrees(self, other: Opponent) -> bool:
        """Part by part; weights up to the rounding of another machine."""
        if not isinstance(other, Mixture) or len(other.parts) != len(self.parts):
            return False
        are_same = all(ours.agrees(theirs) for ours, theirs in zip(self.parts, other.parts, strict=True))
        return are_same and bool(np.allclose(self.weights, other.weights, rtol=1e-6, atol=1e-9))


@final
@dataclass(frozen=True, slots=True, eq=False)
class MixtureStream:
    r"""One key: :math:`\log\sum_iw_ie^{x_i}`, within the largest error of the :math:`x_i`, and rounding."""

    is_density: ClassVar[bool] = True
    n_keys: ClassVar[int] = 1

    members: tuple[tuple[Stream, int], ...]
    weights: tuple[float, ...]
    checkpoints: IntArray

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), of the only key there is."""
        scored = [stream.log_likelihood(np.array([key])) for stream, key in self.members]
        values = np.stack([scores.values[0] for scores in scored]) + np.log(self.weights)[:, None]  # (n, c)
        largest = values.max(axis=0)
        total = largest + np.log(np.exp(values - largest).sum(axis=0))
        sizes = np.abs(values).max(axis=0) + len(values) + 8.0
        errors: Array = np.stack([scores.errors[0] for scores in scored]).max(axis=0) + 16.0 * _EPS * sizes
        is_known = np.isfinite(total) & np.isfinite(errors)
        total = np.where(is_known, total, 0.0)
        errors = np.where(is_known, errors, np.inf)
        return Scores(np.tile(total, (len(keys), 1)), np.tile(errors, (len(keys), 1)))

    def enclosure(self, key: int, bits: int) -> "list[arb]":  # noqa: ARG002
        """The same in balls; terms far below the largest are exponents that a ball holds."""
        from flint import arb, ctx

        balls = [stream.enclosure(member, bits) for stream, member in self.members]
        with ctx.workprec(bits):
            weights = [arb(weight) for weight in self.weights]
            return [
                sum((w * (x - column[0]).exp() for w, x in zip(weights, column, strict=True)), arb(0)).log() + column[0]
                for column in zip(*balls, strict=True)
            ]


def kinds_with(*alone: str, **free: Callable[[object, str], Opponent]) -> Kinds:
    """Opponents of a law: these kinds alone, and in a mixture with the free ones."""
    kinds = {**({"key": BankKey.decode} if "key" in alone else {}), **free}
    return {**{name: kinds[name] for name in alone}, "mixture": partial(Mixture.decode, kinds=kinds)}


def likely_mixture(scores: Array, point: Callable[[int], Opponent], free: Opponent) -> Mixture:
    """Fits that these scores (k,) make about as likely, by their likelihood, and with half the weight the free one."""
    order = np.argsort(-scores, kind="stable")[:_MOST_MIXED]
    chosen = order[scores[order] > scores[order[0]] - _LEAST_MIXED]
    shares = np.exp(scores[chosen] - scores[chosen[0]])
    weights = [*(0.5 * shares / shares.sum()).tolist(), 0.5]
    return Mixture((*map(point, chosen.tolist()), free), tuple(weights))


# How many axes arrays of points have.
_AXES = {"mean": 1, "atoms": 2, "strengths": 1}


class Point:
    """A density off the bank, given by its numbers: the fields of a dataclass that says how rows are scored."""

    kind: ClassVar[str]  # its entry in a document
    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it
    tolerances: ClassVar[tuple[float, float]] = (1e-6, 1e-9)  # of entries, and of the largest of an array

    def is_law(self) -> bool:
        """True if the numbers define a density."""
        raise NotImplementedError

    def stream(self, rows: RowSource, checkpoints: IntArray) -> Stream:
        """The rows scored under this density, the only key."""
        raise NotImplementedError

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        return self.stream(rows, denominator.checkpoints), 0

    def numbers(self) -> dict[str, Any]:
        """The fields by their names."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def encode(self) -> dict[str, object]:
        """All of it."""
        entries = {name: array_json(value) if name in _AXES else value for name, value in self.numbers().items()}
        return {self.kind: entries}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """Read what `encode` wrote."""
        kinds = {each.name: dict if each.name in _AXES else each.type for each in fields(cls)}  # type: ignore[arg-type]
        form = {name: Real if kind is float else kind for name, kind in kinds.items()}
        content = check_form(node, form, f"{where}.{cls.kind}")
        axes = {name: [None] * count for name, count in _AXES.items()}
        point = cls(**{name: real(value, *axes[name]) if name in axes else value for name, value in content.items()})
        if not point.is_law():
            raise Refusal(f"{where} is no law")
        return point

    def compared(self) -> list[Any]:
        """The numbers that two points of one density share."""
        return [*self.numbers().values()]

    def agrees(self, other: Opponent) -> bool:
        """The same fit on another machine differs by rounding."""
        if not isinstance(other, type(self)):
            return False
        relative, least = self.tolerances
        pairs = [(np.asarray(one), np.asarray(two)) for one, two in zip(self.compared(), other.compared(), strict=True)]
        return all(
            one.shape == two.shape
            and bool(np.allclose(one, two, rtol=relative, atol=least * np.abs(two).max(initial=0.0)))
            for one, two in pairs
        )


@final
@dataclass(frozen=True, eq=False)
class MeanPoint(Point):
    """Rows scattered about one mean."""

    kind: ClassVar[str] = "mean_point"
    tolerances: ClassVar[tuple[float, float]] = (1e-9, 1e-9)

    mean: Array  # (q,)
    noise: float  # variance of a real entry

    def is_law(self) -> bool:
        """True if there is a mean, and noise."""
        return self.mean.size > 0 and self.noise > 0.0

    def stream(self, rows: RowSource, checkpoints: IntArray) -> Stream:
        """The rows about this mean."""
        from ._white_noise import point_stream

        return point_stream(rows, self.mean, self.noise, checkpoints)


def mean_opponent(rows: RowSource, noise: float) -> MeanPoint:
    """The mean of the rows, and their scatter about it; noise: the variance of an entry if a single row has none."""
    table = np.concatenate([*rows.blocks()])
    with np.errstate(over="ignore", invalid="ignore"):  # whoever writes it down refuses what is not finite
        mean = table.mean(axis=0)
        scatter = float(((table - mean) ** 2).sum()) / max((len(table) - 1) * len(mean), 1)
    return MeanPoint(mean, scatter if scatter > 0.0 else noise)


@final
@dataclass(frozen=True, eq=False)
class CovariancePoint(Point):
    r"""Rows from :math:`N(0, \nu I + \sum_j\lambda_ju_ju_j^*)`, of orthonormal directions, circular if complex."""

    kind: ClassVar[str] = "covariance_point"

    atoms: Array  # (q, k), complex ones as pairs (Re, Im)
    strengths: Array  # (k,)
    noise: float  # of a complex entry if complex
    is_complex: bool

    @classmethod
    def of(cls, directions: Field, strengths: Array, noise: float) -> Self:
        """The point of directions (q, k) as numbers of the instrument."""
        is_complex = np.iscomplexobj(directions)
        atoms = as_pairs(directions, axis=0) if is_complex else np.asarray(directions, dtype=np.float64)
        return cls(atoms, np.asarray(strengths, dtype=np.float64), float(noise), is_complex)

    def is_law(self) -> bool:
        """True if every direction has a strength, and there is noise."""
        is_whole = len(self.atoms) > 0 and self.atoms.shape[1] == len(self.strengths)
        return is_whole and self.noise > 0.0 and self.strengths.min(initial=1.0) > 0.0

    def stream(self, rows: RowSource, checkpoints: IntArray) -> Stream:
        """The rows under this covariance."""
        from ._covariance_stream import covariance_stream

        count = len(self.strengths)
        atoms = self.atoms if count else np.eye(len(self.atoms))[:, :1]
        bank = array_bank(atoms[None], [tuple(range(count))], strengths=self.strengths if count else 1.0)
        return covariance_stream(bank, rows, [self.noise], checkpoints, is_complex=self.is_complex)

    def compared(self) -> list[Any]:
        """The noise and the covariance (q, q): directions of equal strength may be others."""
        directions = as_complex(self.atoms) if self.is_complex else self.atoms
        signal = (directions * self.strengths) @ directions.conj().T
        return [self.noise, signal + self.noise * np.eye(len(directions))]


def leading_point(root: Field, n_rows: int) -> CovariancePoint:
    r"""The leading eigenvectors of second moments :math:`R = F^\top\bar F/n`, as many as the shortest description has.

    With k directions, :math:`\log\det` of the fitted covariance is that of the k largest eigenvalues and of the mean s
    of the others; each of its free numbers costs half the logarithm of the number of rows (Wax and Kailath, 1985).
    root: F, (m, q), the rows themselves or fewer with the same second moments.
    """
    q = root.shape[1]
    parts = 2 if np.iscomplexobj(root) else 1
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    values = np.zeros(q)
    values[: len(singular)] = singular**2 / n_rows
    ranks = np.arange(min(n_rows // 2, q - 1, len(singular)) + 1)
    noises = np.array([values[k:].sum() / (q - k) for k in ranks])
    ranks = ranks[noises > 0.0]
    noises = noises[noises > 0.0]
    if not len(ranks):
        raise MisuseError("proposal rows", "not all be 0", "rows of zeros")
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    fits = np.array([logs[:k].sum() + (q - k) * np.log(noise) for k, noise in zip(ranks, noises, strict=True)])
    n_free = ranks * (2 * q - ranks) if parts == 2 else ranks * (2 * q - ranks + 1) / 2
    best = int(np.argmin(0.5 * parts * n_rows * fits + 0.5 * np.log(n_rows) * n_free))
    k = int(ranks[best])
    noise = float(noises[best])
    k = int(np.count_nonzero(values[:k] > noise))
    return CovariancePoint.of(right[:k].T, values[:k] - noise, noise)


@final
@dataclass(frozen=True, eq=False)
class DictionaryPoint(Point):
    """Rows of observed codes under one dictionary, of atoms of any norm, in one noise."""

    kind: ClassVar[str] = "dictionary_point"

    atoms: Array  # (q, n), complex ones as pairs (Re, Im) along the first axis
    noise: float  # of a complex entry if complex
    is_complex: bool

    def is_law(self) -> bool:
        """True if there is an atom, and noise."""
        return self.atoms.size > 0 and self.noise > 0.0

    def stream(self, rows: RowSource, checkpoints: IntArray) -> Stream:
        """The rows with unit atoms, and codes that have the norms instead."""
        from ._white_noise import CodeColumns, known_code_stream

        q = len(self.atoms)
        norms = np.linalg.norm(self.atoms, axis=0)
        unit = np.where(norms > 0.0, self.atoms / np.where(norms > 0.0, norms, 1.0), np.eye(q)[:, :1])
        factors = np.repeat(norms, 2) if self.is_complex else norms
        measured = CodeColumns(rows, slice(0, q), q)
        codes = CodeColumns(rows, slice(q, rows.width), rows.width - q, factors)
        states = array_states(unit[None])
        return known_code_stream(measured, codes, states, [self.noise], checkpoints, is_complex=self.is_complex)


@final
@dataclass(frozen=True, eq=False)
class LatentPoint(Point):
    """One calibration law: the dictionary, the activity and the noise variance."""

    kind: ClassVar[str] = "point"
    is_of_bank: ClassVar[bool] = False  # who proposed it, from the proposal rows alone or not, is not known here
    tolerances: ClassVar[tuple[float, float]] = (1e-6, 1e-8)

    atoms: Array  # (q, n)
    p: float
    noise: float

    def frozen(self) -> Self:
        """The same in copies that nothing can change any more."""
        return type(self)(read_only(np.asarray(self.atoms, dtype=np.float64)), float(self.p), float(self.noise))

    def is_law(self) -> bool:
        """True if there is an atom, and noise; an activity out of range is refused by its name."""
        checked_activity(self.p, "the activity of the numerator")
        return self.atoms.size > 0 and self.noise > 0.0

    def stream(self, rows: RowSource, checkpoints: IntArray) -> Stream:
        """The rows under this law."""
        from ._latent_stream import latent_stream

        return latent_stream(
            rows, array_states(self.atoms[None]), [BernoulliGaussian(self.p)], [self.noise], checkpoints
        )

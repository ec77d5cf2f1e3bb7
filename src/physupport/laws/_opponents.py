"""Opponents: densities that may be the numerator of evidence, fixed on proposal rows before others judge."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from .._checks import read_only
from .._codec import Real, Refusal, array_json, check_form, real
from .._errors import Clause, MisuseError
from .._typing import Array, Field, IntArray
from ..io import RowSource, as_complex, as_pairs
from . import streams
from ._codes import checked_activity
from ._stream import MappedRows, Scores, Stream


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


# How each kind of point is written: of arrays the number of axes, of numbers their type.
_FORMS: Mapping[str, Mapping[str, Any]] = {
    "mean_point": {"mean": 1, "noise": Real},
    "correlated_point": {"mean": 1, "noise": Real, "correlation": Real},
    "covariance_point": {"atoms": 2, "strengths": 1, "noise": Real, "is_complex": bool},
    "dictionary_point": {"atoms": 2, "noise": Real, "is_complex": bool},
    "point": {"atoms": 2, "p": Real, "noise": Real},
}
KINDS = ("key", "mixture", "product", *_FORMS)
# How far fits of two machines may be apart: relative, and to the largest of an array.
_TOLERANCES = {"mean_point": (1e-9, 1e-9), "point": (1e-6, 1e-8)}
_TOLERANCE = (1e-6, 1e-9)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Point:
    r"""One density that may be the numerator of evidence, given by its numbers.

    kind: `key`, a law of the bank; `mean_point`, rows scattered about one mean, and
    `correlated_point`, with noise correlated along them; `covariance_point`, rows from
    :math:`N(0, \nu I + \sum_j\lambda_ju_ju_j^*)` of orthonormal directions, circular if complex; `dictionary_point`,
    rows of observed codes under one dictionary; `point`, rows of latent codes.
    """

    kind: str  # its entry in a document
    numbers: Mapping[str, Any]

    @property
    def is_of_bank(self) -> bool:
        """True if bank and proposal rows determine the point; False if its origin is unknown."""
        return self.kind != "point"

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream over held-out rows and the key in it; denominator: that of the explanations over these rows."""
        if self.kind == "key":
            return denominator, self.numbers["key"]
        return streams.density_stream(self.kind, self.numbers, rows, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Its only entry says which kind it is."""
        if self.kind == "key":
            return dict(self.numbers)
        form = _FORMS[self.kind]
        return {self.kind: {name: array_json(x) if form[name] in (1, 2) else x for name, x in self.numbers.items()}}

    def agrees(self, other: "Opponent") -> bool:
        """True if another point is the same law up to rounding, as the same fit on another machine gives it."""
        if not isinstance(other, Point) or other.kind != self.kind:
            return False
        relative, least = _TOLERANCES.get(self.kind, _TOLERANCE)
        pairs = [(np.asarray(one), np.asarray(two)) for one, two in zip(_compared(self), _compared(other), strict=True)]
        return all(
            one.shape == two.shape
            and bool(np.allclose(one, two, rtol=relative, atol=least * np.abs(two).max(initial=0.0)))
            for one, two in pairs
        )


def _compared(point: Point) -> list[Any]:
    """The numbers by which points are compared: a covariance as a whole, since directions may be arbitrary."""
    if point.kind != "covariance_point":
        return [*point.numbers.values()]
    atoms = point.numbers["atoms"]
    directions = as_complex(atoms) if point.numbers["is_complex"] else atoms
    signal = (directions * point.numbers["strengths"]) @ directions.conj().T
    return [point.numbers["noise"], signal + point.numbers["noise"] * np.eye(len(directions))]


def _is_law(numbers: Mapping[str, Any]) -> bool:
    """True if the numbers of a point define a density; raises if an activity is out of range."""
    if "p" in numbers:
        checked_activity(numbers["p"], "the activity of the numerator")
    first = numbers["mean"] if "mean" in numbers else numbers["atoms"]
    strengths = numbers.get("strengths")
    if strengths is None:
        is_stationary = abs(numbers.get("correlation", 0.0)) < 1.0
        return bool(first.size > 0 and numbers["noise"] > 0.0 and is_stationary)
    is_whole = len(first) > 0 and first.shape[1] == len(strengths)
    return bool(is_whole and numbers["noise"] > 0.0 and strengths.min(initial=1.0) > 0.0)


def bank_key(key: int) -> Point:
    """A law of the bank."""
    return Point("key", {"key": key})


def latent_point(atoms: Array, p: float, noise: float) -> Point:
    """One calibration law: read-only copies of the dictionary (q, n), the activity and the noise variance."""
    numbers = {"atoms": read_only(np.asarray(atoms, dtype=np.float64)), "p": Real(p), "noise": Real(noise)}
    return Point("point", numbers)


def mean_point(mean: Array, noise: float) -> Point:
    """Rows scattered about one mean (q,); noise: variance of a real entry."""
    return Point("mean_point", {"mean": mean, "noise": noise})


def correlated_point(mean: Array, noise: float, correlation: float) -> Point:
    """Rows about one mean (q,) whose noise is an autoregression along them; noise: variance of an innovation."""
    return Point("correlated_point", {"mean": mean, "noise": Real(noise), "correlation": Real(correlation)})


def mean_opponent(rows: RowSource, noise: float) -> Point:
    """The mean of the rows, and their scatter about it; noise: the variance of an entry if a single row has none."""
    table = np.concatenate([*rows.blocks()])
    with np.errstate(over="ignore", invalid="ignore"):  # whoever writes it down refuses what is not finite
        mean = table.mean(axis=0)
        scatter = float(((table - mean) ** 2).sum()) / max((len(table) - 1) * len(mean), 1)
    return mean_point(mean, scatter if scatter > 0.0 else noise)


def _pairs(columns: Field) -> Array:
    """Columns (q, k) as reals; complex ones as pairs (Re, Im) along the first axis."""
    return as_pairs(columns, axis=0) if np.iscomplexobj(columns) else np.asarray(columns, dtype=np.float64)


def covariance_point(directions: Field, strengths: Array, noise: float) -> Point:
    """The point of directions (q, k) as numbers of the instrument; noise: of a complex entry if complex."""
    numbers = {"atoms": _pairs(directions), "strengths": np.asarray(strengths, dtype=np.float64), "noise": Real(noise)}
    return Point("covariance_point", {**numbers, "is_complex": np.iscomplexobj(directions)})


def dictionary_point(atoms: Field, noise: float) -> Point:
    """The point of atoms (q, n) of any norm, as numbers of the instrument; noise: of a complex entry if complex."""
    return Point("dictionary_point", {"atoms": _pairs(atoms), "noise": noise, "is_complex": np.iscomplexobj(atoms)})


def leading_point(root: Field, n_rows: int) -> Point:
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
        raise MisuseError("proposal rows", "not all be 0", Clause("they are"))
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    fits = np.array([logs[:k].sum() + (q - k) * np.log(noise) for k, noise in zip(ranks, noises, strict=True)])
    n_free = ranks * (2 * q - ranks) if parts == 2 else ranks * (2 * q - ranks + 1) / 2
    best = int(np.argmin(0.5 * parts * n_rows * fits + 0.5 * np.log(n_rows) * n_free))
    k = int(ranks[best])
    noise = float(noises[best])
    k = int(np.count_nonzero(values[:k] > noise))
    return covariance_point(right[:k].T, values[:k] - noise, noise)


def whole_point(covariance: Field) -> Point:
    """The point of a positive covariance (q, q), whose least eigenvalue counts as white noise."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values[0]
    return covariance_point(vectors[:, kept], values[kept] - values[0], float(values[0]))


# Several opponents at once: a mixture of densities is a density, and hardly weaker than the best of them.


# Of keys that oppose: how many, and how far below the best.
_MOST_MIXED = 16
_LEAST_MIXED = 6.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Opponents with weights that add up to at most 1, all of it fixed on proposal rows."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    parts: "tuple[Opponent, ...]"
    weights: tuple[float, ...]

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        members = tuple(part.numerator(denominator, rows) for part in self.parts)
        return streams.MixtureStream(members, self.weights, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Every part with its weight."""
        pairs = zip(self.weights, self.parts, strict=True)
        return {"mixture": [{"weight": float(weight), "law": part.encode()} for weight, part in pairs]}

    def agrees(self, other: "Opponent") -> bool:
        """Part by part; weights up to the rounding of another machine."""
        if not isinstance(other, Mixture) or len(other.parts) != len(self.parts):
            return False
        are_same = all(ours.agrees(theirs) for ours, theirs in zip(self.parts, other.parts, strict=True))
        return are_same and bool(np.allclose(self.weights, other.weights, rtol=1e-6, atol=1e-9))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Opponents of equal blocks of channels that are independent, one after the other."""

    is_of_bank: ClassVar[bool] = True

    parts: "tuple[Mixture, ...]"

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own, of the density of all blocks together."""
        blocks = zip(self.parts, band_rows(rows, len(self.parts)), strict=True)
        scored = tuple(part.numerator(denominator, block)[0] for part, block in blocks)
        return streams.SumStream(scored, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Every part."""
        return {"product": [part.encode() for part in self.parts]}

    def agrees(self, other: "Opponent") -> bool:
        """Part by part."""
        if not isinstance(other, Product) or len(other.parts) != len(self.parts):
            return False
        return all(ours.agrees(theirs) for ours, theirs in zip(self.parts, other.parts, strict=True))


def band_rows(rows: RowSource, count: int) -> tuple[RowSource, ...]:
    """The rows of each of so many equal blocks of channels."""
    if rows.width % count:
        raise MisuseError("rows", f"have a multiple of {count} entries, the blocks of channels", rows.width)
    width = rows.width // count

    def cut(start: int) -> RowSource:
        return MappedRows(rows, width, lambda block: np.ascontiguousarray(block[:, start : start + width]))

    return tuple(cut(start) for start in range(0, rows.width, width))


Opponent = Point | Mixture | Product


def likely_mixture(scores: Array, point: Callable[[int], Point], free: Point) -> Mixture:
    """Fits that these scores (k,) make about as likely, by their likelihood, and with half the weight the free one."""
    order = np.argsort(-scores, kind="stable")[:_MOST_MIXED]
    chosen = order[scores[order] > scores[order[0]] - _LEAST_MIXED]
    shares = np.exp(scores[chosen] - scores[chosen[0]])
    weights = [*(0.5 * shares / shares.sum()).tolist(), 0.5]
    return Mixture((*map(point, chosen.tolist()), free), tuple(weights))


def free_mixture(root: Field, n_rows: int) -> Mixture:
    r"""The leading eigenvectors of second moments :math:`R = F^\top\bar F/n`, and where there are enough rows R itself.

    R is multiplied by n/(n - q): small eigenvalues of few rows are too small to predict others.
    """
    leading = leading_point(root, n_rows)
    q = root.shape[1]
    moments = root.T @ root.conj() / max(n_rows - q, 1)
    if n_rows < 2 * q or not np.linalg.eigvalsh(moments)[0] > 0.0:
        return Mixture((leading,), (1.0,))
    return Mixture((leading, whole_point(moments)), (0.5, 0.5))


# Opponents as documents have them.


def decode_point(node: Mapping[str, object], where: str) -> Point:
    """Read a key or a point that its `encode` wrote."""
    ((kind, content),) = node.items()
    if kind == "key":
        key = check_form(content, int, f"{where}.key")
        if key < 0:
            raise Refusal(f"{where} lies outside the bank")
        return bank_key(key)
    axes = _FORMS[kind]
    form = {name: dict[str, Any] if entry in (1, 2) else entry for name, entry in axes.items()}
    content = check_form(content, form, f"{where}.{kind}")
    numbers = {name: real(x, *[None] * axes[name]) if axes[name] in (1, 2) else x for name, x in content.items()}
    if not _is_law(numbers):
        raise Refusal(f"{where} is no law")
    return Point(kind, numbers)


def decode_product(node: object, where: str, kinds: Iterable[str]) -> Product:
    """Read a product that its `encode` wrote; kinds: the kinds of parts that a law may mix."""
    entries = check_form(node, list[dict[str, Any]], f"{where}.product")
    if not entries or any({*entry} != {"mixture"} for entry in entries):
        raise Refusal(f"{where} is no product of mixtures")
    return Product(tuple(decode_mixture(entry["mixture"], where, kinds) for entry in entries))


def decode_mixture(node: object, where: str, kinds: Iterable[str]) -> Mixture:
    """Read a mixture that its `encode` wrote; kinds: the kinds of parts that a law may mix."""
    entries = check_form(node, list[dict[str, Any]], f"{where}.mixture")
    for entry in entries:
        check_form(entry, {"weight": Real, "law": dict[str, Any]}, f"{where}.mixture")
    weights = [entry["weight"] for entry in entries]
    if any(len(entry["law"]) != 1 or not {*entry["law"]} <= {*kinds} for entry in entries):
        raise Refusal(f"{where} mixes what is no law")
    parts = [decode_point(entry["law"], where) for entry in entries]
    if not parts or min(weights) <= 0.0 or sum(weights) > 1.0 + 1e-12:
        raise Refusal(f"{where} is no law")
    return Mixture(tuple(parts), tuple(weights))

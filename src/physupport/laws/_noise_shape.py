r"""Noise that is neither white nor known: how likely second moments can be under any covariance of a family.

Zero-mean rows of q numbers have covariance :math:`\Sigma = A_eCA_e^* + BDB^* + N` with C, D and N open.  With second
moments R of T rows, :math:`-\frac2{\beta T}\log L = q\log\frac{2\pi}\beta + f`, :math:`f = \log\det\Sigma +
\operatorname{tr}\Sigma^{-1}R`, :math:`\beta` = 1 for real and 2 for complex rows.  In an orthonormal basis let w be the
numbers orthogonal to the columns of e (A and B), u those in the span of A, v the others.  The density is that of w,
times that of u given w, times that of v given both.  With M, S and V the three covariances, and :math:`R_w`,
:math:`R_u`, :math:`R_v` what R has in their place (what the best regression on the numbers before leaves),

.. math:: f \ge \sum_{X = M, S, V} (\log\det X + \operatorname{tr}X^{-1}R_X),

as no regression leaves less than the best one.  By von Neumann's inequality the best X within bounds of its eigenvalues
has the eigenvectors of :math:`R_X`, in their order.  With :math:`g(\lambda; a, b) = \min_{a\le m\le b}\log m +
\lambda/m` each kind has one open scale s, and the bound is the least over s of a sum of :math:`g(\lambda_i; a_is,
b_is)`.  It is convex in 1/s, as each g is the minimum over y = 1/m of a convex function on a convex set of (y, 1/s).

Bounded (`low rank`, `diagonal`).  All but k eigenvalues of N lie between s and :math:`\kappa s`, the k largest above s.
By Cauchy's interlacing so do those of :math:`M = Q^*NQ`.  As :math:`\Sigma \succeq s`, its conditional covariances S
and V are at least s.  White noise and k directions of any shape have :math:`\kappa = 1`; independent noise with
variances up to a ratio :math:`\kappa` has k = 0.

Weaker (`any`).  Noise may have any covariance, and responses any error, as long as the largest eigenvalue of M is at
most :math:`\rho` times the least of S, the variance that is left along the sources once all beside them is known: what
a beamformer that cancels the rest measures (Capon, 1969).  So the eigenvalues of M are at most s, those of S at least
:math:`s/\rho`, and all else is open: the bound is then the supremum itself.  Without an active element nothing is
excluded.

Independent (`diagonal` too, of whatever ratio).  :math:`\Sigma` is linear in C, D and the variances.  Where
:math:`\Sigma \preceq 2R`, f is convex: its second derivative along H is :math:`\operatorname{tr}Z(2\tilde R - 1)Z`,
:math:`Z = \Sigma^{-1/2}H\Sigma^{-1/2}`, :math:`\tilde R = \Sigma^{-1/2}R\Sigma^{-1/2}`.  Elsewhere :math:`\tilde R` has
an eigenvalue below 1/2, so that f is at least :math:`\log\det R + q + \log 2 - 1/2`.  So f is at least the smaller of
this and of its least value in a convex problem, which `_independent` bounds by a barrier.  Without a ratio a channel
may have no noise, but the others then have to follow from it: nothing becomes infinitely likely.

Families are nested in k, :math:`\kappa` and :math:`\rho`, and so are the bounds.  As g grows with :math:`\lambda`, and
conditional covariances with R, so do they: errors of R are errors of the cost, in both directions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_number
from .._errors import MisuseError
from .._typing import Array, Field

# Of a column of norm 1, what is left beside the others; less is taken for rounding, and the column for dependent.
RANK_TOLERANCE = 1e-8
_EPS = float(np.finfo(np.float64).eps)
# Halvings of a bracket of logarithms: it ends within rounding.
_STEPS = 80
MOST_CORRELATION: Final = 0.99
_ANY: Final = (-MOST_CORRELATION, MOST_CORRELATION)
# The options of each kind, with their defaults.
KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "low rank": {"rank": 1},
    "diagonal": {"ratio": np.inf},
    "any": {"ratio": 0.01},
    "ar": {"order": 1, "between": _ANY},
}
# What a covariance outside of the convex problem costs more than R itself.
_BEYOND = float(np.log(2.0) - 0.5)
# Weight of the barrier, times the number of channels: what it takes from the bound.
_BARRIER = 1e-3
_MOST_NEWTON = 60
# Where Newton's steps end: what the cost can fall by, twice.
_DECREMENT = 1e-10


class Spectra(NamedTuple):
    """Eigenvalues in decreasing order: below, at and above those of R, (3, n) each."""

    beside: Array  # of what is orthogonal to all columns
    along: Array  # of the span of the active columns, given what is beside
    others: Array  # of what is left of the background, given both

    @classmethod
    def of(cls, moments: Field, columns: Field, n_active: int, error: float) -> Self | None:
        """Those of R, which is right to within an error in norm; None where columns are dependent.

        moments: (q, q).  columns: (q, m), the active ones first.  A Cholesky factor belongs to a matrix within
        rounding, and conditional covariances grow with the matrix: those of R less, and more, than its error are
        bounds.
        """
        q = len(moments)
        rank = columns.shape[1]
        unit = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        least = float(np.linalg.svd(unit, compute_uv=False).min(initial=1.0))
        if rank > q or least <= RANK_TOLERANCE:
            return None
        basis = np.linalg.qr(unit, mode="complete")[0]
        turned = np.roll(basis, -rank, axis=1)
        inner = turned.conj().T @ moments @ turned
        off = error + 64.0 * _EPS * q * (1.0 + rank / least) * float(np.trace(moments).real)
        ends = np.cumsum([0, q - rank, n_active, rank - n_active]).tolist()
        made = [_blocks(inner + move * np.eye(q), ends, off) for move in (-2.0 * off, 0.0, 2.0 * off)]
        return cls(*(np.maximum(np.stack(part), 0.0) for part in zip(*made, strict=True)))


def _blocks(matrix: Field, ends: list[int], error: float) -> list[Array]:
    """Eigenvalues of the first block, and of the others given those before; 0 where it is not positive."""
    pairs = list(pairwise(ends))
    first, count = matrix[: ends[1], : ends[1]], len(matrix)
    if count and np.linalg.eigvalsh(matrix)[0] <= error:
        values: Array = np.asarray(np.linalg.eigvalsh(first)[::-1], dtype=np.float64)
        return [values, *(np.zeros(b - a) for a, b in pairs[1:])]
    factor = np.linalg.cholesky(matrix)
    blocks = [factor[a:b, a:b] for a, b in pairs]
    return [np.asarray(np.linalg.eigvalsh(block @ block.conj().T)[::-1], dtype=np.float64) for block in blocks]


@final
@dataclass(frozen=True, slots=True)
class NoiseShape:
    """A family of covariances of the noise.

    kind: `low rank`, white noise and up to `rank` further directions of any shape; `diagonal`, independent noise whose
    largest variance is at most `ratio` times the least; `any`, noise of any covariance whose variance in no direction
    beside the active responses is more than `ratio` times the least variance along these, given all beside them; `ar`,
    noise that is correlated along the axis, an autoregression of order 1 whose correlation lies `between` two
    (`_autoregressive`).
    """

    kind: str
    rank: int = 0
    ratio: float = 1.0
    between: tuple[float, float] = _ANY

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Read the options of a law or of a project file."""
        kind = str(options.get("kind"))
        if kind not in KINDS:
            raise MisuseError("noise.kind", f"be one of {', '.join(map(repr, KINDS))}", repr(kind))
        known = KINDS[kind]
        for name in options:
            if name not in known and name != "kind":
                raise MisuseError(f"noise.{name}", f"be left out with kind = {kind!r}", options[name])
        values = {**known, **{name: value for name, value in options.items() if name != "kind"}}
        if kind == "low rank":
            return cls(kind, rank=check_count("noise.rank", values["rank"]))
        if kind == "ar":
            if values["order"] != 1:
                raise MisuseError("noise.order", "be 1", values["order"], "Give a covariance, or take order 1.")
            return cls(kind, between=_check_between(values["between"]))
        if "ratio" not in options:
            return cls(kind, ratio=values["ratio"])
        ratio = check_number("noise.ratio", values["ratio"])
        is_allowed = ratio >= 1.0 if kind == "diagonal" else ratio > 0.0
        if not is_allowed:
            rule = "be 1 or more" if kind == "diagonal" else "be above 0"
            raise MisuseError("noise.ratio", f"{rule} with kind = {kind!r}", ratio)
        return cls(kind, ratio=float(ratio))

    def encode(self) -> dict[str, object]:
        """The options that `of` reads; no ratio where there is none."""
        if self.kind == "ar":
            return {"kind": self.kind, "order": 1, "between": [*self.between]}
        values = {name: getattr(self, name) for name in KINDS[self.kind]}
        return {"kind": self.kind, **{name: value for name, value in values.items() if value != np.inf}}

    def costs(self, spectra: Sequence[Spectra]) -> tuple[Array, Array]:
        """(k,) lower bounds of f by eigenvalues, and how far rounding may have moved them; infinite if R is singular.

        spectra: (k,) with equal numbers of columns.
        """
        sizes = [part.shape[1] for part in spectra[0]]
        if self.kind == "any":
            floors, tops = (0.0, 1.0 / self.ratio, 0.0), (1.0, np.inf, np.inf)
        else:
            floors, tops = (1.0, 1.0, 1.0), (self.ratio, np.inf, np.inf)
        floor, top = np.repeat(floors, sizes), np.repeat(tops, sizes)
        top[: min(self.rank, sizes[0])] = np.inf
        below, cost, above = _least(np.concatenate([np.hstack(each) for each in spectra]), floor, top).reshape(-1, 3).T
        with np.errstate(invalid="ignore"):
            error = np.maximum(cost - below, above - cost) + 64.0 * _EPS * (sum(sizes) ** 2 + np.abs(cost))
        is_known = np.isfinite(cost) & np.isfinite(error)
        return np.where(is_known, cost, 0.0), np.where(is_known, error, np.inf)


def _check_between(ends: ArrayLike) -> tuple[float, float]:
    """Raise unless these are two correlations in order."""
    low, high = check_array("noise.between", ends, (2,)).tolist()
    if not -MOST_CORRELATION <= low < high <= MOST_CORRELATION:
        rule = f"be two correlations from -{MOST_CORRELATION} to {MOST_CORRELATION}, the least first"
        raise MisuseError("noise.between", rule, [low, high])
    return low, high


@np.errstate(divide="ignore", invalid="ignore")  # eigenvalues of 0 without a floor have no largest likelihood
def _least(values: Array, floor: Array, top: Array) -> Array:
    r"""(k,) the least of :math:`\sum_ig(\lambda_i; a_is, b_is)` over s; values: (k, n).  floor, top: (n,) a and b.

    The derivative along 1/s, :math:`\sum_{\lambda_i<a_is}(\lambda_i/a_i - s) + \sum_{\lambda_i>b_is}(\lambda_i/b_i -
    s)`, falls as s grows; at its zero the value changes with the square of the error of s.
    """
    scaled = [values / np.where(end > 0.0, end, np.inf) for end in (top, floor)]
    largest = np.hstack([values, *scaled]).max(axis=1, initial=1e-300)
    high = np.log(largest)
    lowest = high - 120.0
    low = lowest
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        scale = np.exp(middle)[:, None]
        is_above = np.isfinite(top) & (values > top * scale)
        is_below = values < floor * scale
        slope = (np.where(is_above, scaled[0] - scale, 0.0) + np.where(is_below, scaled[1] - scale, 0.0)).sum(axis=1)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    scale = np.where(high > lowest + 1.0, np.exp(high), 0.0)[:, None]  # without a bound from below s may be 0
    fitted = np.clip(values, floor * scale, top * scale)
    return np.asarray((np.log(fitted) + values / fitted).sum(axis=1))


class Independent(NamedTuple):
    """The bound for independent noise: the cost, how far rounding and the barrier reach, and the covariance found."""

    cost: float
    error: float
    covariance: Field | None  # None where R may be singular


def independent(moments: Field, columns: Field, error: float) -> Independent:
    r"""The lower bound of f over Hermitian C and real D of any sign, which are more than there are.

    In coordinates in which R is 1 the cost is :math:`\log\det\Sigma + \operatorname{tr}\Sigma^{-1}` over a linear
    space, and convex up to 2.  At the best point of the problem with a barrier :math:`-\mu\log\det(2 - \Sigma)` the
    slope along :math:`\Sigma' - \Sigma` is at least :math:`-\mu q`; what Newton's steps leave of the gradient counts by
    its norm times the largest distance, :math:`2\sqrt q`.
    """
    q = len(moments)
    values, vectors = np.linalg.eigh(moments)
    off = error + 64.0 * _EPS * q * float(np.trace(moments).real)
    if not values[0] > 1e6 * off:
        return Independent(0.0, np.inf, None)
    root = (vectors / np.sqrt(values)) @ vectors.conj().T
    space = _space(root, root @ columns)
    if space is None:
        return Independent(0.0, np.inf, None)
    alone = (root / np.einsum("ij,ij->j", root, root.conj()).real) @ root  # noise alone, each channel given the others
    point = alone / np.linalg.eigvalsh(alone)[-1]
    for weight in (1e3 * _BARRIER / q, 30.0 * _BARRIER / q, _BARRIER / q):
        point, gradient = _centred(space, weight, point)
        if _certified(point, gradient, weight) >= q + _BEYOND:
            break
    else:
        polished, left = _centred(space, 0.0, point)
        if np.linalg.eigvalsh(polished)[-1] < 2.0 - 1e-6 and np.linalg.norm(left) < np.sqrt(_DECREMENT):
            point, gradient, weight = polished, left, 0.0
    cost = min(_certified(point, gradient, weight), q + _BEYOND)
    level = float(np.log(values).sum())
    moved = 8.0 * off * float((1.0 / values).sum()) + 64.0 * _EPS * q * (q + abs(cost) + abs(level))
    back = (vectors * np.sqrt(values)) @ vectors.conj().T
    return Independent(level + cost, moved, np.asarray(back @ point @ back))


def _certified(point: Field, gradient: Array, weight: float) -> float:
    """A lower bound of the cost within the convex problem."""
    q = len(point)
    inner = np.linalg.eigvalsh(point)
    slack = weight * q + 2.0 * float(np.sqrt(q) * np.linalg.norm(gradient))
    return float((np.log(inner) + 1.0 / inner).sum()) - slack


def _space(root: Field, columns: Field) -> Field | None:
    """(n, q, q) orthonormal Hermitian matrices that span those of the noise and of the columns, in the coordinates.

    None where they are dependent, but not within rounding.
    """
    units = [np.outer(channel, channel.conj()) for channel in root.T]
    for i, first in enumerate(columns.T):
        for j, second in enumerate(columns.T[i:]):
            product = np.outer(first, second.conj())
            units.append(product + product.conj().T)
            if j and np.iscomplexobj(product):
                units.append(1j * (product - product.conj().T))
    flat = np.stack(units).reshape(len(units), -1)
    flat = np.hstack([flat.real, flat.imag])
    sizes, right = np.linalg.svd(flat / np.linalg.norm(flat, axis=1, keepdims=True), full_matrices=False)[1:]
    is_kept = sizes > RANK_TOLERANCE
    if (sizes[~is_kept] > 1e-4 * RANK_TOLERANCE).any():
        return None
    half = flat.shape[1] // 2
    kept = right[is_kept, :half] + 1j * right[is_kept, half:] if np.iscomplexobj(units[0]) else right[is_kept, :half]
    return np.asarray(kept.reshape(-1, *root.shape))


def _centred(space: Field, weight: float, start: Field) -> tuple[Field, Array]:
    """Newton's steps to the least cost with a barrier of this weight, and the gradient (n,) where they end."""
    identity = np.eye(len(start))
    flat = space.reshape(len(space), -1)
    point, best = start, _barred(start, weight)
    for _ in range(_MOST_NEWTON):
        gradient, inverse, beyond = _slopes(space, weight, point)
        turned = inverse @ space
        curvature = _products(turned, turned @ (2.0 * inverse - identity))
        if weight:
            walled = beyond @ space
            curvature += weight * _products(walled, walled)
        ridge = 1e-14 * float(np.trace(np.abs(curvature)))
        step = -np.linalg.solve(curvature + ridge * np.eye(len(curvature)), gradient)
        if -(gradient @ step) < _DECREMENT:
            break
        moved = (step @ flat).reshape(point.shape)
        length = 1.0
        while length > 1e-6 and not _barred(point + length * moved, weight) < best:
            length *= 0.5
        if length <= 1e-6:
            break
        point = point + length * moved
        best = _barred(point, weight)
    return point, _slopes(space, weight, point)[0]


def _slopes(space: Field, weight: float, point: Field) -> tuple[Array, Field, Field]:
    """(n,) the gradient of the cost with a barrier, the inverse of a covariance, and that of its distance from 2."""
    inverse = np.linalg.inv(point)
    beyond = np.linalg.inv(2.0 * np.eye(len(point)) - point) if weight else np.zeros_like(point)
    turned = (inverse - inverse @ inverse + weight * beyond).T.ravel()
    return (space.reshape(len(space), -1) @ turned).real, inverse, beyond


def _products(first: Field, second: Field) -> Array:
    """(n, n) traces of the products of matrices (n, q, q)."""
    return np.asarray((first.reshape(len(first), -1) @ second.swapaxes(1, 2).reshape(len(second), -1).T).real)


def _barred(point: Field, weight: float) -> float:
    """The cost with a barrier; infinite beyond it, and where the covariance is not positive."""
    values = np.linalg.eigvalsh(point)
    if not (values[0] > 0.0 and (values[-1] < 2.0 or not weight)):
        return np.inf
    barrier = weight * np.log(2.0 - values).sum() if weight else 0.0
    return float((np.log(values) + 1.0 / values).sum() - barrier)

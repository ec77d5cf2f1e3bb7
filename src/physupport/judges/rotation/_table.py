"""Draws, and explanations as spans beside the background."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, ndtri

from ..._arrays import read_only
from ..._checks import check_columns, check_open, check_support
from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...laws import RANK_TOLERANCE

# What the draws are for: no two share bits.
RIVALS = 0
OUTSIDERS = 1
SPECTRA = 2


class Draws:
    """A stream of draws; the stream of raw bits is fixed for all versions of numpy, unlike its normal numbers."""

    def __init__(self, seed: int, purpose: int) -> None:
        self._bits = PCG64(SeedSequence([seed, purpose]))

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Within (0, 1), both excluded, on the midpoints of 2^53 cells, above 1/2 as far as doubles have them."""
        raw = np.asarray(self._bits.random_raw(int(np.prod(shape, dtype=np.int64))), dtype=np.uint64)
        midpoints = (raw >> np.uint64(11)).astype(np.float64) + 0.5
        return np.minimum(midpoints * 2.0**-53, 1.0 - 2.0**-53).reshape(shape)  # the last would be rounded up to 1

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal numbers."""
        return np.asarray(ndtri(self.uniform(shape)))

    def chi_square(self, degrees: Array | float, shape: tuple[int, ...]) -> Array:
        """Chi-square numbers; of 0 degrees 0."""
        half = np.broadcast_to(np.asarray(degrees, dtype=np.float64) / 2.0, shape)
        drawn = gammaincinv(np.maximum(half, 0.5), self.uniform(shape))
        return np.where(half > 0.0, 2.0 * drawn, 0.0)

    def field_normal(self, shape: tuple[int, ...], is_complex: bool) -> NDArray[Any]:
        """Normal numbers of variance 1 in every real coordinate, real and imaginary part alike."""
        if not is_complex:
            return self.normal(shape)
        return self.normal(shape) + 1j * self.normal(shape)

    def wishart_factor(self, count: int, size: int, degrees: int, is_complex: bool) -> NDArray[Any]:
        """(count, size, k) matrices A with A A^H as the second moments of so many columns `field_normal` (Bartlett)."""
        if degrees < size:
            return self.field_normal((count, size, max(degrees, 0)), is_complex)
        drawn = np.tril(self.field_normal((count, size, size), is_complex), -1)
        freedom: Array = np.arange(degrees, degrees - size, -1, dtype=np.float64) * (2.0 if is_complex else 1.0)
        index = np.arange(size)
        drawn[:, index, index] = np.sqrt(self.chi_square(freedom, (count, size)))
        return drawn


EPS = float(np.finfo(np.float64).eps)
# Sizes whose squares, times the weight of any penalty that is taken, are far from overflow and underflow.
_LEAST_SIZE = 1e-80
_LARGEST_SIZE = 1e80


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationTable:
    r"""Explanations :math:`z = N_e\theta + \sigma\varepsilon`: the atoms of a support, and always the background.

    Coefficients are free, complex where the columns are.  Spans are taken beside the background: with K an orthonormal
    basis of its complement, explanation e keeps the span of :math:`K^H` times its atoms, found by singular values;
    those of unit columns below the tolerance count as 0.  An atom within the background is refused.
    """

    atoms: Field  # (q, E)
    supports: tuple[tuple[int, ...], ...]  # one of each explanation, () for background alone
    background: Field | None = None  # (q, b)
    tolerance: float = RANK_TOLERANCE
    names: tuple[str, ...] = ()  # (E,) of the atoms, for messages; their numbers if none are given
    complement: Field = field(init=False)  # (q, m) K
    bases: Field = field(init=False)  # (M, r, m) orthonormal rows u, the columns of the span; rows of zeros fill up
    ranks: IntArray = field(init=False)  # (M,)
    errors: Array = field(init=False)  # (M,) how far rounding may have turned each span

    def __post_init__(self) -> None:
        atoms = check_columns("atoms", self.atoms, None)
        check_open("tolerance", self.tolerance, 0.0, 1.0)
        supports = tuple(check_support("supports", support, atoms.shape[1], least=0) for support in self.supports)
        if not supports:
            raise MisuseError("supports", "hold at least one explanation", "none")
        if self.names and len(self.names) != atoms.shape[1]:
            raise MisuseError("names", f"name all {atoms.shape[1]} atoms", len(self.names))
        background = np.zeros((len(atoms), 0)) if self.background is None else self.background
        columns = check_columns("background", background, len(atoms))
        complement = _complement(columns, self.tolerance)  # (q, m)
        check_sizes("atoms", np.abs(atoms).max(axis=0))
        unit = atoms / np.linalg.norm(atoms, axis=0)
        left = complement.conj().T @ unit  # (m, E)
        norms = np.linalg.norm(left, axis=0)
        if (norms <= self.tolerance).any():
            raise MisuseError(
                "background",
                "leave something of every atom",
                f"one that spans {self._name(int(norms.argmin()))}",
                "Take columns out of the background, or the atom out of the bank.",
            )
        bases, ranks, errors = _spans(left, supports, self.tolerance)
        object.__setattr__(self, "supports", supports)
        names = ("atoms", "background", "complement", "bases", "ranks", "errors")
        for name, value in zip(names, (atoms, columns, complement, bases, ranks, errors), strict=True):
            object.__setattr__(self, name, read_only(value))

    def _name(self, atom: int) -> str:
        return f"'{self.names[atom]}'" if self.names else f"atom {atom}"

    @property
    def size(self) -> int:
        """How many explanations."""
        return len(self.supports)

    @property
    def is_complex(self) -> bool:
        """True if rows, coefficients and noise are complex."""
        return bool(np.iscomplexobj(self.bases))

    def whitened(self, whitener: Field) -> "RotationTable":
        """The same explanations for rows multiplied by whitener (p, q), see `whitening`."""
        assert self.background is not None
        seen = whitener @ self.atoms, self.supports, whitener @ self.background
        return RotationTable(*seen, self.tolerance, self.names)


def check_sizes(name: str, sizes: Array) -> None:
    """Refuse sizes whose squares double precision may not hold."""
    is_bad = ~((sizes >= _LEAST_SIZE) & (sizes <= _LARGEST_SIZE))
    if is_bad.any():
        rule = f"be of sizes between {_LEAST_SIZE:g} and {_LARGEST_SIZE:g}"
        raise MisuseError(name, rule, f"{sizes[is_bad][0]:g}", "Choose another unit.")


def check_rows(table: "RotationTable", rows: ArrayLike) -> Field:
    """Rows (T, q) that this table can be about: complex if it is, for noise is then circular."""
    columns = check_columns("rows", np.atleast_2d(rows).T, len(table.atoms))
    check_sizes("rows", np.abs(columns).max(keepdims=True) if columns.any() else np.empty(0))
    if table.is_complex and (not np.iscomplexobj(columns) or (columns.any() and not columns.imag.any())):
        raise MisuseError("rows", "be complex, as the table is", "real ones", "Take real atoms, or pass Re + i Im.")
    return columns.T


def _complement(background: Field, tolerance: float) -> Field:
    """(q, m) orthonormal basis of all that the background does not span."""
    columns = background[:, background.any(axis=0)]
    check_sizes("background", np.abs(columns).max(axis=0, initial=0.0))
    unit = columns / np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(unit, full_matrices=True)
    return np.asarray(left[:, int((values > tolerance).sum()) :])


def _spans(left: Field, supports: Sequence[tuple[int, ...]], tolerance: float) -> tuple[Field, IntArray, Array]:
    """Bases (M, r, m), ranks (M,) and errors (M,), all supports of one size at a time."""
    sizes = np.array([len(support) for support in supports])
    bases = np.zeros((len(supports), max(int(sizes.max()), 1), len(left)), dtype=left.dtype)
    ranks = np.zeros(len(supports), dtype=np.int64)
    errors = np.zeros(len(supports))
    for size in np.unique(sizes[sizes > 0]).tolist():
        chosen = np.flatnonzero(sizes == size)
        indices = np.array([supports[i] for i in chosen.tolist()])  # (k, size)
        vectors, values, _ = np.linalg.svd(left.T[indices].swapaxes(1, 2), full_matrices=False)  # (k, m, p), (k, p)
        kept = values > tolerance
        bases[chosen, : values.shape[1]] = np.where(kept[:, None], vectors, 0.0).swapaxes(1, 2)
        ranks[chosen] = kept.sum(axis=1)
        # Backward stable: the span of columns that are off by a few roundings, hence off itself by that over the
        # least singular value kept.
        errors[chosen] = 8.0 * len(left) * EPS * np.sqrt(size) / np.where(kept, values, np.inf).min(axis=1)
    return bases[:, : max(int(ranks.max()), 1)], ranks, errors


def near_together(bases: Array, size: int) -> IntArray:
    """(M,) an order of spans (M, r, m) that has near ones in the same block of this size: halves of halves.

    Each half is nearer to one of two spans that are far from each other.
    """
    parts = [np.arange(len(bases))]
    blocks = []
    while parts:
        part = parts.pop()
        if len(part) <= size:
            blocks.append(part)
            continue
        ends = part[:1]
        near = np.empty((2, len(part)))
        for near_to_end in (near[0], near[0], near[1]):
            near_to_end[:] = ((bases[part] @ bases[ends[-1]].T) ** 2).sum(axis=(1, 2))
            ends = np.append(ends, part[near_to_end.argmin()])
        order = np.argsort(near[1] - near[0], kind="stable")
        half = -(-len(part) // (2 * size)) * size
        parts += [part[order[half:]], part[order[:half]]]
    return np.concatenate(blocks)

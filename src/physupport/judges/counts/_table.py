"""Composite explanations of counts: which columns may have an amount, and never a negative one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import read_only
from ..._checks import check_array, check_support
from ..._errors import MisuseError
from ..._typing import Array, IntArray

# Sums of columns whose products with counts and whose quotients are far from overflow and underflow.
_LEAST_SUM, _LARGEST_SUM = 1e-80, 1e80


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    r"""Explanations :math:`y_i \sim \mathrm{Poisson}(t\,(Ax + Bb)_i)`, x >= 0 on a support and 0 off it, b >= 0.

    Amounts are free, so an explanation is the cone of its columns, whatever the exposure t.  Efficiencies of single
    channels belong into the columns.  An explanation holds every other whose support lies within its own.
    """

    atoms: Array  # (q, E), not negative
    supports: tuple[tuple[int, ...], ...]  # one of each explanation, () for background alone
    background: Array | None = None  # (q, b), not negative
    columns: Array = field(init=False)  # (E + b, q) atoms, then background
    sums: Array = field(init=False)  # (E + b,) of the columns, rounded once
    members: IntArray = field(init=False)  # (M, r) columns of each explanation, -1 fills up

    def __post_init__(self) -> None:
        atoms = check_array("atoms", self.atoms, (None, None))
        beside = np.zeros((len(atoms), 0)) if self.background is None else self.background
        background = check_array("background", beside, (len(atoms), None))
        supports = tuple(check_support("supports", support, atoms.shape[1], least=0) for support in self.supports)
        if not supports:
            raise MisuseError("supports", "hold at least one explanation", "none")
        columns = np.concatenate([_check_shapes("atoms", atoms), _check_shapes("background", background)], axis=1).T
        object.__setattr__(self, "supports", supports)
        always = tuple(range(atoms.shape[1], len(columns)))
        members = np.full((len(supports), max(map(len, supports)) + len(always)), -1, dtype=np.int64)
        for e, support in enumerate(supports):
            members[e, : len(support) + len(always)] = support + always
        for name, value in zip(
            ("atoms", "background", "columns", "sums", "members"),
            (atoms, background, np.ascontiguousarray(columns), np.array([*map(_sum, columns)]), members),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(value))

    @classmethod
    def with_variants(
        cls,
        responses: ArrayLike,
        supports: Sequence[Sequence[int]],
        background: ArrayLike | None = None,
        how: str = "states",
    ) -> "CountTable":
        """Elements with V responses each, (V, q, E).

        "states": one v is right, of all elements alike; explanation v * M + e has support e in state v.
        "cone": any mixture of an element's variants is right; column v * E + j is variant v of element j.
        """
        variants = check_array("responses", responses, (None, None, None))
        n_variants, n_channels, n_elements = variants.shape
        if how not in _VARIANTS:
            rule = f"be one of {sorted(_VARIANTS)}"
            raise MisuseError("how", rule, repr(how), "Counts have no negative part, so a span is no set of means.")
        chosen = [check_support("supports", support, n_elements, least=0) for support in supports]
        atoms = variants.transpose(1, 0, 2).reshape(n_channels, -1)
        return cls(atoms, _VARIANTS[how](chosen, n_variants, n_elements), background)  # type: ignore[arg-type]

    @classmethod
    def presence(cls, atoms: Array, background: Array | None = None) -> "CountTable":
        """All elements, and then all but each: E + 1 explanations that speak for 2^E.

        An element is certain if all but it is rejected: every explanation without it lies within that one, and with
        a common numerator its evidence is no smaller.
        """
        everything = range(np.shape(atoms)[1])
        all_but_one = (tuple(k for k in everything if k != j) for j in everything)
        return cls(atoms, (tuple(everything), *all_but_one), background)

    @property
    def size(self) -> int:
        """How many explanations."""
        return len(self.supports)

    def means(self, e: int, amounts: Array) -> Array:
        """(q,) means of amounts (r,), the counts of each column of an explanation."""
        active = self.members[e][self.members[e] >= 0]
        return np.asarray((amounts[: len(active)] / self.sums[active]) @ self.columns[active])


def _sum(column: Array) -> float:
    """Rounded once: bounds of a fit rest on it, and there may be far more channels than have counts."""
    return fsum(column.tolist())


def _states(supports: list[tuple[int, ...]], n_variants: int, n_elements: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(v * n_elements + j for j in support) for v in range(n_variants) for support in supports)


def _cones(supports: list[tuple[int, ...]], n_variants: int, n_elements: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(v * n_elements + j for v in range(n_variants) for j in support) for support in supports)


_VARIANTS = {"states": _states, "cone": _cones}


def _check_shapes(name: str, columns: Array) -> Array:
    """Nonnegative columns, none of them all zeros."""
    if (columns < 0.0).any():
        remedy = "Means of counts are sums of nonnegative parts."
        raise MisuseError(name, "not be negative", f"{columns.min():g}", remedy)
    sums = columns.sum(axis=0)
    is_bad = ~((sums >= _LEAST_SUM) & (sums <= _LARGEST_SUM))
    if is_bad.any():
        rule = f"have columns with sums between {_LEAST_SUM:g} and {_LARGEST_SUM:g}"
        raise MisuseError(name, rule, f"{sums[is_bad][0]:g} in column {int(is_bad.argmax())}")
    return columns

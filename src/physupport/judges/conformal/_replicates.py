"""Measured examples of elements, and the unit that each came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from ..._arrays import read_only
from ..._checks import check_array
from ..._errors import MisuseError
from ..._typing import Array, IntArray


@final
@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Spectra (S, q), each of an element and from a unit: an instrument, a sample, a site.

    The unit is what a new signal comes from another one of; spectra of one unit are not independent, and counting them
    as if they were makes an answer far too sure.  groups: the group of each element; each is one of its own unless
    given.  background: columns (q, b) that may be in any spectrum with any coefficient, taken off before angles.
    """

    spectra: Array
    elements: tuple[str, ...]  # (S,)
    units: tuple[str, ...]  # (S,)
    groups: Mapping[str, str] | None = None
    background: Array | None = None
    names: tuple[str, ...] = field(init=False)  # (E,) elements in their order
    element_of: IntArray = field(init=False)  # (S,)
    unit_of: IntArray = field(init=False)  # (S,)
    group_of: IntArray = field(init=False)  # (E,)
    baseline: Array = field(init=False)  # (q, c) orthonormal basis of the background

    def __post_init__(self) -> None:
        spectra = check_array("spectra", self.spectra, (None, None))
        names, element_of = _numbered("elements", self.elements, len(spectra))
        _, unit_of = _numbered("units", self.units, len(spectra))
        groups = {name: name for name in names} if self.groups is None else dict(self.groups)
        if set(groups) != set(names):
            raise MisuseError("groups", "name the group of every element", sorted(set(names) ^ set(groups)))
        _, group_of = _numbered("groups", [groups[name] for name in names], len(names))
        columns = np.zeros((spectra.shape[1], 0)) if self.background is None else self.background
        background = check_array("background", columns, (spectra.shape[1], None))
        left, values, _ = np.linalg.svd(background, full_matrices=False)
        baseline = left[:, values > 1e-10 * values.max(initial=0.0)]
        object.__setattr__(self, "names", names)
        for name, value in zip(
            ("spectra", "element_of", "unit_of", "group_of", "background", "baseline"),
            (spectra, element_of, unit_of, group_of, background, baseline),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(value))
        self.unit(spectra)

    def n_units(self, labels: IntArray) -> IntArray:
        """(L,) K of each label, where elements (E,) have labels 0 .. L - 1."""
        pairs = np.unique(np.stack([labels[self.element_of], self.unit_of], axis=1), axis=0)
        return np.bincount(pairs[:, 0]).astype(np.int64)

    def unit(self, spectra: Array) -> Array:
        """Spectra (S, q) beside the background, of norm 1."""
        left = spectra - (spectra @ self.baseline) @ self.baseline.T
        norms, sizes = np.linalg.norm(left, axis=1), np.linalg.norm(spectra, axis=1)
        if not (norms > 1e-8 * sizes).all():
            worst = int(np.argmin(norms > 1e-8 * sizes))
            raise MisuseError("spectra", "have something beside the background", f"nothing in spectrum {worst}")
        return np.asarray(left / norms[:, None])


def _numbered(name: str, values: Sequence[str], count: int) -> tuple[tuple[str, ...], IntArray]:
    """Distinct names in the order in which they come, and the number of each entry."""
    if len(values) != count:
        raise MisuseError(name, f"be {count}, one for each", len(values), "The unit of every spectrum is needed.")
    distinct = tuple(dict.fromkeys(map(str, values)))
    number = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([number[str(value)] for value in values], dtype=np.int64)

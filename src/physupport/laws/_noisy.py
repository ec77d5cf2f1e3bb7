"""The part that laws with one noise variance a nuisance setting share, and energies of rows under Gaussian laws."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import nan, sqrt
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, read_only
from .._codec import Refusal
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..banks import Bank
from ..io import RowSource
from ._law import Energy, Law


def chi_square(statistic: float, freedom: int) -> Energy:
    """An energy with one degree of freedom for every independent number in the rows."""
    return Energy(statistic, float(freedom), sqrt(2.0 * freedom))


def squares(rows: RowSource, mean: Array, variance: float) -> float:
    r""":math:`\sum_i\|z_i - \mu\|^2/\nu`."""
    # Divided before they are squared: squares leave the range of double precision first.
    return float(sum(np.sum(((block - mean) / sqrt(variance)) ** 2) for block in rows.blocks()))


def whitened_energy(rows: RowSource, factor: Array, noise: float) -> float:
    r""":math:`\sum_iz_i^\top(\nu I + FF^\top)^{-1}z_i`; a noise far below the signal does not drown in rounding.

    factor: F, (q, r).  NaN if noise and signal are too many powers of ten apart for double precision.
    """
    scale = sqrt(noise)
    try:
        basis, s, _ = np.linalg.svd(factor / scale, full_matrices=False)  # (q, m), (m,)
    except np.linalg.LinAlgError:
        return nan
    total = 0.0
    for block in rows.blocks():
        scaled = block / scale
        inside = scaled @ basis
        total += float(np.sum((inside / np.sqrt(1.0 + s**2)) ** 2))
        # A basis of the whole space leaves nothing outside but rounding.
        total += 0.0 if len(s) == len(factor) else float(np.sum((scaled - inside @ basis.T) ** 2))
    return total


V = TypeVar("V", float, Array)


@dataclass(frozen=True, eq=False, kw_only=True)  # no slots: laws inherit, and call what they inherit
class NoisyLaw(Law):
    """A law whose nuisances are noise variances.

    noises: one for each nuisance setting of the bank, of a complex entry if the law is complex; None takes the bank's
    nuisance `noise`.  is_complex: rows and elements are pairs (Re, Im).
    """

    noises: ArrayLike | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        if self.noises is not None:
            object.__setattr__(self, "noises", read_only(self.noises))
        if self.is_complex and self.why_real:
            raise MisuseError("is_complex", f"be left out for {self.name!r}", Clause("it is True"), self.why_real)

    def completed(self, bank: Bank) -> Self:
        """With the noises of the bank, if it has none of its own."""
        noises = self.column(bank, "noise", "noises", "[0.5]", 0.5) if self.noises is None else self.variances
        law = replace(self, noises=read_only(check_array("noises", noises, (len(self.nuisances(bank)),))))
        law.check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse other noises than those of the bank, where it has some: a report would be about the one it names."""
        nuisances = self.nuisances(bank)
        if len(self.variances) != len(nuisances):
            raise MisuseError(
                "noises", f"be one for each of the {len(nuisances)} nuisance settings", len(self.variances)
            )
        if "noise" in nuisances.names:
            self._check_same("noises", self.variances.tolist(), nuisances.column("noise").tolist())

    def _check_same(self, option: str, values: list[object], of_bank: list[object]) -> None:
        if values != of_bank:
            where = next(i for i, (value, other) in enumerate(zip(values, of_bank, strict=True)) if value != other)
            rule = f"be those of the bank in {self.name} rows, {of_bank[where]} in setting {where}"
            raise MisuseError(option, rule, values[where], f"Leave {option} out, or the bank without this nuisance.")

    def column(self, bank: Bank, nuisance: str, option: str, example: str, value: float) -> Array:
        """The column of the bank that a law takes unless the option gives it."""
        nuisances = self.nuisances(bank)
        if nuisance in nuisances.names:
            return nuisances.column(nuisance)
        remedy = (
            f"Give {option} to the plan, as in StreamPlan({self.name!r}, 0.5, {option}={example}), or make the bank "
            f"with {self.part}=product_grid({nuisance}=[{value}], ...)."
        )
        rule = f"be given what the bank's nuisances {nuisances.names} lack"
        raise MisuseError(f"{self.part} plan", rule, nuisance, remedy)

    @property
    def variances(self) -> Array:
        """(m,) noises as numbers."""
        if self.noises is None:
            raise MisuseError("law", "be completed with a bank", Clause("it has no noises"))
        return np.asarray(self.noises, dtype=np.float64)

    def entry_noises(self, nuisance: IntArray | slice = slice(None)) -> Array:
        """(k,) noise variances of each real entry of a row: half of the complex ones for pairs; of all unless given."""
        return np.asarray(self.entry_noise(self.variances[nuisance]))

    def entry_noise(self, noise: V) -> V:
        """The same of variances as a project gives them."""
        return noise / (2.0 if self.is_complex else 1.0)

    @classmethod
    def plain_options(cls) -> dict[str, Any]:
        """Further options whose defaults are numbers, texts or flags."""
        own = {entry.name: entry.default for entry in fields(cls) if entry.name != "is_complex"}
        return {name: value for name, value in own.items() if type(value) in (bool, int, float, str)}

    def encode(self) -> dict[str, object]:
        """Its name, its noises and plain options; laws of coefficients only where these are random and unseen."""
        noises = self.variances.tolist()
        plain = {name: getattr(self, name) for name in self.plain_options()}
        return {"kind": self.name, "noises": noises, "laws": [], "is_complex": self.is_complex} | plain

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """Read what `encode` made."""
        plain: dict[str, Any] = {
            name: read_plain(node, name, default, stream) for name, default in cls.plain_options().items()
        }
        return cls(noises=read_noises(node, stream), is_complex=bool(node["is_complex"]), **plain)


def read_plain(node: Mapping[str, Any], name: str, default: object, stream: str) -> bool | float | str:
    """The stored value of an option, of the type of its default; numbers may be whole or not."""
    numbers = (int, float)
    kinds = numbers if type(default) in numbers else (type(default),)
    if type(node[name]) not in kinds:
        raise Refusal(f"the {name} of {stream} has the type {type(node[name]).__name__}")
    return cast(bool | float | str, node[name])


def read_noises(node: Mapping[str, object], stream: str) -> Array:
    """Positive variances, at least one."""
    noises = np.array(node["noises"], dtype=np.float64)
    if not noises.size or not noises.min() > 0.0:
        raise Refusal(f"the noise of {stream} is not positive")
    return noises

"""What every explanation of a bank says about named regions, as columns."""

from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray
from ._bank import Bank
from ._region_sets import RegionSets
from ._states import check_size


class RegionalView(Protocol):
    r"""The map from explanations to regions: at most one place a region, :math:`\Theta_R(e)`.

    A region in which several elements may be active together has one place for each set of them; `sets` says which.
    """

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions, R of them."""

    @property
    def optional(self) -> tuple[str, ...]:
        """The regions that some explanation leaves out; the others are persistent."""

    @property
    def n_explanations(self) -> int:
        """Explanations are 0 .. n_explanations - 1."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that the view is made of, in hexadecimal."""

    def element_names(self, region: str) -> tuple[str, ...]:
        """What the places of a region are called, in their local order."""

    def sets(self, region: str) -> RegionSets:
        """The places of a region: sets of its elements, often of one each, with where these lie."""

    def locate(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the local number of the active element, -1 where the region is absent."""

    def strengths(self, index: ArrayLike) -> Array:
        r"""(k,) -> (k, R): the represented strength :math:`\lambda_R(e)`, 0 where the region is absent."""

    def support(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): explanations with the same support share a number."""

    def persistent_only(self, index: ArrayLike) -> BoolArray:
        """(k,) -> (k,): whether no optional region is present."""

    def check_bank(self, bank: Bank | None) -> None:
        """Refuse a bank that the view is not about, where that can be told."""

    def encode(self) -> dict[str, object]:
        """All that the view is made of beyond its bank, by kind, for a document."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class BankRegions:
    """The regions of a bank whose states are drawn from a library; made by `bank_regions`."""

    bank: Bank
    regions: tuple[str, ...]
    optional: tuple[str, ...]
    _sets: dict[str, RegionSets] = field(repr=False)
    _only: BoolArray = field(repr=False)  # (n_supports,)

    @property
    def n_explanations(self) -> int:
        """The size of the bank."""
        return self.bank.size

    @property
    def digest(self) -> str:
        """The hash of the bank, which decides everything here."""
        return self.bank.digest

    def element_names(self, region: str) -> tuple[str, ...]:
        """The ids of the library, or sets of them."""
        return self._sets[region].names

    def sets(self, region: str) -> RegionSets:
        """Those of the states, with the places of the library."""
        return self._sets[region]

    def locate(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the local number of the active element or set, -1 where the region is absent."""
        return self.bank.choice(index)

    def strengths(self, index: ArrayLike) -> Array:
        """(k,) -> (k, R): the strengths of the support."""
        return self.bank.region_strengths(index)

    def support(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): the row of the bank's strengths."""
        return self.bank.split(index).support

    def persistent_only(self, index: ArrayLike) -> BoolArray:
        """(k,) -> (k,): whether no optional region is present."""
        return self._only[self.bank.split(index).support]

    def check_bank(self, bank: Bank | None) -> None:
        """It must be this one."""
        if bank is not self.bank and (bank is None or bank.digest != self.digest):
            raise MisuseError("question", "be about the bank of the protocol", "a view of another bank")

    def encode(self) -> dict[str, object]:
        """The bank decides everything here, and has its own place in a document."""
        return {"kind": "bank"}


# What is asked about a bank is held as columns of its explanations; more would not fit the memory of one machine.
_MOST_EXPLANATIONS = 2**30


def bank_regions(bank: Bank) -> BankRegions:
    """The regions of a library bank, with the names and coordinates of its library, whatever the setting."""
    states, library = bank.states, bank.states.library
    check_size("explanations that are asked about", bank.size, _MOST_EXPLANATIONS)
    if library is None:
        remedy = "Give the columns yourself with table_regions."
        raise MisuseError("bank", "have states drawn from a library", type(states).__name__, remedy)
    present = bank.strengths[:, [block[0] for block in states.blocks]] > 0.0  # (n_supports, R)
    sets: dict[str, RegionSets] = {}
    for region, subsets in zip(states.regions, states.sets, strict=False):
        numbers = library.members(region)
        extents = None if library.extents is None else library.extents[numbers]
        names = tuple(library.ids[i] for i in numbers)
        sets[region] = RegionSets(names, library.places(numbers), subsets, extents)
    is_optional: BoolArray = ~np.all(present, axis=0)
    return BankRegions(
        bank=bank,
        regions=states.regions,
        optional=tuple(region for region, flag in zip(states.regions, is_optional, strict=True) if flag),
        _sets=sets,
        _only=np.logical_not(np.any(present[:, is_optional], axis=1)),
    )


def region_distances(view: RegionalView, region: str) -> Array:
    """(m, m) of the places of a region, all of them at once."""
    spacing = view.sets(region).spacing()
    return np.stack([spacing.row(number) for number in range(spacing.size)])


def check_distances(name: str, value: ArrayLike, size: int) -> Array:
    """A symmetric (size, size) matrix of nonnegative distances with a zero diagonal."""
    distances = check_array(name, value, (size, size))
    for rule, is_broken in {
        "be symmetric": distances != distances.T,
        "be nonnegative": distances < 0.0,
        "have a zero diagonal": np.diag(np.diag(distances) != 0.0),
    }.items():
        if is_broken.any():
            where = tuple(np.argwhere(is_broken)[0].tolist())
            raise MisuseError(name, rule, f"{distances[where]} at index {where}")
    return distances

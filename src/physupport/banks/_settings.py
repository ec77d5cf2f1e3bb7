"""States of a library whose responses depend on calibration parameters: gain, width, position and the like."""

from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import UNIT_NORM_TOLERANCE, check_array, check_instance
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import Record
from .._typing import Array, IntArray
from ._library import Library, LibraryStates
from ._nuisances import Nuisances
from ._states import check_size, frozen, frozen_int
from ._subsets import Subsets


class LibrarySettings(Protocol):
    """What calibration parameters make of a library of E elements, in K settings of p parameters."""

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) the parameters."""

    @property
    def values(self) -> Array:
        """(K, p) their values in every setting."""

    @property
    def responses(self) -> Array:
        """(K, q, E) unit columns: how the instrument answers to every element in every setting."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SettingStates:
    """Every setting of the calibration parameters, the slowest, with every choice of one element from each region.

    Setting k and choice c of the base are state k * base.n_states + c.  Element e of the library answers in setting k
    as element k * E + e: another response, the same physical thing.  Columns shared by all states are the same in every
    setting and follow after all of these.
    """

    base: LibraryStates  # with the nominal responses, which are no state unless some setting has them
    parameters: tuple[str, ...]  # (p,) names
    values: Array  # (K, p), distinct rows
    responses: Array = field(repr=False)  # (K, q, E), unit columns
    elements: Array = field(init=False, repr=False)  # (q, K * E + m)
    _grid: Nuisances = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_instance("base", self.base, LibraryStates)
        grid = Nuisances(self.parameters, self.values)
        q, count = self.library.responses.shape
        columns = _check_responses(self.responses, (len(grid), q, count)).transpose(1, 0, 2).reshape(q, -1)
        elements = frozen(np.hstack([columns, self.base.extra]))
        # A view: the responses are stored once, as elements.
        responses = elements[:, : columns.shape[1]].reshape(q, len(grid), count).transpose(1, 0, 2)
        parts = {"parameters": grid.names, "values": grid.values, "_grid": grid}
        for name, value in {**parts, "elements": elements, "responses": responses}.items():
            object.__setattr__(self, name, value)
        check_size("states", self.n_states)

    @property
    def library(self) -> Library:
        """The physical elements."""
        return self.base.library

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions in the order of the atoms."""
        return self.base.regions

    @property
    def library_index(self) -> IntArray:
        """(K * E + m,) which element of the library each element is, in whatever setting; -1 for shared columns."""
        count = len(self.library.ids)
        shared = self.base.library_index[count:]
        return frozen_int(np.concatenate([np.tile(np.arange(count), len(self._grid)), shared]))

    @property
    def n_states(self) -> int:
        """Settings times choices."""
        return len(self._grid) * self.base.n_states

    @property
    def n_atoms(self) -> int:
        """Regions and shared columns."""
        return self.base.n_atoms

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The atoms of each region."""
        return self.base.blocks

    @property
    def sets(self) -> tuple[Subsets, ...]:
        """The choices of each region, the same in every setting."""
        return self.base.sets

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the number of the set that each region has."""
        return self.base.choices(check_indices("states", states, self.n_states) % self.base.n_states)

    @property
    def n_regions(self) -> int:
        """Shared columns lie in no region."""
        return self.base.n_regions

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        setting, choice = np.divmod(check_indices("states", states, self.n_states), self.base.n_states)
        return self._in_setting(setting, self.base.element_index(choice))

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): the setting, slowest, and the choices at these atoms; shared columns know no setting."""
        setting, choice = np.divmod(check_indices("states", states, self.n_states), self.base.n_states)
        keys = self.base.active_keys(choice, positions)
        return keys + setting * self.base.n_active(positions) if self._depend_on_setting(positions) else keys

    def n_active(self, positions: tuple[int, ...]) -> int:
        """The product of the sizes of these regions, for every setting that they can tell."""
        choices = self.base.n_active(positions)
        return len(self._grid) * choices if self._depend_on_setting(positions) else choices

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for."""
        keys = check_indices("keys", keys, self.n_active(positions))
        setting, choice = np.divmod(keys, self.base.n_active(positions))
        return self._in_setting(setting, self.base.active_elements(choice, positions))

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """The ids of the library, the same in every setting; shared columns are `shared 0`, `shared 1`, ..."""
        numbers = check_indices("elements", elements, self.elements.shape[1])
        last = len(self._grid) * len(self.library.ids)
        physical = np.where(numbers < last, numbers % len(self.library.ids), numbers - last + len(self.library.ids))
        return self.base.names(physical)

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters of a state by name."""
        return self._grid.setting(int(check_indices("state", state, self.n_states)[0]) // self.base.n_states)

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:
        """(k,) the values of the parameters, equal ones as equal numbers."""
        setting = states // self.base.n_states
        numbers = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in self.values.T]
        named = zip(self.parameters, numbers, strict=True)
        return {f"the calibration parameter {name}": column[setting].astype(np.int64) for name, column in named}

    def encode(self) -> dict[str, object]:
        """The library with its nominal responses, and the settings."""
        return {
            "kind": "library settings",
            "base": self.base.encode(),
            "names": list(self.parameters),
            "values": array_json(self.values),
            "responses": array_json(self.responses),
        }

    def records(self) -> list[Record]:
        """The library with its nominal responses, and the settings."""
        settings: list[Record] = [*self._grid.records(), ("responses", self.responses)]
        return [("library settings", ()), *self.base.records(), *settings]

    def _depend_on_setting(self, positions: tuple[int, ...]) -> bool:
        return any(j < self.blocks[-1][-1] + 1 for j in positions)

    def _in_setting(self, setting: IntArray, elements: IntArray) -> IntArray:
        """(k,) settings and (k, r) elements of the base -> (k, r) elements."""
        count = len(self.library.ids)
        shift: IntArray = np.where(elements < count, setting[:, None], len(self._grid) - 1)
        return np.where(elements < 0, -1, elements + count * shift)


def _check_responses(value: ArrayLike, shape: tuple[int, int, int]) -> Array:
    responses = check_array("responses", value, shape)
    norms = np.linalg.norm(responses, axis=1)  # (K, E)
    setting, element = np.unravel_index(int(np.argmax(np.abs(norms - 1.0))), norms.shape)
    if abs(norms[setting, element] - 1.0) > UNIT_NORM_TOLERANCE:
        where = f"norm {norms[setting, element]:.12g} in setting {setting}, element {element}"
        raise MisuseError("responses", "have columns of norm 1", where)
    return responses

"""The bank: every combination of state, support and nuisances, as index arithmetic."""

from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_indices, read_only
from .._codec import array_digest, array_json, content_hash
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ._states import ArrayWriter, Nuisances, States, check_distinct_rows, check_size, frozen


class Columns(NamedTuple):
    """The indices of explanations along the four axes of a bank, each (k,)."""

    state: IntArray
    support: IntArray
    calibration: IntArray
    deployment: IntArray


class CalibrationParts(NamedTuple):
    """State and nuisance of calibration keys, each (k,)."""

    state: IntArray
    nuisance: IntArray


class DeploymentParts(NamedTuple):
    """Support, elements, strengths and nuisance of deployment keys; r_max is the size of the largest support."""

    support: IntArray  # (k,)
    elements: IntArray  # (k, r_max), in the order of the atoms, padded with -1
    strengths: Array  # (k, r_max), padded with 0
    nuisance: IntArray  # (k,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """One explanation of a bank, written out."""

    index: int
    state: int
    atoms: Array  # (q, n), the whole dictionary
    positions: tuple[int, ...]  # the active atoms
    strengths: Array  # (r,), of the active atoms
    ids: tuple[str, ...]  # (r,), what the active elements are called
    settings: dict[str, float]  # calibration parameters of the state, where it has some
    calibration: dict[str, float]  # nuisances
    deployment: dict[str, float]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bank:
    """An ordered finite set of explanations: states x supports x calibration nuisances x deployment nuisances.

    The state varies slowest and the deployment nuisance fastest.  Nothing is stored for each explanation: columns are
    worked out for the indices asked for.  The calibration law depends on state and calibration nuisance alone; the
    deployment law on the active elements, their strengths and the deployment nuisance.  Keys number these laws, so
    that each is scored once.
    """

    states: States
    strengths: Array  # (n_supports, n), strength of atom j in support u; 0 means inactive
    calibration: Nuisances = field(default_factory=Nuisances)
    deployment: Nuisances = field(default_factory=Nuisances)
    positions: tuple[tuple[int, ...], ...] = field(init=False, repr=False)  # of each support, its active atoms
    region_levels: Array = field(init=False, repr=False)  # (n_supports, R) strength of each element of a region, or 0
    has_sets: bool = field(init=False, repr=False)  # some region may have several elements at once, or fewer
    n_supports: int = field(init=False, repr=False)  # rows of the strengths
    size: int = field(init=False, repr=False)  # number of explanations
    n_calibration_keys: int = field(init=False, repr=False)  # distinct calibration laws
    n_deployment_keys: int = field(init=False, repr=False)  # distinct deployment laws
    _starts: IntArray = field(init=False, repr=False)  # (n_supports + 1,) first deployment key of each support

    def __post_init__(self) -> None:
        states = self.states
        strengths = _check_strengths(self.strengths, states.n_atoms)
        for block in states.blocks:
            if (strengths[:, block] != strengths[:, block[:1]]).any():
                raise MisuseError(
                    "strengths", "be the same for all atoms of a region", Clause(f"they differ at atoms {block}")
                )
        firsts = [block[0] for block in states.blocks]
        is_shared = firsts == [*range(states.n_atoms)]  # one atom a region: the same table, which may be large
        n_calibration_keys = states.n_states * len(self.calibration)
        size = check_size("explanations", n_calibration_keys * len(strengths) * len(self.deployment))
        positions = [tuple(np.flatnonzero(row).tolist()) for row in strengths]
        counts = [states.n_active(active) * len(self.deployment) for active in positions]
        parts = {
            "strengths": strengths,
            "positions": tuple(positions),
            "region_levels": strengths if is_shared else strengths[:, firsts],
            "has_sets": max(map(len, states.blocks)) > 1,
            "n_supports": len(strengths),
            "size": size,
            "n_calibration_keys": n_calibration_keys,
            "n_deployment_keys": check_size("deployment keys", sum(counts)),
            "_starts": read_only(np.cumsum([0, *counts]), np.int64),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        nuisances = len(self.calibration) * len(self.deployment)
        parts = {"dictionary states": self.states.n_states, "supports": self.n_supports, "nuisances": nuisances}
        return f"Bank({self.size:,} explanations: {', '.join(f'{count:,} {noun}' for noun, count in parts.items())})"

    @property
    def variants(self) -> Array | None:
        """(V, q, E) further columns of every element of the states, which mix with its own; None where each has one."""
        library = self.states.library
        if library is None or library.variants is None:
            return None
        shared = self.states.elements[:, len(library.ids) :]  # stand for themselves
        return np.array([np.hstack([variant, shared]) for variant in library.variants])

    @property
    def channels(self) -> tuple[str, ...] | None:
        """Names of the channels of the responses, where they have some."""
        return None if self.states.library is None else self.states.library.channels

    @property
    def is_line(self) -> bool:
        """True if, beside nuisances, explanations differ in one smooth coordinate alone and stand in its order."""
        return self.n_supports == 1 and self.states.is_line

    def __len__(self) -> int:
        return self.size

    def split(self, index: ArrayLike) -> Columns:
        """(k,) explanations -> their state, support and nuisances."""
        rest = check_indices("index", index, self.size)
        rest, deployment = np.divmod(rest, len(self.deployment))
        rest, calibration = np.divmod(rest, len(self.calibration))
        state, support = np.divmod(rest, self.n_supports)
        return Columns(state, support, calibration, deployment)

    def index(
        self, state: ArrayLike, support: ArrayLike, calibration: ArrayLike = 0, deployment: ArrayLike = 0
    ) -> IntArray:
        """Inverse of `split`; each argument is a number or (k,).  Returns (k,)."""
        parts = (
            check_indices("state", state, self.states.n_states),
            check_indices("support", support, self.n_supports),
            check_indices("calibration", calibration, len(self.calibration)),
            check_indices("deployment", deployment, len(self.deployment)),
        )
        lengths = tuple(map(len, parts))
        if len({*lengths} - {1}) > 1:
            raise MisuseError("the parts of the index", "be single numbers or of one length", f"lengths {lengths}")
        outer = (parts[0] * self.n_supports + parts[1]) * len(self.calibration) + parts[2]
        return outer * len(self.deployment) + parts[3]

    def calibration_keys(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): state * number of calibration nuisances + calibration nuisance."""
        columns = self.split(index)
        return columns.state * len(self.calibration) + columns.calibration

    def calibration_parts(self, keys: ArrayLike) -> CalibrationParts:
        """Inverse of the calibration keys."""
        return CalibrationParts(*np.divmod(check_indices("keys", keys, self.n_calibration_keys), len(self.calibration)))

    def deployment_keys(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k,): equal exactly when support, element of each active atom and deployment nuisance are equal."""
        columns = self.split(index)
        keys = self._starts[columns.support] + columns.deployment
        for support, rows in _groups(columns.support):
            active = self.states.active_keys(columns.state[rows], self.positions[support])
            keys[rows] += active * len(self.deployment)
        return keys

    def deployment_parts(self, keys: ArrayLike) -> DeploymentParts:
        """Inverse of the deployment keys: what each law is made of."""
        keys = check_indices("keys", keys, self.n_deployment_keys)
        support = np.searchsorted(self._starts, keys, side="right") - 1
        active, nuisance = np.divmod(keys - self._starts[support], len(self.deployment))
        r_max = max(map(len, self.positions))
        elements = np.full((len(keys), r_max), -1, dtype=np.int64)
        strengths = np.zeros((len(keys), r_max))
        for u, rows in _groups(support):
            atoms = self.positions[u]
            elements[rows, : len(atoms)] = self.states.active_elements(active[rows], atoms)
            strengths[rows, : len(atoms)] = self.strengths[u, list(atoms)]
        if self.has_sets:
            # Sets with fewer elements leave gaps: what is there moves to the front, in its order.
            order = np.argsort(elements < 0, axis=1, kind="stable")
            elements = np.take_along_axis(elements, order, axis=1)
            strengths = np.where(elements < 0, 0.0, np.take_along_axis(strengths, order, axis=1))
        return DeploymentParts(support, elements, strengths, nuisance)

    def region_strengths(self, index: ArrayLike) -> Array:
        """(k,) -> (k, R): how strong each element of region j is, 0 where it has none (for arrays: atom j)."""
        return np.asarray(self.region_levels[self.split(index).support])

    def presence(self, index: ArrayLike) -> BoolArray:
        """(k,) -> (k, R): true if the explanation has anything in region j (for arrays: at atom j)."""
        return np.asarray(self.region_strengths(index) > 0.0)

    def choice(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the number of what region j has, of a library within the region; -1 where it has nothing."""
        columns = self.split(index)
        return np.where(self.region_levels[columns.support] > 0.0, self.states.choices(columns.state), -1)

    def location(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the active element of region j, -1 where there is none; of sets, `choice` has numbers."""
        if self.has_sets:
            raise MisuseError("bank", "have regions of one element each", "one of several", "Use choice.")
        columns = self.split(index)
        chosen = self.states.element_index(columns.state)[:, : len(self.states.blocks)]
        return np.where(self.region_levels[columns.support] > 0.0, chosen, -1)

    def explanation(self, index: int) -> Explanation:
        """One explanation, written out."""
        state, support, calibration, deployment = (int(column[0]) for column in self.split(index))
        whole = self.states.element_index(state)[0]
        kept = np.flatnonzero(whole >= 0)  # the atoms that this state has, numbered anew where sets leave gaps
        chosen = whole[kept]
        strengths = self.strengths[support, kept]
        active = np.flatnonzero(strengths).tolist()
        return Explanation(
            index=int(index),
            state=state,
            atoms=self.states.elements[:, chosen],
            positions=tuple(active),
            strengths=strengths[active],
            ids=self.states.names(chosen[active]),
            settings=self.states.setting(state),
            calibration=self.calibration.setting(calibration),
            deployment=self.deployment.setting(deployment),
        )

    def encode(self, array: ArrayWriter = array_json) -> dict[str, object]:
        """States, strengths and nuisances; the explanations are their product and need no line each."""
        return {
            "states": self.states.encode(array),
            "strengths": array(self.strengths),
            "calibration": self.calibration.encode(array),
            "deployment": self.deployment.encode(array),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the dump, in hexadecimal, with every array by its own hash; the same on every machine."""
        return content_hash(self.encode(array_digest))


def _check_strengths(value: ArrayLike, n_atoms: int) -> Array:
    strengths = frozen(check_array("strengths", value, (None, n_atoms)))
    if not len(strengths):
        raise MisuseError("strengths", "hold at least one support", Clause("there is none"))
    if strengths.min() < 0.0:
        support, atom = np.argwhere(strengths < 0.0)[0].tolist()
        raise MisuseError(
            "strengths", "be at least 0", f"{strengths[support, atom]} for atom {atom} of support {support}"
        )
    check_distinct_rows("strengths", strengths, "supports", "as support")
    return strengths


def _groups(labels: IntArray) -> list[tuple[int, IntArray]]:
    """Rows of each label, by one sort."""
    order = np.argsort(labels, kind="stable")
    distinct, starts = np.unique(labels[order], return_index=True)
    return list(zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)) if len(labels) else []

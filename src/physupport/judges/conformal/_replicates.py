"""Measured examples of elements with their units, and their noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from ..._checks import check_array, read_only
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...io import Axis, as_reader_output, order_of

# Median of |y - 2 y' + y''| of white noise of deviation 1.
_MEDIAN = 0.6744897501960817 * np.sqrt(6.0)
# Of the energy of a spectrum, at least this much is taken to be no noise.
_LEAST_CLEAN = 1e-2


class Group(NamedTuple):
    """A group of elements, as the gate ranks its spectra."""

    members: IntArray  # (n,) numbers of its spectra
    sizes: IntArray  # (n,) of the group, spectra from the unit of each
    is_own: BoolArray  # (n, n) pairs of spectra from one unit
    units: tuple[IntArray, ...]  # numbers of the spectra of each unit


class Noise(NamedTuple):
    """The noise of spectra (S,), by the roughness of what each has beside its nearest reference."""

    sigma: Array  # standard deviation of a channel
    clean: Array  # energy of what is no noise
    ratios: Array  # of the variance over that energy


@final
@dataclass(frozen=True, eq=False)  # no slots: what all signals share is computed once, when first asked for
class Replicates:
    """Spectra (S, q), each of an element and from a unit: an instrument, a sample, a site.

    The unit is what a new signal comes from another one of; spectra of one unit are not independent, and counting them
    as if they were makes an answer far too sure.  groups: the group of each element; each is one of its own unless
    given.  background: columns (q, b) that may be in any spectrum with any coefficient, taken off before angles.
    """

    spectra: Array  # names of its columns, where it has some, are matched to those of the bank's channels
    elements: tuple[str, ...]  # (S,)
    units: tuple[str, ...]  # (S,)
    groups: Mapping[str, str] | None = None
    background: Array | None = None
    names: tuple[str, ...] = field(init=False)  # (E,) elements in their order
    element_of: IntArray = field(init=False)  # (S,)
    unit_of: IntArray = field(init=False)  # (S,)
    group_of: IntArray = field(init=False)  # (E,)
    baseline: Array = field(init=False)  # (q, c) orthonormal basis of the background
    channels: tuple[str, ...] | None = field(init=False)  # (q,) names, where they have some

    def __post_init__(self) -> None:
        held = as_reader_output("spectra", self.spectra)
        spectra = check_array("spectra", held.values, (None, None))
        object.__setattr__(self, "channels", held.headings[1])
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
        self.unit(spectra)  # refuses spectra that are background alone

    @cached_property
    def references(self) -> Array:
        """(S, q) spectra beside the background, of norm 1."""
        return read_only(self.unit(self.spectra))

    @cached_property
    def listed(self) -> tuple[Group, ...]:
        """Groups with their spectra and units."""
        label = self.group_of[self.element_of]
        found = []
        for group in range(int(label.max()) + 1):
            members = np.flatnonzero(label == group)
            _, number, counts = np.unique(self.unit_of[members], return_inverse=True, return_counts=True)
            units = tuple(members[number == u] for u in range(len(counts)))
            found.append(Group(members, counts[number], number[:, None] == number, units))
        return tuple(found)

    @cached_property
    def nearest(self) -> Array:
        """(S,) the largest cosine of each spectrum with one of its group, its own unit left out."""
        return self.nearest_of(self.references)

    def nearest_of(self, ranked: Array) -> Array:
        """(S,) the same of spectra (S, q) of norm 1 in the place of each; -1 where the group has one unit."""
        found = np.empty(len(ranked))
        for group in self.listed:
            cosines = ranked[group.members] @ self.references[group.members].T
            cosines[group.is_own] = -1.0
            found[group.members] = cosines.max(axis=1)
        return found

    @cached_property
    def noise(self) -> Noise:
        """The noise of the spectra; the nearest reference comes from another unit."""
        cosines = self.references @ self.references.T
        cosines[self.unit_of[:, None] == self.unit_of] = -1.0
        return self.noise_of(self.spectra, cosines)

    def noise_of(self, spectra: Array, cosines: Array) -> Noise:
        """The noise of spectra (n, q) with these cosines (n, S) to references; none in fewer than three channels."""
        left = self.beside(spectra)
        sizes = np.linalg.norm(left, axis=1)
        away = left - (sizes * cosines.max(axis=1))[:, None] * self.references[cosines.argmax(axis=1)]
        differences = np.diff(away, 2, axis=1) if away.shape[1] > 2 else np.zeros((len(away), 1))
        sigma = np.median(np.abs(differences), axis=1) / _MEDIAN
        energy = sizes**2
        clean = np.maximum(energy - self.freedom * sigma**2, _LEAST_CLEAN * energy)
        return Noise(sigma, clean, sigma**2 / clean)

    @property
    def freedom(self) -> int:
        """Channels less columns of the background."""
        return int(self.spectra.shape[1] - self.baseline.shape[1])

    def in_order(self, channels: tuple[str, ...] | None) -> "Replicates":
        """The same spectra with their channels in the order that is wanted, where both have names."""
        order = order_of("replicates", Axis("channels", channels, "the library"), self.channels)
        if order is None or np.array_equal(order, np.arange(len(order))):
            return self
        background = None if self.background is None else self.background[order]
        return replace(self, spectra=self.spectra[:, order], background=background)

    def n_units(self, labels: IntArray) -> IntArray:
        """(L,) K of each label, where elements (E,) have labels 0 .. L - 1."""
        pairs = np.unique(np.stack([labels[self.element_of], self.unit_of], axis=1), axis=0)
        return np.bincount(pairs[:, 0]).astype(np.int64)

    def beside(self, spectra: Array) -> Array:
        """Spectra (S, q) less what the background fits to them."""
        return np.asarray(spectra - (spectra @ self.baseline) @ self.baseline.T)

    def unit(self, spectra: Array) -> Array:
        """Spectra (S, q) beside the background, of norm 1."""
        left = self.beside(spectra)
        norms = np.linalg.norm(left, axis=1)
        sizes = np.linalg.norm(spectra, axis=1)
        if not (norms > 1e-8 * sizes).all():
            worst = int(np.argmin(norms > 1e-8 * sizes))
            raise MisuseError(
                "spectra", "have something beside the background", Clause(f"spectrum {worst} has nothing")
            )
        return np.asarray(left / norms[:, None])


def _numbered(name: str, values: Sequence[str], count: int) -> tuple[tuple[str, ...], IntArray]:
    """Distinct names in the order in which they come, and the number of each entry."""
    if len(values) != count:
        raise MisuseError(name, f"be {count}, one for each", len(values), "The unit of every spectrum is needed.")
    distinct = tuple(dict.fromkeys(map(str, values)))
    number = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([number[str(value)] for value in values], dtype=np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNoise:
    """Noise over the size of what is no noise, so that signal and replicates need not have one scale."""

    signal: float  # standard deviation of a channel, in units of the signal
    replicates: float  # the same of the median replicate, at the scale of the signal
    added: Array  # (S,) deviations, in units of each replicate, that make it no less noisy than the signal
    turn: float  # angle by which noise that the median replicate lacks may have turned the signal

    @classmethod
    def of(cls, data: Replicates, signal: Array) -> "MeasuredNoise":
        """Measure the noise of one signal (q,); none is seen in fewer than three channels."""
        cosines = data.unit(signal[None]) @ data.references.T
        noise = data.noise
        own = data.noise_of(signal[None], cosines)
        usual = float(np.median(noise.ratios))
        ratio = float(own.ratios[0])
        most = ratio * _upper(data.spectra.shape[1]) ** 2
        missing = np.sqrt(np.maximum(most * noise.clean - noise.sigma**2, 0.0))
        added = np.where(noise.ratios < ratio, missing, 0.0)
        turn = float(np.arctan(np.sqrt(data.freedom * max(most - usual, 0.0)))) if usual < ratio else 0.0
        return cls(float(own.sigma[0]), float(np.sqrt(usual * own.clean[0])), added, turn)


def _upper(n_channels: int) -> float:
    """The deviation that is measured, times this, is too small in about one of forty spectra of white noise."""
    return 1.0 + 3.5 / float(np.sqrt(n_channels))

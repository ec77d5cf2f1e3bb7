"""The labels of many signals at once, from what each of them keeps; the rules are those of a regional map."""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from .._compiled import kept
from .._errors import MisuseError
from .._typing import BoolArray, IntArray
from ..questions import Label, RegionalMap

# A label is stored as its number here; the order never changes.
LABELS = (
    Label.ABSTAIN,
    Label.EMPTY,
    Label.SUPPORT_AMBIGUOUS,
    Label.LOCAL_AMBIGUOUS,
    Label.GROUP,
    Label.FINE,
    Label.ABSENT,
)
STATEMENTS = np.array([label.is_truth_level for label in LABELS])
_ABSTAIN, _EMPTY, _SUPPORT, _LOCAL, _GROUP, _FINE, _ABSENT = range(len(LABELS))
Words = NDArray[np.uint64]


class _Region(NamedTuple):
    """A region in the form that the kernel works with; sets of elements are bits of words, bit i is element i."""

    slots: IntArray  # (M,) the element of every explanation, -1 where the region is absent
    witnesses: BoolArray  # (M,) whether a lack is taken as witness of absence
    far: Words  # (m, w) of every element, those farther away than the tolerance
    groups: Words  # (g, w) smallest first, the last is the region itself
    is_named: BoolArray  # (g,)
    asks: BoolArray  # fine, group, presence, absence, ambiguity


_ASKS = ("fine", "group", "presence", "absence", "ambiguity")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labeller:
    """Labels of signals whose kept explanations are all that is possible, and all of them witnessed.

    Amplitudes are open, so that thresholds of strength mean nothing and are refused.
    """

    regions: tuple[_Region, ...]

    @classmethod
    def of(cls, question: RegionalMap) -> "Labeller":
        """The same regions and rules."""
        every = np.arange(question.n_explanations)
        slots = question.slots(every)
        parts = []
        for number, region in enumerate(question.asked_regions):
            if region.threshold is not None:
                rule = f"be left out of region {region.name!r}: amplitudes are open, and none is told from another"
                raise MisuseError("absence_threshold", rule, region.threshold)
            size = len(region.elements)
            needs_only = region.needs_persistent_only
            witnesses = question.view.persistent_only(every) if needs_only else np.ones(len(every), dtype=np.bool_)
            groups = np.stack([_words(members, size) for _, members in region.groups])
            is_named = np.array([region.is_named(i) for i in range(len(region.groups))])
            asks = np.array([ask in region.asks for ask in _ASKS])
            far = np.stack([_words(members, size) for members in region.far])
            parts.append(_Region(np.ascontiguousarray(slots[:, number]), witnesses, far, groups, is_named, asks))
        return cls(tuple(parts))

    def label(self, kept: BoolArray) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
        """Numbers of labels and of groups (S, R) of signals that keep (S, M); group -1 where presence is open."""
        labels = np.empty((len(kept), len(self.regions)), dtype=np.uint8)
        groups = np.empty((len(kept), len(self.regions)), dtype=np.int16)
        for number, region in enumerate(self.regions):
            _label_signals(kept, region, labels[:, number], groups[:, number])
        return labels, groups


def _words(members: int, size: int) -> Words:
    count = -(-size // 64)
    return np.frombuffer(members.to_bytes(8 * count, "little"), dtype="<u8").astype(np.uint64)


@kept(nogil=True)
def _meets(first: Words, second: Words) -> bool:
    for i in range(len(first)):  # noqa: SIM110  numba has no any of a generator
        if first[i] & second[i]:
            return True
    return False


@kept(nogil=True)
def _sector(members: Words, groups: Words) -> int:
    """The smallest group that holds all members."""
    for g in range(len(groups)):
        is_within = True
        for i in range(len(members)):
            is_within = is_within and members[i] & ~groups[g, i] == 0
        if is_within:
            return g
    return len(groups) - 1


@kept(nogil=True)
def _is_close(members: Words, far: Words) -> bool:
    for element in range(len(far)):
        if members[element >> 6] >> np.uint64(element & 63) & np.uint64(1) and _meets(far[element], members):
            return False
    return True


@kept(nogil=True)
def _label(members: Words, is_any: bool, absent: bool, is_witnessed: bool, region: _Region, sector: int) -> int:
    fine, group, presence, absence, ambiguity = region.asks
    if not is_any and not absent:
        return _EMPTY
    if absence and not is_any:
        return _ABSENT
    if not absent:
        is_close = _is_close(members, region.far)
        if fine and is_close:
            return _FINE
        if presence or (group and region.is_named[sector]):
            return _GROUP
        if ambiguity and not is_close:
            return _LOCAL
    return _SUPPORT if ambiguity and is_any and is_witnessed else _ABSTAIN


@kept(nogil=True)
def _label_signals(kept: BoolArray, region: _Region, labels: NDArray[np.uint8], groups: NDArray[np.int16]) -> None:
    members = np.empty(region.far.shape[1], dtype=np.uint64)
    for s in range(len(kept)):
        members[:] = 0
        is_any, absent, is_witnessed = False, False, False
        for e in range(kept.shape[1]):
            if kept[s, e]:
                slot = region.slots[e]
                if slot < 0:
                    absent = True
                    is_witnessed = is_witnessed or region.witnesses[e]
                else:
                    is_any = True
                    members[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
        sector = _sector(members, region.groups)
        labels[s] = _label(members, is_any, absent, is_witnessed, region, sector)
        groups[s] = sector if is_any and not absent else -1

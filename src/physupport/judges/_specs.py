"""Judges before they look: what is written into a frozen protocol, and opened on its held-out rows afterwards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Protocol, final

from .._errors import MisuseError
from .._lazy import Registry
from .._typing import IntArray
from ..banks import Bank
from ..io import RowSource
from ..laws import Design, Law, laws_of_files, make_law
from ._judge import Judge
from ._path import joint_path

if TYPE_CHECKING:
    from ._evidence import Evidence, Factor

MOST_SPLITS = 1000  # over which evidence is averaged: more change nothing that a reader would see, and take as long


@final
@dataclass(frozen=True, slots=True, eq=False)
class SealedStream:
    """The held-out part of one stream of a frozen protocol."""

    name: str
    rows: RowSource  # held-out, in the order of the split
    law: Law  # completed with the bank
    keys_of: Callable[[IntArray], IntArray]  # explanations (k,) -> keys (k,) of its law
    factor: "Callable[[], Factor]"  # its densities over these rows, with the numerator; building it reads rows


@final
@dataclass(frozen=True, eq=False)  # no slots: the evidence is put together when first asked for
class Sealed:
    """All that a judge is opened on: the bank, the level, and the held-out streams in their order.

    digest: the hash of the frozen protocol, from which a judge may take its draws.
    """

    bank: Bank
    level: float
    streams: tuple[SealedStream, ...]
    digest: str

    @property
    def size(self) -> int:
        """How many explanations."""
        return self.bank.size

    @cached_property
    def evidence(self) -> "Evidence":
        """The evidence of all streams along their joint path."""
        return self.evidence_of(self.streams)

    def evidence_of(self, streams: Sequence[SealedStream]) -> "Evidence":
        """That of some of them."""
        from ._evidence import Evidence

        factors = [stream.factor() for stream in streams]
        return Evidence(self.size, factors, joint_path([factor.stream.checkpoints for factor in factors]))

    def divided(
        self, is_own: Callable[[Law], bool], rule: str, otherwise: str
    ) -> "tuple[SealedStream, Design, Evidence | None]":
        """The one stream that a judge decides from, the columns of its explanations, and the evidence of the others.

        rule, otherwise: what is told where not exactly one stream has a law that is the judge's own, and a design.
        """
        judged = self.streams[own_stream([stream.law for stream in self.streams], is_own, rule, otherwise)]
        design = judged.law.design(self.bank)
        if design is None:
            raise MisuseError("judge", rule, judged.law.name)
        remaining = [stream for stream in self.streams if stream is not judged]
        return judged, design, self.evidence_of(remaining) if remaining else None


def own_stream(laws: Sequence[Law], is_own: Callable[[Law], bool], rule: str, otherwise: str = "") -> int:
    """Which of the streams, by the laws of their rows, is the only one that is a judge's own.

    otherwise: what helps where there is none, beside another law.
    """
    numbers = [number for number, law in enumerate(laws) if is_own(law)]
    if len(numbers) != 1:
        takers = [repr(name) for name in laws_of_files("deployment") if is_own(make_law(name, {}))]
        remedy = f"Take the law {' or '.join(takers)} for the deployment rows{otherwise}." if takers else ""
        raise MisuseError("judge", rule, ", ".join(law.name for law in laws), remedy)
    return numbers[0]


class JudgeSpec(Protocol):
    """A judge as a protocol has it before any held-out row is read."""

    def encode(self) -> dict[str, object]:
        """All that it fixes beforehand, draws included, as JSON can hold it; see `Judge.encode`."""

    def open(self, sealed: Sealed) -> Judge:
        """The judge, at the level of the protocol; here held-out rows may be read."""

    def splits(self, law: Law) -> bool:
        """Whether rows of this law are divided, so that some may propose; left out: all are."""

    @property
    def has_facts(self) -> bool:
        """Whether the judge that it opens has `facts`, see `judge_facts`; left out: it has none."""

    @property
    def fact_names(self) -> tuple[str, ...]:
        """What these facts always have, so that `verify` misses it in a report; left out: nothing."""

    @property
    def withholds(self) -> bool:
        """Whether labels are withheld where these say that the best fit is rejected; left out: never."""


def completed_with(spec: JudgeSpec, bank: Bank, laws: Sequence[Law]) -> JudgeSpec:
    """The judge as it is frozen: with all that it leaves to bank and laws, if it has a `completed`."""
    if not hasattr(spec, "completed"):
        return spec
    completed: JudgeSpec = spec.completed(bank, laws)
    return completed


def gives_e_values(spec: JudgeSpec) -> bool:
    """Whether margins are logs of e-values times the level, not of the largest along a path; left out: they are not."""
    return bool(getattr(spec, "are_e_values", False))


def shares_numerator(spec: JudgeSpec) -> bool:
    """Whether evidence against all explanations has one numerator: those within another have no less against them."""
    return bool(getattr(spec, "has_common_numerator", False))


def splits_rows(spec: JudgeSpec, law: Law) -> bool:
    """What a specification says of that, or leaves out."""
    return bool(spec.splits(law)) if hasattr(spec, "splits") else True


def check_rows(spec: JudgeSpec, law: Law, n_rows: int) -> None:
    """Refuse, before any is read, so many rows as a specification cannot judge, if it has a `check_rows`."""
    if hasattr(spec, "check_rows"):
        spec.check_rows(law, n_rows)


def check_laws(spec: JudgeSpec, laws: Sequence[Law]) -> None:
    """Refuse, before any row is read, streams of laws that a specification cannot judge, by its `check_laws` if any.

    Counts have no densities to score them with, so that nobody divides them who would weigh evidence.
    """
    for law in laws:
        if law.is_counted and splits_rows(spec, law):
            rule = f"be {law.usual_judge!r} for rows of the law {law.name}"
            raise MisuseError("judge", rule, repr(spec.encode()["judge"]), "Leave it out.")
    if hasattr(spec, "check_laws"):
        spec.check_laws(laws)


# Where judges of this package enter themselves; their names are known before anything of them is loaded.
_HOMES = {
    "rotation": ".rotation._by_rotation",
    "conformal": ".conformal._by_replicates",
    "counts": ".counts._by_counts",
    "simulation": ".simulation._judge",
    "evidence": "._by_splits",
}
# How each kind is read back from a protocol, so that verdicts can be asked for again.
Decode = Callable[[Mapping[str, object]], JudgeSpec]
JUDGES = Registry[Decode](__package__, _HOMES | {"evidence of splits": "._by_splits"})


# Those that can be made by name, from options that all have defaults.
JUDGE_MAKERS = Registry[Callable[..., JudgeSpec]](__package__, _HOMES)


def register(kind: str, make: Callable[..., JudgeSpec] | None = None) -> Callable[[Decode], Decode]:
    """Enter the function that reads specifications of this kind back; there is no other list of judges.

    make: what makes one by name, where project files may have it.
    """

    def entered(decode: Decode) -> Decode:
        JUDGES[kind] = decode
        if make is not None:
            JUDGE_MAKERS[kind] = make
        return decode

    return entered


def make_judge(kind: str, options: Mapping[str, object]) -> JudgeSpec:
    """A judge by name; options that are None count as left out."""
    if kind not in JUDGE_MAKERS:
        raise MisuseError("judge", f"be one of {', '.join(JUDGE_MAKERS)}", repr(kind))
    make, settings = JUDGE_MAKERS[kind], {name: value for name, value in options.items() if value is not None}
    for name in settings:
        if name not in signature(make).parameters:
            takers = [repr(other) for other, maker in JUDGE_MAKERS.items() if name in signature(maker).parameters]
            remedy = f"It goes with the judge {' or '.join(takers)}." if takers else ""
            raise MisuseError(name, f"be left out with the judge {kind}", "a value", remedy)
    return make(**settings)


def decoded(content: Mapping[str, object]) -> JudgeSpec:
    """The specification that wrote this."""
    kind = content.get("judge")
    if not isinstance(kind, str) or kind not in JUDGES:
        raise MisuseError("judge", f"be one of the known kinds {sorted(JUDGES)}", repr(kind))
    return JUDGES[kind](content)

"""Judges before they look: what is written into a frozen protocol, and opened on its held-out rows afterwards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, final

import numpy as np

from .._codec import draws_seed, read_back, rows_hash
from .._errors import Clause, MissingError, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ..io import RowSource
from ..laws import Design, Law, laws_of_files, make_law
from ._judge import Judge

if TYPE_CHECKING:
    from ._evidence import Evidence, Factor
    from .rotation import Rotation


@final
class Registry(dict[str, "type[JudgeSpec] | str"]):
    """Specifications by kind; an entry may be the name of a module, which registers its own when it is loaded."""

    def __getitem__(self, kind: str) -> "type[JudgeSpec]":
        """The specification of a kind, loaded at first use."""
        entry = dict.__getitem__(self, kind)
        if isinstance(entry, str):
            home = import_module(entry, __package__)
            getattr(home, f"By{kind.title()}", None)  # a package loads it when it is asked for
            entry = dict.__getitem__(self, kind)
        if isinstance(entry, str):
            rule = f"register the judge {kind!r}, which it is named after"
            raise MisuseError(f"the module {entry} of judges", rule, Clause("there is none of this name"))
        return entry


# ruff: noqa: ARG002  defaults of the contract use no arguments


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
    """The inputs of a judge: the bank, the level, and the held-out streams in their order.

    seed: that of the protocol.
    """

    bank: Bank
    level: float
    streams: tuple[SealedStream, ...]
    seed: int

    @cached_property
    def draws_seed(self) -> int:
        """The seed of all draws of the judge, see `physupport._codec.draws_seed`; reads the rows."""
        hashes = {
            stream.name: rows_hash(stream.rows.blocks(), (stream.rows.n_rows, stream.rows.width))
            for stream in self.streams
        }
        return draws_seed(self.seed, hashes)

    @property
    def size(self) -> int:
        """The number of explanations."""
        return self.bank.size

    @cached_property
    def evidence(self) -> "Evidence":
        """The evidence of all streams along their joint path."""
        return self.evidence_of(self.streams)

    def evidence_of(self, streams: Sequence[SealedStream]) -> "Evidence":
        """The evidence of some of the streams."""
        from ._evidence import Evidence  # slow to load, and a project file asks for names alone

        return Evidence(self.size, [stream.factor() for stream in streams])

    def divided(self, spec: "JudgeSpec") -> "tuple[SealedStream, Design, Evidence | None]":
        """The one stream that a judge does not split, its columns, and the evidence of the other streams."""
        judged = self.streams[spec.own_stream([stream.law for stream in self.streams])]
        design = judged.law.design(self.bank)
        if design is None:
            raise MisuseError("judge", spec.rule, judged.law.name)
        remaining = [stream for stream in self.streams if stream is not judged]
        return judged, design, self.evidence_of(remaining) if remaining else None


@dataclass(frozen=True, eq=False)
class SealedJudge(Judge):
    """An opened judge whose explanations and level are those of what it was opened on."""

    sealed: Sealed

    @property
    def size(self) -> int:
        """The size of the bank."""
        return self.sealed.size

    @property
    def level(self) -> float:
        """The level of the protocol."""
        return self.sealed.level


class JudgeSpec:
    """The specification of a judge: all that is fixed before any held-out row is read.

    A frozen dataclass that inherits this class, gives `kind`, `encode`, `open` and, unless it writes its fields as they
    are, `decode`.  Everything else is a capability with a default.  `register` enters it under its kind.

    Its fields are the options that a project file may give, except those with the metadata `FIXED`: the program sets
    them.
    """

    __slots__ = ()
    kind: ClassVar[str]
    # True if evidence against all explanations has one numerator: those within another have no less against them.
    has_common_numerator: ClassVar[bool] = False
    # True if draws come from the random numbers of NumPy, which versions need not share.
    draws_by_numpy: ClassVar[bool] = False
    # True if an element is its response alone, so that forecasts and spectra may fit it.
    fits_elements: ClassVar[bool] = True
    # Facts that the opened judge always gives, so that `verify` misses them in a report.
    fact_names: ClassVar[tuple[str, ...]] = ()
    # Where the judge decides from one stream alone: the rule that is told otherwise, and what helps beside another law.
    rule: ClassVar[str] = ""
    remedy: ClassVar[str] = ""

    @property
    def are_e_values(self) -> bool:
        """True if margins are logs of e-values times the level, not of the largest along a path (default: False)."""
        return False

    @property
    def has_facts(self) -> bool:
        """True if the opened judge gives `Judge.facts` (default: if a stated noise is tested)."""
        return self.noise_share is not None

    @property
    def withholds(self) -> bool:
        """True if labels are withheld where the facts reject the best fit (default: if a stated noise is tested)."""
        return self.noise_share is not None

    @property
    def trusts_noise(self) -> bool:
        """True if the judge relies on a stated noise without testing it (default: False)."""
        return False

    @property
    def noise_share(self) -> float | None:
        """Share of the level at which a stated noise is tested; None if it is not (default)."""
        return None

    @property
    def fissions(self) -> int:
        """The number of times that a single row is split by noise that is added to it (default: 0)."""
        return 0

    def encode(self) -> dict[str, object]:
        """The options that are fixed before held-out rows are read, as JSON.

        `judge` is the kind, `assumes` is the assumption in one line.
        """
        raise NotImplementedError

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "JudgeSpec":
        """The specification that wrote this content (default: by its fields)."""
        return cls(**{name: value for name, value in content.items() if name not in ("judge", "assumes")})

    def open(self, sealed: Sealed) -> Judge:
        """The judge, at the level of the protocol; here held-out rows may be read."""
        raise NotImplementedError

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "JudgeSpec":
        """The specification with the options of a project file; an option that is left out has its default."""
        return cls(**options)

    def completed(self, bank: Bank, laws: Sequence[Law]) -> "JudgeSpec":
        """The specification as it is frozen, with all that it leaves to bank and laws (default: unchanged)."""
        return self

    def splits(self, law: Law) -> bool:
        """True if rows of this law are divided, so that some of them propose (default: True)."""
        return True

    def unrejectable(self, bank: Bank, level: float) -> BoolArray | None:
        """(M,) True for explanations that no data make this judge reject; None if there are none (default).

        They are always possible, so that they carry no label: where nothing else is possible, none is given.
        A protocol refuses a judge that has some and no facts, which would say so (`is_withheld`).
        """
        return None

    def check_rows(self, law: Law, n_rows: int) -> None:
        """Raise, before any row is read, if the judge cannot judge so many rows (default: never)."""

    def check_laws(self, laws: Sequence[Law]) -> None:
        """Raise, before any row is read, if the judge cannot judge streams of these laws.

        By default a judge with a `rule` needs exactly one stream that it does not split; other judges accept any laws.
        """
        if self.rule:
            self.own_stream(laws)

    def own_stream(self, laws: Sequence[Law]) -> int:
        """The number of the one stream that the judge does not split, by the laws of all streams."""
        numbers = [number for number, law in enumerate(laws) if not self.splits(law)]
        if len(numbers) != 1:
            takers = [repr(name) for name in laws_of_files("deployment") if not self.splits(make_law(name, {}))]
            remedy = f"Take the law {' or '.join(takers)} for the deployment rows{self.remedy}." if takers else ""
            raise MisuseError("judge", self.rule, ", ".join(law.name for law in laws), remedy)
        return numbers[0]

    def rehearsed(
        self,
        bank: Bank,
        explanation: int,
        rng: np.random.Generator,
    ) -> "tuple[JudgeSpec, Array, Fraction] | None":
        """A data set taken from what the judge was given, for a forecast (default: None, rows are simulated).

        The specification without these data, the rows (n, q), and the factor by which the level has to grow.
        """
        return None

    def rotations(
        self,
        design: Design,
        n_rows: int,
        n_channels: int,
        seed: int,
    ) -> "tuple[Rotation, ...] | None":
        """The rotation test of each noise setting, where the judge is one (default: None)."""
        return None


def check_laws(spec: JudgeSpec, laws: Sequence[Law]) -> None:
    """Raise, before any row is read, if the judge cannot judge streams of these laws.

    Counts have no densities to score them with, so that nobody divides them who would weigh evidence.
    """
    for law in laws:
        if law.is_counted and spec.splits(law):
            rule = f"be {law.usual_judge!r} for rows of the law {law.name}"
            raise MisuseError("judge", rule, repr(spec.encode()["judge"]), "Leave it out.")
    spec.check_laws(laws)


# The names of the judges of this package, known before anything of them is loaded: a module `_by_name.py` registers the
# judge `name`, so that a new judge is one new file; a package of its name publishes `ByName`, which registers itself.
JUDGES = Registry(
    {
        name.removeprefix("_by_").replace("_", "-"): f".{name}"
        for _, name, is_package in iter_modules([str(Path(__file__).parent)])
        if is_package or name.startswith("_by_")
    }
)
MOST_SPLITS = 1000  # over which evidence is averaged: more change nothing that a reader would see, and take as long
# Metadata of fields that the program sets and that are no options of a project file.
FIXED = {"is_option": False}
Spec = TypeVar("Spec", bound=type[JudgeSpec])


def register(spec: Spec) -> Spec:
    """Enter a specification under its kind; there is no other list of judges."""
    JUDGES[spec.kind] = spec
    return spec


def judge_options(kind: str) -> "dict[str, Field[Any]]":
    """The options of a judge that a project file may give, as the fields of a dataclass."""
    spec: Any = JUDGES[kind]
    return {entry.name: entry for entry in fields(spec) if entry.metadata.get("is_option", True)}


def make_judge(kind: str, options: Mapping[str, object]) -> JudgeSpec:
    """A judge by name; options that are None count as left out."""
    if kind not in JUDGES:
        raise MisuseError("judge", f"be one of {', '.join(JUDGES)}", repr(kind))
    settings = {name: value for name, value in options.items() if value is not None}
    for name in settings:
        if name not in judge_options(kind):
            takers = [repr(other) for other in JUDGES if name in judge_options(other)]
            remedy = f"It goes with the judge {' or '.join(takers)}." if takers else ""
            raise MisuseError(name, f"be left out with the judge {kind}", Clause("it is given"), remedy)
    for name, entry in judge_options(kind).items():
        if name not in settings and entry.default is MISSING and entry.default_factory is MISSING:
            raise MissingError(name, "be given", "none", f"The judge {kind} needs it.")
    return JUDGES[kind].of_options(settings)


def decoded(content: Mapping[str, object]) -> JudgeSpec:
    """The specification that wrote this."""
    kind = content.get("judge")
    if str(kind) not in JUDGES:
        raise MisuseError("judge", f"be one of the known kinds {sorted(JUDGES)}", repr(kind))
    return read_back("the judge", content, JUDGES[str(kind)].decode)

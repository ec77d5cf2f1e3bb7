"""The contract of a law: one object knows all about its rows, and nothing outside this folder asks for its name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from .._codec import Refusal, read_back
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..banks import Bank, Moved, Nuisances, RangeSizes
from ..io import RowSource
from ._design import Design, NoiseSeen, StrengthsSeen
from ._opponents import KINDS, Mixture, Opponent, Proposal, bank_key, decode_mixture, decode_point, decode_product
from ._stream import Stream

Part = Literal["calibration", "deployment"]

# A key, keys (r,), a generator and a count to (count, r): log likelihoods of these keys, of so many records of rows
# that are drawn under the key, each as long as one that is given.
Sampler = Callable[[int, IntArray, np.random.Generator, int], Array]


class Energy(NamedTuple):
    """The energy of rows under an explanation, and its mean and deviation if that made them."""

    statistic: float
    expected: float
    deviation: float
    is_exact: bool = True  # whether it is chi-square then; else only mean and deviation are known


@final
@dataclass(frozen=True, slots=True)
class CoverSizes:
    r"""How far the law of all rows moves with its atoms, strengths and noise: what a cover is made from.

    kappa: the divergence, at most, if one active atom moves by 1 in units of the noise,
    :math:`\sqrt T|x||\Delta a|/\sigma = 1`; it grows as the square of that, and as this power of the number of active
    atoms.  is_shift: whether the mean shifts.  snr: strength, noise and number of rows to :math:`\sqrt T|x|/\sigma`;
    None where strengths are open.  ranges: number of rows, real numbers of a row and least noise to the effect of a
    change of strengths and noise.
    """

    kappa: float
    power: int
    is_shift: bool
    snr: Callable[[float, float, int], float] | None = None
    ranges: Callable[[int, int, float], RangeSizes] | None = None

    def moved(self, active: int) -> Moved:
        """How far rows move if so many active atoms move by 1 each."""
        return Moved(self.kappa * active**self.power, is_shift=self.is_shift)


class Law(Protocol):
    """The probability law of rows under an explanation.

    A law is a frozen dataclass that inherits from this class and is registered by `register`; its fields are the
    options that a plan may give it.  Every option must have a default for the law to be named in a project file.
    Methods that take a bank need a law that `completed` made.
    """

    name: ClassVar[str]  # as project files and reports write it
    part: ClassVar[Part]  # whose keys of the bank it has
    why_real: ClassVar[str] = ""  # why rows cannot be complex, and what to do about it; empty if they can
    has_statistics: ClassVar[bool] = True  # whether the cost of a key does not depend on the number of rows
    has_sign: ClassVar[bool] = True  # whether rows tell an atom from its negative
    has_strengths: ClassVar[bool] = True  # whether rows are as strong as the explanation says, not as fits them best
    is_linear: ClassVar[bool] = False  # whether rows are linear in free coefficients, so that there is a `design`
    is_counted: ClassVar[bool] = False  # whether rows are counts, of which coefficients are amounts, never negative
    # Of a project file, what some laws have: keys of its stream, of regions, and tables; and whether each is needed.
    file_keys: ClassVar[Mapping[str, bool]] = {
        "noise": True, "proposal": True, "regions.strength": True, "opponent": False,
    }  # fmt: skip
    usual_judge: ClassVar[str] = "evidence"
    # How a project file may say that nobody knows the strengths: keys of the stream that name the law of such rows.
    if_unknown: ClassVar[Mapping[str, str]] = {}
    # What the variants of a response may be together, beyond states of which one is right.
    mixes: ClassVar[tuple[str, ...]] = ()
    # How far a response with an error may be off, in words; empty where responses are exact.
    error_words: ClassVar[str] = ""
    half_steps: ArrayLike | None = None  # (V,) of further columns that are derivatives, where there are some
    thresholds: Mapping[str, float] = MappingProxyType({})  # where has_strengths is False: what marks reach even so
    opponents: ClassVar[tuple[str, ...]] = ("key",)  # kinds of opponents that may stand alone
    mixed: ClassVar[tuple[str, ...]] = ()  # those that a mixture may have; none: there are no mixtures
    takes_sets: ClassVar[bool] = True  # whether explanations may differ in their number of atoms
    has_codes: ClassVar[bool] = False  # whether channels are followed by a number for each atom, real or complex

    is_complex: bool = False  # rows and elements are pairs (Re, Im)
    covariance_freedom: int | None = None  # degrees of freedom of a covariance of the noise that is an estimate

    @property
    def own_judge(self) -> str:
        """Who judges such rows unless another is named: the usual one, if responses are such as it takes."""
        return self.usual_judge if self.has_spans else Law.usual_judge

    def completed(self, bank: Bank) -> Self:
        """The same law with all that it takes from the bank's nuisances."""

    def check_bank(self, bank: Bank) -> None:
        """Refuse a bank that says otherwise of what a completed law has; left out: none does."""

    @property
    def has_error(self) -> bool:
        """True if responses are only right to within an error that is stated."""
        return False

    @property
    def has_cells(self) -> bool:
        """True if elements or parameters lie anywhere in cells, which evidence searches."""
        return False

    @property
    def has_unlisted(self) -> bool:
        """True if an explanation may have a source of an unlisted kind, a region of the bank called `unlisted`."""
        return False

    goes_with_cells: ClassVar[bool] = False  # beside a law whose elements lie anywhere in cells, with these

    unlisted_unit: str = ""  # of the intervals of generic responses

    def unlisted_interval(self, first: int, last: int) -> tuple[float, float]:
        """The interval that generic responses of these numbers, both included, stand for; of laws that have some."""
        return float(first), float(last)

    @property
    def is_correlated(self) -> bool:
        """True if the noise is correlated along the axis, and nobody knows how much."""
        return False

    @property
    def has_spans(self) -> bool:
        """True if the means of an explanation, where there is a `design`, are all that its columns span."""
        return True

    def width(self, bank: Bank) -> int:
        """Real numbers of a row: the channels and what follows them."""
        n_codes = bank.states.n_atoms if self.has_codes else 0
        return len(bank.states.elements) + (2 if self.is_complex else 1) * n_codes

    def nuisances(self, bank: Bank) -> Nuisances:
        """The nuisance settings that its keys run over."""
        return bank.calibration if self.part == "calibration" else bank.deployment

    def n_keys(self, bank: Bank) -> int:
        """Distinct laws of a row that the bank holds."""
        return bank.n_calibration_keys if self.part == "calibration" else bank.n_deployment_keys

    def keys(self, bank: Bank) -> Callable[[ArrayLike], IntArray]:
        """Explanations (k,) to keys (k,)."""
        return bank.calibration_keys if self.part == "calibration" else bank.deployment_keys

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) independent rows of one explanation."""

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler | None:  # noqa: ARG002
        """Draws of log likelihoods where a few numbers tell all about rows like these; None: `sample` rows.

        Parts of the rows that the law leaves open, such as codes that are known, stay what they are.
        """
        return None

    def symmetries(self, bank: Bank, keys: IntArray) -> Array | None:  # noqa: ARG002
        """(k, d) numbers of tuples of keys (k, r): equal ones have log likelihoods of one joint law.

        That is, of all keys of the tuple, of rows of its first.  None: nothing is known of that.
        """
        return None

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows, scored under every key."""

    def scored_rows(self, bank: Bank, rows: RowSource) -> RowSource:  # noqa: ARG002
        """Rows as opponents take them: as they are, unless the law scores others in their place."""
        return rows

    def own_opponent(self, rows: RowSource) -> Opponent | None:  # noqa: ARG002
        """A numerator off the bank, made from proposal rows alone; None takes what the best key of the bank gives."""
        return None

    def proposed(self, bank: Bank, rows: RowSource) -> Proposal:
        """Proposal rows, scored under every law of a row that explanations have."""
        stream = self.stream(bank, rows, [rows.n_rows])
        return Proposal.of(rows, stream, self.keys(bank)(np.arange(bank.size)))

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> Opponent:  # noqa: ARG002
        """The numerator that a key of the bank gives, after a look at proposal rows; it has to be a density."""
        return bank_key(key)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Opponent | None:  # noqa: ARG002
        """A density off the bank that proposal rows alone give, so that it may fit what no explanation can.

        key: that of the best explanation, from which a search may start.  None: the law has none, or always has it.
        """
        return None

    def design(self, bank: Bank) -> Design | None:  # noqa: ARG002
        """The columns of every key, of rows that are linear in free coefficients; None of others."""
        return None

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array | None:  # noqa: ARG002
        """(width,) the mean of rows that an explanation fits best; None where rows have no common mean."""
        return None

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy | None:  # noqa: ARG002
        """The energy of rows under an explanation; None if none of known law is to be had."""
        return None

    def noise_test(self, bank: Bank) -> Callable[[RowSource], NoiseSeen | None] | None:  # noqa: ARG002
        """The exact test of every noise setting, whatever explanation is true; None if no noise is stated.

        The test returns None if the rows carry no information on the noise.  Key k has setting k modulo their number.
        """
        return None

    def strengths_seen(self, bank: Bank, rows: RowSource) -> StrengthsSeen | None:  # noqa: ARG002
        """Exact p-values of the strengths of an explanation, if it made the rows; None if none are to be had."""
        return None

    def divergences(self, bank: Bank, key: int, keys: IntArray) -> Array | None:  # noqa: ARG002
        """(k,) Kullback-Leibler divergences of a key's law of a row from those of others; None without closed form."""
        return None

    @property
    def cover_sizes(self) -> CoverSizes | None:
        """How far the law of the rows moves with atoms, strengths and noise; None if no bound is known (default)."""
        return None

    @classmethod
    def plain_options(cls) -> dict[str, Any]:
        """Options that `encode` writes as they are, with their defaults (default: none)."""
        return {}

    def encode(self) -> dict[str, object]:
        """All that defines a completed law, for the frozen protocol and for who checks a report."""

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """Read what `encode` made; refuse anything else."""


def check_sets(law: Law, bank: Bank) -> None:
    """Refuse regions with several elements at once beside a law that needs dictionaries of one size."""
    if bank.has_sets and not law.takes_sets:
        rule = f"be 1 beside rows of the law {law.name}, whose dictionaries have one number of atoms"
        raise MisuseError("the count of a region", rule, "more", "Leave these rows out, or make regions of their own.")


def check_mixes(law: Law, bank: Bank) -> None:
    """Refuse elements whose columns mix beside a law that takes one response of each."""
    if bank.variants is not None and "span" not in law.mixes:
        takers = " or ".join(repr(other.name) for other in LAWS.values() if "span" in other.mixes)
        rule = f"be {takers} for elements with several columns that mix, such as dipoles of free orientation"
        raise MisuseError("law", rule, repr(law.name), "A single column of each would claim an orientation.")


# Opponents of a law, as proposal rows give them and as documents have them.


def opponents_of(law: Law, bank: Bank, proposal: Proposal, key: int, planned: str | None) -> Iterator[Opponent]:
    """Yield the planned opponent, made from the proposal rows and their best key; all possible ones if None is planned.

    A `free` one has half of its weight on the free opponent of the law, which costs log 2 and makes EMPTY possible.
    """
    own = law.opponent(bank, proposal, key)
    if planned != "free":
        yield own
    if planned not in ("free", None):
        return
    free = law.free_opponent(bank, proposal, key)
    if free is not None:
        yield Mixture((own, free), (0.5, 0.5))
    elif planned is not None:
        rule = f"be left out for rows of the law {law.name}, which has no free opponent, or always has it"
        raise MisuseError("opponent", rule, Clause("it is 'free'"))


def decode_opponent(law: Law, node: Mapping[str, object], stream: str = "the stream") -> Opponent:
    """Read what `encode` of an opponent made; refuse anything else.  stream: its name."""
    where = f"the numerator of {stream}"
    entry = next(iter(node)) if len(node) == 1 else ""
    if entry not in KINDS:
        raise Refusal(f"{where} has other names than one of {', '.join(KINDS)}")
    if entry == "product" and law.mixed:
        return decode_product(node[entry], where, law.mixed)
    if entry == "mixture" and law.mixed:
        return decode_mixture(node[entry], where, law.mixed)
    if entry not in law.opponents:
        raise Refusal(f"{where} is a {entry}, which {law.name} rows cannot have")
    return decode_point(node, where)


LAWS: dict[str, type[Law]] = {}
L = TypeVar("L", bound=Law)


def register(law: type[L]) -> type[L]:
    """Make a law known by its name; there is no other list of laws."""
    if law.name in LAWS:
        raise MisuseError("name", "be one that no other law has", repr(law.name))
    inherited = {option for base in law.__mro__[1:] if is_dataclass(base) for option in signature(base).parameters}
    written = inherited.union(law.plain_options())
    new = [option for option in signature(law).parameters if option not in written]
    if new and not {"encode", "decode"} <= {*vars(law)}:
        rule = "have methods encode and decode of its own for its options, or reports would not hold them"
        raise MisuseError(f"the law {law.name}", rule, ", ".join(new))
    LAWS[law.name] = law
    return law


def law_named(name: str) -> type[Law]:
    """The kind of law of this name."""
    if name not in LAWS:
        raise MisuseError("law", f"be one of {', '.join(LAWS)}", repr(name))
    return LAWS[name]


def make_law(name: str, options: Mapping[str, object]) -> Law:
    """A law of this name; options that are None count as left out."""
    law = law_named(name)
    known = signature(law).parameters
    settings = {key: value for key, value in options.items() if value is not None}
    for option, value in settings.items():
        if option not in known:
            takers = [repr(other.name) for other in LAWS.values() if option in signature(other).parameters]
            rule = f"be given for {' and '.join(takers)} only" if takers else f"be one of {', '.join(known)}"
            raise MisuseError(option, rule, f"{value!r} for {name!r}")
    for option in _needed(law):
        if option not in settings:
            raise MisuseError(option, f"be given for {name!r}", Clause("there is none"))
    return law(**settings)


def laws_of_files(part: Part) -> tuple[str, ...]:
    """The laws of a part that a project file can name: those that can do without options."""
    return tuple(sorted(law.name for law in LAWS.values() if law.part == part and not _needed(law)))


def _needed(law: type[Law]) -> list[str]:
    """Options without a default."""
    return [option for option, value in signature(law).parameters.items() if value.default is Parameter.empty]


def decode_law(node: Mapping[str, object], stream: str = "the stream") -> Law:
    """The law that `encode` wrote; one that is not known, or that was written in another way, is refused."""
    kind = node.get("kind")
    if str(kind) not in LAWS:
        raise Refusal(f"{stream} has rows of the unknown kind {kind!r}")
    return read_back(f"the law of {stream}", node, lambda content: LAWS[str(kind)].decode(content, stream))

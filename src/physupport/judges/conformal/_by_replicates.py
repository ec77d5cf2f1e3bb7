"""The conformal judge of a frozen protocol: every explanation of its bank is one element, judged by its replicates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from ..._arrays import check_indices
from ..._codec import array_json, real
from ..._errors import MissingError, MisuseError
from ..._stored import check_form
from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Law
from .._judge import Verdicts, around
from .._specs import Sealed, own_stream, register
from ._judge import ByConformal, ConformalJudge
from ._replicates import Replicates

_PAIRS = (
    "; of two elements at once the new units are exchangeable with those of each, independently where they have none "
    "in common"
)
_FORM = {
    "judge": str,
    "assumes": str,
    "share": float,
    "pool": (str, None),
    "noise": [float],
    "seed": int,
    "spectra": dict,
    "elements": [str],
    "units": [str],
    "groups": [str],
    "background": dict,
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class ByReplicates:
    """Have one row of a linear law judged by replicates of the elements; the replicates are part of the protocol.

    The row judges as it is, and nothing is proposed.  Explanations have one or two active elements, and coefficients,
    the noise and the background of the law do not matter: replicates have a background of their own.
    """

    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = False
    fact_names: ClassVar[tuple[str, ...]] = ("best", "assumes", "lacks", "units", "smallest_p", "p", "cannot_exclude")

    spec: ByConformal = field(repr=False)

    def encode(self) -> dict[str, object]:
        """All that is fixed beforehand, the spectra included."""
        spec, data = self.spec, self.spec.replicates
        return {
            "judge": "conformal",
            "assumes": spec.assumes,
            "share": float(spec.share),
            "pool": spec.pool,
            "noise": list(spec.noise),
            "seed": spec.seed,
            "spectra": array_json(data.spectra),
            "elements": [data.names[e] for e in data.element_of.tolist()],
            "units": list(map(str, data.units)),
            "groups": [str(data.group_of[e]) for e in data.element_of.tolist()],
            "background": array_json(np.asarray(data.background)),
        }

    def splits(self, law: Law) -> bool:
        """The row of a linear law is not divided."""
        return not law.is_linear

    def rehearsed(
        self, bank: Bank, explanation: int, rng: np.random.Generator
    ) -> tuple["ByReplicates", Array, Fraction]:
        """A measured spectrum, (1, q), of an element of an explanation as if it were new, and this without its unit.

        Of two elements the sum of a spectrum each.  With a unit fewer the smallest p-value of K units is 1 / K and no
        longer 1 / (K + 1): by their ratio, the last, the level has to grow for what can be excluded to stay the same.
        """
        data, (element_of, pairs) = self.spec.replicates, _active(bank, self.spec.replicates)
        number = int(element_of[explanation])
        members = (number,) if number < len(data.names) else pairs[number - len(data.names)]
        chosen = [int(rng.choice(np.flatnonzero(data.element_of == e))) for e in members]
        left = np.flatnonzero(~np.isin(data.unit_of, data.unit_of[chosen]))
        elements, units = ([names[i] for i in left] for names in (data.elements, data.units))
        groups = {name: str(data.group_of[e]) for e, name in enumerate(data.names) if name in {*elements}}
        remaining = Replicates(data.spectra[left], tuple(elements), tuple(units), groups, data.background)
        units_of = min(len(np.unique(data.unit_of[data.element_of == e])) for e in members)
        rehearsal = replace(self, spec=replace(self.spec, replicates=remaining))
        return rehearsal, data.spectra[chosen].sum(axis=0)[None], Fraction(units_of + 1, units_of)

    def check_laws(self, laws: Sequence[Law]) -> None:
        """One stream alone, of real rows that are linear."""
        rule = "be 'conformal' only where one stream has real rows that are linear in free coefficients"
        own_stream(laws, lambda law: law.is_linear and not law.is_complex, rule)
        if len(laws) > 1:
            raise MisuseError("judge", rule, ", ".join(law.name for law in laws), "Leave the other rows out.")

    def check_rows(self, law: Law, n_rows: int) -> None:  # noqa: ARG002
        """One: it is one unit more."""
        if n_rows != 1:
            rule, remedy = "judge one row", "Average the rows: they come from one unit."
            raise MisuseError("judge conformal", rule, f"{n_rows} rows", remedy)

    def open(self, sealed: Sealed) -> "BankReplicates":
        """The judge of the one row, with the element of each explanation."""
        self.check_laws([stream.law for stream in sealed.streams])
        rows = np.concatenate([*sealed.streams[0].rows.blocks()])
        self.check_rows(sealed.streams[0].law, len(rows))
        element_of, pairs = _active(sealed.bank, self.spec.replicates)
        # Noise that is added to what is ranked comes from the protocol.
        spec = replace(self.spec, seed=int(sealed.digest, 16)) if any(self.spec.noise) else self.spec
        return BankReplicates(self, spec.judge(rows[0], sealed.level, pairs), element_of)


def _active(bank: Bank, replicates: Replicates) -> tuple[IntArray, list[tuple[int, int]]]:
    """(M,) the element that each explanation has, or the pair, which are numbered after the elements."""
    states = bank.states
    if states.library is None:
        raise MisuseError("judge conformal", "have elements that a library names", "a bank of arrays")
    missing = [name for name in states.library.ids if name not in replicates.names]
    if missing:
        raise MisuseError("replicates", "have spectra of every element", f"none of {missing[0]!r}")
    number = np.array([*map(replicates.names.index, states.library.ids), -1])
    active = bank.deployment_parts(bank.deployment_keys(np.arange(bank.size))).elements  # (M, r)
    elements = np.where(active < 0, -1, number[np.asarray(states.library_index)[active]])
    counts = (elements >= 0).sum(axis=1)
    if not np.isin(counts, (1, 2)).all():
        count = int(counts[~np.isin(counts, (1, 2))][0])
        remedy = "Make the region always present, and max_active at most 2."
        raise MisuseError("judge conformal", "have explanations of one or two elements", f"one of {count}", remedy)
    both = np.sort(elements, axis=1)[:, ::-1][:, :2]  # the larger first, -1 at last
    pairs, where = np.unique(both[counts == 2], axis=0, return_inverse=True)
    element_of = both[:, 0].astype(np.int64)
    element_of[counts == 2] = len(replicates.names) + where.ravel()
    return element_of, [(int(b), int(a)) for a, b in pairs]


def _made(
    replicates: Replicates | None = None,
    share: float = 0.0,
    pool: str | None = None,
    noise: tuple[float, ...] = (0.0,),
) -> ByReplicates:
    if replicates is None:
        raise MissingError("replicates", "be given", "none", "The judge conformal compares with them.")
    return ByReplicates(ByConformal(replicates, share, pool, noise))


@register("conformal", make=_made)
def _decoded(content: Mapping[str, object]) -> ByReplicates:
    spec = check_form(content, _FORM, "judge")
    elements, units, groups = (tuple(spec[name]) for name in ("elements", "units", "groups"))
    spectra, background = real(spec["spectra"], len(elements), None), real(spec["background"], None, None)
    data = Replicates(spectra, elements, units, dict(zip(elements, groups, strict=True)), background)
    return ByReplicates(ByConformal(data, spec["share"], spec["pool"], tuple(spec["noise"]), spec["seed"]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class BankReplicates:
    """Verdicts on explanations are those on their elements."""

    spec: ByReplicates
    judge: ConformalJudge
    element_of: IntArray  # (M,)

    @property
    def size(self) -> int:
        """The explanations of the bank."""
        return len(self.element_of)

    @property
    def level(self) -> float:
        """That of the protocol."""
        return self.judge.level

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Each element is judged once."""
        chosen = self.element_of[check_indices("explanations", explanations, self.size)]
        distinct, where = np.unique(chosen, return_inverse=True)
        return self.judge.verdicts(distinct).rows(where)

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The block around e."""
        return around(self, e, count)

    def facts(self, possible: IntArray) -> dict[str, object]:  # noqa: ARG002
        """Units that each element or pair is ranked among, its p-value, and what too few of them cannot exclude."""
        judge, elements = self.judge, self.spec.spec.replicates.names
        names = [*elements, *(f"{elements[a]} and {elements[b]}" for a, b in judge.pairs)]
        ranks = judge.ranks
        p_values = [float(p) for p in (*judge.p_gate, *(rank.p for rank in ranks))]
        units = [*judge.n_units[0].tolist(), *(list(rank.n_units) for rank in ranks)]
        smallest = [*judge.smallest[0].tolist(), *(float(rank.smallest) for rank in ranks)]
        is_asked = np.isin(np.arange(judge.size), self.element_of)
        best = int(np.where(is_asked, p_values, -1.0).argmax())
        return {
            "best": int(np.argmax(self.element_of == best)),
            "is_withheld": False,
            "assumes": self.spec.spec.assumes + (_PAIRS if ranks else ""),
            "lacks": "units" if self.spec.spec.share else "units and share",
            "units": dict(zip(names, units, strict=True)),
            "smallest_p": dict(zip(names, smallest, strict=True)),
            "p": dict(zip(names, p_values, strict=True)),
            "cannot_exclude": [names[e] for e in np.flatnonzero(judge.cannot_exclude).tolist()],
        }

    def encode(self) -> dict[str, object]:
        """As specified."""
        return self.spec.encode()

"""The conformal judge of a frozen protocol: every explanation of its bank is one element, judged by its replicates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from ..._arrays import check_indices
from ..._codec import array_json, real
from ..._errors import MissingError, MisuseError
from ..._stored import check_form
from ..._typing import IntArray
from ...banks import Bank
from ...laws import Law
from .._judge import Verdicts, around
from .._specs import Sealed, register
from ._judge import ByConformal, ConformalJudge
from ._replicates import Replicates

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

    The row judges as it is, and nothing is proposed.  Explanations have one active element each, and the coefficient,
    the noise and the background of the law do not matter: replicates have a background of their own.
    """

    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = False

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

    def open(self, sealed: Sealed) -> "BankReplicates":
        """The judge of the one row, with the element of each explanation."""
        laws = ", ".join(stream.law.name for stream in sealed.streams)
        if len(sealed.streams) != 1 or not sealed.streams[0].law.is_linear or sealed.streams[0].law.is_complex:
            rule = "be 'conformal' where one stream has real rows that are linear in free coefficients"
            raise MisuseError("judge", rule, laws, "Take the law 'gaussian' for the deployment rows.")
        rows = np.concatenate([*sealed.streams[0].rows.blocks()])
        if len(rows) != 1:
            rule, remedy = "judge one row", "Average the rows: they come from one unit."
            raise MisuseError("judge conformal", rule, f"{len(rows)} rows", remedy)
        judge = self.spec.judge(rows[0], sealed.level)
        return BankReplicates(self, judge, _elements(sealed.bank, self.spec.replicates))


def _elements(bank: Bank, replicates: Replicates) -> IntArray:
    """(M,) the element, as replicates number them, that is active in each explanation."""
    active = bank.location(np.arange(bank.size))  # (M, regions)
    if bank.states.library is None or not np.all((active >= 0).sum(axis=1) == 1):
        raise MisuseError("judge conformal", "have explanations of one element each", "others in the bank")
    ids = bank.states.library.ids
    missing = [name for name in ids if name not in replicates.names]
    if missing:
        raise MisuseError("replicates", "have spectra of every element", f"none of {missing[0]!r}")
    number = np.array([replicates.names.index(name) for name in ids])
    return np.asarray(number[active.max(axis=1)], dtype=np.int64)


def _made(replicates: Replicates | None = None, share: float = 0.0, pool: str | None = None) -> ByReplicates:
    if replicates is None:
        raise MissingError("replicates", "be given", "none", "The judge conformal compares with them.")
    return ByReplicates(ByConformal(replicates, share, pool))


@register("conformal", make=_made)
def _decoded(content: Mapping[str, object]) -> ByReplicates:
    check_form(content, _FORM, "judge")
    elements, units, groups = (tuple(map(str, content[name])) for name in ("elements", "units", "groups"))  # type: ignore[call-overload]
    data = Replicates(
        real(content["spectra"], len(elements), None),
        elements,
        units,
        dict(zip(elements, groups, strict=True)),
        real(content["background"], None, None),
    )
    pool = None if content["pool"] is None else str(content["pool"])
    noise = tuple(map(float, content["noise"]))  # type: ignore[call-overload]
    return ByReplicates(ByConformal(data, float(str(content["share"])), pool, noise, int(str(content["seed"]))))


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
        """Units that each element is ranked among, its p-value, and what too few of them cannot exclude."""
        names, p_values = self.spec.spec.replicates.names, [float(p) for p in self.judge.p_gate]
        return {
            "best": int(np.argmax(self.element_of == int(np.argmax(p_values)))),
            "is_withheld": False,
            "assumes": self.spec.spec.assumes,
            "lacks": "units" if self.spec.spec.share else "units and share",
            "units": dict(zip(names, self.judge.n_units[0].tolist(), strict=True)),
            "smallest_p": dict(zip(names, self.judge.smallest[0].tolist(), strict=True)),
            "p": dict(zip(names, p_values, strict=True)),
            "cannot_exclude": [names[e] for e in np.flatnonzero(self.judge.cannot_exclude).tolist()],
        }

    def encode(self) -> dict[str, object]:
        """As specified."""
        return self.spec.encode()

r"""The judge of learnt dictionaries: what calibration leaves of a library, and which of it a signal has.

The bank has a region for each `Component` of the `Places` that calibration rows leave, with its cells as elements.
An explanation says in which cell each atom lies; an atom without a cell is silent.  Coefficients of the others may
be anything, 0 as well.  Two kinds of statements are tested, with `Residuals`: "nothing of this component is in the
signal", beside all other components, and "the atom of this component lies in this cell", beside the others, wherever
they lie.  Of the truth at most two statements hold for each component.  With m components each test has the part
:math:`\alpha_2/2m` of the level, so that all true statements are kept with probability at least :math:`1-\alpha_2`, and
calibration and signal are right together with at least :math:`1-\alpha_1-\alpha_2`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from ..._checks import check_indices
from ..._errors import Clause, MisuseError
from ..._typing import BoolArray, IntArray
from ...laws import Design, Law, Linear
from .._judge import Verdicts
from .._specs import JudgeSpec, Sealed, SealedJudge, SealedStream, register
from ._places import Component
from ._search import AnyNode, Node, Quantile, Residuals, allocations, nodes_of

# Part of the level for the calibration.
CALIBRATION_SHARE = 0.25
# Settings of a linear law with which rows are no mixture of atoms in white noise.
_OTHER_ROWS = ("covariance", "noise_shape", "variants", "error", "unlisted", "ranges")
_ASSUMES = (
    "noise is white and Gaussian with the same variance in all calibration rows, and likewise in all deployment rows; "
    "the dictionary has as many atoms as were learnt, and each is a response of the library; deployment rows hold "
    "these atoms alone, because a source that no calibration row shows is read as some of them"
)


@register
@final
@dataclass(frozen=True, slots=True, eq=False)
class ByLearnt(JudgeSpec):
    """Judge a signal by the places that calibration rows leave to the atoms of a dictionary.

    calibration: facts about the calibration rows, for the report.  failure: why no dictionary of this library can have
    made the calibration rows; then everything is rejected.
    """

    kind: ClassVar[str] = "learnt"
    has_facts: ClassVar[bool] = True
    fits_elements: ClassVar[bool] = False  # a cell is all of its places, and its middle fits no rows
    fact_names: ClassVar[tuple[str, ...]] = ("assumes", "calibration", "failure")
    rule: ClassVar[str] = "be 'learnt' only where one stream has rows that are linear in free coefficients"
    remedy: ClassVar[str] = ""

    components: tuple[Component, ...]
    calibration: Mapping[str, Any]
    failure: str = ""

    def encode(self) -> dict[str, object]:
        """The options that are fixed before held-out rows are read."""
        return {
            "judge": self.kind,
            "assumes": _ASSUMES,
            "components": [component.encode() for component in self.components],
            "calibration": dict(self.calibration),
            "failure": self.failure,
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "ByLearnt":
        """The specification that `encode` wrote."""
        components = tuple(Component.decode(node) for node in content["components"])
        return cls(components, content["calibration"], str(content["failure"]))

    def splits(self, law: Law) -> bool:
        """Rows of a linear law are not divided."""
        return law.is_counted or not law.is_linear

    def check_laws(self, laws: Sequence[Law]) -> None:
        """Atoms in white noise, and nothing else."""
        law = laws[self.own_stream(laws)]
        given = [name for name in _OTHER_ROWS if getattr(law, name, None) is not None]
        if isinstance(law, Linear) and law.bands > 1:
            given.append("bands")
        if given or not isinstance(law, Linear):
            rule = "be of atoms in white noise of any level for a learnt dictionary"
            raise MisuseError("deployment", rule, ", ".join(given) or law.name)

    def open(self, sealed: Sealed) -> "LearntJudge":
        """Reads the rows."""
        self.check_laws([stream.law for stream in sealed.streams])
        stream, design, beside = sealed.divided(self)
        if beside is not None:
            raise MisuseError("judge", "judge the deployment rows alone", Clause("there are other streams"))
        return LearntJudge(sealed, stream, self, _residuals(stream, design))


def _residuals(stream: SealedStream, design: Design) -> Residuals:
    """The second moments of the rows, or of their mean."""
    rows = design.whitened_rows(stream.rows, stream.law.is_complex)
    (count, q) = rows.shape
    if design.rows == "free":
        return Residuals(rows.T @ rows.conj(), count, 0.0, 0, design.background)
    mean = rows.mean(axis=0)
    scatter = float((np.abs(rows - mean) ** 2).sum())
    return Residuals(count * np.outer(mean, mean.conj()), 1, scatter, q * (count - 1), design.background)


@final
@dataclass(frozen=True, eq=False)  # no slots: statements are tested when first asked for
class LearntJudge(SealedJudge):
    """Rejects an explanation if one of its statements is rejected."""

    judges_blocks: ClassVar[bool] = True

    stream: SealedStream
    spec: ByLearnt
    residuals: Residuals

    @cached_property
    def _quantile(self) -> Quantile:
        count = max(len(self.spec.components), 1)
        return Quantile((1.0 - CALIBRATION_SHARE) * self.level / (2 * count))

    def _is_rejected(self, own: tuple[AnyNode, ...], without: int) -> bool:
        """True if the rows have too much along the best place of a component beside others, and beside its own nodes.

        Of all atoms there are as many as were learnt, and every way to share them among the others is tried.  Others
        may hold fewer atoms: more columns leave no more of the rows, and two may stand anywhere.
        """
        component = self.spec.components[without]
        b = component.pieces.columns[:, component.best]
        others = [each for number, each in enumerate(self.spec.components) if number != without]
        ways = allocations([each.capacity for each in others], int(self.spec.calibration["n_atoms"]) - len(own))
        states = [
            (*own, *(node for each, count in zip(others, way, strict=True) for node in nodes_of(each, count)))
            for way in ways
        ]
        return all(self.residuals.is_rejected(state, b, self._quantile) for state in states)

    @cached_property
    def is_there(self) -> BoolArray:
        """(m,) True for components without which the signal cannot be explained."""
        return np.array([self._is_rejected((), k) for k in range(len(self.spec.components))], dtype=bool)

    @cached_property
    def is_excluded(self) -> BoolArray:
        """(E,) True for cells in which no atom of the component can lie that made the signal."""
        count = max((int(component.cells.max()) + 1 for component in self.spec.components), default=0)
        found = np.zeros(count, dtype=bool)
        for k, component in enumerate(self.spec.components):
            cells = np.unique(component.cells)
            if component.capacity > 1 or len(cells) == 1 or not self.is_there[k]:
                continue
            for cell in cells.tolist():
                own = np.flatnonzero(component.cells == cell)
                if component.best not in own:
                    found[cell] = self._is_rejected((Node.of(component.pieces.chosen(own)),), k)
        return found

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is how many statements of an explanation are rejected, less a half."""
        chosen = check_indices("explanations", explanations, self.size)
        count = np.full(len(chosen), bool(self.spec.failure), dtype=np.int64)
        if not self.spec.failure:
            bank = self.sealed.bank
            parts = bank.deployment_parts(bank.deployment_keys(chosen)).elements  # (k, r)
            places = np.where(parts >= 0, bank.states.library_index[parts], -1)
            owners = np.full(len(self.is_excluded) + 1, -1)
            for k, component in enumerate(self.spec.components):
                owners[component.cells] = k
            present = (owners[places][:, :, None] == np.arange(len(self.spec.components))).any(axis=1)  # (k, m)
            count += (~present & self.is_there).sum(axis=1)
            count += ((places >= 0) & np.append(self.is_excluded, False)[places]).sum(axis=1)
        margins = count.astype(np.float64) - 0.5
        return Verdicts.measured(margins, margins)

    def facts(self, possible: IntArray) -> dict[str, object]:  # noqa: ARG002
        """Facts about the calibration, and why it may say nothing."""
        return {
            "is_withheld": False,
            "assumes": _ASSUMES,
            "calibration": dict(self.spec.calibration),
            "failure": self.spec.failure,
        }

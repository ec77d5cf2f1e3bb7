"""What an analysis gives: the frozen protocol, the run, the report, what was read, and what follows from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from .._errors import MisuseError
from .._typing import IntArray
from ..aeb import Trace
from ..banks import Bank
from ..io import Table
from ..judges import Verdict
from ..questions import Answer, Predicates, Question, plugin_answers, predicates, said_by
from ..report import Details, Report
from ._protocol import Seal
from ._write_report import said_answers

NOT_ASKED = "not asked"
_MOST_UNASKED = 50_000


@final
@dataclass(frozen=True, eq=False)  # no slots: what follows from the run is worked out once
class Result:
    """One finished analysis; `report` is what may be published, the rest is for looking closer."""

    seal: Seal = field(repr=False)
    trace: Trace = field(repr=False)
    report: Report
    tables: Mapping[str, Table] = field(repr=False)  # what was read, by stream
    seconds: Mapping[str, float] = field(repr=False)  # how long each part took; no part of the report

    def _repr_html_(self) -> str:
        """For notebooks: the report, and the measured row with the fits of what is kept."""
        from ..report.page import pictures_html
        from .diagnose import rows_json

        rows = None if self.seal.protocol.bank is None else rows_json(self)
        return f"<div>{self.report._repr_html_()}{pictures_html({'rows': rows})}</div>"

    def details(self) -> Details:
        """What is shown beside the report, for pictures; `diagnose` has options."""
        from .diagnose import diagnose  # it is about results, and so stands above this module

        return diagnose(self)

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        bank = self.seal.protocol.bank
        if bank is None:
            raise MisuseError("result", "come from a protocol with a bank", "none")
        return bank

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.seal.question

    @cached_property
    def predicates(self) -> Predicates:
        """What the question answers for itself."""
        return predicates(self.question)

    @cached_property
    def best(self) -> int:
        """The explanation that predicts the proposal rows of all streams best, the first of equal ones.

        Found without held-out rows: whether it survives is for these to say.  Where nothing proposes, the one that
        the judge says fits best, or that least speaks against.
        """
        plausibility = self.seal.proposed.proposals.plausibility
        if plausibility is not None:
            return int(plausibility.argmax())
        if not len(self.trace):
            raise MisuseError("result", "come from a protocol that ranks, or from a run with queries", "neither")
        gate = self.report.document.get("gate") or {}
        if "best" in gate:
            return int(gate["best"])
        return int(self.trace.queries[self.trace.verdicts.upper.argmin()])

    @cached_property
    def plug_in(self) -> tuple[Answer, ...] | None:
        """What a point-valued method says, which takes the best explanation for the truth; no guarantee goes with it.

        None where nothing was proposed.
        """
        if self.seal.proposed.proposals.plausibility is None:
            return None
        return plugin_answers(self.question, self.best, self.trace.size)

    @property
    def has_evidence(self) -> bool:
        """Whether every stream has a numerator, so that verdicts are those of an e-process."""
        return all(part.opponent is not None for part in self.seal.parts)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """What may be said, as the report says it."""
        return said_answers(self.trace, self.report.document.get("gate"))

    @cached_property
    def places(self) -> IntArray:
        """(M,) the number of the query that asked about each explanation, -1 if none did."""
        return self.trace.places()

    @cached_property
    def open_fields(self) -> frozenset[str]:
        """The fields that still need verdicts."""
        return frozenset(self.trace.open_fields())

    def of_code(self, code: Verdict) -> IntArray:
        """Explanations with this verdict, the smallest upper bound of the margin first."""
        queries = np.flatnonzero(self.trace.codes == code)
        return self.trace.queries[queries[np.argsort(self.trace.verdicts.upper[queries], kind="stable")]]

    @cached_property
    def admissible(self) -> IntArray:
        """L, the one with the least evidence against it first."""
        return self.of_code(Verdict.ADMISSIBLE)

    @cached_property
    def unasked(self) -> IntArray:
        """Explanations that were not asked about, the most plausible first; of very many these alone."""
        plausibility, left = self.seal.proposed.proposals.plausibility, np.flatnonzero(self.places < 0)
        order = np.arange(len(left)) if plausibility is None else np.argsort(-plausibility[left], kind="stable")
        return left[order[:_MOST_UNASKED]]

    @cached_property
    def reference(self) -> int:
        """The explanation to compare others with: the best of the proposal rows.

        If that is not admissible, the admissible one with the least evidence against it; if there is none, the best of
        the proposal rows nevertheless.
        """
        best = self.best
        return int(self.admissible[0]) if self.admissible.size and best not in self.admissible else best

    def verdict(self, e: int) -> str:
        """ADMISSIBLE, REJECTED, INDETERMINATE or not asked."""
        query = int(self.places[e])
        return NOT_ASKED if query < 0 else Verdict(int(self.trace.codes[query])).name

    def margin(self, e: int) -> list[float | str] | None:
        """Bounds of the margin; infinite ones as texts, which JSON can hold."""
        query = int(self.places[e])
        return None if query < 0 else self.trace.verdicts.margin_json(query)

    def says(self, e: int) -> dict[str, str | None]:
        """What an explanation says of every region asked about, or its place."""
        return said_by(self.question, e)

    def entries(self, index: IntArray) -> list[dict[str, Any]]:
        """Explanations as the details list them, (k,)."""
        texts = {name: said.texts(None) for name, said in self.predicates.says(index).items()}
        return [
            {
                "explanation": e,
                "verdict": self.verdict(e),
                "margin": self.margin(e),
                "says": {name: column[i] for name, column in texts.items()},
                "setting": setting,
            }
            for i, (e, setting) in enumerate(zip(index.tolist(), self._settings(index), strict=True))
        ]

    def _settings(self, index: IntArray) -> list[dict[str, float]]:
        """Calibration parameters of their states, and nuisances where there is a choice."""
        bank, columns = self.bank, self.bank.split(index)
        settings = [dict(bank.states.setting(state)) for state in columns.state.tolist()]
        for name, grid, column in (
            ("calibration", bank.calibration, columns.calibration),
            ("deployment", bank.deployment, columns.deployment),
        ):
            if len(grid) > 1:
                for setting, number in zip(settings, column.tolist(), strict=True):
                    setting |= {f"{name} {key}": value for key, value in grid.setting(number).items()}
        return settings

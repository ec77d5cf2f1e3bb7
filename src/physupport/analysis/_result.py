"""The result of an analysis: frozen protocol, run, report and tables, and what follows from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import IntArray
from ..aeb import Trace
from ..banks import Bank
from ..io import Table
from ..judges import Verdict
from ..questions import Answer, Question, plugin_answers
from ..report import Details, Report, said_answers
from ._protocol import Seal

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
        """The details beside the report, for pictures; `diagnose` has options."""
        from .diagnose import diagnose  # it is about results, and so stands above this module

        return diagnose(self)

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        return self.seal.protocol.checked_bank

    @property
    def question(self) -> Question:
        """The question of the protocol."""
        return self.seal.question

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
        """The reading of a point-valued method, which takes the best explanation for the truth; it has no guarantee.

        None where nothing was proposed.
        """
        if self.seal.proposed.proposals.plausibility is None:
            return None
        return plugin_answers(self.question, self.best, self.trace.size)

    @property
    def has_evidence(self) -> bool:
        """True if every stream has a numerator, so that verdicts are those of an e-process."""
        return all(part.opponent is not None for part in self.seal.parts)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answers, as in the report."""
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
        plausibility = self.seal.proposed.proposals.plausibility
        left = np.flatnonzero(self.places < 0)
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
        """Return the elements of an explanation by region asked about, or its place."""
        return self.question.says_of(e)

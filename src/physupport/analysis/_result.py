"""What an analysis gives: the frozen protocol, the run, the report, and what was read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from .._errors import MisuseError
from ..aeb import Trace
from ..io import Table
from ..questions import Answer, plugin_answers
from ..report import Details, Report
from ._protocol import Seal


@final
@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One finished analysis; `report` is what may be published, the rest is for looking closer."""

    seal: Seal = field(repr=False)
    trace: Trace = field(repr=False)
    report: Report
    tables: Mapping[str, Table] = field(repr=False)  # what was read, by stream
    seconds: Mapping[str, float] = field(repr=False)  # how long each part took; no part of the report

    def details(self) -> Details:
        """What is shown beside the report, for pictures; `diagnose` has options."""
        from .diagnose import diagnose  # it is about results, and so stands above this module

        return diagnose(self)

    @property
    def best(self) -> int:
        """The explanation that predicts the proposal rows of all streams best, the first of equal ones.

        Found without held-out rows: whether it survives is for these to say.
        """
        plausibility = self.seal.proposed.proposals.plausibility
        if plausibility is None:
            raise MisuseError("result", "come from a protocol with streams", "one without proposal rows")
        return int(plausibility.argmax())

    @property
    def plug_in(self) -> tuple[Answer, ...] | None:
        """What a point-valued method says, which takes the best explanation for the truth; no guarantee goes with it.

        None where nothing was proposed.
        """
        if self.seal.proposed.proposals.plausibility is None:
            return None
        return plugin_answers(self.seal.question, self.best, self.trace.size)

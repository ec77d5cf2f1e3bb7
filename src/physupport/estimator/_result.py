"""What an analysis gives: the frozen protocol, the run, the report, and what was read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from .._errors import MisuseError
from ..aeb import Report, Seal, Trace
from ..coarsen import Answer, plugin_answers
from ..io import Table


@final
@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One finished analysis; `report` is what may be published, the rest is for looking closer."""

    seal: Seal = field(repr=False)
    trace: Trace = field(repr=False)
    report: Report
    tables: Mapping[str, Table] = field(repr=False)  # what was read, by stream
    seconds: Mapping[str, float] = field(repr=False)  # how long each part took; no part of the report

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

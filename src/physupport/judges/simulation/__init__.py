"""Simple explanations judged by simulation: exact, from all rows, without a split."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._judge import BySimulation as BySimulation, SimulationJudge as SimulationJudge
else:
    __getattr__, __dir__, __all__ = published(__name__)

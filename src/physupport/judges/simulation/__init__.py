"""Simple explanations judged by simulation: exact, from all rows, without a split."""

from ._judge import BySimulation as BySimulation, SimulationJudge as SimulationJudge

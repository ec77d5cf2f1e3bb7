from ._judge import BySimulation as BySimulation, SimulationJudge as SimulationJudge

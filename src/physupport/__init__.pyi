from ._checks import Interval as Interval
from ._errors import MisuseError as MisuseError
from ._version import __version__ as __version__
from .analysis import (
    AnalysisProtocol as AnalysisProtocol,
    PhysicalSupport as PhysicalSupport,
    StreamPlan as StreamPlan,
)
from .banks import Library as Library, library_bank as library_bank
from .local.planning import optimal_resolution as optimal_resolution, plan as plan
from .local.regions import Correspondence as Correspondence
from .questions import RegionalMap as RegionalMap, RegionRule as RegionRule, Resolution as Resolution
from .report import Report as Report

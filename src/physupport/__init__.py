"""The finest physical statement that coherent, learned dictionaries justify.

The names below are imported on first use, so that `import physupport` and the command line start at once.
"""

from typing import TYPE_CHECKING

from ._lazy import published

if TYPE_CHECKING:
    from ._checks import Interval as Interval
    from ._errors import MisuseError as MisuseError
    from ._version import __version__ as __version__
    from .analysis import (
        AnalysisProtocol as AnalysisProtocol,
        PhysicalSupport as PhysicalSupport,
        StreamPlan as StreamPlan,
    )
    from .banks import Library as Library, library_bank as library_bank
    from .questions import RegionalMap as RegionalMap, RegionRule as RegionRule, Resolution as Resolution
    from .report import Report as Report
else:
    __getattr__, __dir__, __all__ = published(__name__)

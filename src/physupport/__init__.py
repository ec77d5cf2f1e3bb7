"""The finest physical statement that coherent, learned dictionaries justify.

The names below are imported on first use, so that `import physupport` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

# Public name -> module that defines it. A name stands here and among the imports above, which type checkers read.
_HOME = {
    "Interval": "._checks",
    "MisuseError": "._errors",
    "__version__": "._version",
    "AnalysisProtocol": ".analysis",
    "Report": ".report",
    "StreamPlan": ".analysis",
    "Library": ".banks",
    "library_bank": ".banks",
    "RegionalMap": ".questions",
    "RegionRule": ".questions",
    "Resolution": ".questions",
    "PhysicalSupport": ".analysis",
}

__all__ = [*_HOME]

if not TYPE_CHECKING:  # seen by a type checker, it would give every misspelt name a type

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

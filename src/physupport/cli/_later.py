"""Modules that take long to load, each loaded when it is first used, so that the program answers `--help` at once."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import io as io, laws as laws
    from ..report import plots as plots

_MODULES = {
    "checks": "physupport._checks",
    "codec": "physupport._codec",
    "figure": "matplotlib.figure",
    "files": "physupport._files",
    "io": "physupport.io",
    "laws": "physupport.laws",
    "np": "numpy",
    "plots": "physupport.report.plots",
}


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(name)
    return import_module(_MODULES[name])

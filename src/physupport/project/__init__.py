"""Run a project file to a report: the steps of `physupport run` as functions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

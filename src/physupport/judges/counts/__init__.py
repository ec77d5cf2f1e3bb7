"""Composite explanations of counts: nonnegative amounts and background, judged by evidence on halves of the data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

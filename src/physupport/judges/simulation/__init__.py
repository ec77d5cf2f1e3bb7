"""Simple explanations judged by simulation: exact, from all rows, without a split."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

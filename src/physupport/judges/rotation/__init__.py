"""Composite explanations judged by rotations of their residuals: exact, with nothing known but whiteness."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

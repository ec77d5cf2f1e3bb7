"""Test explanations at a level, with proven bounds of the quantity that decides."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""A closer look at a finished analysis: what is behind each field, what would refine it, and whether the laws fit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

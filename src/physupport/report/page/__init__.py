"""The report as one self-contained page: what the data allow, why, and how to check it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

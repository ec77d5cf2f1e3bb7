"""The pictures through matplotlib: each takes a result and an axis, and returns the axis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

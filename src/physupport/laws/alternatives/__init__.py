"""Causes that would make rows fit that no explanation fits: tried, fitted and ranked."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

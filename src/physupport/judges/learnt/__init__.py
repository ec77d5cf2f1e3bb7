"""Dictionaries that were learnt: the places that their atoms may stand for, and those that a signal has."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Planning an experiment on a block: information, gates, the resolution to expect, and what to raise for more."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

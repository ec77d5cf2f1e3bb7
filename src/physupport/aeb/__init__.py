"""Active endpoint bracketing: which explanations to ask about, and what may be said after every answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

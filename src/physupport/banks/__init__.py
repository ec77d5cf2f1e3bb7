"""Sets of explanations, and how to build them: states, supports and nuisances as columns that are never written out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

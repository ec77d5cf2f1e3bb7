"""Unit atoms, coherent blocks, the shell of those allowed, and turns of a block."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

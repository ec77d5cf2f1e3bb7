"""Every orientation of a coherent block in a declared box, and how far apart those that the data keep can be."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

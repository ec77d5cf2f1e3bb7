"""A measured spectrum and a library of spectra, and the answer in one call."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

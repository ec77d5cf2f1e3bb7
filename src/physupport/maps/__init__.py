"""Label many signals with one bank: every pixel, spot or frame."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

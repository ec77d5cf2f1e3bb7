"""Rows scored under every key of a law, in floating point with proven errors and in ball arithmetic.

Streams take long to load, with their kernels and balls.  Each name is loaded at its first use, so that laws may be
known, and projects checked, without them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The finest physical statement that coherent, learned dictionaries justify.

The names below are imported on first use, so that `import physupport` and the command line start at once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The probability laws of rows under an explanation, scored with proven errors.

Laws enter themselves when they are loaded, so every module of this folder is loaded at once: a new law is one new file.
What scores rows, streams with their kernels and balls, is imported by the methods that need it, as it takes far longer
to load; so are the two modules below, which compile.
"""

from importlib import import_module
from pkgutil import iter_modules

import lazy_loader

for _module in iter_modules(__path__):
    if not _module.ispkg and _module.name not in ("_latent_objective", "_mixtures"):
        import_module(f".{_module.name}", __name__)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Turn a protocol and tables into one result: propose, freeze, ask, report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

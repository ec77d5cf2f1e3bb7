"""A second opinion on a saved report: every label derived again from its trace, and, with data, every verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The report: a document that carries its proof, and the sentences, pictures and pages made from it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The paper's three studies, from their seeds, as short programs on the public pieces."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

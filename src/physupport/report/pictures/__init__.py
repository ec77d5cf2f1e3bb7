"""The pictures of a result before anything is drawn: axes with ticks, marks, keys and words.

Built once from the details document; the page writes it as SVG, the plots hand it to matplotlib.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

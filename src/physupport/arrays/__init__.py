"""From the recording of an array of sensors to the directions, or the places, of what it heard."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""M/EEG: from the objects of mne to a set of places, in one call."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

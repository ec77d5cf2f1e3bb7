"""Which explanations the data keep: calibration moments and their regions, the deployment ball, profile losses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

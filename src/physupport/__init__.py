"""The finest physical statement that coherent, learned dictionaries justify."""

from ._version import __version__ as __version__

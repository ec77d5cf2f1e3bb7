"""The command line. Commands live in modules of their own and import what they need when they run."""

from . import _coverage as _coverage
from . import _demo as _demo
from . import _plan as _plan
from . import _reproduce as _reproduce
from . import _verify as _verify
from ._app import app as app
from ._app import main as main

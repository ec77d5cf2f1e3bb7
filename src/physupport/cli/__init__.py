"""The command line: commands live in modules of their own and import what they need when they run."""

# The order of the imports is that of the commands in the help.
# isort: off
from . import _init as _init
from . import _run as _run
from . import _map as _map
from . import _watch as _watch
from . import _verify as _verify
from . import _response_error as _response_error
from . import _plan as _plan
from . import _demo as _demo
from . import _reproduce as _reproduce
from . import _coverage as _coverage

# isort: on
from ._app import app as app, main as main

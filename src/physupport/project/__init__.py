"""From a project file to a report: what `physupport run` does, as functions."""

from ._assemble import Assembled as Assembled
from ._assemble import assemble as assemble
from ._example import EXAMPLES as EXAMPLES
from ._example import PROJECT_FILE as PROJECT_FILE
from ._example import write_example as write_example
from ._forecast import Forecast as Forecast
from ._forecast import StreamForecast as StreamForecast
from ._forecast import forecast as forecast
from ._load import Project as Project
from ._load import load_project as load_project
from ._outputs import FILES as FILES
from ._run import Finished as Finished
from ._run import run_project as run_project
from ._same_protocol import protocol_notes as protocol_notes
from ._tables import read_tables as read_tables

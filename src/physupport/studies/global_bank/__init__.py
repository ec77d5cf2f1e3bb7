"""The global study: how much of a bank must be asked about to say what all of it would say."""

from ._design import CONDITIONS as CONDITIONS
from ._judges import compare as compare
from ._study import draw as draw, reports as reports, run as run

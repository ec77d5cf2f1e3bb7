"""The global study: how much of a bank must be asked about to say what all of it would say."""

from ._case import examine as examine, make_proposal as make_proposal
from ._design import CONDITIONS as CONDITIONS
from ._study import draw as draw, run as run

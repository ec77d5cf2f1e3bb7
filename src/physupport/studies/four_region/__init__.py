"""The four-region study: what is said about places when the dictionary itself is uncertain."""

from ._case import Case as Case
from ._case import examine as examine
from ._design import LEVEL as LEVEL
from ._design import SCENES as SCENES
from ._design import Scene as Scene
from ._figures import draw as draw
from ._study import run as run

"""What each picture of a result shows, before anything is drawn: axes with ticks, marks, keys and words.

Built once from the details document; the page writes it as SVG, the plots hand it to matplotlib.
"""

from ._curves import brackets_picture as brackets_picture
from ._curves import evidence_picture as evidence_picture
from ._elements import elements_picture as elements_picture
from ._library import coherence_picture as coherence_picture
from ._library import lanes_picture as lanes_picture
from ._library import members_of as members_of
from ._library import responses_picture as responses_picture
from ._map import map_picture as map_picture
from ._map import map_pictures as map_pictures
from ._model import Picture as Picture
from ._rooms import COLUMN as COLUMN
from ._rooms import COMPACT as COMPACT
from ._rooms import SMALL as SMALL
from ._rooms import WIDE as WIDE
from ._rooms import Room as Room

"""What each picture of a result shows, before anything is drawn: axes with ticks, marks, keys and words.

Built once from the details document; the page writes it as SVG, the plots hand it to matplotlib.
"""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._curves import brackets_picture as brackets_picture, evidence_picture as evidence_picture
    from ._elements import elements_picture as elements_picture
    from ._library import (
        coherence_picture as coherence_picture,
        lanes_picture as lanes_picture,
        members_of as members_of,
        responses_picture as responses_picture,
    )
    from ._map import map_picture as map_picture, map_pictures as map_pictures
    from ._model import Picture as Picture
    from ._rooms import COLUMN as COLUMN, COMPACT as COMPACT, SMALL as SMALL, WIDE as WIDE, Room as Room
    from ._rows import rows_picture as rows_picture
    from ._sines import sines_picture as sines_picture
else:
    __getattr__, __dir__, __all__ = published(__name__)

from ._curves import (
    brackets_picture as brackets_picture,
    evidence_picture as evidence_picture,
    rows_picture as rows_picture,
    sines_picture as sines_picture,
    staircase_picture as staircase_picture,
)
from ._learnt import is_on_line as is_on_line, learnt_picture as learnt_picture
from ._library import (
    coherence_picture as coherence_picture,
    lanes_picture as lanes_picture,
    members_of as members_of,
    responses_picture as responses_picture,
)
from ._map import (
    elements_picture as elements_picture,
    map_picture as map_picture,
    map_pictures as map_pictures,
    pairs_picture as pairs_picture,
)
from ._model import (
    COLUMN as COLUMN,
    COMPACT as COMPACT,
    SMALL as SMALL,
    WIDE as WIDE,
    Axis as Axis,
    Key as Key,
    Mark as Mark,
    Panel as Panel,
    Picture as Picture,
    Room as Room,
    Tick as Tick,
    counting as counting,
    numbered as numbered,
    padded as padded,
)
from ._ranges import amounts_picture as amounts_picture, members_picture as members_picture
from ._spectrum import spectrum_picture as spectrum_picture

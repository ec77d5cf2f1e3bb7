from ._compare import (
    Comparison as Comparison,
    compare as compare,
    compare_all as compare_all,
    exhaustive_answers as exhaustive_answers,
    plugin_answers as plugin_answers,
)
from ._question import (
    Answer as Answer,
    Certificate as Certificate,
    Contradictions as Contradictions,
    FieldElements as FieldElements,
    FieldValues as FieldValues,
    Label as Label,
    Progress as Progress,
    Question as Question,
    abridged as abridged,
    coarsened as coarsened,
    column_of as column_of,
    unsettled as unsettled,
    withheld as withheld,
)
from ._region_rule import (
    CLAIM_KINDS as CLAIM_KINDS,
    DISTANCES_OF_VIEW as DISTANCES_OF_VIEW,
    LABELS as LABELS,
    AskedRegion as AskedRegion,
    Claim as Claim,
    RegionRule as RegionRule,
    SetFacts as SetFacts,
    as_numbers as as_numbers,
    labels as labels,
)
from ._regional_map import RegionalMap as RegionalMap
from ._regional_progress import RegionalProgress as RegionalProgress, RegionState as RegionState
from ._resolution import Resolution as Resolution

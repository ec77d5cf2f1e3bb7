from ._design import (
    MOST_ROWS as MOST_ROWS,
    Design as Design,
    InformationScales as InformationScales,
    TangentChart as TangentChart,
    information_scales as information_scales,
    optimal_resolution as optimal_resolution,
    orientation_information as orientation_information,
    tangent_chart as tangent_chart,
)
from ._planner import (
    Plan as Plan,
    moment_region_rows as moment_region_rows,
    plan as plan,
    plan_sentences as plan_sentences,
)
from ._resolution import (
    ResolutionMap as ResolutionMap,
    map_scales as map_scales,
    outside_span as outside_span,
    resolution_map as resolution_map,
)

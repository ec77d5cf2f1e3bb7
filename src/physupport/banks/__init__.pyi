from ._bank import (
    Bank as Bank,
    CalibrationParts as CalibrationParts,
    Columns as Columns,
    DeploymentParts as DeploymentParts,
    Explanation as Explanation,
)
from ._builders import (
    all_supports as all_supports,
    array_bank as array_bank,
    forward_library as forward_library,
    library_bank as library_bank,
    region_supports as region_supports,
    with_unlisted as with_unlisted,
)
from ._circle import (
    TURN as TURN,
    along_arc as along_arc,
    closes_circle as closes_circle,
    wrapped as wrapped,
)
from ._covers import (
    Cells as Cells,
    Cover as Cover,
    CoverForm as CoverForm,
    cell_names as cell_names,
    cover_boxes as cover_boxes,
)
from ._learnt import (
    LearnedStates as LearnedStates,
    Learner as Learner,
    NearestRegions as NearestRegions,
    bootstrap_states as bootstrap_states,
    bottleneck_assignment as bottleneck_assignment,
    hausdorff_distance as hausdorff_distance,
    nearest_regions as nearest_regions,
    physical_diameter as physical_diameter,
    projective_distances as projective_distances,
    sparse_learner as sparse_learner,
)
from ._library import (
    JOINT as JOINT,
    Library as Library,
    RegionPlaces as RegionPlaces,
    check_distances as check_distances,
    library_states as library_states,
    point_distances as point_distances,
)
from ._moves import (
    Moved as Moved,
    Range as Range,
    RangeSizes as RangeSizes,
    Scaled as Scaled,
    checked_ends as checked_ends,
    with_counts as with_counts,
)
from ._regions import (
    RegionalView as RegionalView,
    bank_regions as bank_regions,
    grid_edges as grid_edges,
    listed_regions as listed_regions,
    region_distances as region_distances,
    table_regions as table_regions,
)
from ._states import (
    UNLISTED as UNLISTED,
    Nuisances as Nuisances,
    States as States,
    Subsets as Subsets,
    array_states as array_states,
    product_grid as product_grid,
)

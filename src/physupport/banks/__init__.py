"""Sets of explanations, and how to build them: states, supports and nuisances as columns that are never written out."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._bank import (
        Bank as Bank,
        CalibrationParts as CalibrationParts,
        Columns as Columns,
        DeploymentParts as DeploymentParts,
        Explanation as Explanation,
        check_digest as check_digest,
    )
    from ._builders import (
        all_supports as all_supports,
        array_bank as array_bank,
        library_bank as library_bank,
        region_supports as region_supports,
    )
    from ._cells import Cells as Cells
    from ._cover_form import COVER_FORM as COVER_FORM
    from ._covers import Cover as Cover, cover_boxes as cover_boxes
    from ._distances import (
        atom_chords as atom_chords,
        bottleneck_assignment as bottleneck_assignment,
        coherence_gaps as coherence_gaps,
        hausdorff_distance as hausdorff_distance,
        marked_distance as marked_distance,
        physical_diameter as physical_diameter,
        projective_distances as projective_distances,
    )
    from ._edges import grid_edges as grid_edges
    from ._forward import forward_library as forward_library
    from ._library import JOINT as JOINT, Library as Library
    from ._library_states import LibraryStates as LibraryStates
    from ._moved import Moved as Moved, Scaled as Scaled
    from ._nuisances import Nuisances as Nuisances, product_grid as product_grid
    from ._ranges import (
        Range as Range,
        RangeSizes as RangeSizes,
        checked_ends as checked_ends,
        with_counts as with_counts,
    )
    from ._region_sets import RegionSets as RegionSets, SetSpacing as SetSpacing
    from ._region_table import TableRegions as TableRegions, table_regions as table_regions
    from ._regions import (
        BankRegions as BankRegions,
        RegionalView as RegionalView,
        bank_regions as bank_regions,
        check_distances as check_distances,
        region_distances as region_distances,
    )
    from ._spacing import Spacing as Spacing
    from ._states import ArrayStates as ArrayStates, StateFamily as StateFamily
    from ._subsets import Subsets as Subsets
else:
    __getattr__, __dir__, __all__ = published(__name__)

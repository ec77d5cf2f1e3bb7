"""Dictionary states learnt from proposal rows, and what they say in the words of a library."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._bootstrap import (
        LearnedStates as LearnedStates,
        Learner as Learner,
        SparseLearner as SparseLearner,
        bootstrap_states as bootstrap_states,
    )
    from ._nearest_regions import NearestRegions as NearestRegions, nearest_regions as nearest_regions
else:
    __getattr__, __dir__, __all__ = published(__name__)

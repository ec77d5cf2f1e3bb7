"""Dictionary states learnt from proposal rows, and what they say in the words of a library."""

from ._bootstrap import (
    LearnedStates as LearnedStates,
    Learner as Learner,
    SparseLearner as SparseLearner,
    bootstrap_states as bootstrap_states,
)
from ._nearest_regions import NearestRegions as NearestRegions, nearest_regions as nearest_regions

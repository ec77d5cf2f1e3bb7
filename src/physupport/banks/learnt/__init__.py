"""Dictionary states learnt from proposal rows, and what they say in the words of a library."""

from ._bootstrap import LearnedStates as LearnedStates
from ._bootstrap import bootstrap_states as bootstrap_states
from ._learner import Learner as Learner
from ._learner import SparseLearner as SparseLearner
from ._nearest_regions import NearestRegions as NearestRegions
from ._nearest_regions import nearest_regions as nearest_regions

"""A closer look at a finished analysis: what is behind each field, what would refine it, and whether the laws fit."""

from ._coherence import coherence as coherence
from ._diagnose import diagnose as diagnose
from ._levels import LevelAnswers as LevelAnswers
from ._levels import other_levels as other_levels
from ._misfit import Misfit as Misfit
from ._misfit import misfit as misfit
from ._outcome import outcome_sentences as outcome_sentences
from ._rows_needed import RowsNeeded as RowsNeeded
from ._rows_needed import rows_needed as rows_needed

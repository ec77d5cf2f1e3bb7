"""A closer look at a finished analysis: what is behind each field, what would refine it, and whether the laws fit."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ...report._diagnosis import LEVELS_NOTE as LEVELS_NOTE
    from ._coherence import coherence as coherence
    from ._diagnose import diagnose as diagnose
    from ._levels import LevelAnswers as LevelAnswers, other_levels as other_levels
    from ._misfit import Misfit as Misfit, misfit as misfit, outcome_sentences as outcome_sentences
    from ._rows_fitted import rows_json as rows_json
    from ._rows_needed import RowsNeeded as RowsNeeded, rows_needed as rows_needed
    from ._running import running_details as running_details
else:
    __getattr__, __dir__, __all__ = published(__name__)

from ._fields import coherence as coherence, other_levels as other_levels
from ._misfit import (
    Misfit as Misfit,
    diagnose as diagnose,
    misfit as misfit,
    outcome_sentences as outcome_sentences,
    running_details as running_details,
)
from ._pictures import rows_json as rows_json
from ._rows_needed import RowsNeeded as RowsNeeded, rows_needed as rows_needed

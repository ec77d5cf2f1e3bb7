from ._causes import (
    Cause as Cause,
    diagnosis as diagnosis,
    ranked_causes as ranked_causes,
    smallest_error as smallest_error,
)
from ._fit import LinearRows as LinearRows, linear_rows as linear_rows

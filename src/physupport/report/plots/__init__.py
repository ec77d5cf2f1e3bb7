"""Pictures. Each takes a result and an axis, and returns the axis."""

from ._resolution import plot_resolution as plot_resolution
from ._result import plot_brackets as plot_brackets
from ._result import plot_elements as plot_elements
from ._result import plot_evidence as plot_evidence
from ._result import plot_library as plot_library
from ._result import plot_library_coherence as plot_library_coherence
from ._result import plot_map as plot_map

"""Pictures. Each takes a result and an axis, and returns the axis."""

from ._coverage import plot_coverage as plot_coverage
from ._coverage import plot_label_rates as plot_label_rates
from ._four_region import plot_coherence as plot_coherence
from ._four_region import plot_plugin as plot_plugin
from ._four_region import plot_regional_map as plot_regional_map
from ._four_region import plot_responses as plot_responses
from ._global import plot_recovery as plot_recovery
from ._global import plot_status as plot_status
from ._mechanism import plot_affinities as plot_affinities
from ._mechanism import plot_deployment as plot_deployment
from ._mechanism import plot_scaling as plot_scaling
from ._mechanism import plot_spreads as plot_spreads
from ._resolution import plot_resolution as plot_resolution
from ._result_curves import plot_brackets as plot_brackets
from ._result_curves import plot_evidence as plot_evidence
from ._result_elements import plot_elements as plot_elements
from ._result_library import plot_library as plot_library
from ._result_library import plot_library_coherence as plot_library_coherence
from ._result_map import plot_map as plot_map

"""Figures of the studies."""

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

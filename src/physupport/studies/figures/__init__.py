"""The figures of the studies."""

from ._coverage import plot_coverage as plot_coverage, plot_label_rates as plot_label_rates
from ._four_region import (
    plot_coherence as plot_coherence,
    plot_plugin as plot_plugin,
    plot_regional_map as plot_regional_map,
    plot_responses as plot_responses,
)
from ._global import plot_recovery as plot_recovery, plot_status as plot_status
from ._mechanism import (
    plot_affinities as plot_affinities,
    plot_deployment as plot_deployment,
    plot_scaling as plot_scaling,
    plot_spreads as plot_spreads,
)

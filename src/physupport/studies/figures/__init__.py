"""The figures of the studies, as pictures of the model that the page and the plots draw."""

from ._coverage import coverage_picture as coverage_picture, label_rates_picture as label_rates_picture
from ._four_region import (
    library_coherence_picture as library_coherence_picture,
    plugin_picture as plugin_picture,
    regional_map_picture as regional_map_picture,
    responses_picture as responses_picture,
)
from ._global import recovery_picture as recovery_picture, status_picture as status_picture
from ._mechanism import (
    affinities_picture as affinities_picture,
    deployment_picture as deployment_picture,
    scaling_picture as scaling_picture,
    spreads_picture as spreads_picture,
)

from ._draw import draw as draw, fixed as fixed
from ._result import (
    plot_brackets as plot_brackets,
    plot_elements as plot_elements,
    plot_evidence as plot_evidence,
    plot_learnt as plot_learnt,
    plot_library as plot_library,
    plot_library_coherence as plot_library_coherence,
    plot_map as plot_map,
    plot_resolution as plot_resolution,
    plot_rows as plot_rows,
    plot_spectrum as plot_spectrum,
    plot_staircase as plot_staircase,
)

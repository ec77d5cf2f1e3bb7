"""The pictures through matplotlib: each takes a result and an axis, and returns the axis."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._resolution import plot_resolution as plot_resolution
    from ._result import (
        plot_brackets as plot_brackets,
        plot_elements as plot_elements,
        plot_evidence as plot_evidence,
        plot_library as plot_library,
        plot_library_coherence as plot_library_coherence,
        plot_map as plot_map,
        plot_rows as plot_rows,
    )
else:
    __getattr__, __dir__, __all__ = published(__name__)

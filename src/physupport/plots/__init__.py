"""Pictures. Each takes a result and an axis, and returns the axis."""

from ._resolution import plot_resolution as plot_resolution

"""Elements from a forward solution as mne holds it in memory; it is not imported, only asked by its names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import MisuseError
from ._library import Library

_MILLIMETRES = 1000.0


def forward_library(
    forward: Mapping[str, Any], *, regions: str | Sequence[str] = "brain", channels: Sequence[str] | None = None
) -> Library:
    """One element for each source of a forward solution of fixed orientations, at its place in millimetres.

    regions: the region of all sources, or of each in their order.  channels: the names of the rows' channels in their
    order; those of the solution unless given.  Responses are brought to norm 1, so strengths refer to such columns.
    """
    gains, places = np.asarray(forward["sol"]["data"], dtype=np.float64), np.asarray(forward["source_rr"])
    if gains.shape[1] != len(places):
        remedy = "mne.convert_forward_solution(forward, force_fixed=True) gives one column a source."
        rule = f"have one column for each of its {len(places)} sources"
        raise MisuseError("forward", rule, f"{gains.shape[1]} columns", remedy)
    known = [str(name) for name in forward["sol"]["row_names"]]
    wanted = known if channels is None else [*channels]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise MisuseError("channels", "be channels of the forward solution", ", ".join(map(repr, missing[:5])))
    picked = gains[[known.index(name) for name in wanted]]  # (q, E)
    norms = np.linalg.norm(picked, axis=0)
    if not np.all(norms > 0.0):
        raise MisuseError("forward", "have a response of every source", f"none of source {int(np.argmin(norms))}")
    named = (regions,) * len(places) if isinstance(regions, str) else tuple(regions)
    return Library(_names(forward["src"]), named, _MILLIMETRES * places, picked / norms, "mm")


def _names(spaces: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Numbers of vertices, with the hemisphere where there are two of them."""
    sides = ("lh", "rh") if len(spaces) == 2 else tuple(f"source {i}" if i else "source" for i in range(len(spaces)))
    return tuple(f"{side} {number}" for side, space in zip(sides, spaces, strict=True) for number in space["vertno"])

"""A cover as a document holds it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codec import array_json, real
from .._stored import Maybe, Refusal, check_form
from ..responses import Bounds, decode_parameter, decode_response, encode_parameter, encode_response
from ._cells import MOST_CELLS, Cells
from ._moved import Moved
from ._ranges import Range

if TYPE_CHECKING:
    from ._covers import Cover

_PARAMETER = {"kind": str, "values": [float], "pattern": ([float], None), "coordinate": int, "called": str}
_REGION = {
    "region": str, "low": [float], "high": [float], "cells": [int], "half": [float], "slopes": [float], "bends": dict
}  # fmt: skip
_RANGE = {
    "region": (str, None), "low": float, "high": float, "cells": int, "size": float, "is_shift": bool, "most": int
}  # fmt: skip
COVER_FORM = {
    "asked": float, "eta": float, "kappa": float, "is_shift": bool, "snr": float, "active": int, "unit_kappa": float,
    "move": float, "tangents": bool, "coordinates": [str], "unit": str, "regions": [_REGION],
    "parameters": [_PARAMETER], "parameter_cells": [int], "parameter_half": [float], "fixed": [_PARAMETER],
    "response": (dict, None), "bounds": ("given", "proven"), "axis": (dict, None),
    "ranges": Maybe([_RANGE]),
}  # fmt: skip


def encoded_cover(cover: "Cover") -> dict[str, Any]:
    """What it was made of, and eta, kappa and the sizes of its cells."""
    content = {
        "eta": cover.eta,
        "kappa": cover.moved.kappa,
        "is_shift": cover.unit.is_shift,
        "snr": cover.snr,
        "active": cover.active,
        "unit_kappa": cover.unit.kappa,
        "move": cover.move,
        "tangents": cover.tangents,
        "coordinates": list(cover.coordinates),
        "unit": cover.measure,
        "regions": [_region(name, cells) for name, cells in cover.regions.items()],
        "parameters": [encode_parameter(each) for each in cover.parameters],
        "parameter_cells": cover.counts.tolist(),
        "parameter_half": cover.halves.tolist(),
        "fixed": [encode_parameter(each) for each in cover.fixed],
        "response": None if cover.response is None else encode_response(cover.response),
        "bounds": "given" if cover.is_given else "proven",
        "axis": None if cover.axis is None else array_json(cover.axis),
    }
    return content | ({"ranges": [*map(_range, cover.ranges)]} if cover.ranges else {})


def _range(each: Range) -> dict[str, object]:
    return {
        "region": each.region,
        "low": each.low,
        "high": each.high,
        "cells": each.count,
        "size": each.size,
        "is_shift": each.is_shift,
        "most": each.most,
    }


def _region(name: str, cells: Cells) -> dict[str, object]:
    return {
        "region": name,
        "low": cells.low.tolist(),
        "high": cells.high.tolist(),
        "cells": cells.counts.tolist(),
        "half": cells.half.tolist(),
        "slopes": cells.bounds.slopes.tolist(),
        "bends": array_json(cells.bounds.bends),
    }


def cover_parts(node: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a `Cover` by name; what is of another form is refused."""
    check_form(node, COVER_FORM, "the cover")
    sizes = len(node["coordinates"]), len(node["parameters"])
    regions = {each["region"]: _cells(each, *sizes) for each in node["regions"]}
    if not regions or len(regions) < len(node["regions"]) or len(node["parameter_cells"]) != sizes[1]:
        raise Refusal("the cover has no region, one of them twice, or another number of cells than parameters")
    if (
        node["snr"] <= 0.0
        or node["active"] < 1
        or not node["unit_kappa"] > 0.0
        or min(node["parameter_cells"], default=1) < 1
    ):
        raise Refusal("the cover has sizes that no cover has")
    return {
        "response": None if node["response"] is None else decode_response(node["response"]),
        "regions": regions,
        "parameters": tuple(map(decode_parameter, node["parameters"])),
        "counts": np.array(node["parameter_cells"], dtype=np.int64),
        "fixed": tuple(map(decode_parameter, node["fixed"])),
        "snr": node["snr"],
        "active": node["active"],
        "unit": Moved(node["unit_kappa"], node["is_shift"]),
        "tangents": node["tangents"],
        "coordinates": tuple(node["coordinates"]),
        "measure": node["unit"],
        "is_given": node["bounds"] == "given",
        "axis": None if node["axis"] is None else real(node["axis"], None),
        "ranges": tuple(map(_decoded, node.get("ranges", ()))),
    }


def _decoded(node: Mapping[str, Any]) -> Range:
    sizes = node["low"], node["high"] - node["low"], node["size"], node["cells"], node["most"]
    if not min(sizes) > 0 or node["cells"] > MOST_CELLS:
        raise Refusal(f"the range of {node['region'] or 'the noise'} has sizes that no range has")
    return Range(node["region"], node["low"], node["high"], node["cells"], node["size"], node["is_shift"], node["most"])


def _cells(node: Mapping[str, Any], d: int, p: int) -> Cells:
    low, high, counts = np.array(node["low"]), np.array(node["high"]), np.array(node["cells"], dtype=np.int64)
    slopes, bends = np.array(node["slopes"]), real(node["bends"], d + p, d + p)
    is_whole = len(low) == len(high) == len(counts) == d and len(slopes) == d + p
    if not is_whole or not (low < high).all() or counts.min() < 1 or slopes.min() < 0.0 or bends.min() < 0.0:
        raise Refusal(f"the cells of region {node['region']!r} do not fill a box")
    return Cells(low, high, counts, Bounds(slopes, bends))

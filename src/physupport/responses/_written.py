"""Responses written down and read again, so that who checks a report can work out their answers and bounds."""

from collections.abc import Mapping
from inspect import signature

import numpy as np

from .._codec import array_json, real
from .._stored import Refusal
from ._base import RESPONSES, Response
from ._settings import Parameter


def encode_response(response: Response) -> dict[str, object] | None:
    """The kind and the parameters of a registered response; None of others, which nobody else could run."""
    kind = next((kind for kind, make in RESPONSES.items() if make is type(response)), None)
    if kind is None:
        return None
    named = {name: getattr(response, name) for name in signature(RESPONSES[kind]).parameters}
    return {"kind": kind} | {
        name: array_json(np.asarray(value, dtype=np.float64)) if isinstance(value, np.ndarray) else value
        for name, value in named.items()
    }


def decode_response(node: Mapping[str, object]) -> Response:
    """What `encode_response` wrote, of a kind that is known here."""
    kind = node.get("kind")
    if not isinstance(kind, str) or kind not in RESPONSES:
        raise Refusal(f"the cover has a response of the unknown kind {kind!r}")
    values = {
        name: real(value, *[None] * len(value["shape"])) if isinstance(value, dict) else value
        for name, value in node.items()
        if name != "kind"
    }
    response: Response = RESPONSES[kind](**values)
    return response


def encode_parameter(parameter: Parameter) -> dict[str, object]:
    """All of a parameter."""
    return {
        "kind": parameter.name,
        "values": parameter.values.tolist(),
        "pattern": None if parameter.pattern is None else parameter.pattern.tolist(),
        "coordinate": parameter.coordinate,
        "called": parameter.called,
    }


def decode_parameter(node: Mapping[str, object]) -> Parameter:
    """What `encode_parameter` wrote."""
    pattern = None if node["pattern"] is None else np.array(node["pattern"])
    values, coordinate = np.array(node["values"], dtype=np.float64), int(str(node["coordinate"]))
    return Parameter(str(node["kind"]), values, pattern, coordinate, str(node["called"]))

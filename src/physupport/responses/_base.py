"""The contract of responses, the registry of their kinds, and the checks that they share."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, read_only
from .._codec import Refusal, array_json, real
from .._errors import Clause, MisuseError
from .._typing import Array

ComplexArray = NDArray[np.complex128]


class Response(Protocol):
    """Places to answers: one column for each place, one entry for each channel, of any norm."""

    def __call__(self, places: Array, /) -> Array | ComplexArray:
        """(E, d) -> (q, E)."""


Made = TypeVar("Made", bound=Callable[..., Response])
RESPONSES: dict[str, Callable[..., Any]] = {}  # the kind that a project file names -> what makes the response


def register(kind: str) -> Callable[[Made], Made]:
    """Make a response known to project files: `response = { kind = "...", ... }`, its other keys the parameters.

    Parameters are annotated as numbers, texts, choices, `Positive`, `Count`, or `Array`, which the project file gives
    as numbers or as the name of a file.
    """

    def registered(make: Made) -> Made:
        if kind in RESPONSES:
            raise MisuseError("kind", "be new", repr(kind))
        RESPONSES[kind] = make
        return make

    return registered


def check_channels(axis: ArrayLike) -> Array:
    """(q,) where the channels lie, at least one; a copy that stays what it is.  A column of a table is a list, too."""
    column = np.asarray(axis)
    channels = check_array("axis", column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else axis, (None,))
    if not channels.size:
        raise MisuseError("axis", "hold at least one channel", Clause("there is none"))
    return read_only(channels)


def check_answers(name: str, value: ArrayLike, n_places: int, n_channels: int | None = None) -> Array | ComplexArray:
    """Finite numbers (q, E), as float64 or complex128."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufc":
        raise MisuseError(name, "hold real or complex numbers", f"dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != n_places or n_channels not in (None, len(array)) or len(array) == 0:
        wanted = "channels" if n_channels is None else str(n_channels)
        raise MisuseError(name, f"have shape ({wanted}, {n_places}), a column for each place", f"shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=0))
    if len(bad):
        raise MisuseError(name, "be finite", Clause(f"the number at place {bad[0]} is not"))
    return array.astype(np.complex128) if array.dtype.kind == "c" else array.astype(np.float64)


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
    """The response that `encode_response` wrote, of a kind that is known here."""
    kind = str(node.get("kind"))
    if kind not in RESPONSES:
        raise Refusal(f"the cover has a response of the unknown kind {kind!r}")
    values = {
        name: real(value, *[None] * len(value["shape"])) if isinstance(value, dict) else value
        for name, value in node.items()
        if name != "kind"
    }
    response: Response = RESPONSES[kind](**values)
    return response

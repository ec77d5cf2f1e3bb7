"""Tables, outsiders and companions as JSON holds them, there and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..._codec import array_json, real
from ._companions import Companions
from ._outsiders import Outsiders
from ._table import Field, RotationTable


def table_json(table: RotationTable) -> dict[str, object]:
    """Columns and supports; spans are made again."""
    return {
        "atoms": _field_json(table.atoms),
        "supports": [list(support) for support in table.supports],
        "background": None if table.background is None else _field_json(table.background),
        "tolerance": table.tolerance,
    }


def read_table(content: Mapping[str, Any]) -> RotationTable:
    """The table that wrote this."""
    supports = tuple(tuple(support) for support in content["supports"])
    background = None if content["background"] is None else _read_field(content["background"])
    return RotationTable(_read_field(content["atoms"]), supports, background, content["tolerance"])


def outsiders_json(outsiders: Outsiders | None) -> dict[str, object] | None:
    """All of them."""
    if outsiders is None:
        return None
    return {
        "columns": None if outsiders.columns is None else _field_json(outsiders.columns),
        "places": list(outsiders.places),
        "lags": list(outsiders.lags),
        "spectrum": outsiders.spectrum,
        "share": outsiders.share,
    }


def read_outsiders(content: Mapping[str, Any] | None) -> Outsiders | None:
    """Those that wrote this."""
    if content is None:
        return None
    columns = None if content["columns"] is None else _read_field(content["columns"])
    lists = {name: tuple(content[name]) for name in ("places", "lags")}
    return Outsiders(columns, **lists, spectrum=content["spectrum"], share=content["share"])


def companions_json(companions: Companions | None) -> dict[str, object] | None:
    """Bounds by name."""
    return None if companions is None else asdict(companions)


def read_companions(content: Mapping[str, Any] | None) -> Companions | None:
    """Those that wrote this."""
    return None if content is None else Companions(**content)


def _field_json(columns: Field) -> dict[str, object]:
    if not np.iscomplexobj(columns):
        return {"real": array_json(columns)}
    return {"real": array_json(columns.real), "imaginary": array_json(columns.imag)}


def _read_field(content: Mapping[str, Any]) -> Field:
    part = real(content["real"], None, None)
    return part + 1j * real(content["imaginary"], None, None) if "imaginary" in content else part

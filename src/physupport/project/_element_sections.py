"""The tables of a project file about elements: where they lie, how they answer, and what is uncertain of that."""

from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .._errors import shown
from ..responses import KINDS
from ._sections import (
    Deviations,
    Ends,
    FileName,
    FileSpec,
    Grid,
    ResponseSpec,
    Section,
    Values,
    VariantFiles,
    broken,
    needed,
    one_of,
)
from ._streams import Text


def _distinct_names(names: list[str]) -> list[str]:
    if len({*names}) < len(names):
        raise broken("hold each name once", shown(names))
    return names


class Elements(Section):
    """The elements: where they lie, and how the instrument answers to them."""

    file: FileName | None = None
    coordinates: Annotated[list[Text], AfterValidator(_distinct_names)] = []  # noqa: RUF012  pydantic copies it
    unit: str = ""
    responses: VariantFiles | None = None
    response: ResponseSpec | None = None
    variants: Literal["states", "span", "cone"] = "states"
    tangents: Annotated[list[Text], Field(min_length=1), AfterValidator(_distinct_names)] | None = None
    error: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    replicates: FileName | None = None
    replicate_unit: Text | None = None
    replicate_share: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    replicate_noise: Deviations | None = None
    pool: Literal["size"] | None = None
    axis: FileSpec | None = None
    axis_unit: str = ""
    shared: FileSpec | None = None

    _one_origin = one_of("responses", "response")

    @model_validator(mode="after")
    def _axis_has_its_unit(self) -> "Elements":
        if self.axis_unit and self.axis is None:
            raise broken("be left out without axis: channels are then counted", shown(self.axis_unit), key="axis_unit")
        return self

    @model_validator(mode="after")
    def _units_are_told(self) -> "Elements":
        if self.replicates is not None and self.replicate_unit is None:
            raise needed("replicate_unit")
        keys = ("replicate_unit", "replicate_share", "replicate_noise", "pool")
        stray = next((key for key in keys if getattr(self, key) is not None), None)
        if self.replicates is None and stray is not None:
            raise broken("be left out without replicates", "a value", key=stray)
        return self


def _kind(kind: object) -> object:
    if kind not in KINDS:
        raise broken(f"be one of {', '.join(KINDS)}", shown(kind))
    return kind


class CoverSpec(Section):
    """A box of places, and of parameters with a key between, everywhere in which the level shall hold."""

    snr: Annotated[float, Field(gt=0.0)]
    eta: Annotated[float, Field(gt=0.0)] = 0.5
    tangents: bool = False
    slopes: Values | None = None
    bends: Annotated[list[list[float]], Field(min_length=1)] | None = None
    box: Annotated[dict[Text, dict[Text, Ends]], Field(min_length=1)]


class Parameter(Section):
    """An uncertain parameter of the instrument: every value, or every cell, makes dictionary states of its own."""

    kind: Annotated[str, BeforeValidator(_kind)]
    values: Grid | None = None
    between: Ends | None = None
    pattern: Values | None = None
    coordinate: Text | None = None

    _one_way = one_of("values", "between")

    @property
    def points(self) -> tuple[float, ...]:
        """The values; of a range, its ends."""
        return self.between or self.values or ()


def _kinds(tables: object) -> object:
    """Named tables; one without a kind is of the kind that it is named after."""
    if not isinstance(tables, dict):
        return tables
    for name, table in tables.items():
        if name not in KINDS and isinstance(table, dict) and "kind" not in table:
            near = get_close_matches(name, KINDS, 1)
            remedy = f"Did you mean {near[0]}?" if near else ""
            raise broken(f"be named {', '.join(KINDS)}, or have a key kind that is one of these", name, remedy)
    return {name: {"kind": name} | table if isinstance(table, dict) else table for name, table in tables.items()}


# The uncertain parameters; states run over every combination of their values, the first of the file slowest.
Parameters = Annotated[dict[Text, Parameter], BeforeValidator(_kinds)]

"""Lists of elements that a project describes instead of naming a file: directions, places, and whatever registers.

A kind is a table of keys with a method that makes the columns of the list.  `[elements] kind = "directions"` has the
keys of its kind beside the usual ones of `[elements]`; those that the kind fills in may be left out.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from .._errors import shown
from ._sections import FileName, Section, broken, checked_ends, nearest, table_in

if TYPE_CHECKING:
    from ._load import Project

_MOST = 1_000_000  # elements of a list that is made
_SLACK = 1e-9  # of a step, by which rounding may move the last value


class GeneratedElements(Section):
    """The keys of one kind of list, and the list that they describe."""

    kind: str

    @abstractmethod
    def columns(self, project: "Project") -> Mapping[str, list[str]]:
        """The columns of the list as texts: id, region, and the coordinates that `defaults` names."""

    @classmethod
    def defaults(cls, keys: Mapping[str, Any]) -> Mapping[str, object]:  # noqa: ARG003
        """Keys of `[elements]` that the file may leave out; keys: of the kind, not yet checked."""
        return {}

    @classmethod
    def region(cls, keys: Mapping[str, Any]) -> tuple[str, Mapping[str, object]] | None:  # noqa: ARG003
        """The name and the keys of the region that a file without `[regions]` has; None if it has to give its own."""
        return None

    @classmethod
    def rest(cls, keys: Mapping[str, Any], file: Mapping[str, Any]) -> Mapping[str, object]:  # noqa: ARG003
        """Tables of the file beside `[elements]`, with the keys that it may leave out."""
        return {}


ELEMENT_KINDS: dict[str, type[GeneratedElements]] = {}
G = TypeVar("G", bound=type[GeneratedElements])


def register(kind: str) -> Callable[[G], G]:
    """Make a kind of list known by its name."""

    def registered(section: G) -> G:
        ELEMENT_KINDS[kind] = section
        return section

    return registered


def _generated(value: Any) -> GeneratedElements:  # noqa: ANN401
    kind = table_in(value).get("kind")
    if kind not in [*ELEMENT_KINDS]:
        raise broken(f"be one of {', '.join(map(repr, ELEMENT_KINDS))}", shown(kind), key="kind")
    return ELEMENT_KINDS[kind].model_validate(value)


Generated = Annotated[GeneratedElements, PlainValidator(_generated)]


def with_kind(file: dict[str, Any], others: Iterable[str]) -> dict[str, Any]:
    """A project file whose `[elements]` have a kind: its keys within this entry, and those that it fills in.

    others: keys that elements of any kind may have.
    """
    elements = table_in(file, "elements")
    kind = elements.get("kind")
    if kind is None:
        return file
    section = ELEMENT_KINDS.get(str(kind))
    if section is None:
        near = nearest(str(kind), ELEMENT_KINDS)
        raise broken(f"be one of {', '.join(map(repr, ELEMENT_KINDS))}", shown(kind), near, key="elements.kind")
    names = {field.alias or name for name, field in section.model_fields.items()}
    own = {key: value for key, value in elements.items() if key in names}
    given = {key: value for key, value in elements.items() if key not in names}
    every = [*sorted(names), *(key for key in others if key not in names)]
    for key in given:
        if key not in every:
            rule = f"have no other keys than {', '.join(every)}"
            raise broken(rule, key, nearest(key, every), key="elements")
    usual = section.region(own)
    regions = {} if usual is None or "regions" in file else {"regions": {usual[0]: usual[1]}}
    rest = section.rest(own, file)
    return {**file, **regions, **rest, "elements": {**section.defaults(own), **given, "kind": own}}


class Waves(GeneratedElements):
    """Keys of elements that send waves to sensors."""

    names: ClassVar[tuple[str, ...]] = ()
    response_kind: ClassVar[str] = ""
    unit: ClassVar[str] = ""

    geometry: FileName | None = None
    speed: Annotated[float, Field(gt=0.0)] = 343.0
    count: int | list[int] = 1
    step: Annotated[float, Field(gt=0.0)]

    @classmethod
    def defaults(cls, keys: Mapping[str, Any]) -> Mapping[str, object]:
        """Coordinates, their unit and, where a geometry is given, the response."""
        known: dict[str, object] = {"coordinates": [*cls.coordinates(keys)], "unit": cls.unit}
        if "geometry" in keys:
            speed = {"speed": keys["speed"]} if "speed" in keys else {}
            known["response"] = {"kind": cls.response_kind, "sensors": keys["geometry"], **speed}
        return known

    @classmethod
    def region(cls, keys: Mapping[str, Any]) -> tuple[str, Mapping[str, object]]:
        """One region, in which places that are two steps apart count as one."""
        step = keys.get("step")
        near = {"tolerance": 2.0 * step} if isinstance(step, int | float) and step > 0 else {}
        return "source", {"count": keys.get("count", 1), **near}

    @classmethod
    def coordinates(cls, keys: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG003
        """The names of the coordinates."""
        return cls.names

    def grids(self) -> list[list[float]]:
        """The values of every coordinate."""
        raise NotImplementedError

    def name(self, place: tuple[float, ...]) -> str:
        """The id of an element."""
        raise NotImplementedError

    def columns(self, project: "Project") -> Mapping[str, list[str]]:
        """Every combination of the values, the last coordinate fastest, in the only region of the project."""
        grids = self.grids()
        count = int(np.prod([len(grid) for grid in grids]))
        if count > _MOST:
            wider = 1.01 * self.step * (count / _MOST) ** (1.0 / len(grids))
            remedy = f"Write step = {wider:.3g}."
            raise project.misuse("elements.step", f"make at most {_MOST:,} elements", f"{count:,} of them", remedy)
        regions = [*project.settings.regions]
        if len(regions) != 1:
            rule = f"be one, to which all {self.kind} belong"
            raise project.misuse("regions", rule, ", ".join(regions), "Leave [regions] out, or all but one.")
        places = [*product(*grids)]
        made = {"id": [self.name(place) for place in places], "region": regions * len(places)}
        for number, coordinate in enumerate(project.settings.elements.coordinates):
            made[coordinate] = [repr(place[number]) for place in places]
        return made


class Range(Section):
    """Values from one end to the other."""

    low: float = Field(alias="from")
    high: float = Field(alias="to")
    step: Annotated[float, Field(gt=0.0)]

    @model_validator(mode="after")
    def _in_order(self) -> "Range":
        if not self.low <= self.high:
            raise broken("have a key from that is at most to", f"{self.low:g} and {self.high:g}")
        return self

    def values(self) -> list[float]:
        """Both ends, the upper one if whole steps reach it."""
        return grid(self.low, self.high, self.step)


def grid(low: float, high: float, step: float) -> list[float]:
    """Values from low on in whole steps, up to high.

    >>> grid(0.0, 1.0, 0.4)
    [0.0, 0.4, 0.8]
    """
    count = int(np.floor((high - low) / step + _SLACK)) + 1
    return [float(f"{low + i * step:.12g}") for i in range(count)]


@register("directions")
class Directions(Waves):
    """Azimuths in equal steps, and elevations where they are asked for."""

    names: ClassVar[tuple[str, ...]] = ("azimuth", "elevation")
    response_kind: ClassVar[str] = "plane waves"
    unit: ClassVar[str] = "degrees"

    low: float = Field(alias="from")
    high: float = Field(alias="to")
    elevation: Range | None = None

    @model_validator(mode="after")
    def _a_turn_at_most(self) -> "Directions":
        if not self.low <= self.high <= self.low + 360.0:
            raise broken("have keys from and to, at most 360 degrees apart", f"{self.low:g} and {self.high:g}")
        return self

    @classmethod
    def coordinates(cls, keys: Mapping[str, Any]) -> tuple[str, ...]:
        """The azimuth, and the elevation if there are several."""
        return cls.names[: 2 if "elevation" in keys else 1]

    def grids(self) -> list[list[float]]:
        """Azimuths, of a whole turn without the last, and elevations."""
        azimuths = grid(self.low, self.high, self.step)
        if len(azimuths) > 1 and azimuths[-1] - azimuths[0] >= 360.0 - _SLACK:
            azimuths.pop()
        return [azimuths] if self.elevation is None else [azimuths, self.elevation.values()]

    def name(self, place: tuple[float, ...]) -> str:
        """The angles, such as `30 deg`."""
        return f"{'/'.join(f'{angle:g}' for angle in place)} deg"


Side = Annotated[tuple[float, float], PlainValidator(checked_ends)]


@register("places")
class Places(Waves):
    """Places in a box, in metres."""

    names: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    response_kind: ClassVar[str] = "spherical waves"
    unit: ClassVar[str] = "m"

    x: Side
    y: Side
    z: Side | None = None

    @classmethod
    def coordinates(cls, keys: Mapping[str, Any]) -> tuple[str, ...]:
        """Two, or three if z is given."""
        return cls.names[: 3 if "z" in keys else 2]

    def grids(self) -> list[list[float]]:
        """The values of every side."""
        return [grid(*side, self.step) for side in (self.x, self.y, self.z) if side is not None]

    def name(self, place: tuple[float, ...]) -> str:
        """The coordinates, such as `(1.25, 2)`."""
        return f"({', '.join(f'{x:g}' for x in place)})"

"""How a project file names what lies elsewhere: files, members of files, responses."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from ._sections import Section, Values, broken

# Of each part of a path, in bytes: what common file systems allow.
_LONGEST_NAME = 255


def _nameable(name: str) -> str:
    """A name that a file may have; others would be met by a fault of the operating system in the middle of a run."""
    if "\0" in name:
        raise broken("be the name of a file, without the character NUL", ascii(name))
    if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in name.replace("\\", "/").split("/")):
        raise broken(f"have at most {_LONGEST_NAME} bytes in each part of the path", f"{name[:40]}... in {len(name)}")
    return name


FileName = Annotated[str, Field(min_length=1), AfterValidator(_nameable)]
Positive = Annotated[float, Field(gt=0.0)]


class File(Section):
    """A file, and which of its arrays where it holds several."""

    file: FileName
    member: Annotated[str, Field(min_length=1)] | None = None


def _as_file(given: object) -> object:
    return {"file": given} if isinstance(given, str) else given


FileSpec = Annotated[File, BeforeValidator(_as_file)]


class PeakResponse(Section):
    """A peak on an axis of channels, at the place of the element."""

    kind: Literal["peak"]
    axis: Values
    width: Positive
    shape: Literal["gaussian", "lorentzian", "pseudo-voigt"] = "gaussian"


class LinearArrayResponse(Section):
    """A uniform linear array of sensors; places are degrees from broadside."""

    kind: Literal["uniform linear array"]
    n_sensors: Annotated[int, Field(ge=1)]
    spacing: Positive


class CircularArrayResponse(Section):
    """A circular array of sensors; places are azimuths in degrees."""

    kind: Literal["circular array"]
    n_sensors: Annotated[int, Field(ge=1)]
    radius: Positive


class NearFieldResponse(Section):
    """Sensors at given places, met by spherical waves."""

    kind: Literal["near field array"]
    sensors: FileSpec
    wavelength: Positive


class FunctionResponse(Section):
    """A function of the user's own, `module:function`."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


KINDS = ("peak", "uniform linear array", "circular array", "near field array")


def _checked_kind(given: object) -> object:
    kind = given.get("kind") if isinstance(given, dict) else given
    if kind not in KINDS and not (isinstance(given, dict) and "function" in given):
        raise broken(f"have a kind among {', '.join(KINDS)}, or a function", repr(kind))
    return given


def _branch(given: object) -> str:
    """Which of the responses a table describes; the mark tells it from a key of the file in the place of an error."""
    return f"<{given['kind']}>" if isinstance(given, dict) and "function" not in given else "<function>"


ResponseSpec: TypeAlias = Annotated[
    Annotated[PeakResponse, Tag("<peak>")]
    | Annotated[LinearArrayResponse, Tag("<uniform linear array>")]
    | Annotated[CircularArrayResponse, Tag("<circular array>")]
    | Annotated[NearFieldResponse, Tag("<near field array>")]
    | Annotated[FunctionResponse, Tag("<function>")],
    Discriminator(_branch),
    BeforeValidator(_checked_kind),
]

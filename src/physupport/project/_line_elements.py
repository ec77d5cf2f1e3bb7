"""Elements made of lines: nuclides and chemical elements by name, their responses, and the channels that see them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import numpy as np
from pydantic import Field, PlainValidator

from .._errors import Clause, misuse_named, shown
from .._typing import Array, BoolArray
from ..io import measure, place_of
from ..responses import (
    DETECTORS,
    Detector,
    Emission,
    GenericPeaks,
    LineBands,
    gamma_lines,
    generic_lines,
    line_bands,
    line_pieces,
    xray_lines,
)
from ._generated import GeneratedElements, register
from ._sections import Section, Text, Values, broken, checked_ends, distinct, table_in

if TYPE_CHECKING:
    from ._load import Project

_NotNegative = Annotated[float, Field(ge=0.0)]
_Part = Annotated[float, Field(ge=0.0, lt=1.0)]
_Pair = Annotated[tuple[Annotated[float, Field(gt=0.0)], Annotated[float, Field(gt=0.0)]], Field(strict=False)]

# Width of the bins that channels are summed up to, in full widths of a line at half its maximum.
_BINS: Final = {"gamma lines": 1.25, "xray lines": 0.5}
_FWHM: Final = 2.3548
# The middle of the energies, in keV, whose resolution counts for that.
_MIDDLE: Final = {"gamma lines": 500.0, "xray lines": 6.0}

# The energy in keV at which a resolution is told, and the detector that is assumed.
_USUAL: Final = {"gamma lines": (662.0, "germanium"), "xray lines": (5.9, "silicon")}


def _off(value: Any) -> float | tuple[float, float]:  # noqa: ANN401
    """A number, by which something may be off either way, or `{ between = [low, high] }`."""
    if [*table_in(value)] == ["between"]:
        return checked_ends(value["between"])
    if type(value) not in (int, float) or not 0.0 <= value < float("inf"):
        raise broken("be a number, 0 or more, or { between = [low, high] }", shown(value))
    return float(value)


class DetectorSpec(Section):
    """The properties of a detector of X-rays or gammas; defaults are those of a usual one."""

    resolution: Annotated[tuple[float, float], Field(strict=False)] | None = None
    """a line at energy E has the variance a + b E: full width at half maximum 1.0 keV at 122 keV and 1.9 keV at 1333
    keV; 0.14 keV at 5.9 keV
    """
    energy: Annotated[float | tuple[float, float] | None, PlainValidator(_off)] = None
    """largest offset of a line, either way; or `{ between = [0.4, 1.2] }`"""
    width: Annotated[float | tuple[float, float] | None, PlainValidator(_off)] = None
    """share by which lines may be wider or narrower; or `{ between = [0.0, 0.2] }`, wider by up to 20 %"""
    ratio: _NotNegative | None = None
    """areas of an element's lines, beside its amount, are right to within a factor of 1 + this"""
    tail: _Part | None = None
    """largest share of a line in its tail to lower energies, which falls by e over three standard deviations"""
    sums: _Part | None = None
    """largest share of a line that adds up with another line of the element, or with itself, among its fifteen
    strongest
    """
    escape: _Part | None = None
    """largest share of a line that loses one of `escapes`"""
    escapes: Values | None = None
    """energies that an escape loses"""
    faint: _NotNegative | None = None
    """lines below this energy may have any smaller area, because of absorbers"""
    efficiency: Annotated[tuple[_Pair, ...], Field(strict=False, min_length=1)] | None = None
    """pairs of energy and efficiency, interpolated in logarithms"""


class LineElements(GeneratedElements):
    """Elements that are known by their lines."""

    list_key: ClassVar[str] = ""

    detector: DetectorSpec | None = None
    bins: Annotated[int, Field(ge=1)] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The elements as the file calls them."""
        return tuple(getattr(self, self.list_key))

    @abstractmethod
    def emissions(self) -> tuple[Emission, ...]:
        """The lines that the elements emit."""

    @classmethod
    def defaults(cls, keys: Mapping[str, Any]) -> Mapping[str, object]:  # noqa: ARG003
        """One coordinate, the number of the element, which no distance is told of."""
        return {"coordinates": ["number"]}

    @classmethod
    def rest(cls, keys: Mapping[str, Any], file: Mapping[str, Any]) -> Mapping[str, object]:
        """A region for each element, which may be empty; local background; counts of a spectrum; certain elements."""
        names = keys.get(cls.list_key)
        rows = table_in(file, "data", "deployment")
        if not isinstance(names, list) or not rows:  # faults are found when the file is checked
            return {}
        usual: dict[str, object] = {
            "regions": {name: {"presence": "optional"} for name in map(str, names)},
            "supports": {"leave_one_out": True},
            "background": {"local": 1},
            "judge_options": {"widths": [0.0, 1.0, 2.0, 4.0]},
        }
        ending = str(rows.get("file")).lower()[-4:]
        axis = {".csv": {}, ".npy": {"channels": 1}}.get(ending, {"channels": "channels"})
        stated = {"deployment": {"law": "poisson"} | axis | rows}
        return {key: value for key, value in usual.items() if key not in file} | {"data": file["data"] | stated}

    def columns(self, project: "Project") -> Mapping[str, list[str]]:
        """Put each element into the region of its name."""
        for name in self.names:
            if name not in project.settings.regions:
                remedy = f'Leave regions out, or add "{name}" = {{ presence = "optional" }}.'
                raise project.misuse(
                    "regions", f"have one of the name of each element, so of {name}", Clause("there is none"), remedy
                )
        numbers = [repr(each.number) for each in project_emissions(project)]
        return {"id": [*self.names], "region": [*self.names], "number": numbers}


@register("gamma lines")
class GammaLines(LineElements):
    """Nuclides, each with its daughters in equilibrium."""

    list_key: ClassVar[str] = "nuclides"

    nuclides: Annotated[list[Text], Field(min_length=1), distinct("nuclide")]
    x_rays: bool = False

    def emissions(self) -> tuple[Emission, ...]:
        """Gamma lines and their intensities per decay, with the X-rays that follow decays if wanted."""
        return listed_gammas(self.names, self.x_rays)


@register("xray lines")
class XrayLines(LineElements):
    """Chemical elements whose X-rays photons of one energy excite."""

    list_key: ClassVar[str] = "symbols"

    symbols: Annotated[list[Text], Field(min_length=1), distinct("symbol")]
    excitation: Annotated[float, Field(gt=0.0)]  # keV

    def emissions(self) -> tuple[Emission, ...]:
        """K, L and M lines with their fluorescence cross sections."""
        return _xrays(self.names, self.excitation)


listed_gammas = lru_cache(8)(gamma_lines)
_xrays = lru_cache(8)(xray_lines)


def line_elements(project: "Project") -> LineElements:
    """The elements of a project that has such."""
    made = project.settings.elements.kind
    assert isinstance(made, LineElements)
    return made


def project_emissions(project: "Project") -> tuple[Emission, ...]:
    """The lines of the elements that the file names."""
    with misuse_named(lambda name: project.name(name if name.startswith("elements.") else f"elements.{name}")):
        return line_elements(project).emissions()


def project_detector(project: "Project") -> Detector:
    """The detector: a usual one, with what the file says of it."""
    spec = line_elements(project)
    stated = {} if spec.detector is None else spec.detector.model_dump(exclude_none=True)
    with misuse_named(lambda name: project.name(f"elements.{name}")):
        return replace(DETECTORS[spec.kind], **stated)


def channel_bins(project: "Project", names: Sequence[str] | None) -> int:
    """How many channels are summed up to one: about as wide as a line of gammas, or half of one of X-rays."""
    spec = line_elements(project)
    if spec.bins is not None:
        return spec.bins
    energies = energies_of(project, names)
    step = float(np.median(np.diff(energies)))
    deviation = float(project_detector(project).deviations(np.array([_MIDDLE[spec.kind]]))[0])
    return max(1, round(_BINS[spec.kind] * _FWHM * deviation / step))


def resolution_facts(project: "Project", names: Sequence[str] | None) -> dict[str, object]:
    """How wide a line is at an energy and how wide channels are, in keV; assumed: the usual detector, if none is told.

    Widths are full widths at half maximum.
    """
    spec = line_elements(project)
    energy, usual = _USUAL[spec.kind]
    width = _FWHM * float(project_detector(project).deviations(np.array([energy]))[0])
    channel = float(np.median(np.diff(energies_of(project, names))))
    is_told = spec.detector is not None and spec.detector.resolution is not None
    return {"energy": energy, "width": width, "channel": channel, "assumed": "" if is_told else usual}


def energies_of(project: "Project", names: Sequence[str] | None) -> Array:
    """(q,) energies in keV of channels by their names, which a calibrated spectrum has."""
    places = [place_of(name) for name in names or ()]
    found = [place for place in places if place is not None]
    unit = (found[0][1] if found else "") or project.settings.elements.axis_unit
    if not found or len(found) < len(places) or measure(unit)[0] != "eV":
        remedy = (
            "Save two columns whose header is energy (keV),counts, or in Python give (counts, energies in keV); "
            'or, where numbers have no unit, write [elements] axis_unit = "keV".'
        )
        value = "names without a unit of energy" if found else "none"
        raise project.misuse("data.deployment.file", "have an energy for every channel", value, remedy)
    energies = np.array([number for number, _ in found]) * measure(unit)[1] / measure("keV")[1]
    if not (np.diff(energies) > 0.0).all():
        remedy = "Save counts with energies that increase, as two columns whose header is energy (keV),counts."
        raise project.misuse("data.deployment.file", "have energies that increase", Clause("others are given"), remedy)
    return energies


def binned_names(names: Sequence[str] | None, bins: int) -> tuple[str, ...] | None:
    """The names of sums of so many channels: the mean of their places; a rest at the end is left out."""
    if names is None or bins == 1:
        return None if names is None else tuple(names)
    places = [place_of(name) for name in names]
    found = [place for place in places if place is not None]
    count = len(names) // bins
    if len(found) < len(names):
        return tuple(map(str, range(count)))
    means = np.array([number for number, _ in found])[: count * bins].reshape(count, bins).mean(axis=1)
    return tuple(f"{mean:.7g} {found[0][1]}".rstrip() for mean in means.tolist())


def binned(values: Array, bins: int) -> Array:
    """(T, q // bins) sums of so many neighbouring channels."""
    count = values.shape[1] // bins
    return np.asarray(values[:, : count * bins].reshape(len(values), count, bins).sum(axis=2))


def project_bands(project: "Project") -> LineBands:
    """The responses of the elements in the channels of the project, as they are summed up."""
    energies = energies_of(project, project.channels.names)
    emissions, detector = project_emissions(project), project_detector(project)
    with misuse_named(lambda name: project.name(f"elements.{name}")):
        return line_bands(energies, emissions, detector)


def project_generic_lines(project: "Project", inside: BoolArray, width: float | str) -> GenericPeaks:
    """Lines anywhere in the channels inside (q,), of one width in keV, or of the resolution of the detector."""
    energies = energies_of(project, project.channels.names)
    detector = project_detector(project)
    if not isinstance(width, str):
        detector = replace(detector, resolution=(width**2, 0.0), width=0.0)
    with misuse_named(lambda _: project.name("unlisted.peaks.width")):
        return generic_lines(energies, inside, detector)


def project_pieces(project: "Project") -> tuple[tuple[float, float], ...]:
    """The pieces of the axis in keV that hold the lines; there is one at least."""
    energies = energies_of(project, project.channels.names)
    emissions, detector = project_emissions(project), project_detector(project)
    with misuse_named(lambda name: project.name(f"elements.{name}")):
        pieces = line_pieces(energies, emissions, detector)
    if not pieces:
        spec = line_elements(project)
        rule = f"have a line within the spectrum, {energies[0]:.4g} to {energies[-1]:.4g} keV"
        remedy = "Take another spectrum, or name elements that have lines there."
        raise project.misuse(f"elements.{spec.list_key}", rule, Clause(f"{', '.join(spec.names)} have none"), remedy)
    return pieces


def line_notes(project: "Project") -> tuple[str, ...]:
    """The assumptions about library and detector that a report states."""
    detector = project_detector(project)
    notes = [
        f"{each.name} is taken with {', '.join(each.daughters)}."
        for each in project_emissions(project)
        if each.daughters
    ]
    bins = project.channels.bins
    summed = f"{bins} channels are summed up to one, and lines" if bins > 1 else "Lines"
    low, high = detector.energies
    least, most = detector.widths
    off = f"{high:g}" if low == -high else f"{low:g} to {high:g}"
    wide = f"{most:.0%} wider or narrower" if least == -most else f"{least:+.0%} to {most:+.0%} wider"
    told = (
        f"{summed} may lie {off} keV off, be {wide}, and have areas off "
        f"by a factor of {1.0 + detector.ratio:g}; up to {detector.tail:.0%} of a line lies in its tail."
    )
    return (*notes, told)

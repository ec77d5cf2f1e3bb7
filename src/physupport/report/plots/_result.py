"""Plots of a result, each on a given axes or on that of a new figure as wide as a column."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._errors import Clause, MisuseError
from ...local.planning import ResolutionMap
from .. import pictures
from .._diagnosis import Detailed, Details
from .._report import Report
from .._words import Entry, gate_of
from ._draw import draw, fixed, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_map(
    result: Detailed | Details,
    ax: "Axes | None" = None,
    *,
    fields: Sequence[str] | None = None,
    plane: tuple[int, int] = (0, 1),
) -> "Axes":
    """Plot what the data leave, field by field, with the label of each.

    A lane for each field above the common coordinate; elements without coordinates stand in the order of the library.
    With two or more coordinates, the plane of two of them, the first ones unless given.  A disc is kept, a ring not
    asked, a cross excluded, and a triangle points to what a best fit would say.  fields: all that have
    elements, unless given.
    """
    entries = _with_elements(_document(result), fields)
    names = {tuple(entry["coordinate_names"]) for entry in entries}
    if len(names) > 1:
        value = " and ".join(f"({', '.join(coordinates)})" for coordinates in sorted(names))
        raise MisuseError("fields", "share their coordinates", value, "Draw them apart, each with fields=[...].")
    (count,) = {len(coordinates) for coordinates in names}
    if count > 1 and not 0 <= plane[0] < plane[1] < count:
        raise MisuseError("plane", f"be two increasing numbers of coordinates below {count}", plane)
    return draw(pictures.map_picture(entries, pictures.COLUMN, plane), ax)


def plot_elements(result: Detailed | Details, ax: "Axes | None" = None, *, field: str | None = None) -> "Axes":
    """Explanations behind each element of a field: those kept, and beyond them those not tested.

    A bar for each element, and for nothing being there where that was allowed, with both numbers beside it.  Of more
    than 60 elements those that are not excluded come first; how many are left out stands below.  field: may be left
    out if there is only one.
    """
    entries = _with_elements(_document(result), None if field is None else [field])
    if len(entries) > 1:
        known = ", ".join(entry["field"] for entry in entries)
        raise MisuseError("field", "be given where there are several", Clause("none is given"), f"They are {known}.")
    return draw(pictures.elements_picture(entries[0], pictures.COLUMN), ax)


def plot_rows(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """The measured row, or the mean of several, with the fits of what is kept."""
    rows: Entry | None = _document(result).get("rows")
    if not rows or not rows["fits"]:
        remedy = "Only laws whose rows have a common mean fit one: mean and gaussian."
        raise MisuseError("result", "have rows with fits", Clause("it has none"), remedy)
    return draw(pictures.rows_picture(rows, pictures.COLUMN), ax)


def plot_spectrum(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """Beamformer and MUSIC over the directions in dB, and below them the sets of directions that are kept."""
    spectrum: Entry | None = _document(result).get("spectrum")
    if not spectrum:
        remedy = "Only elements with one coordinate, in rows with coefficients of their own, have one."
        raise MisuseError("result", "have a spectrum over directions", Clause("it has none"), remedy)
    return draw(pictures.spectrum_picture(spectrum, pictures.COLUMN), ax)


def plot_evidence(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """Log evidence against explanations at each checkpoint, and the threshold from which they are rejected.

    One curve an explanation, in the middle of its certified bounds, which lie closer together than the line is wide;
    beside it the number of the explanation and the fields it stands for.  Beyond eight thresholds the scale turns
    logarithmic.
    """
    evidence: Entry | None = _document(result)["evidence"]
    if evidence is None or not evidence["curves"] or not evidence["steps"]:
        remedy = "Only explanations that the run tested are drawn."
        raise MisuseError("result", "have evidence at checkpoints", Clause("it has none"), remedy)
    return draw(pictures.evidence_picture(evidence, pictures.COLUMN), ax)


def plot_staircase(report: Report, ax: "Axes | None" = None) -> "Axes":
    """Draw the error of the responses from which on each element is possible, the smallest first."""
    if not report.staircase():
        remedy = "Reports on counts, or on gaussian rows by evidence, have one if the run tested all explanations."
        raise MisuseError("report", "have a staircase", Clause("it has none"), remedy)
    return draw(pictures.staircase_picture(report.document["staircase"], pictures.COLUMN), ax)


def plot_learnt(report: Report, ax: "Axes | None" = None) -> "Axes":
    """Draw the atoms of a learnt dictionary as points, the places that calibration leaves, and those of the signal."""
    facts = gate_of(report.document).get("calibration")
    if facts is None or not pictures.is_on_line(facts):
        raise MisuseError(
            "report", "be of a learnt dictionary and a library with one coordinate", Clause("it is another")
        )
    return draw(pictures.learnt_picture(facts, report.document["fields"], pictures.COLUMN), ax)


def plot_brackets(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """Explanations witnessed and possible after each query; the exhaustive set lies between them.

    The low strip above shows how many fields are still open.
    """
    return draw(pictures.brackets_picture(_document(result)["brackets"], pictures.COLUMN), ax)


def plot_library(result: Detailed | Details, ax: "Axes | None" = None, *, region: str | None = None) -> "Axes":
    """Responses over the channels, or their real part if they are complex; what is excluded is thin and grey.

    They are those of the first setting, which the axis names; regions that no field is about are drawn in black.
    All regions: a lane for each, with its name at zero and one scale for all.  One region: its responses with their
    names and numbers.  Dashes tell the elements of a region apart.
    """
    document = _document(result)
    library = _library(document)
    if region is None:
        return draw(pictures.lanes_picture(library, document["fields"]), ax)
    members = pictures.members_of(library)
    if region not in members:
        raise MisuseError("region", f"be among {', '.join(members)}", repr(region))
    return draw(
        pictures.responses_picture(library, document["fields"], members[region], pictures.COLUMN, members[region]), ax
    )


def plot_library_coherence(result: Detailed | Details, ax: "Axes | None" = None, *, field: str | None = None) -> "Axes":
    """Absolute inner products of the responses, frames around regions; the darker, the more alike.

    The responses are those of the first setting, which the scale names.  field: only within this one.  Few enough cells
    carry their numbers.
    """
    document = _document(result)
    coherence, regions = _coherence(document, field)
    setting = None if document["library"] is None else document["library"]["setting"]
    return draw(pictures.coherence_picture(coherence, "Coherence", pictures.COLUMN, regions, setting), ax)


def _document(result: Detailed | Details) -> Entry:
    """The details' document; those of a result are made first, which costs more than the picture."""
    if not isinstance(result, Detailed):
        raise MisuseError("result", "be of type Result or Details", f"{type(result).__name__} {result!r}")
    return result.details().document


def _with_elements(document: Entry, chosen: Sequence[str] | None) -> list[Entry]:
    """Entries of the chosen fields, or of all; a question without elements has nothing to draw."""
    known = {entry["field"]: entry for entry in document["fields"] if entry["elements"]}
    if not known:
        remedy = "Only maps of regions have elements; plot_evidence and plot_brackets work for every question."
        raise MisuseError("result", "have fields with elements", Clause("it has none"), remedy)
    if chosen is None:
        return [*known.values()]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise MisuseError("fields", f"be among {', '.join(known)}", ", ".join(map(repr, unknown)) or "none")
    return [known[name] for name in chosen]


def _library(document: Entry) -> Entry:
    library: Entry | None = document["library"]
    if library is None or not library["ids"]:
        raise MisuseError("result", "come from a bank with a library of responses", Clause("its bank has none"))
    return library


def _coherence(document: Entry, field: str | None) -> tuple[Entry, list[str]]:
    """Names with their matrix, and the region of each."""
    if field is not None:
        (entry,) = _with_elements(document, [field])
        if entry["coherence"] is None:
            raise MisuseError("field", "have elements of a library of responses", repr(field))
        return entry["coherence"], []
    coherence: Entry | None = document["library_coherence"]
    library = _library(document)
    if coherence is None or not coherence["ids"]:
        raise MisuseError("result", "come from a bank with a library of responses", Clause("its bank has none"))
    region_of = dict(zip(library["ids"], library["regions"], strict=True))
    return coherence, [region_of.get(name, "") for name in coherence["ids"]]


# Bounds of the bands as fractions of the block, each about three times the one before.
_BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0)


def plot_resolution(result: ResolutionMap, ax: "Axes | None" = None) -> "Axes":
    """Relative resolution in bands, the frontier N s^6 = K above which the block is seen, and the plan."""
    axes = new_axes(202.0) if ax is None else ax
    # cividis looks alike to every eye, and its light end, where nothing is seen, lets the frontier stand out.
    bands = axes.contourf(
        result.rows, result.scales, result.relative, _BOUNDS, cmap="cividis", norm="log", extend="both"
    )
    if result.frontier > 0.0:
        edge = (result.frontier / result.rows) ** (1.0 / 6.0)
        label = rf"resolved above $N s^6 \approx {result.frontier:.2g}$"
        axes.plot(result.rows, edge, "--", color="black", linewidth=1.5, label=label)
    axes.plot(*result.planned, "o", color="#d55e00", markeredgecolor="white", markersize=7, label="planned")
    _label(axes, result)
    bar = axes.figure.colorbar(bands, ax=axes)
    bar.set_label("resolution / block width", fontsize=8)
    bar.ax.set_yticks(_BOUNDS, fixed(_BOUNDS), fontsize=7)
    return axes


def _label(axes: "Axes", result: ResolutionMap) -> None:
    """Axes of powers of ten in N and of plain numbers in s, legible in a column of 3.4 inches."""
    low = float(result.scales[0])
    high = float(result.scales[-1])
    ticks = [digit * 10.0**power for power in range(-9, 1) for digit in (1, 2, 5)]
    axes.set(xscale="log", yscale="log", xlim=(result.rows[0], result.rows[-1]), ylim=(low, high))
    axes.set_xlabel("calibration rows $N$", fontsize=8)
    axes.set_ylabel("separation scale $s$", fontsize=8)
    axes.set_yticks([], minor=True)
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(shown, fixed(shown))
    axes.tick_params(labelsize=7)
    # Above the map: wherever the frontier runs, no corner of the map is free for sure.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=7, frameon=False, borderpad=0.2)

"""The cover that a project declares: its boxes, what is known of the response, and the cells that follow."""

from dataclasses import replace

import numpy as np

from .._errors import Clause, MisuseError, misuse_named
from .._typing import Array, IntArray
from ..banks import Cover, Library, cover_boxes
from ..laws import cover_ranges, make_law
from ..responses import Response
from ._element_list import ElementList
from ._element_sections import CoverSpec
from ._load import Channels, Project, named_by_key
from ._responses import nominal_responses, project_parameters
from ._supports import BankCounts, bank_counts, most_active
from ._tables import read_axis, read_tables


def _ranges(project: Project) -> tuple[dict[str, tuple[float, float]], tuple[float, float] | None]:
    """The ranges of strengths, by region, and that of the deployment noise; None if its noise has no range."""
    regions = project.settings.regions
    noise = project.settings.data.deployment.noise
    strengths = {
        name: ends for name, region in regions.items() if (ends := region.strength and region.strength.between)
    }
    return strengths, None if noise is None else noise.between


def eta_shares(project: Project) -> tuple[float, float, float]:
    r"""Share the eta of the file among places, strengths and noise: each coordinate, parameter and range has one part.

    Cells along a dimension are as many as 1 / its part, so that equal parts make the product of all counts least.
    """
    settings = project.settings
    parameters = sum(spec.between is not None for spec in settings.parameters.values())
    places = len(settings.regions) * len(settings.elements.coordinates) + parameters
    strengths, noise = _ranges(project)
    ranges = len(strengths), int(noise is not None)
    part = (0.0 if settings.cover is None else settings.cover.eta) / (places + sum(ranges))
    return part * places, part * ranges[0], part * ranges[1]


def project_cover(
    project: Project, listed: ElementList | None = None, *, only_counts: bool = False
) -> tuple[Cover, BankCounts]:
    """The cover that the file declares, and the number of its explanations; raises if these are too many.

    listed: places of a table of responses, which are the middles of cells.  only_counts: True computes
    numbers of cells alone, without running a function with given slopes.
    """
    settings = project.settings
    spec = settings.cover
    _check_alone(project)
    if spec is None:
        raise project.misuse("cover", "be given", Clause("it is missing"))
    parameters = project_parameters(project)
    is_covered = [parameter.between is not None for parameter in settings.parameters.values()]
    active = max(most_active(project), 1)
    is_known = listed is not None or (only_counts and spec.slopes is not None)
    boxes = _boxes(project, spec)
    law = make_law(settings.data.deployment.law, {"rows": settings.data.deployment.rows})
    sizes = law.cover_sizes
    if sizes is None:
        raise project.misuse("cover", "go with a law that says how far its rows move", repr(law.name))
    with named_by_key(project, "cover"):
        cover = cover_boxes(
            None if is_known else _response(project),
            boxes,
            snr=spec.snr,
            eta=eta_shares(project)[0],
            active=active,
            parameters=[parameter for parameter, flag in zip(parameters, is_covered, strict=True) if flag],
            fixed=[parameter for parameter, flag in zip(parameters, is_covered, strict=True) if not flag],
            tangents=spec.tangents,
            slopes=spec.slopes,
            bends=spec.bends,
            unit=sizes.moved(active),
            coordinates=settings.elements.coordinates,
            measure=settings.elements.unit,
            axis=read_axis(project),
            cells=None if listed is None else {name: _n_places(listed, name) for name in boxes},
        )
    counts = _counts(project, cover)
    if not any(_ranges(project)):
        return cover, counts
    ranged = _with_ranges(project, cover)
    return ranged, _counts(project, ranged)


def _counts(project: Project, cover: Cover) -> BankCounts:
    regions = {name: int(cells.counts.prod()) for name, cells in cover.regions.items()}
    return bank_counts(project, regions, 1, cover.counts.tolist(), {each.region: each.count for each in cover.ranges})


def _with_ranges(project: Project, cover: Cover) -> Cover:
    """The same cover with cells for the ranges of strengths and noise, which depend on the number of rows."""
    for name, region in project.settings.regions.items():
        # A middle may be below the threshold whose cell reaches it.
        threshold = region.absence_threshold
        ends = region.strength and region.strength.between
        if ends and threshold is not None and threshold > ends[0]:
            rule = f"be at most {ends[0]:g}, where the range of its strengths begins"
            raise project.misuse(f"regions.{name}.absence_threshold", rule, threshold)
    # Of as many channels as responses have, or refused for that; what is read here is entered by who uses it.
    rows = read_tables(replace(project, read={}, channels=Channels()))["deployment"].values
    is_complex = bool(np.iscomplexobj(rows))
    spec = project.settings.data.deployment
    _, *etas = eta_shares(project)
    strengths, noise = _ranges(project)
    with named_by_key(project, "cover"):
        return cover_ranges(
            cover,
            make_law(spec.law, {"is_complex": is_complex, "noises": spec.noise and spec.noise.known}),
            len(rows),
            (2 if is_complex else 1) * rows.shape[1],
            noise=noise,
            strengths=strengths,
            etas=(etas[0], etas[1]),
            most={name: region.count[1] for name, region in project.settings.regions.items()},
        )


def _members(listed: ElementList, region: str) -> IntArray:
    """The elements of a region in the order of their places, the first coordinate slowest."""
    members = np.flatnonzero(np.array(listed.regions) == region)
    return np.asarray(members[np.lexsort(listed.coordinates[members].T[::-1])])


def _n_places(listed: ElementList, region: str) -> list[int]:
    """Distinct values along every coordinate."""
    return [len(np.unique(column)) for column in listed.coordinates[_members(listed, region)].T]


def table_library(project: Project, cover: Cover, listed: ElementList, columns: Array) -> Library:
    """The elements of a list as the cells of a cover, called by their ids and extents; columns: (q, E)."""
    order = np.concatenate([_members(listed, name) for name in cover.regions])
    for name, cells in cover.regions.items():
        own = listed.coordinates[_members(listed, name)]
        if own.shape != cells.places.shape or not np.allclose(own, cells.places, rtol=1e-9, atol=0.0):
            cell = own[0].tolist() if len(own) else "none"
            rule = f"lie in the middles of {' x '.join(map(str, cells.counts))} equal cells of the box of {name!r}"
            remedy = f"The first of them is at {cells.places[0].tolist()}."
            raise MisuseError(f"elements file {project.settings.elements.file}", rule, cell, remedy)
    ids = tuple(f"{listed.ids[i]} ({extent})" for i, extent in zip(order, cover.names(), strict=True))
    regions = tuple(listed.regions[i] for i in order)
    return Library(ids, regions, cover.places, columns[:, order], cover.measure, cover.extents)


def cover_note(project: Project, cover: Cover) -> str:
    """Say what the cover costs and promises."""
    wanted = project.settings.level
    with misuse_named(lambda _: f"{project.name('cover.eta')}: level"):  # either may be changed
        level = cover.level(wanted)
    counts = ", ".join(f"{len(cells.places)} of {name}" for name, cells in cover.regions.items())
    bounds = "given" if cover.is_given else "proven"
    return (
        f"The elements are cells ({counts}) that fill the declared boxes: by {bounds} bounds of the responses the "
        f"level {wanted:g} holds anywhere in these up to a signal-to-noise ratio of {cover.snr:g}, and the judge runs "
        f"at {level:.4g} (eta = {cover.eta:.3g}{' of places alone' if cover.ranges else ''}).{_ranges_words(cover)}"
    )


def _ranges_words(cover: Cover) -> str:
    """Cells of strengths and noise, if there are some."""
    names = {each.region: f"the strength of {each.region}" if each.region else "the noise" for each in cover.ranges}
    shared = {each.region: ", the same of all elements there" if each.most > 1 else "" for each in cover.ranges}
    told = [
        f"{names[each.region]} ({each.count}, {each.low:g} to {each.high:g}{shared[each.region]})"
        for each in cover.ranges
    ]
    return f" It also holds anywhere in the ranges of {' and '.join(told)}, each in cells of its own." if told else ""


def _response(project: Project) -> Response:
    """The response, which has to be one."""
    (response, *more) = nominal_responses(project)
    if more or not callable(response):
        raise project.misuse("elements.response", "be one formula beside a cover", f"{1 + len(more)}")
    return response


def _boxes(project: Project, spec: CoverSpec) -> dict[str, list[tuple[float, float]]]:
    """The ends of every coordinate, for every region of the file."""
    settings = project.settings
    names = settings.elements.coordinates
    boxes = spec.box
    if {*boxes} != {*settings.regions}:
        raise project.misuse("cover.box", f"be of the regions {', '.join(settings.regions)}", ", ".join(boxes))
    for region, box in boxes.items():
        if {*box} != {*names}:
            rule = f"be of the coordinates {', '.join(names)}"
            raise project.misuse(f"cover.box.{region}", rule, ", ".join(box))
    return {region: [boxes[region][name] for name in names] for region in settings.regions}


def _check_alone(project: Project) -> None:
    """Refuse what does not go with a cover."""
    settings = project.settings
    if settings.elements.variants != "states":
        raise project.misuse("elements.variants", "be 'states' beside a cover", settings.elements.variants)
    if settings.elements.file is not None and settings.cover is not None and settings.cover.slopes is None:
        remedy = "A table proves nothing of what lies between its places: differences of samples are no bounds."
        raise project.misuse("cover.slopes", "be given with a table of responses", Clause("there is none"), remedy)

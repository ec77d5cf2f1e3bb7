"""The responses of the elements of a list: in every setting, of every variant, in the window of the channels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray
from ..io import Resampled, as_pairs
from ..laws import law_named
from ..responses import Cell, Family, Parameter, Ranges, Response, Settings, settings_grid
from ._cells import cell_halves, read_ranges
from ._element_list import ElementList
from ._library import library_responses
from ._load import Project, named_by_key
from ._responses import nominal_responses, project_parameters, read_atoms
from ._sections import File
from ._tables import Numbers, read_axis

# The direction along which spectra were resampled; no parameter has this name.
_RESAMPLING = " resampling"


@final
@dataclass(frozen=True, eq=False)  # no slots: what is made of the responses is made once
class ListedResponses:
    """The responses of a list, one entry for each variant, and what the file says of the parameters that move them."""

    project: Project
    listed: ElementList
    responses: tuple[Response | Numbers, ...]
    parameters: Sequence[Parameter]  # those of values; empty if all of them lie between two
    ranged: Sequence[Parameter]  # those that lie between two values
    axis: Array | None
    library: Resampled | None  # the spectra that the responses are, brought to the axis of the signal
    widths: Array | None  # (q, E) of these, where they have one

    @classmethod
    def of(cls, project: Project, listed: ElementList) -> Self:
        """Read all of it."""
        specs = project.settings.parameters.values()
        known = project_parameters(project)
        ranged = [each for each, spec in zip(known, specs, strict=True) if spec.between]
        axis = read_axis(project)
        library = None if project.settings.elements.library is None else library_responses(project, listed.ids)
        responses = nominal_responses(project, listed) if library is None else (library.columns,)
        _check_variants(project, len(responses))
        widths = None if library is None else _widths(project, library)
        return cls(project, listed, responses, [] if ranged else known, ranged, axis, library, widths)

    def _grid(self, response: Response | Numbers, parameters: Sequence[Parameter]) -> Settings:
        """The columns of all elements in the window, in every setting."""
        return settings_grid(response, self.listed.coordinates, parameters, self.axis, self.project.channels.window)

    @cached_property
    def _grids(self) -> list[Settings]:
        """Without parameters first, then in every setting of each variant."""
        with named_by_key(self.project, "elements"):
            plain = self._grid(self.responses[0], [])
        with named_by_key(self.project, "parameters"):
            return [plain, *(self._grid(response, self.parameters) for response in self.responses)]

    @cached_property
    def visible(self) -> BoolArray:
        """(E,) elements with a line in the window in some setting; the names of others are kept for the report."""
        with named_by_key(self.project, "parameters"):
            if self.project.channels.window is None:
                return np.ones(len(self.listed.ids), dtype=np.bool_)
            lit = np.any([grid.responses.any(axis=(0, 1)) for grid in self._grids], axis=0)
            return note_visible(self.project, self.listed, lit)

    def _seen(self, grid: Settings) -> Settings:
        return replace(grid, responses=grid.responses[:, :, self.visible])

    @cached_property
    def settings(self) -> tuple[Settings, list[Settings]]:
        """The settings of the visible elements, and those of further variants, which mix with the first."""
        grids = [self._seen(grid) for grid in self._grids[1:]]
        with named_by_key(self.project, "parameters"):
            if self.project.settings.elements.variants == "states":
                grids = [_joined_settings(grids)]
        return grids[0], grids[1:]

    @cached_property
    def family(self) -> Family | None:
        """The responses of the visible elements for all values of parameters that lie between two; None without."""
        if not self.ranged or self.ranges is not None:
            return None
        response, *others = self.responses
        if others:
            rule = "be one file beside parameters between two values"
            raise self.project.misuse("elements.responses", rule, Clause("there are several"))
        window = self.project.channels.window
        places = self.listed.coordinates[self.visible]
        with named_by_key(self.project, "parameters"):
            if callable(response):
                return Family(response, places, self.ranged, None, window)
            return Family(np.asarray(response)[:, self.visible], places, self.ranged, self.axis, window)

    @cached_property
    def _cells(self) -> tuple[Array | None, tuple[str, ...]]:
        return cell_halves(self.project, self.listed.regions, self.listed.coordinates, self.responses)

    @property
    def halves(self) -> Array | None:
        """(E, d) from the places of elements to the sides of their cells; None where places are exact."""
        return self._cells[0]

    @cached_property
    def ranges(self) -> Ranges | None:
        """The cells of elements and parameters, where rows are linear."""
        return read_ranges(self.project, self.responses, self.listed.coordinates, self.halves, self.ranged)

    @cached_property
    def nominal(self) -> Array:
        """(q, E) of norm 1, or pairs (2 q, E): without parameters, or in the middle of those that lie between two."""
        if self.ranges is not None:
            middle = self.ranges.columns(np.append(self.ranges.places.ravel(), self.ranges.box.middle))
            return as_pairs(middle, axis=0) if np.iscomplexobj(middle) else middle
        plain = self._seen(self._grids[0]).responses[0]
        if self.family is None:
            return np.asarray(np.where(plain.any(axis=0), plain, self.settings[0].responses[0]))
        middle = np.add(*self.family.ends(Cell.at(self.family.box.middle))) / 2.0
        columns = np.maximum(middle, 0.0)
        return np.asarray(columns / np.linalg.norm(columns, axis=0))

    @property
    def is_complex(self) -> bool:
        """True if responses are pairs (Re, Im)."""
        first = self.settings[0]
        return first.is_complex if len(first.names) else self._grids[0].is_complex

    def whole_axis(self) -> Array | None:
        """(q, E) without parameters, 0 for an element without a line; None if no background needs them."""
        channels = self.project.channels.places
        spec = self.project.settings.background
        if channels is None or spec is None or spec.escape is spec.tail is None:
            return None
        everywhere = np.ones(len(channels), dtype=np.bool_)
        with named_by_key(self.project, "background"):
            whole = settings_grid(self.responses[0], self.listed.coordinates, [], self.axis, everywhere)
        return np.asarray(whole.responses[0])

    @cached_property
    def errors(self) -> Array | None:
        """(E,), (q, 1) or (q, E) errors of the visible responses, as shares; None unless there are several."""
        elements = self.project.settings.elements
        count = len(self.visible)
        key = "elements.error"
        match elements.error_size:
            case File() as file:
                found = read_atoms(self.project, key, file, len(self.nominal), is_complex=False).real
                if found.shape[1] not in (1, count):
                    raise self.project.misuse(key, f"have one column, or one for each of {count} elements", found.shape)
                if not ((found >= 0.0) & (found < 1.0)).all():
                    raise self.project.misuse(key, "be at least 0 and below 1", f"{found.min():g} to {found.max():g}")
                return found if found.shape[1] == 1 else found[:, self.visible]
            case tuple() as shares:
                if len(shares) != count:
                    rule = f"be one number, or have one for each of {count} elements"
                    raise self.project.misuse(key, rule, f"{len(shares)} of them")
                return np.asarray(shares)[self.visible]
        return None

    @cached_property
    def counted(self) -> Array | None:
        """(E,) the counts of each visible response in the window; None if responses were not counted."""
        project = self.project
        spec = project.settings.elements.counted
        if spec is None:
            return None
        key = "elements.counted"
        recorded = self.responses[0]
        if len(self.responses) > 1 or callable(recorded) or np.iscomplexobj(recorded):
            raise project.misuse(
                key, "go with one file of responses", Clause("there are several"), "Add the counts of all recordings."
            )
        counts = project.channels.cut(np.asarray(recorded, dtype=np.float64), 0)
        if (counts < 0.0).any() or (counts != np.rint(counts)).any():
            wrong = counts[(counts < 0.0) | (counts != np.rint(counts))][0]
            remedy = "Give the counts as they were recorded: rates, smoothed or subtracted spectra are none."
            raise project.misuse(key, "go with responses that are whole numbers", f"{wrong:g}", remedy)
        if len(spec.live_time) not in (1, counts.shape[1]):
            rule = f"be one number, or one for each of {counts.shape[1]} elements"
            raise project.misuse(f"{key}.live_time", rule, f"{len(spec.live_time)} numbers")
        return np.asarray(counts[:, self.visible].sum(axis=0))

    def tangents(self, shared: Array) -> tuple[Array, Array | None]:
        """(K, q, columns of the states) differences over a cell by its length, and (K,) half the largest steps.

        Spectra that were resampled have a further direction.  Counts have this direction alone; as no part of them is
        negative, they have its two ends, which mix, and no steps.
        shared: columns that all dictionaries share.
        """
        halves = self._half_steps()
        pairs = [(self._moved({k: half}, shared), self._moved({k: -half}, shared)) for k, half in halves.items()]
        if law_named(self.project.settings.data.deployment.law).is_counted:
            return np.concatenate(pairs), None
        further = [(up - down) / (2.0 * half) for (up, down), half in zip(pairs, halves.values(), strict=True)]
        for slopes in further:  # what is shared is never active here, and stands for itself
            slopes[:, slopes.shape[1] - shared.shape[1] :] = shared
        return np.array(further), np.array([*halves.values()])

    def _half_steps(self) -> dict[str, float]:
        """Half the largest step of each parameter with tangents, and 1 along which spectra were resampled."""
        named = {parameter.label: parameter.values for parameter in self.parameters}
        halves = {}
        for name in self.project.settings.elements.tangents or ():
            if name not in named:
                rule = f"be names of parameters ({', '.join(named) or 'none'})"
                raise self.project.misuse("elements.tangents", rule, repr(name))
            if len(named[name]) < 2:
                rule = "be parameters of two values or more, whose steps make cells"
                raise self.project.misuse("elements.tangents", rule, repr(name))
            halves[name] = 0.5 * float(np.diff(np.sort(named[name])).max())
        return halves if self.widths is None else halves | {_RESAMPLING: 1.0}

    def _moved(self, moves: Mapping[str, float], shared: Array) -> Array:
        """(q, columns of the states) with every value of the parameters moved."""
        moved = [replace(known, values=known.values + moves.get(known.label, 0.0)) for known in self.parameters]
        own: Sequence[Response | Numbers] = self.responses
        if self.widths is not None:
            wide = np.asarray(self.responses[0], dtype=np.float64) + moves.get(_RESAMPLING, 0.0) * self.widths
            is_counted = law_named(self.project.settings.data.deployment.law).is_counted
            own = [np.maximum(wide, 0.0) if is_counted else wide]
        with named_by_key(self.project, "elements.tangents"):
            grids = [self._grid(response, moved) for response in own]
        return columns_of(self._seen(_joined_settings(grids)), shared)

    @property
    def notes(self) -> tuple[str, ...]:
        """Places that are taken as exact, and how wide the interpolation makes responses."""
        if self.library is None or not self.library.is_wide:
            return self._cells[1]
        share = f"{100.0 * self.library.share:.2g} %"
        brought = "Spectra of the library were brought to the axis of the signal"
        if self.widths is None:
            return (f"{brought}, which moved them by up to {share}.",)
        return (
            f"{brought}: each may lie anywhere between its linear interpolation and the mirror image of that about the "
            f"cubic one, up to {share} of its norm away.",
        )


def note_visible(project: Project, listed: ElementList, visible: BoolArray) -> BoolArray:
    """Note which elements (E,) have a line in the window."""
    pairs = [*zip(listed.ids, listed.regions, visible.tolist(), strict=True)]
    project.channels.hidden |= {name: region for name, region, is_visible in pairs if not is_visible}
    lit = Counter(region for _, region, is_visible in pairs if is_visible)
    project.channels.visible |= {region: lit[region] for region in {*listed.regions}}
    if not lit:
        ends = [[*each] for each in project.channels.ends]
        remedy = "Move it, or widen it."
        raise project.misuse("data.deployment.window", "hold a line of at least one element", ends, remedy)
    return np.asarray(visible)


def _check_variants(project: Project, count: int) -> None:
    """Raise if the number of responses of an element does not fit `variants`, or replicates have several."""
    elements = project.settings.elements
    rows = project.settings.data.deployment
    law = law_named(rows.law)
    if elements.replicates is not None and count > 1:
        rule = "be one file with replicates, which have a width of their own"
        raise project.misuse("elements.responses", rule, Clause("there are several"))
    if elements.variants == "states":
        return
    rule = ""
    if elements.variants not in law.mixes:
        rule = f"be {' or '.join(map(repr, ('states', *law.mixes)))} with the law {law.name}"
    elif elements.variants == "cone" and rows.rows in ("free", "random"):
        rule = "be 'states' or 'span' where every row has coefficients of its own"
    elif count < 2:
        rule = "be 'states' unless responses is a list of files, or the element list has a column variant"
    if rule:
        raise project.misuse("elements.variants", rule, repr(elements.variants))


def columns_of(grid: Settings, shared: Array) -> Array:
    """(q, columns) in the order of the states: settings slowest, and at last what is shared."""
    q = grid.responses.shape[1]
    return np.hstack([grid.responses.transpose(1, 0, 2).reshape(q, -1), shared])


def _joined_settings(grids: Sequence[Settings]) -> Settings:
    """The settings of all variants, which are the slowest; that of one variant as it is."""
    if len(grids) == 1:
        return grids[0]
    is_complex = any(grid.is_complex for grid in grids)
    if is_complex != all(grid.is_complex for grid in grids):
        raise MisuseError("responses", "be real in all variants, or complex in all", "both")
    if "variant" in grids[0].names:
        raise MisuseError("parameters", "have another name than that of the variants", "'variant'")
    values = np.concatenate([np.insert(grid.values, 0, v, axis=1) for v, grid in enumerate(grids)])
    responses = np.concatenate([grid.responses for grid in grids])
    return Settings(("variant", *grids[0].names), values, responses, is_complex)


def _widths(project: Project, library: Resampled) -> Array | None:
    """(q, E) the widths of resampled spectra; None where there are none, or something else gives responses a width."""
    settings = project.settings
    if not library.is_wide or settings.elements.replicates or settings.elements.error is not None:
        return None
    thresholds = any(region.absence_threshold is not None for region in project.settings.regions.values())
    exact = {
        "calibration rows": settings.data.states is not None,
        f"rows = {settings.data.deployment.rows!r}": settings.data.deployment.rows in ("free", "random"),
        "an absence_threshold": thresholds,
        f"the law {settings.data.deployment.law}": not law_named(settings.data.deployment.law).mixes,
    }
    stray = next((what for what, is_there in exact.items() if is_there), None)
    if stray is not None:
        rule = f"be measured at the places of the signal beside {stray}, which takes exact responses"
        remedy = f"Interpolation moves them by up to {100.0 * library.share:.2g} % of their norm."
        raise project.misuse("elements.responses", rule, Clause("it has another axis"), remedy)
    return library.widths

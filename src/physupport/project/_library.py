"""The library of spectra that a project names, and regions and groups that the list of elements makes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from .._errors import Clause, MisuseError
from .._files import write_whole
from .._typing import Array
from ..io import Axis, Resampled, Spectrum, library_units, order_of, place_of, read_spectra, resampled
from ..laws import law_named
from ._load import Project, load_project, named_by_key
from ._region_sections import EVERY, Region
from ._sections import nearest
from ._tables import read_axis, recorded

_KEY = "elements.responses"
_DATA = files("physupport.project") / "data"


def library_spectra(project: Project) -> tuple[Spectrum, ...]:
    """The spectra in the order of their files; those of one name are replicates in a folder of that name."""
    spec = project.settings.elements.library
    assert spec is not None
    spectra: list[Spectrum] = []
    for name in spec.spectra:
        with named_by_key(project, _KEY):
            pairs = library_units(project.file(_KEY, name))
        for element, path in pairs:
            shown = Path(os.path.relpath(path, project.path.parent)).as_posix()
            project.file(_KEY, shown)
            with recorded(project, f"{_KEY}: {shown}", shown, path) as entry, named_by_key(project, _KEY):
                found = read_spectra(path)
                entry |= {"shape": [len(found), len(found[0].places)], "dtype": "float64"}
            spectra += found if element is None else [replace(each, name=element, unit=path.stem) for each in found]
    names = [spectrum.name for spectrum in spectra]
    twice = next((each.name for i, each in enumerate(spectra) if each.name in names[:i] and not each.unit), None)
    if twice is not None:
        remedy = "Rename one of the files, or put replicates of an element into a folder of its name."
        raise project.misuse(_KEY, "have spectra of different names", Clause(f"two are named {twice!r}"), remedy)
    return tuple(spectra)


def library_responses(project: Project, ids: Sequence[str]) -> Resampled:
    """The spectra of these elements at the places of the channels."""
    with named_by_key(project, _KEY):
        every = library_spectra(project)
        if any(spectrum.unit for spectrum in every):
            return _means(resampled(every, *channel_places(project), project.channels.window), ids)
        spectra = {spectrum.name: spectrum for spectrum in every}
        missing = [name for name in ids if name not in spectra]
        if missing:
            order_of(project.name(_KEY), Axis("spectra", [*ids], "elements.file"), [*spectra])
        places, unit = channel_places(project)
        found = resampled([spectra[name] for name in ids], places, unit, project.channels.window)
    if law_named(project.settings.data.deployment.law).is_counted:
        # Where the line is not negative, no count is.
        line = found.columns + found.widths
        found = replace(found, columns=np.where(line >= 0.0, np.maximum(found.columns, 0.0), found.columns))
    return found


def _means(found: Resampled, ids: Sequence[str]) -> Resampled:
    """The mean of the replicates of each element, for pictures: the replicates themselves judge."""
    shapes = found.columns / np.linalg.norm(found.columns, axis=0)
    means = [shapes[:, [name == each for each in found.names]].mean(axis=1) for name in ids]
    columns = np.array(means).T
    return Resampled(tuple(ids), columns, np.zeros_like(columns))


def library_replicates(project: Project) -> tuple[Resampled, tuple[str, ...]] | None:
    """The replicates at the places of the channels, all in the window, and their units; None where there are none."""
    every = library_spectra(project)
    if not any(spectrum.unit for spectrum in every):
        return None
    found = resampled(every, *channel_places(project), project.channels.window)
    cut = replace(found, columns=project.channels.cut(found.columns, 0), widths=project.channels.cut(found.widths, 0))
    return cut, tuple(spectrum.unit for spectrum in every)


def channel_places(project: Project) -> tuple[Array, str]:
    """(q,) where the channels of the signal lie on its axis, and the unit: as its file says, or `elements.axis`."""
    found = [place_of(name) for name in project.channels.names or ()]
    places = [place for place in found if place is not None]
    if found and len(places) == len(found):
        return np.array([place for place, _ in places]), places[0][1] or project.settings.elements.axis_unit
    axis = read_axis(project)
    if axis is None:
        remedy = 'Save it as text of two columns, axis and value, or name its axis: [elements] axis = "axis.csv".'
        raise project.misuse(
            "data.deployment.file", "say where its channels lie on the axis", Clause("it does not"), remedy
        )
    return axis, project.settings.elements.axis_unit


def with_listed_regions(project: Project, columns: Mapping[str, Sequence[str]]) -> Project:
    """The project with a region for each that the list names, where one is called *, and groups from a column."""
    settings = project.settings
    every = settings.regions.get(EVERY)
    named = {name: region for name, region in settings.regions.items() if name != EVERY}
    if every is not None:
        named = {name: named.get(name, every) for name in dict.fromkeys((*columns["region"], *named))}
    regions = {name: _with_groups(project, name, region, columns) for name, region in named.items()}
    return replace(project, settings=settings.model_copy(update={"regions": regions}))


def _with_groups(project: Project, name: str, region: Region, columns: Mapping[str, Sequence[str]]) -> Region:
    """The region with a group for every text in a column of the list, where its groups name one."""
    match region.groups:
        case {"column": str(column)}:
            pass
        case _:
            return region
    if column not in columns:
        rule = f"be a column of the element list ({', '.join(columns)})"
        raise project.misuse(f"regions.{name}.groups.column", rule, repr(column), nearest(column, columns))
    groups: dict[str, list[str]] = {}
    for element, where, group in zip(columns["id"], columns["region"], columns[column], strict=True):
        if where == name and group and element not in groups.setdefault(group, []):
            groups[group].append(element)
    members = {element for listed in groups.values() for element in listed}
    own = {group: listed for group, listed in groups.items() if len(listed) > 1 and {*listed} != members}
    return region.model_copy(update={"groups": own or None})


_PROJECT_FILE = "project.toml"


def write_spectral_project(folder: str | Path, spectrum: str | Path, library: str | Path) -> Path:
    """Write the project file that asks which elements of a library are in a spectrum, both within its folder.

    With one spectrum for each element the question is which of them are there, at most two at once; with replicates,
    which element the signal is another replicate of.
    """
    home = Path(folder)
    path = home / _PROJECT_FILE
    if path.exists():
        raise MisuseError(
            "folder",
            f"have no {_PROJECT_FILE} yet",
            Clause(f"there is one in {home.resolve()}"),
            "Name another folder.",
        )
    names = {}
    for key, given in (("--spectrum", spectrum), ("--from-library", library)):
        names[key] = Path(os.path.relpath(given, home)).as_posix()
        if names[key].startswith(".."):
            remedy = f"Copy it to {home.resolve()}, or write the project file where both are."
            raise MisuseError(key, "lie in the folder of the project", str(given), remedy)
    read_spectra(spectrum, "spectrum")
    pairs = library_units(Path(library))
    is_replicated = pairs[0][0] is not None
    text = (_DATA / "spectrum.toml").read_text(encoding="utf-8")
    start, mixture, replicates = text.split("# ----\n")
    start = Template(start).substitute(spectrum=names["--spectrum"], library=names["--from-library"])
    home.mkdir(parents=True, exist_ok=True)
    write_whole(path, (start + (replicates if is_replicated else mixture)).encode("utf-8"))
    load_project(path)
    return path

"""Replicates of the elements, from a table with a line for each spectrum."""

from fractions import Fraction
from math import ceil

import numpy as np

from .._errors import MisuseError
from ..io import read_columns
from ..judges.conformal import Replicates
from ._elements import Physical
from ._inputs import recorded
from ._load import Project, named_by_key
from ._mixture import background_columns

_KEY = "replicates.file"


def read_replicates(project: Project, physical: Physical) -> Replicates | None:
    """Columns of the element and its unit, and one for each channel; groups are those of the regions."""
    spec = project.settings.replicates
    if spec is None:
        return None
    path, name = project.file(_KEY, spec.file), project.name(_KEY)
    with recorded(project, _KEY, spec.file, path) as entry:
        with named_by_key(project, _KEY):
            columns = read_columns(path)
        entry |= {"shape": [len(next(iter(columns.values()))), len(columns)]}
    named = ("element", spec.unit)
    channels = [column for column in columns if column not in named]
    if [*columns][:2] != [*named] or len(channels) != physical.n_channels or physical.is_complex:
        rule = (
            f"have the columns element and {spec.unit}, and then {physical.n_channels} real ones, as the responses have"
        )
        raise MisuseError(name, rule, f"{len(channels)} after {', '.join([*columns][:2])}")
    try:
        spectra = np.array([columns[channel] for channel in channels], dtype=np.float64).T
    except ValueError as error:
        raise MisuseError(name, "hold numbers", error) from None
    elements = tuple(columns["element"])
    other = next((each for each in elements if each not in physical.library.ids), None)
    if other is not None:
        raise MisuseError(name, "name elements of the list", repr(other))
    groups, background = _groups(project), background_columns(project, physical)
    with named_by_key(project, _KEY):
        return Replicates(
            spectra, elements, tuple(columns[spec.unit]), {e: groups.get(e, e) for e in elements}, background
        )


def _groups(project: Project) -> dict[str, str]:
    """The named group of each element that is in one, the outermost of nested ones."""
    found: dict[str, str] = {}
    for region in project.settings.regions.values():
        for name, content in (region.groups or {}).items():
            found |= dict.fromkeys(_members(content), name)
    return found


def _members(content: object) -> list[str]:
    if isinstance(content, dict):
        return [each for inner in content.values() for each in _members(inner)]
    return [str(each) for each in content] if isinstance(content, list) else []


def replicate_notes(project: Project, replicates: Replicates | None) -> list[str]:
    """Which groups have too few units to be excluded at all."""
    spec = project.settings.replicates
    if spec is None or replicates is None or spec.pool is not None:
        return []
    level = Fraction(project.settings.level) * (1 - Fraction(spec.share))
    counts = replicates.n_units(replicates.group_of)[replicates.group_of].tolist()
    few = [f"{name} ({count})" for name, count in zip(replicates.names, counts, strict=True) if (count + 1) * level < 1]
    needed = ceil(1 / level - 1)
    return [f"Nothing can exclude {', '.join(few)}: {needed} units are needed at this level."] if few else []

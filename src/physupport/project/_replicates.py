"""Replicates of the elements, from a table with a line for each spectrum."""

from fractions import Fraction
from math import ceil

import numpy as np

from .._errors import MisuseError
from ..judges.conformal import Replicates
from ._elements import Physical
from ._load import Project, named_by_key
from ._mixture import background_columns
from ._spectra import read_spectra

_KEY = "elements.replicates"


def read_replicates(project: Project, physical: Physical) -> Replicates | None:
    """One spectrum a line, each from a unit; groups are those of the regions."""
    spec, name = project.settings.elements, project.name(_KEY)
    if spec.replicates is None or spec.replicate_unit is None:
        return None
    if physical.is_complex:
        raise MisuseError(name, "be left out where responses are complex", "a file", "Replicates have real spectra.")
    read = read_spectra(project, _KEY, spec.replicates, (spec.replicate_unit,), physical)
    if any(len(rows) != 1 for rows in read.rows):
        raise MisuseError(name, "have one spectrum in every line", "a file with several rows")
    groups, background = _groups(project), background_columns(project, physical)
    with named_by_key(project, _KEY):
        spectra = np.concatenate([np.asarray(rows, dtype=np.float64) for rows in read.rows])
        named = {e: groups.get(e, e) for e in read.elements}
        return Replicates(spectra, read.elements, read.texts[0], named, background)


def _groups(project: Project) -> dict[str, str]:
    """The named group of each element that is in one, the outermost of nested ones."""
    group_of: dict[str, str] = {}
    for region in project.settings.regions.values():
        for name, content in (region.groups or {}).items():
            group_of |= dict.fromkeys(_members(content), name)
    return group_of


def _members(content: object) -> list[str]:
    if isinstance(content, dict):
        return [member for inner in content.values() for member in _members(inner)]
    return [str(member) for member in content] if isinstance(content, list) else []


def replicate_notes(project: Project, replicates: Replicates | None) -> list[str]:
    """Which groups have too few units to be excluded at all."""
    spec = project.settings.elements
    if replicates is None or spec.pool is not None:
        return []
    level = Fraction(project.settings.level) * (1 - Fraction(spec.replicate_share or 0.0))
    counts = replicates.n_units(replicates.group_of)[replicates.group_of].tolist()
    few = [f"{name} ({count})" for name, count in zip(replicates.names, counts, strict=True) if (count + 1) * level < 1]
    needed = ceil(1 / level - 1)
    return [f"Nothing can exclude {', '.join(few)}: {needed} units are needed at this level."] if few else []

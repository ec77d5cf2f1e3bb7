"""What a project asks about its regions, and whether it could be answered at all."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._typing import Array
from ..banks import Bank, RegionalView, bank_regions, region_distances
from ..laws import law_named
from ..questions import RegionalMap, RegionRule
from ._elements import Physical
from ._load import Project
from ._named import named_by_key

ComplexArray: TypeAlias = NDArray[np.complex128]

# Unit columns that differ by less than this differ by rounding alone.
_EQUAL = 1e-12

# Cosines of columns as near as that lie above this.
_SUSPICIOUS = 1.0 - 1e-9


def project_question(project: Project, physical: Physical, bank: Bank) -> RegionalMap:
    """A rule for every region that the file asks about."""
    view, rules = bank_regions(bank), {}
    for name, region in project.settings.regions.items():
        if region.ask == "nothing":
            continue
        _check_groups(project, name, view.element_names(name))
        rules[name] = RegionRule(
            tolerance=region.tolerance,
            groups=region.groups,
            asks=region.ask,
            absence_threshold=region.absence_threshold,
        )
        if region.ask == "finest" or "fine" in region.ask:
            _check_reachable(project, physical, name, view)
    if not rules:
        raise MisuseError(project.name("regions"), "ask about at least one region", "ask = 'nothing' for all of them")
    with named_by_key(project, "regions"):
        question = RegionalMap(view, rules)
    for found in question.unanswerable():
        key = f"regions.{found.region}.{'ask' if found.entry == 'asks' else found.entry}"
        raise MisuseError(project.name(key), found.rule, found.value)
    return question


def _check_groups(project: Project, region: str, known: tuple[str, ...]) -> None:
    """Every group of elements of this region, by its key."""
    pending = [(f"regions.{region}.groups", project.settings.regions[region].groups or {})]
    while pending:
        key, groups = pending.pop()
        for name, content in groups.items():
            if isinstance(content, dict):
                pending.append((f"{key}.{name}", content))
                continue
            for member in content:
                if member not in known:
                    rule = f"hold elements of region {region} ({', '.join(known)})"
                    raise MisuseError(project.name(f"{key}.{name}"), rule, repr(member))


def _check_reachable(project: Project, physical: Physical, region: str, view: RegionalView) -> None:
    """Refuse a tolerance that two elements with the same response in every setting keep from being met."""
    settings, members = project.settings, np.flatnonzero([name == region for name in physical.regions])
    stacks = physical.nominal[None] if physical.settings is None else physical.settings.responses
    has_sign = law_named(settings.data.deployment.law).has_sign
    distances, tolerance = region_distances(view, region), settings.regions[region].tolerance
    atoms = [_atoms(columns[:, members], physical.is_complex) for columns in stacks]
    suspects = (np.abs(atoms[0].conj().T @ atoms[0]) >= _SUSPICIOUS) & (distances > tolerance)
    for i, j in np.argwhere(np.triu(suspects, 1)).tolist():
        if all(_gap(columns[:, i], columns[:, j], has_sign) <= _EQUAL for columns in atoms):
            first, second = (physical.ids[members[e]] for e in (i, j))
            rule = f"be at least {distances[i, j]:.6g}, the distance of {first} and {second}, whose responses are equal"
            remedy = "No data can tell the two apart: raise it, make one element of them, or leave fine out of ask."
            raise MisuseError(project.name(f"regions.{region}.tolerance"), rule, f"{tolerance:g}", remedy)


def _atoms(columns: Array, is_complex: bool) -> ComplexArray:
    """Columns as numbers of the instrument: pairs (Re, Im) become complex again."""
    return columns[0::2] + 1j * columns[1::2] if is_complex else columns.astype(np.complex128)


def _gap(one: ComplexArray, other: ComplexArray, has_sign: bool) -> float:
    """How far a unit vector is from another, or from the line through it.

    Given coefficients have a sign and a phase; random ones have neither.
    """
    return float(np.linalg.norm(one - other if has_sign else one - other * np.vdot(other, one)))

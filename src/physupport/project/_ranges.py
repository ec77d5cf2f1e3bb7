"""Strengths and noise that a project leaves open within ranges: their share of eta, and the cells that follow."""

from dataclasses import replace

from .._errors import MisuseError
from .._typing import Array
from ..banks import Cover
from ..laws import cover_ranges, make_law
from ._elements import Physical, check_bank_size
from ._load import Project, named_by_key
from ._mixture import known_noises, region_marks
from ._sections import Between
from ._shares import eta_shares, noise_range, strength_ranges


def with_ranges(project: Project, physical: Physical, n_rows: int) -> Physical:
    """The same elements, with a cover that has the ranges of the file in cells; n_rows: of the deployment."""
    cover, settings = physical.cover, project.settings
    noise, strengths = noise_range(project), strength_ranges(project)
    if cover is None or not (noise or strengths):
        return physical
    _check_thresholds(project)
    _, *etas = eta_shares(project)
    rows = settings.data.deployment
    options = {"is_complex": physical.is_complex, "noises": known_noises(rows)}
    with named_by_key(project, "cover"):
        covered = cover_ranges(
            cover,
            make_law(rows.law, options),
            n_rows,
            len(physical.library.responses),
            noise=noise,
            strengths=strengths,
            etas=(etas[0], etas[1]),
            most={name: region.count[1] for name, region in settings.regions.items()},
        )
    counts = {each.region: each.count for each in covered.ranges}
    check_bank_size(
        project,
        physical.library.regions,
        cells=[*covered.counts.tolist(), counts.get(None, 1)],
        strengths={name: count for name, count in counts.items() if name is not None},
    )
    return replace(physical, cover=covered)


def bank_noises(project: Project, cover: Cover | None) -> Array | tuple[float, ...] | None:
    """Variances of the deployment: the middles of the cells of a range, or numbers as they are."""
    noises = None if cover is None else cover.noises
    return known_noises(project.settings.data.deployment) if noises is None else noises


def bank_strengths(project: Project, cover: Cover | None) -> dict[str, tuple[float, ...]]:
    """The same of every region."""
    found = {} if cover is None else cover.strengths
    regions = project.settings.regions
    return {
        name: tuple(found[name].tolist()) if name in found else region_marks(region) for name, region in regions.items()
    }


def _check_thresholds(project: Project) -> None:
    """Refuse to say ABSENT of a middle below the threshold whose cell may reach it."""
    for name, region in project.settings.regions.items():
        threshold, strength = region.absence_threshold, region.strength
        if isinstance(strength, Between) and threshold is not None and threshold > strength.between[0]:
            rule = f"be at most {strength.between[0]:g}, where the range of its strengths begins"
            raise MisuseError(project.name(f"regions.{name}.absence_threshold"), rule, threshold)

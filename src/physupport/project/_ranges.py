"""Strengths and noise that a project leaves open within ranges: their share of eta, and the cells that follow."""

from dataclasses import replace

from .._errors import MisuseError
from .._typing import Array
from ..banks import Cover
from ..laws import cover_ranges, make_law
from ._elements import Physical, check_cover_size
from ._load import Project, named_by_key
from ._mixture import known_noises, region_marks
from ._sections import Between
from ._shares import eta_shares, noise_range, strength_ranges


def with_ranges(project: Project, physical: Physical, n_rows: int) -> Physical:
    """The same elements, with a cover that has the ranges of the file in cells; n_rows: of the deployment."""
    if physical.cover is None:
        return physical
    width, is_complex = len(physical.library.responses), physical.is_complex
    return replace(physical, cover=ranged_cover(project, physical.cover, n_rows, width, is_complex=is_complex))


def ranged_cover(project: Project, cover: Cover, n_rows: int, width: int, *, is_complex: bool) -> Cover:
    """The same cover with the ranges of the file, if there are some, in cells; width: real numbers of a row."""
    settings, noise, strengths = project.settings, noise_range(project), strength_ranges(project)
    if not (noise or strengths):
        return cover
    _check_thresholds(project)
    _, *etas = eta_shares(project)
    rows = settings.data.deployment
    options = {"is_complex": is_complex, "noises": known_noises(rows)}
    with named_by_key(project, "cover"):
        covered = cover_ranges(
            cover,
            make_law(rows.law, options),
            n_rows,
            width,
            noise=noise,
            strengths=strengths,
            etas=(etas[0], etas[1]),
            most={name: region.count[1] for name, region in settings.regions.items()},
        )
    check_cover_size(project, covered)
    return covered


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

"""The size of a bank before it is built, and the cells of strengths and noise that are left open within ranges."""

from collections import Counter
from dataclasses import replace

import numpy as np

from .._typing import Array
from ..banks import Cover
from ..laws import cover_ranges, make_law
from ._cover import Table, eta_shares, noise_range, project_cover, strength_ranges
from ._element_list import read_element_file
from ._elements import BankCounts, Physical, bank_counts, cover_counts
from ._load import Project, named_by_key
from ._tables import read_tables


def with_ranges(project: Project, physical: Physical, n_rows: int) -> Physical:
    """The same elements, with a cover that has the ranges of the file in cells; n_rows: of the deployment."""
    if physical.cover is None:
        return physical
    width = len(physical.library.responses)
    is_complex = physical.is_complex
    return replace(physical, cover=ranged_cover(project, physical.cover, n_rows, width, is_complex=is_complex))


def ranged_cover(project: Project, cover: Cover, n_rows: int, width: int, *, is_complex: bool) -> Cover:
    """The same cover with the ranges of the file, if there are some, in cells; width: real numbers of a row."""
    settings = project.settings
    noise = noise_range(project)
    strengths = strength_ranges(project)
    if not (noise or strengths):
        return cover
    _check_thresholds(project)
    _, *etas = eta_shares(project)
    rows = settings.data.deployment
    options = {"is_complex": is_complex, "noises": rows.noise and rows.noise.known}
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
    cover_counts(project, covered)
    return covered


def bank_noises(project: Project, cover: Cover | None) -> Array | tuple[float, ...] | None:
    """Variances of the deployment: the middles of the cells of a range, or numbers as they are."""
    noise = project.settings.data.deployment.noise
    noises = None if cover is None else cover.noises
    stated = None if noise is None else noise.known
    return stated if noises is None else noises


def bank_strengths(project: Project, cover: Cover | None) -> dict[str, tuple[float, ...]]:
    """The same of every region."""
    found = {} if cover is None else cover.strengths
    regions = project.settings.regions
    return {name: tuple(found[name].tolist()) if name in found else region.marks for name, region in regions.items()}


def _check_thresholds(project: Project) -> None:
    """Refuse to say ABSENT of a middle below the threshold whose cell may reach it."""
    for name, region in project.settings.regions.items():
        threshold = region.absence_threshold
        ends = region.strength and region.strength.between
        if ends and threshold is not None and threshold > ends[0]:
            rule = f"be at most {ends[0]:g}, where the range of its strengths begins"
            raise project.misuse(f"regions.{name}.absence_threshold", rule, threshold)


def check_size(project: Project) -> BankCounts:
    """Count a bank, knowing the keys of the file and the list of elements, and nothing else; refuse one too large.

    Of ranges of strengths and noise also how many rows there are.  For who would load judges, kernels and pictures only
    then: they take longer than this.  Reading checks it again.
    """
    if project.settings.cover is None:
        listed = read_element_file(project)
        return bank_counts(project, Counter(listed.regions), len(listed.lines))
    return _cover_size(replace(project, read={}))  # what is read here is entered by who uses it


def _cover_size(project: Project) -> BankCounts:
    """Count the cells of a cover; its answers are not worked out."""
    table = None
    if project.settings.elements.file is not None:
        listed = read_element_file(project)
        table = Table(listed.ids, listed.regions, listed.coordinates, np.zeros((0, len(listed.ids))))
    cover = project_cover(project, table, only_counts=True)
    counts = cover_counts(project, cover)
    if noise_range(project) or strength_ranges(project):
        rows = read_tables(project)["deployment"].values  # of as many channels as responses have, or refused for that
        is_complex, (n_rows, width) = bool(np.iscomplexobj(rows)), rows.shape
        ranged = ranged_cover(project, cover, n_rows, (2 if is_complex else 1) * width, is_complex=is_complex)
        return cover_counts(project, ranged)
    return counts

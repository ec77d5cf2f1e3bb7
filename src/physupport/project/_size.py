"""Whether the bank of a project is too large, told before anything is loaded to build it."""

from collections import Counter
from dataclasses import replace

import numpy as np

from ._cover import Table, project_cover
from ._element_list import read_element_file
from ._elements import check_bank_size, check_cover_size
from ._load import Project
from ._ranges import ranged_cover
from ._shares import noise_range, strength_ranges
from ._tables import read_tables


def check_size(project: Project) -> None:
    """Refuse a bank that is too large, knowing the keys of the file and the list of elements, and nothing else.

    Of ranges of strengths and noise also how many rows there are.  For who would load judges, kernels and pictures only
    then: they take longer than this.  Reading checks it again.
    """
    if project.settings.cover is None:
        listed = read_element_file(project)
        check_bank_size(project, Counter(listed.regions), len(listed.lines))
    else:
        _check_cover(replace(project, read={}))  # what is read here is entered by who uses it


def _check_cover(project: Project) -> None:
    """Count the cells of a cover; its answers are not worked out."""
    table = None
    if project.settings.elements.file is not None:
        listed = read_element_file(project)
        table = Table(listed.ids, listed.regions, listed.coordinates, np.zeros((0, len(listed.ids))))
    cover = project_cover(project, table, only_counts=True)
    check_cover_size(project, cover)
    if noise_range(project) or strength_ranges(project):
        rows = read_tables(project)["deployment"].values  # of as many channels as responses have, or refused for that
        is_complex = bool(np.iscomplexobj(rows))
        ranged_cover(project, cover, len(rows), (2 if is_complex else 1) * rows.shape[1], is_complex=is_complex)

"""What deployment sees of the turn: nothing with equal coefficients, a closed form with unequal ones."""

import numpy as np

from ..._typing import Array
from ...local.rates import profiled_mean_distance, two_atom_profile
from ...local.shell import quotient_distance
from .._tasks import FRAME
from ._divergences import SCALES
from ._model import active_atoms, dictionary

ANGLES = np.linspace(0.0, 0.6, 25)
CONTRASTS = (0.0, 0.25, 0.5)
_EDGE = float(np.linalg.norm(FRAME.template[:, 0] - FRAME.template[:, 1]))


def deployment_rows() -> list[dict[str, float]]:
    """Least-squares residual of the mean before the turn on the atoms after it, next to its closed form."""
    turned = {(s, float(angle)): active_atoms(s, float(angle)) for s in SCALES for angle in ANGLES}
    return [
        {
            "s": s,
            "contrast": contrast,
            "angle": angle,
            "residual": profiled_mean_distance(turned[s, 0.0], [1.0 + contrast / 2, 1.0 - contrast / 2], atoms),
            "closed_form": two_atom_profile(s, contrast, _EDGE, angle),
        }
        for contrast in CONTRASTS
        for (s, angle), atoms in turned.items()
    ]


def residual_errors(rows: list[dict[str, float]]) -> tuple[float, float]:
    """Largest residual with equal coefficients, and largest relative error of the closed form where it is not 0."""
    columns = {name: np.array([row[name] for row in rows]) for name in ("contrast", "residual", "closed_form")}
    residual, closed = columns["residual"], columns["closed_form"]
    seen = closed > 0.0
    equal: Array = residual[columns["contrast"] == 0.0]
    return float(equal.max()), float((np.abs(residual - closed)[seen] / closed[seen]).max())


def labels_are_kept() -> bool:
    """Whether the best match of the turned block with the first one maps each atom to itself, all along the path."""
    return all(
        quotient_distance(dictionary(s), dictionary(s, float(angle))).permutation.tolist() == [0, 1, 2, 3]
        for s in SCALES
        for angle in ANGLES
    )

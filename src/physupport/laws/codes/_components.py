"""The active sets of a law that have positive probability: the components of its mixture."""

from ..._typing import Array, BoolArray
from ._laws import CodeLaw, support_masks


def active_components(law: CodeLaw, n_atoms: int) -> tuple[BoolArray, Array, Array]:
    """Masks (m, n) of the active sets of positive weight, their weights (m,) and active variances (m,)."""
    masks = support_masks(n_atoms)
    sizes = masks.sum(axis=1)
    weights = law.subset_weights(n_atoms)[sizes]
    kept = weights > 0.0
    return masks[kept], weights[kept], law.active_variances(n_atoms)[sizes[kept]]

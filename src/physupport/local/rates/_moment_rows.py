"""How many calibration rows the moment region of this package needs to see a turn of the block."""

from math import ceil

import numpy as np

from ..._checks import check_positive
from ..._typing import Array
from ..regions import CalibrationParameter, fourth_moment, median_distance_blocks, total_variances
from ._chart import atom_velocities
from ._design import Design
from ._generators import check_skew, skew_basis

# Rows at which the blocks of the region divide N without a noticeable rest.
_MANY_ROWS = 10**15


def moment_region_rows(design: Design, size: float) -> int:
    r"""N at which the fourth-moment radius of the inverted region equals the shift of the least visible turn.

    A turn :math:`\Omega` moves active atom j by :math:`E_j\Omega` and the fourth moment by :math:`J\Omega`, to first
    order.  Of the turns that move some active atom by the given size, the least visible one shifts the moment by
    :math:`\Delta = \mathrm{size}/\max_j\sigma_{\max}(E_jJ^+)`.  The radius is :math:`c\sqrt{V_4/m}` with the block size
    m proportional to N, so :math:`N = (c^2N/m)\,V_4/\Delta^2`, up to the rest of a division.

    With a quarter of these rows the region keeps such turns as a rule: the shift is half a radius, and most data leave
    the truth the other half.  With four times as many the shift is two radii, the most by which two members differ, so
    that the region rejects them as a rule, to first order: a turn of exactly this size lies on the border, and what the
    linearisation leaves out may keep it.  The second moment, which turns hardly change, does not enter.
    """
    turns = skew_basis(design.dictionary.q - 1) if design.turn is None else _only(design.turn, design.dictionary.q - 1)
    moves, shifts = _first_order(design, turns)
    # J = U diag(v) W^T: in the coordinates diag(v) W^T Omega the moment moves by exactly the length of the vector.
    _, values, modes = np.linalg.svd(shifts, full_matrices=False)  # (k,), (k, k)
    visible = np.linalg.svd(moves @ modes.T / values, compute_uv=False).max()
    shift = check_positive("size", size) / float(visible)
    blocks, multiplier = median_distance_blocks(_MANY_ROWS, design.alpha_calibration / 2.0)
    variance = total_variances(CalibrationParameter(design.law, design.dictionary, design.noise))[1]
    return ceil(multiplier**2 * _MANY_ROWS / blocks.size * variance / shift**2)


def _only(turn: Array, dimension: int) -> Array:
    return check_skew("turn", turn, dimension)[None]


def _first_order(design: Design, turns: Array) -> tuple[Array, Array]:
    """Velocity of the active atoms, (r, q, k), and of the fourth moment, (d_4, k), along turns (k, q - 1, q - 1)."""
    block, separated = design.dictionary.block, design.dictionary.separated
    velocities = atom_velocities(block, block.shape @ turns @ block.frame.template)  # (k, q, q)
    step = 1e-3  # central differences of a polynomial in the atoms: relative error of the order of its square

    def moment(velocity: Array, angle: float) -> Array:
        atoms = block.atoms + angle * velocity
        return fourth_moment(
            design.law, np.column_stack([atoms / np.linalg.norm(atoms, axis=0), separated]), design.noise
        )

    shifts = [(moment(velocity, step) - moment(velocity, -step)) / (2.0 * step) for velocity in velocities]
    return velocities[:, :, list(design.support)].transpose(2, 1, 0), np.stack(shifts, axis=1)

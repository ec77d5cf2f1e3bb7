"""Calibration data from the latent model, without passing through the mixture."""

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_instance, check_positive
from ..._typing import Array
from ._laws import CodeLaw


def make_calibration(law: CodeLaw, atoms: ArrayLike, noise: float, rng: np.random.Generator, n_rows: int) -> Array:
    r"""Rows :math:`Y_i = D c_i + \xi_i,\ \xi_i \sim N_q(0, \nu I)` (eq:training-model), (n_rows, q).

    All coefficients are drawn first, then all noise.  atoms: (q, n), columns of any norm, so that responses of
    different strength can be simulated as well.  rng: `numpy.random.default_rng(seed)`.
    """
    atoms = check_array("atoms", atoms, (None, None))
    check_instance("rng", rng, np.random.Generator)
    noise = check_positive("noise", noise)
    coefficients = law.sample(rng, check_count("n_rows", n_rows, 0), atoms.shape[1])  # (n_rows, n)
    disturbance = np.sqrt(noise) * rng.standard_normal((n_rows, atoms.shape[0]))  # (n_rows, q)
    return np.asarray(coefficients @ atoms.T + disturbance)

"""The balanced model of the mechanism study: one block, one path of turns, exact calibration laws."""

import numpy as np

from ..._typing import Array
from ...laws import BernoulliGaussian, GaussianMixture, calibration_mixture
from ...local.rates import compensated_generator, turned_block, two_atom_generator
from ...local.shell import LocalDictionary
from .._tasks import ACTIVE, FRAME, balanced


def dictionary(scale: float, angle: float = 0.0) -> LocalDictionary:
    r"""The block :math:`d_j(s, \phi)` of (eq:supp-numerical-path) and its separated atom, which does not turn."""
    here = balanced(scale)
    if angle == 0.0:
        return here
    return LocalDictionary(turned_block(here.block, two_atom_generator(FRAME.template, ACTIVE), angle), here.separated)


def step_angle(step: float) -> float:
    r"""The angle of a path parameter h, whose generator moves the active vertices at unit speed."""
    unit, path = (make(FRAME.template, ACTIVE) for make in (two_atom_generator, compensated_generator))
    return step * float(np.linalg.norm(path) / np.linalg.norm(unit))


def calibration_pair(scale: float, step: float, p: float, noise: float) -> tuple[GaussianMixture, GaussianMixture]:
    r"""The laws P and Q of one calibration row before and after the turn, as exact mixtures of 32 Gaussians."""
    law = BernoulliGaussian(p)
    before, after = (dictionary(scale, angle).atoms for angle in (0.0, step_angle(step)))
    return calibration_mixture(law, before, noise), calibration_mixture(law, after, noise)


def active_atoms(scale: float, angle: float = 0.0) -> Array:
    """The two active atoms as columns, (4, 2)."""
    return dictionary(scale, angle).block.atoms[:, list(ACTIVE)]

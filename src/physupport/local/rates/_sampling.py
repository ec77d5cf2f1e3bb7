"""Random pairs of parameters of a calibration class, at all distances."""

import numpy as np

from ..._checks import check_count
from ..._errors import MisuseError
from ...laws import BernoulliGaussian
from ..regions import CalibrationClass, CalibrationParameter
from ..shell import Block, LocalDictionary, make_rotation

# Perturbations of an interior point leave the shell only when large; this many tries all but always find one.
_TRIES = 200


def make_parameter_pair(
    kept: CalibrationClass, rng: np.random.Generator, kind: int
) -> tuple[CalibrationParameter, CalibrationParameter]:
    """Two parameters inside the class: independent (kind 0), close (1), or equal up to a turn of the block (2)."""
    check_count("kind", kind, 0, 2)
    for _ in range(_TRIES):
        first, second = kept.sample(rng), kept.sample(rng)
        if kind == 1:
            second = _mixed(first, second, 10.0 ** rng.uniform(-2.0, 0.0))
        elif kind == 2:
            turn = make_rotation(rng, kept.q - 1, 10.0 ** rng.uniform(-2.0, 0.0))
            block = first.dictionary.block
            moved = Block(block.frame, block.center, block.shape @ turn)
            second = CalibrationParameter(first.law, LocalDictionary(moved, first.dictionary.separated), first.noise)
        if kept.membership(first).inside and kept.membership(second).inside:
            return first, second
    raise MisuseError("kept", "leave room for perturbations", f"{_TRIES} tries outside the class", "Widen the shell.")


def _mixed(first: CalibrationParameter, second: CalibrationParameter, share: float) -> CalibrationParameter:
    """The first parameter moved by a share of the way to the second."""
    here, there = first.dictionary.block, second.dictionary.block
    center, shape = ((1.0 - share) * a + share * b for a, b in ((here.center, there.center), (here.shape, there.shape)))
    separated = (1.0 - share) * first.dictionary.separated + share * second.dictionary.separated
    dictionary = LocalDictionary(Block(here.frame, center, shape), separated / np.linalg.norm(separated))
    law = first.law
    if isinstance(law, BernoulliGaussian) and isinstance(second.law, BernoulliGaussian):
        law = BernoulliGaussian((1.0 - share) * law.p + share * second.law.p)
    return CalibrationParameter(law, dictionary, (1.0 - share) * first.noise + share * second.noise)

"""An experiment to plan, and what can be read off it without any data."""

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from ..._checks import check_array, check_count, check_open, check_positive, check_support, check_support_size
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import projective_distances
from ...laws import CodeLaw
from ..regions import combined_level
from ..shell import Amplitudes, LocalDictionary

# Atoms closer to linear dependence than this cannot be told from dependent ones in a file with nine digits.
_DEPENDENT = 1e-8

# Beyond this many rows an answer is of no use to anybody, and rounding begins to look like information.
MOST_ROWS = 10**18

# Noise farther than this from the coefficients is a slip of units; its square would leave the range of a float.
_NOISE_DECADES = 6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """An experiment to plan: the block, the calibration, the deployment, and what of the block is unknown."""

    dictionary: LocalDictionary
    law: CodeLaw
    noise: float  # calibration noise variance, nu
    n_calibration: int  # N
    n_deployment: int  # T
    sigma: float  # deployment noise, standard deviation
    support: tuple[int, ...]  # S, increasing
    coefficients: Array  # (r,), x, in the order of the support
    amplitudes: Amplitudes
    alpha_calibration: float = 0.05
    alpha_deployment: float = 0.05
    turn: Array | None = None  # (q - 1, q - 1) skew: all is known but how far L e^{t turn} is turned; None: nothing is

    def __post_init__(self) -> None:
        support, q = check_support("support", self.support, self.dictionary.q), self.dictionary.q
        if support != tuple(self.support):
            raise MisuseError("support", "be in increasing order", self.support)
        r, box = check_support_size(len(support), q), self.amplitudes.block
        check_array("coefficients", self.coefficients, (r,))
        if not all(box.contains(x) for x in self.coefficients):
            raise MisuseError(
                "coefficients", f"lie in [{box.lower:g}, {box.upper:g}]", list(map(float, self.coefficients))
            )
        check_positive("noise", self.noise)
        mean = float(np.mean(self.coefficients))
        # A change of the contrast keeps the mean up to rounding, and must not be refused for that.
        if abs(np.log10(check_positive("sigma", self.sigma) / mean)) > _NOISE_DECADES + 1e-9:
            rule = f"be within a factor 10^{_NOISE_DECADES} of the mean coefficient, {mean:g}"
            raise MisuseError("sigma", rule, repr(self.sigma))
        check_count("n_calibration", self.n_calibration, 1, MOST_ROWS)
        check_count("n_deployment", self.n_deployment, 1, MOST_ROWS)
        check_open("alpha_calibration", self.alpha_calibration, 0.0, 1.0)
        check_open("alpha_deployment", self.alpha_deployment, 0.0, 1.0)
        singular = np.linalg.svd(self.dictionary.block.shape, compute_uv=False)
        if singular[-1] <= _DEPENDENT * singular[0]:
            raise MisuseError("dictionary", "have linearly independent coherent atoms", f"stretches {singular}")

    @property
    def level(self) -> float:
        """Probability with which calibration or deployment may mislead."""
        return combined_level(self.alpha_calibration, self.alpha_deployment)

    @property
    def active(self) -> Array:
        """The active atoms as columns, (q, r)."""
        return self.dictionary.block.atoms[:, list(self.support)]

    @property
    def contrast(self) -> float:
        """Largest minus smallest active coefficient; for two atoms the paper's |d|."""
        return float(np.ptp(self.coefficients))

    @property
    def widest_contrast(self) -> float:
        """Largest contrast with the same mean coefficient that stays in the amplitude range."""
        box, pattern, mean = self.amplitudes.block, self._pattern(), float(self.coefficients.mean())
        # A hair inside, so that rounding does not push an end coefficient out of its range.
        widest = min((box.upper - mean) / pattern.max(), (mean - box.lower) / -pattern.min()) * (1.0 - 1e-9)
        return max(float(widest), self.contrast)

    def with_contrast(self, contrast: float) -> Self:
        """The same mean coefficient, its present differences scaled; alternating ones where there are none."""
        box, changed = self.amplitudes.block, self.coefficients.mean() + contrast * self._pattern()
        # A coefficient on the edge of its range must not fall out of it by rounding; one farther out is refused.
        inside = np.clip(changed, box.lower, box.upper)
        return replace(self, coefficients=np.where(np.abs(changed - inside) < 1e-12 * box.upper, inside, changed))

    def _pattern(self) -> Array:
        """Zero-mean direction of contrast one, (r,)."""
        away = self.coefficients - self.coefficients.mean()
        if self.contrast < 1e-12 * np.abs(self.coefficients).max():
            away = np.resize([1.0, -1.0], len(away))
            away -= away.mean()
        return np.asarray(away / np.ptp(away))


def block_diameter(dictionary: LocalDictionary) -> float:
    """Largest projective distance between two coherent atoms."""
    return float(_pair_distances(dictionary).max())


def atom_spacing(dictionary: LocalDictionary) -> float:
    """Least projective distance between two coherent atoms."""
    return float(_pair_distances(dictionary).min())


def block_scale(dictionary: LocalDictionary) -> float:
    r"""Root mean square stretch, :math:`\|L\|_F/\sqrt{q-1}`; of a balanced block :math:`\lambda_\star s`."""
    return float(np.linalg.norm(dictionary.block.shape) / np.sqrt(dictionary.q - 1))


def _pair_distances(dictionary: LocalDictionary) -> Array:
    atoms = dictionary.block.atoms
    return projective_distances(atoms, atoms)[np.triu_indices(dictionary.q, 1)]

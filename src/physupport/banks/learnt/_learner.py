"""How a dictionary is learnt from rows: any function will do; the usual one is scikit-learn's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from ..._checks import check_count, check_positive
from ..._errors import MisuseError
from ..._typing import Array

# Rows (m, q), number of atoms n, seed -> (q, n) atoms of any length, sign and order.
Learner: TypeAlias = Callable[[Array, int, int], Array]


@final
@dataclass(frozen=True, slots=True)
class SparseLearner:
    r"""Adapter of scikit-learn's `DictionaryLearning`: :math:`\min_{C,D} \tfrac12\|Y - CD^\top\|_F^2 + \lambda\|C\|_1`.

    The atoms have norm at most one.  :math:`\lambda` is the penalty times the root of the mean square length of a row,
    so that units do not matter.  No mean is taken off: rows are :math:`D c + \xi` with codes of mean zero.  The problem
    has many local minima, and the atoms found are biased where atoms are coherent or the noise is strong.
    """

    penalty: float = 0.3
    tolerance: float = 1e-6  # relative decrease of the objective at which to stop
    max_iter: int = 100

    def __post_init__(self) -> None:
        check_positive("penalty", self.penalty)
        check_positive("tolerance", self.tolerance)
        check_count("max_iter", self.max_iter)

    def __call__(self, rows: Array, n_atoms: int, seed: int) -> Array:
        """(m, q) rows -> (q, n_atoms)."""
        try:
            from sklearn.decomposition import DictionaryLearning
        except ImportError as error:
            remedy = "Install physupport[learn], or give a learner of your own."
            raise MisuseError("learner", "be given where scikit-learn is not installed", "none", remedy) from error
        scale = float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))
        if scale == 0.0:
            raise MisuseError("rows", "hold something else than zeros to learn from", f"{len(rows)} rows of zeros")
        model = DictionaryLearning(
            n_components=n_atoms,
            alpha=self.penalty,
            tol=self.tolerance,
            max_iter=self.max_iter,
            fit_algorithm="cd",
            random_state=seed,
        )
        return np.asarray(model.fit(rows / scale).components_, dtype=np.float64).T

# chi_square_judge.py
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from physupport.judges import Judge, JudgeSpec, Verdicts, register


@register
@dataclass(frozen=True, eq=False)
class ByChiSquare(JudgeSpec):
    """The specification: what is frozen before held-out rows are read."""

    kind = "chi-square"
    means: np.ndarray  # (keys, q)
    noise: float

    def encode(self):
        fixed = {"means": self.means.tolist(), "noise": self.noise}
        return {"judge": self.kind, "assumes": "rows are Gaussian around the mean"} | fixed

    @classmethod
    def decode(cls, content):
        return cls(np.array(content["means"]), content["noise"])

    def open(self, sealed):
        (stream,) = sealed.streams
        means = self.means[stream.keys_of(np.arange(sealed.size))]
        return ChiSquare(self, means, np.concatenate([*stream.rows.blocks()]), sealed.level)


@dataclass(frozen=True, eq=False)
class ChiSquare(Judge):
    """Rejects a mean if |y - mean|^2 / noise is past the quantile of its chi-square law."""

    spec: ByChiSquare
    means: np.ndarray  # (M, q) of every explanation
    rows: np.ndarray  # (n, q)
    level: float

    @property
    def size(self):
        return len(self.means)

    def verdicts(self, explanations):
        residuals = self.rows - self.means[explanations][:, None]
        statistic = (residuals**2).sum(axis=(1, 2)) / self.spec.noise
        quantile = chi2.isf(self.level, self.rows.size)
        margin, error = statistic - quantile, 1e-9 * (statistic + quantile)  # far more than rounding
        return Verdicts.measured(margin - error, margin + error)

# laplace_law.py
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb, ctx

from physupport.laws import NoisyLaw, Scores, register


@dataclass(frozen=True, eq=False)
class LaplaceStream:
    """Rows around the mean of the active atoms, in Laplace noise of scale b: -sum |z - m| / b - n log(2 b)."""

    bank: object
    scales: np.ndarray
    rows: np.ndarray
    checkpoints: np.ndarray
    is_density: ClassVar[bool] = True

    @property
    def n_keys(self):
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys):
        values, errors = np.empty((2, len(keys), len(self.checkpoints)))
        for k, key in enumerate(keys):
            atoms, strengths, b = self.parts(key)
            for c, t in enumerate(self.checkpoints):
                rows, constant = self.rows[:t], self.rows[:t].size * np.log(2.0 * b)
                values[k, c] = -np.abs(rows - atoms @ strengths).sum() / b - constant
                size = (np.abs(rows).sum() + t * np.abs(atoms * strengths).sum()) / b + abs(constant) + rows.size
                errors[k, c] = (rows.size + len(strengths) + 4) * 2.0**-51 * size  # four times n u of n terms
        return Scores(values, errors)

    def enclosure(self, key, bits):
        atoms, strengths, b = self.parts(key)
        with ctx.workprec(bits):
            mean = [sum((arb(a) * arb(x) for a, x in zip(row, strengths, strict=True)), arb(0)) for row in atoms]
            sums = [
                sum((abs(arb(z) - m) for z, m in zip(row, mean, strict=True)), arb(0)) / arb(b) for row in self.rows
            ]
            constant = len(mean) * (2 * arb(b)).log()
            return [-sum(sums[:t], arb(0)) - int(t) * constant for t in self.checkpoints]

    def parts(self, key):
        parts = self.bank.deployment_parts(np.array([key]))
        active = parts.elements[0] >= 0
        atoms = self.bank.states.elements[:, parts.elements[0, active]]
        return atoms, parts.strengths[0, active], self.scales[parts.nuisance[0]]


@register
@dataclass(frozen=True, eq=False, kw_only=True)
class Laplace(NoisyLaw):
    name: ClassVar[str] = "laplace"
    part: ClassVar[str] = "deployment"

    def sample(self, bank, explanation, rng, n_rows):
        member, nuisance = bank.explanation(explanation), bank.split(explanation).deployment[0]
        mean = member.atoms[:, list(member.positions)] @ member.strengths
        return mean + rng.laplace(0.0, self.variances[nuisance], (n_rows, len(mean)))

    def stream(self, bank, rows, checkpoints):
        return LaplaceStream(bank, self.variances, np.concatenate([*rows.blocks()]), np.asarray(checkpoints))

"""Streams small enough to be exact: every log likelihood is a known rational number."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from physupport.laws import Scores


class TableStream:
    """Log likelihoods written down as fractions; float64 scores are those rounded, blurred by a stated error."""

    def __init__(self, table, checkpoints=None, error=0.0):
        self.table = [[Fraction(x) for x in row] for row in table]
        self.checkpoints = np.arange(1, len(self.table[0]) + 1) if checkpoints is None else np.asarray(checkpoints)
        self.error, self.asked, self.enclosed = error, [], []

    @property
    def n_keys(self):
        return len(self.table)

    def log_likelihood(self, keys):
        assert len(set(keys.tolist())) == len(keys)  # the contract: distinct keys
        self.asked.extend(keys.tolist())
        shape = (len(keys), len(self.checkpoints))
        values = np.array([[float(x) for x in self.table[key]] for key in keys]).reshape(shape)
        exact = (
            abs(Fraction(v) - x)
            for key, row in zip(keys, values.tolist(), strict=True)
            for v, x in zip(row, self.table[key], strict=True)
        )
        errors = np.array([np.nextafter(float(miss), np.inf) + self.error for miss in exact]).reshape(shape)
        # Blurred to one side or the other, within the stated error.
        return Scores(values + np.where(keys % 2, 0.5, -0.5)[:, None] * self.error, errors)

    is_density = True

    def enclosure(self, key, bits):
        self.enclosed.append((key, bits))
        with ctx.workprec(bits):
            return [arb(fmpq(x.numerator, x.denominator)) for x in self.table[key]]


class MeansStream:
    """Rows (n, d) of unit noise around a mean; log likelihoods up to a constant that all keys share."""

    def __init__(self, rows, means, checkpoints, noise=1.0):
        self.rows, self.means, self.noise = rows, means, noise  # (n, d), (k, d)
        self.checkpoints = np.asarray(checkpoints)

    @property
    def n_keys(self):
        return len(self.means)

    def log_likelihood(self, keys):
        n, d = self.rows.shape
        losses = ((self.rows[None] - self.means[keys][:, None]) ** 2).sum(axis=2) / (2.0 * self.noise)  # (k, n)
        prefixes = np.cumsum(losses, axis=1)[:, self.checkpoints - 1]
        # Each term carries at most d + 4 roundings and each prefix n more; all terms have one sign.
        return Scores(-prefixes, (n + d + 6) * np.finfo(float).eps * prefixes)

    is_density = True

    def enclosure(self, key, bits):
        with ctx.workprec(bits):
            total, totals = arb(0), []
            for row in self.rows:
                for y, m in zip(row.tolist(), self.means[key].tolist(), strict=True):
                    total -= (arb(y) - arb(m)) ** 2 / (2 * arb(self.noise))
                totals.append(total)
            return [totals[t - 1] for t in self.checkpoints]


@pytest.fixture(scope="session")
def table_stream():
    return TableStream


@pytest.fixture(scope="session")
def means_stream():
    return MeansStream

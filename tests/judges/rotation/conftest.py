"""Small tables, rows that one of their explanations made, and the rotation test as it is defined: slow and obvious."""

import numpy as np
import pytest

from physupport.judges.rotation import RotationTable


def projector(columns):
    """Onto the span of columns (q, k)."""
    basis, _ = np.linalg.qr(columns)
    return basis @ basis.conj().T


def make_lines(q=40, n=12, width=2.5):
    """(q, n) lines along an axis of q channels."""
    centres = np.linspace(6, q - 7, n)
    return np.exp(-0.5 * ((np.arange(q)[:, None] - centres) / width) ** 2)


def polynomial(q, degree):
    return np.polynomial.chebyshev.chebvander(np.linspace(-1, 1, q), degree)


def design(table, e):
    """All columns of explanation e, background included."""
    return np.concatenate([table.atoms[:, list(table.supports[e])], table.background], axis=1)


def statistic(table, rows, e, penalty, sigma, scatter=True):
    """max over rivals of (n/2) log(RSS_e/RSS_j) - penalty (r_j - r_e), every fit made anew from rows (T, q)."""
    is_complex = np.iscomplexobj(table.atoms)
    parts = 2 if is_complex else 1
    n = parts * (rows.size - table.background.shape[1] * scatter)
    mean = rows.mean(axis=0)
    spread = (np.abs(rows - mean) ** 2).sum()

    def rss(j):
        gone = mean - projector(design(table, j)) @ mean
        return len(rows) * (np.abs(gone) ** 2).sum() + spread

    gains = []
    for j in range(table.size):
        more = parts * (len(table.supports[j]) - len(table.supports[e]))
        gain = (rss(e) - rss(j)) / (2 * (sigma**2 / parts)) if sigma else 0.5 * n * np.log(rss(e) / rss(j))
        gains.append(gain - penalty * more)
    return max(gains)


@pytest.fixture(scope="session")
def tools():
    class Tools:
        pass

    for function in (projector, make_lines, polynomial, design, statistic):
        setattr(Tools, function.__name__, staticmethod(function))
    return Tools


@pytest.fixture(scope="session")
def spectrum(tools):
    """Twelve lines over a parabola, one active at a time."""
    return RotationTable(make_lines(), [(i,) for i in range(12)], polynomial(40, 2))

"""How often a label of the truth is wrong where the bank is: `python -m benchmarks off_bank`.

One of forty lines over a baseline is active, or none, as the table has it.  A statement is wrong if something is
retained and the line that is there is not; withheld labels and EMPTY state nothing.
"""

import numpy as np
from scipy.signal import lfilter

from physupport.judges import Verdict
from physupport.judges.rotation import Rotation, RotationTable, ordered_axis

LEVEL, CHANNELS, RUNS = 0.1, 100, 300
AXIS = np.arange(CHANNELS)
CENTRES = np.arange(10.0, 90.0, 2.0)
TRUTH = 15


def line(centre):
    column = np.exp(-0.5 * ((AXIS - centre) / 3.0) ** 2)
    return column / np.linalg.norm(column)


LINES = np.stack([line(centre) for centre in CENTRES], axis=1)
BASELINE = np.polynomial.chebyshev.chebvander(2.0 * AXIS / CHANNELS - 1.0, 3)
TABLE = RotationTable(LINES, [(), *((i,) for i in range(40))], BASELINE)
SHORT = RotationTable(np.delete(LINES, TRUTH, axis=1), [(), *((i,) for i in range(39))], BASELINE)


def white(rng):
    return rng.standard_normal(CHANNELS)


def correlated(rng):
    """Of autocorrelation .5 and variance 1."""
    return lfilter([np.sqrt(0.75)], [1.0, -0.5], rng.standard_normal(CHANNELS + 50))[50:]


HUMP = np.exp(-0.5 * ((AXIS - CENTRES[TRUTH] - 10.0) / 10.0) ** 2)
# What is there over rho, beside which table, in which noise, and whether the line that is there has a name.
WAYS = {
    "another line six channels away": (TABLE, LINES[:, TRUTH] + 0.7 * line(CENTRES[TRUTH] + 6.0), white, True),
    "a baseline with a hump": (TABLE, LINES[:, TRUTH] + HUMP / np.linalg.norm(HUMP), white, True),
    "noise of autocorrelation .5": (TABLE, LINES[:, TRUTH], correlated, True),
    "an offset of one channel": (TABLE, line(CENTRES[TRUTH] + 1.0), white, True),
    "the line missing from the table": (SHORT, LINES[:, TRUTH], white, False),
}


def misfit(table, signal):
    """Standard deviations of the signal that no explanation of the table accounts for."""
    left = table.complement.T @ signal
    fits = ((table.bases @ left) ** 2).sum(axis=1)
    return float(np.sqrt(max(left @ left - fits.max(), 0.0)))


def shares(table, signal, noise, has_name, runs):
    """The shares of wrong statements without and with the gate, and of none with it."""
    wrong, guarded, silent = 0, 0, 0
    truth = table.supports.index((TRUTH,)) if has_name else -1
    for run in range(runs):
        row = signal + BASELINE @ [40.0, 10.0, -5.0, 2.0] + noise(np.random.default_rng([11, run]))
        retained = _retained(Rotation(table, seed=run, draws=199).judge(row, LEVEL))
        wrong += len(retained) > 0 and truth not in retained
        judge = Rotation(table, seed=run, draws=199, gate_draws=499, outsiders=ordered_axis(CHANNELS)).judge(row, LEVEL)
        retained = _retained(judge)
        facts = judge.facts(retained)
        is_silent = facts.is_empty or facts.are_labels_withheld
        silent += is_silent
        guarded += not is_silent and truth not in retained
    return wrong / runs, guarded / runs, silent / runs


def _retained(judge):
    return np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)


def off_bank(add, runs=RUNS):
    """The table of the page on rotations."""
    for name, (table, shape, noise, has_name) in WAYS.items():
        for rho in (10.0, 40.0):
            wrong, guarded, silent = shares(table, rho * shape, noise, has_name, runs)
            said = f"misfit {misfit(table, rho * shape):.1f} sigma; nothing said {silent:.2f}"
            add(f"{name}, rho {rho:g}", f"wrong {wrong:.3f} -> {guarded:.3f}", said)


CASES = {"off_bank": off_bank}

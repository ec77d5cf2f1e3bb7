"""Prove rejected cells again with the interval arithmetic of codac alone: `python codac_proof.py cells.npz`.

codac changes the way in which all later numbers of a process are rounded, so that it is imported when it is needed.
"""

import sys

import numpy as np
from scipy.optimize import minimize


def enclosed_columns(data, box, members):
    """Intervals of some columns in every channel, by the formula of the peak and the arithmetic of codac alone."""
    import codac

    shift = codac.Interval(float(box[0]), float(box[2]))
    width = codac.Interval(float(box[1]), float(box[3])) * float(data["width"])
    norms = [codac.Interval(1.0) / float(norm) for norm in data["norms"]]
    half = codac.Interval(-0.5)
    columns = [
        [
            codac.exp(half * codac.sqr((codac.Interval(float(t)) - shift - float(x)) / width)) * norm
            for t in data["axis"]
        ]
        for x, norm in ((data["places"][j], norms[j]) for j in members[:-1])
    ]
    return [*columns, [codac.Interval(1.0)] * len(data["axis"])]


def certified_supremum(columns, row):
    """A number above the log likelihood of these columns anywhere in their intervals, proven by codac.

    For s > 0 the columns meet sum kappa(s) <= 0, kappa = U (s - 1) above 1 and L (s - 1) below: then the log likelihood
    is at most sum y log(y / s) - y.  The s come from a fit, times a factor for which codac proves the conditions.
    """
    import codac

    low, high = (np.array([[getattr(each, end)() for each in one] for one in columns]) for end in ("lb", "ub"))

    def negative(logs):
        amounts = np.exp(logs)
        least, most = amounts @ low, amounts @ high
        means = np.clip(row, least, most)
        pull = row / np.maximum(means, 1e-300) - 1.0
        slope = low @ np.where(row < least, pull, 0.0) + high @ np.where(row > most, pull, 0.0)
        return (means - row * np.log(np.maximum(means, 1e-300))).sum(), -amounts * slope

    start = np.log(row.sum() / high.sum(axis=1) / len(columns))
    amounts = np.exp(minimize(negative, start, jac=True, method="L-BFGS-B", bounds=[(-20.0, 20.0)] * len(start)).x)
    fitted = np.clip(row, amounts @ low, amounts @ high)
    shape = np.where(row > 0.0, row / np.maximum(fitted, 1e-12), 0.0)

    def holds(s):
        for one in columns:
            total = codac.Interval(0.0)
            for each, value in zip(one, s.tolist(), strict=True):
                end = each.ub() if value > 1.0 else each.lb()
                total += codac.Interval(end) * (codac.Interval(value) - 1.0)
            if not total.ub() <= 0.0:
                return False
        return True

    for factor in 1.0 - np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 40)]):
        if holds(factor * shape):
            bound = codac.Interval(0.0)
            for y, s in zip(row.tolist(), (factor * shape).tolist(), strict=True):
                if y > 0.0:
                    bound += codac.Interval(y) * codac.log(codac.Interval(y) / codac.Interval(s)) - y
            return bound.ub()
    return np.inf


def is_proven(data, box, members):
    """True if the evidence against a cell is above the threshold, by bounds that codac proves."""
    columns = enclosed_columns(data, box, members[members >= 0])
    suprema = np.array([certified_supremum(columns, half) for half in data["halves"]])
    return np.logaddexp.reduce(data["log_mixture"] - suprema) - np.log(len(suprema)) > data["threshold"]


if __name__ == "__main__":
    read = dict(np.load(sys.argv[1]))
    proven = [is_proven(read, *each) for each in zip(read["boxes"], read["members"], strict=True)]
    sys.stdout.write(f"{sum(proven)} of {len(proven)}\n")

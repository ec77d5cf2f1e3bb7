"""How often intervals of amounts miss the truth, and how long they are: `python -m benchmarks.amounts 3000`.

Three elements that overlap, over a flat background: one strong, one weak, and one that is there with an amount of zero,
which is the bound of its coefficient where that cannot be negative.  A data set is lost if the truth is rejected, or if
any of the three amounts lies outside its interval in the true explanation.  The control reads the usual interval of
each amount in the true model, at the same level, as if all three held together; it has to be seen.  In maps the
intervals are those of all that a signal keeps.  Lengths are means
over data sets, in standard deviations of the best unbiased estimate in the true model.
"""

import sys
import time

import numpy as np
from scipy.stats import beta, binom, norm

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import ByEvidence, Verdict
from physupport.judges.counts import ByCounts
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear, Poisson
from physupport.maps import MapProtocol
from physupport.questions import RegionalMap

LEVEL = 0.1
CHANNELS = 40
AXIS = np.arange(CHANNELS)[:, None]
NAMES = ("strong", "weak", "zero")
SHAPES = np.exp(-0.5 * ((AXIS - np.array([10.0, 16.0, 24.0])) / 4.0) ** 2) + 0.02
SHAPES /= np.linalg.norm(SHAPES, axis=0)
BASE = np.ones((CHANNELS, 1))
LIBRARY = Library(NAMES, NAMES, np.arange(3.0)[:, None], SHAPES)
SUPPORTS = [[name for i, name in enumerate(NAMES) if number >> i & 1] for number in range(8)]
BANK = library_bank(LIBRARY, SUPPORTS, {name: [1.0] for name in NAMES}, deployment=product_grid(noise=[1.0]))
TRUTH = np.array([len(SUPPORTS) - 1])
OF_ROWS = np.array([6.0, 2.0, 0.0])
OF_COUNTS = np.array([900.0, 250.0, 0.0])
BACKGROUND = 30.0
POSITIVE = dict.fromkeys(NAMES, (0.0, np.inf))
SHARE = 0.01  # of the bands
T_ROWS = 4
IN_MAP = 100  # signals


def drawn_rows(rng):
    return (SHAPES @ OF_ROWS + 3.0)[None] + rng.standard_normal((T_ROWS, CHANNELS))


def drawn_counts(rng):
    return rng.poisson(SHAPES @ OF_COUNTS + BACKGROUND)[None].astype(float)


def drawn_on_ends(rng):
    """Counts whose responses lie on an end of their band in every channel."""
    sides = 1.0 + SHARE * rng.choice([-1.0, 1.0], SHAPES.shape)
    return rng.poisson((SHAPES * sides) @ OF_COUNTS + BACKGROUND)[None].astype(float)


KNOWN = {"background": BASE, "noises": [1.0]}
COUNTS = SHAPES.sum(axis=0) * OF_COUNTS
LINES = {
    "counts": (Poisson(background=BASE), ByCounts(), drawn_counts),
    "counts-band": (Poisson(background=BASE, relative_error=SHARE), ByCounts(), drawn_on_ends),
    "fission": (Linear(**KNOWN), ByEvidence("fission", 4), drawn_rows),
    "split": (Linear(background=BASE), ByEvidence("rows", 4), drawn_rows),
    "along-rows": (Linear(**KNOWN, coefficients=POSITIVE), ByEvidence(), drawn_rows),
    "rotation": (Linear(background=BASE), ByRotation(amounts=0.5), drawn_rows),
    "rotation-bounds": (Linear(background=BASE, coefficients=POSITIVE), ByRotation(amounts=0.5), drawn_rows),
    "map-bounds": (Linear(**KNOWN, coefficients=POSITIVE), ByEvidence("fission", 4), drawn_rows),
    "map-counts": (Poisson(background=BASE), ByCounts(), drawn_counts),
}


def protocol_of(name):
    law, judge, _ = LINES[name]
    bank = BANK
    if law.name == "gaussian" and law.noises is None:
        bank = library_bank(LIBRARY, SUPPORTS, {name: [1.0] for name in NAMES})
    question = RegionalMap(bank_regions(bank))
    plans = {"deployment": StreamPlan(law, 0.5)}
    return AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=judge)


def usual(rows, is_counted):
    """The estimates (3,) in the true model, and their standard deviations."""
    columns = np.hstack([SHAPES, BASE])
    if not is_counted:
        inverse = np.linalg.inv(columns.T @ columns)
        estimate = (inverse @ columns.T @ rows.mean(axis=0))[:3]
        return estimate, np.sqrt(np.diag(inverse)[:3] / len(rows))
    means = SHAPES @ OF_COUNTS + BACKGROUND
    inverse = np.linalg.inv(columns.T @ (columns / means[:, None]))
    sizes = SHAPES.sum(axis=0)
    step = (inverse @ columns.T @ (rows[0] / means - 1.0))[:3]
    return sizes * (OF_COUNTS + step), sizes * np.sqrt(np.diag(inverse)[:3])


def misses(intervals, truth):
    return not all(low <= value <= high for (low, high), value in zip(intervals, truth, strict=True))


def of_reports(protocol, name, rng, count):
    """For each data set, of the explanation that made it, what `outcome` says."""
    for _ in range(count):
        rows = LINES[name][2](rng)
        judge = protocol.read(deployment=rows).judge
        is_rejected = judge.verdicts(TRUTH).codes[0] == Verdict.REJECTED
        yield outcome(name, rows, judge.amounts(TRUTH).intervals, is_rejected)


def of_signals(protocol, name, rng, count):
    """For each signal of maps of a hundred, of all that it keeps, what `outcome` says; one stack of rows a signal."""
    judge = MapProtocol.of(protocol, repeats=1).judge
    for start in range(0, count, IN_MAP):
        signals = np.stack([LINES[name][2](rng) for _ in range(min(IN_MAP, count - start))])
        kept = judge.block_judge(np.array([LEVEL]), 1, signals.shape[1])(signals).kept()
        for rows, own, amounts in zip(signals, kept, judge.ranges(signals, kept, LEVEL), strict=True):
            yield outcome(name, rows, amounts.intervals, not own[TRUTH[0]])


def one_a_signal(count, noise, seed=1):
    """Of one map of many signals with one element each, by the judge of maps: signals lost, and lengths (3,).

    noise: how many times the stated deviation the rows have; the control has four times as much.
    """
    rng = np.random.default_rng([seed, int(noise)])
    number = np.arange(count) % 3
    truth = OF_ROWS[number]
    means = SHAPES[:, number].T * truth[:, None] + 3.0
    signals = (means + noise * rng.standard_normal(means.shape))[:, None]
    supports = [[], *([name] for name in NAMES)]
    bank = library_bank(LIBRARY, supports, {name: [1.0] for name in NAMES}, deployment=product_grid(noise=[1.0]))
    plans = {"deployment": StreamPlan(Linear(**KNOWN), 0.5)}
    question = RegionalMap(bank_regions(bank))
    protocol = AnalysisProtocol(
        question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=ByEvidence("fission", 4), stop="set"
    )
    judge = MapProtocol.of(protocol, repeats=1).judge
    kept = judge.block_judge(np.array([LEVEL]), 1, 1)(signals).kept()
    found = judge.ranges(signals, kept, LEVEL)
    ends = np.array([own.intervals.get(NAMES[i]) or (np.inf, np.inf) for own, i in zip(found, number, strict=True)])
    is_lost = (truth < ends[:, 0]) | (truth > ends[:, 1])
    lengths = np.nan_to_num(np.diff(np.where(np.isinf(ends), 0.0, ends), axis=1)[:, 0])
    beside = SHAPES - SHAPES.mean(axis=0)
    return int(is_lost.sum()), np.array([lengths[number == i].mean() for i in range(3)]) * np.linalg.norm(
        beside, axis=0
    )


def outcome(name, rows, found, is_rejected):
    """Whether the truth is lost, whether the control loses it, and the lengths (3,) in standard deviations."""
    is_counted = "counts" in name
    truth = COUNTS if is_counted else OF_ROWS
    intervals = [found.get(element) or (np.inf, np.inf) for element in NAMES]
    estimate, deviation = usual(rows, is_counted)
    half = norm.isf(LEVEL / 2) * deviation
    control = misses(zip(estimate - half, estimate + half, strict=True), truth)
    lengths = np.array([high - low if np.isfinite(low) else 0.0 for low, high in intervals]) / deviation
    return is_rejected or misses(intervals, truth), control, lengths


def measured(name, count):
    """The line of one judge in the table."""
    started = time.process_time()
    protocol = protocol_of(name)
    rng = np.random.default_rng([1, *name.encode()])
    found = of_signals(protocol, name, rng, count) if name.startswith("map") else of_reports(protocol, name, rng, count)
    lost, control, lengths = zip(*found, strict=True)
    high = beta.isf(1e-3, sum(lost) + 1, count - sum(lost))
    is_right = binom.sf(sum(lost) - 1, count, LEVEL) > 1e-3
    is_seen = binom.sf(sum(control) - 1, count, LEVEL) < 1e-6
    said = "holds" if is_right and is_seen else "BROKEN"
    lengths = " / ".join(f"{each:.1f}" for each in np.mean(lengths, axis=0))
    seconds = time.process_time() - started
    return (
        f"| {name} | {sum(lost)} of {count} | {high:.4f} | {np.mean(control):.3f} | {lengths} | "
        f"{2 * norm.isf(LEVEL / 2):.1f} | {said} | {seconds:.0f} s |"
    )


def measured_map(count):
    """The line of a map of signals with one element each."""
    started = time.process_time()
    lost, lengths = one_a_signal(count, 1.0)
    control, _ = one_a_signal(count, 4.0)
    is_right = binom.sf(lost - 1, count, LEVEL) > 1e-3
    is_seen = binom.sf(control - 1, count, LEVEL) < 1e-6
    said = "holds" if is_right and is_seen else "BROKEN"
    high = beta.isf(1e-3, lost + 1, count - lost)
    told = " / ".join(f"{each:.1f}" for each in lengths)
    seconds = time.process_time() - started
    return (
        f"| map | {lost} of {count} | {high:.4f} | {control / count:.3f} | {told} | {2 * norm.isf(LEVEL / 2):.1f} | "
        f"{said} | {seconds:.0f} s |"
    )


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    print("| judge | lost | high | control | lengths | usual length | verdict | CPU |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sys.argv[2:] or [*LINES, "map"]:
        print(measured(name, count) if name != "map" else measured_map(count), flush=True)


if __name__ == "__main__":
    main()

"""What a report on a learnt dictionary costs in seconds of CPU: `python -m benchmarks.learnt_cost`.

Peaks on a line, evenly spaced but for two that are near (coherence .94), and 100 rows of a signal with two of them.
"""

from time import process_time

import numpy as np

from physupport.analysis import PhysicalSupport
from physupport.responses import Formula

SIZES = [(3000, 16, 6), (30_000, 16, 6), (100_000, 16, 6), (3000, 64, 6), (3000, 64, 12), (100_000, 64, 12)]
NOISE = 0.001


def case(n_rows, q, n):
    """The response, calibration rows, and the signal."""
    rng = np.random.default_rng([28, n_rows, q, n])
    width = 0.5 / n
    peak = Formula(f"exp(-((t - x)**2) / (2 * {width}**2))", axis=(np.arange(q) + 0.5) / q)
    places = np.append(np.linspace(0.08, 0.92, n - 1), 0.08 + 0.5 * width) + 0.003 * rng.uniform(-1.0, 1.0, n)
    columns = peak(places[:, None])
    atoms = columns / np.linalg.norm(columns, axis=0)
    codes = (rng.random((n_rows, n)) < 0.2) * rng.standard_normal((n_rows, n))
    calibration = codes @ atoms.T + NOISE**0.5 * rng.standard_normal((n_rows, q))
    signal = rng.standard_normal((100, 2)) @ atoms[:, [1, 3]].T + NOISE**0.5 * rng.standard_normal((100, q))
    return peak, calibration, signal


def main():
    print("| calibration rows | channels | atoms | calibration | whole report | labels |")
    for n_rows, q, n in [SIZES[0], *SIZES]:  # the first loads the code
        peak, calibration, signal = case(n_rows, q, n)
        begin = process_time()
        model = PhysicalSupport.from_learner(
            np.eye(q)[:n], library=peak, calibration=calibration, places={"x": (0.02, 0.98)}, tolerance=0.01
        )
        read = process_time() - begin
        labels = [str(field.label) for field in model.report(signal).fields]
        fine = sum(label in ("FINE", "GROUP") for label in labels)
        print(
            f"| {n_rows} | {q} | {n} | {read:.2f} s | {process_time() - begin:.2f} s | {fine} of {len(labels)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

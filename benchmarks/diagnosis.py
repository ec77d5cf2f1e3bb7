"""How often the diagnosis of data that nothing fits names the true cause: made-up causes in three fields.

`python benchmarks/diagnosis.py` prints the table of docs/diagnosis.md: 40 data sets of each cause and field.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physupport.banks import Bank, Library, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.laws import Law, Linear, Poisson
from physupport.laws.alternatives import linear_rows, ranked_causes
from physupport.responses import UniformLinearArray

Made = tuple[Law, Bank, NDArray[Any]]
SETS = 40


def line_library(rng: np.random.Generator, channels: int, count: int, width: float) -> NDArray[Any]:
    """(channels, count) responses of three to five lines of one width."""
    axis = np.arange(channels)[:, None]
    columns = []
    for _ in range(count):
        lines = rng.integers(3, 6)
        places = rng.uniform(0.08, 0.92, lines) * channels
        heights = rng.uniform(0.2, 1.0, lines)
        columns.append(np.exp(-0.5 * ((axis - places) / width) ** 2) @ heights)
    made = np.column_stack(columns)
    return made / np.linalg.norm(made, axis=0)


def broadened(column: NDArray[Any], deviation: float) -> NDArray[Any]:
    """The column convolved with a Gaussian of this deviation in channels."""
    kernel = np.exp(-0.5 * (np.arange(-20, 21) / deviation) ** 2)
    return np.convolve(column, kernel / kernel.sum(), "same")


def spectrum_mean(
    cause: str, rng: np.random.Generator, columns: NDArray[Any], strength: float, size: float
) -> NDArray[Any]:
    """The mean of a spectrum of one element of the library, changed by a cause of relative size."""
    p, count = columns.shape
    axis = np.arange(p, dtype=float)
    first, second = rng.choice(count, 2, replace=False)
    mean = strength * columns[:, first]
    sign = rng.choice([-1.0, 1.0])
    if cause == "source":
        mean += size * rng.uniform(0.15, 0.6) * strength * columns[:, second]
    elif cause == "shift":
        mean = np.interp(axis - sign * size * rng.uniform(0.6, 2.0), axis, mean)
    elif cause == "scale":
        mean = np.interp(axis / (1.0 + sign * size * rng.uniform(0.008, 0.02)), axis, mean)
    elif cause == "width":
        mean = broadened(mean, size * rng.uniform(1.2, 2.5))
    elif cause == "row":
        bump = np.exp(-0.5 * ((axis - rng.uniform(0.1, 0.9) * p) / rng.uniform(2.0, 4.0)) ** 2)
        mean += size * rng.uniform(0.2, 0.6) * mean.max() * bump
    elif cause == "background":
        x = np.linspace(-1.0, 1.0, p)
        mean += size * rng.uniform(0.1, 0.3) * mean.max() * (x**2 + 0.5 * sign * x**3 + 0.5)
    elif cause == "saturation":
        mean = mean / (1.0 + size * rng.uniform(0.3, 1.0) * mean / mean.max())
    elif cause == "error":
        mean = mean * (1.0 + size * rng.uniform(0.1, 0.3) * rng.standard_normal(p))
    elif cause == "channels":
        mean[rng.integers(0, p)] += size * rng.uniform(0.5, 1.0) * mean.max()
    elif cause == "pile-up":
        summed = np.convolve(mean + 0.02 * mean.max(), mean + 0.02 * mean.max())[:p]
        mean += size * rng.uniform(0.05, 0.15) * mean.sum() * summed / summed.sum()
    return mean


def counts(cause: str, rng: np.random.Generator, size: float = 1.0) -> Made:
    """A spectrum of counts of one of eight nuclides above a flat background."""
    columns = line_library(rng, 128, 8, 2.5)
    library = Library([f"n{i}" for i in range(8)], ["nuclides"] * 8, np.zeros((8, 0)), columns)
    bank = library_bank(library, [["nuclides"]], {"nuclides": [1.0]})
    law = Poisson(background=np.ones((128, 1))).completed(bank)
    mean = spectrum_mean(cause, rng, columns, 1.0, size)
    mean = np.maximum(mean, 0.0) / mean.sum() * 20_000.0 + 30.0
    return law, bank, rng.poisson(mean)[None].astype(float)


def raman(cause: str, rng: np.random.Generator, size: float = 1.0) -> Made:
    """One spectrum of one of ten minerals above a straight baseline in noise of a known level."""
    p = 200
    columns = line_library(rng, p, 10, 3.0)
    library = Library([f"m{i}" for i in range(10)], ["minerals"] * 10, np.zeros((10, 0)), columns)
    bank = library_bank(library, [["minerals"]], {"minerals": [1.0]}, deployment=product_grid(noise=[1.0]))
    x = np.linspace(-1.0, 1.0, p)
    law = Linear(background=np.column_stack([np.ones(p), x])).completed(bank)
    noise = rng.standard_normal(p)
    if cause == "noise":
        noise *= 1.0 + size * rng.uniform(0.5, 2.0)
    if cause == "colour":
        for i in range(1, p):
            noise[i] = 0.8 * size * noise[i - 1] + noise[i]
    return law, bank, (spectrum_mean(cause, rng, columns, 200.0, size) + 10.0 + 5.0 * x + noise)[None]


def array(cause: str, rng: np.random.Generator, size: float = 1.0) -> Made:
    """Forty snapshots of one source before eight sensors, with directions listed every four degrees."""
    angles = np.arange(-60.0, 61.0, 4.0)
    response = UniformLinearArray(8, 0.5)
    columns = response(angles[:, None]) / np.sqrt(8.0)
    stacked = np.empty((16, len(angles)))
    stacked[0::2], stacked[1::2] = columns.real, columns.imag
    library = Library([f"{a:g}" for a in angles], ["sky"] * len(angles), angles[:, None], stacked)
    bank = library_bank(library, [["sky"]], {"sky": [1.0]})
    law = Linear(rows="free", is_complex=True).completed(bank)
    place = rng.integers(4, len(angles) - 4)
    true = columns[:, place]
    rows = 40

    def normal(*shape: int) -> NDArray[Any]:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)

    if cause == "place":
        true = response(np.array([[angles[place] + size * rng.uniform(1.0, 3.0)]]))[:, 0] / np.sqrt(8.0)
    if cause == "error":
        true = true + size * rng.uniform(0.2, 0.4) * normal(8) * np.linalg.norm(true) / np.sqrt(8.0)
    amplitude = 3.0 / np.abs(true).mean()
    signal = amplitude * normal(rows, 1) * true
    noise = normal(rows, 8)
    if cause == "source":
        other = (place + rng.choice([-1, 1]) * rng.integers(3, 8)) % len(angles)
        signal = signal + 0.7 * size * amplitude * normal(rows, 1) * columns[:, other]
    elif cause == "row":
        shape = normal(8)
        signal = signal + 0.7 * size * amplitude * normal(rows, 1) * shape * np.linalg.norm(true) / np.linalg.norm(
            shape
        )
    elif cause == "colour":
        mixing = np.eye(8) + 0.6 * size * normal(8, 8)
        noise = noise @ mixing.T
    elif cause == "channels":
        noise[:, rng.integers(0, 8)] *= 1.0 + 5.0 * size
    elif cause == "rows":
        noise[rng.choice(rows, 3, replace=False)] *= 1.0 + 7.0 * size
    return law, bank, np.asarray(signal + noise).view(np.float64)


FIELDS: dict[str, tuple[Callable[[str, np.random.Generator, float], Made], tuple[str, ...]]] = {
    "counts": (
        counts,
        ("source", "shift", "scale", "width", "row", "background", "pile-up", "saturation", "channels", "error"),
    ),
    "raman": (
        raman,
        (
            "source",
            "shift",
            "scale",
            "width",
            "row",
            "background",
            "saturation",
            "channels",
            "noise",
            "colour",
            "error",
        ),
    ),
    "array": (array, ("source", "place", "row", "colour", "channels", "rows", "error")),
}


def ranks(field: str, cause: str, count: int = SETS, size: float = 1.0) -> Iterator[list[str]]:
    """The causes that the diagnosis names, best first, for each data set."""
    make, _ = FIELDS[field]
    for seed in range(count):
        law, bank, rows = make(cause, np.random.default_rng([1000 + seed, *cause.encode()]), size)
        linear = linear_rows(law, bank, ArrayRows(rows))
        assert linear is not None
        yield [found.cause for found in ranked_causes(linear)]


def main() -> None:
    """Print the table: of causes of full size and of a third of it, how many rows misfit, and where the cause ranks."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SETS
    print("| field | cause | misfit, first, in three | the same, a third of the size | else first |")
    print("|---|---|---|---|---|")
    totals = np.zeros((2, 3), dtype=int)
    for field, (_, causes) in FIELDS.items():
        for cause in causes:
            cells = []
            wrong = []
            for i, size in enumerate((1.0, 1.0 / 3.0)):
                found = [each for each in ranks(field, cause, count, size) if each]
                first = sum(each[0] == cause for each in found)
                three = sum(cause in each[:3] for each in found)
                totals[i] += [len(found), first, three]
                cells.append(f"{len(found)}, {first}, {three}")
                wrong += [each[0] for each in found if each[0] != cause]
            often = max(sorted({*wrong}), key=wrong.count, default="")
            print(f"| {field} | {cause} | {cells[0]} | {cells[1]} | {often} |", flush=True)
    shares = [f"{first / misfit:.1%} first, {three / misfit:.1%} in three" for misfit, first, three in totals]
    print(f"| all | | {shares[0]} | {shares[1]} | |")


if __name__ == "__main__":
    main()

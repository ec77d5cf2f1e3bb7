"""One call from signals and geometry to a confidence set of directions or places."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_counts, check_number, check_open, is_path
from .._errors import Clause, MisuseError
from .._typing import Array, Field
from ..analysis import PhysicalSupport, Result, StreamPlan
from ..banks import Bank, Library, along_arc, closes_circle, library_bank, wrapped
from ..io import Frames, as_pairs, read_columns, read_table, wav_rate
from ..judges import ByEvidence
from ..report import Report, read_error
from ..responses import PlaneWaves, SphericalWaves, mirror_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REGION = "source"
_AXES = ("x", "y", "z")
# The share of frames, the first ones, that tell how strong the noise is; they neither propose nor judge.
_NOISE_SHARE = 0.2


@final
@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Every set of sources that a recording leaves possible, with probability at least 1 - level the true one.

    sets: (n,) tuples of names, the least evidence against it first.  places: (n, sources, coordinates) by set, of the
    sets of each size apart.  ratio: the assumption: in no direction beside the sources have noise and errors of the
    responses more than this share of the variance along them that is left once all beside them is known.
    """

    report: Report = field(repr=False)
    result: Result = field(repr=False)
    sets: tuple[tuple[str, ...], ...]
    places: tuple[Array, ...]
    ratio: float
    unit: str

    @property
    def centre(self) -> Array | None:
        """(sources, coordinates) the middle of the sets of the most plausible size; None if nothing fits.

        Directions that close a circle have the middle of the shortest arc.
        """
        alike = self._alike()
        if not len(alike):
            return None
        middle = np.asarray(np.mean(alike, axis=0))
        return wrapped(middle, self._circle.min()) if self._circle.size else middle

    @property
    def extent(self) -> float | None:
        """The largest distance of a place from the centre, in the unit of the coordinates; None if nothing fits."""
        alike = self._alike()
        return float(np.linalg.norm(alike - np.mean(alike, axis=0), axis=2).max()) if len(alike) else None

    def _alike(self) -> Array:
        """(n, sources, coordinates) the sets with as many sources as the most plausible one.

        Directions that close a circle are continued along the shortest arc.
        """
        alike = np.array([each for each in self.places if self.places and len(each) == len(self.places[0])])
        if not self._circle.size or not len(alike):
            return alike
        return np.stack([along_arc(column) for column in alike[:, :, 0].T], axis=1)[:, :, None]

    @property
    def _circle(self) -> Array:
        """(E, 1) the directions, if they close a circle; else empty."""
        library = self.result.bank.states.library
        is_circle = library is not None and closes_circle(library.coordinates, library.unit)
        return library.coordinates if library is not None and is_circle else np.zeros((0, 1))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The spectrum over directions with the kept sets, or the map of places."""
        from ..report.plots import plot_map, plot_spectrum  # matplotlib is an extra

        library = self.result.bank.states.library
        is_plane = library is not None and library.coordinates.shape[1] > 1
        return (plot_map if is_plane else plot_spectrum)(self.result, ax)

    def __str__(self) -> str:
        """The answer in words, and what it assumes."""
        share = f"{100.0 * self.ratio:.2g} %"
        assumed = f"Assumed: noise and response errors in any direction beside the sources have at most {share} of"
        left = "the conditional variance along the sources, given these directions"
        return f"{self._said}{self._combinations} {assumed} {left}. Level {self.report.level:g}."

    @property
    def _combinations(self) -> str:
        """State how many combinations of several sources remain; empty if there is one source."""
        if all(len(each) < 2 for each in self.sets):
            return ""
        number = f"{len(self.sets)} combinations remain" if len(self.sets) > 1 else "One combination remains"
        return f" {number}; the best-fitting one is {' and '.join(self.sets[0])}."

    @property
    def _said(self) -> str:
        """The answer at the ratio; before it what the staircase says, where that is read at a larger one."""
        own = self.report.fields[0].answer
        read = read_error(self.report.document["staircase"])
        if read is None or read[0] <= self.ratio * (1.0 + 1e-12):
            return own
        if self.report.status == "EMPTY":
            return " ".join(self.report.width)
        return f"{' '.join(self.report.width)} At the assumed ratio: {own[:1].lower()}{own[1:]}"


def locate(
    signals: ArrayLike | str | os.PathLike[str],
    geometry: ArrayLike | str | os.PathLike[str],
    *,
    frequencies: ArrayLike,
    sampling_rate: float | None = None,
    directions: Sequence[float] | ArrayLike | None = None,
    places: Mapping[str, Any] | ArrayLike | None = None,
    count: int | tuple[int, int] = 1,
    speed: float = 343.0,
    error: float = 0.02,
    level: float = 0.05,
    tolerance: float | None = None,
    frame: int | None = None,
    gap: int | None = None,
    segment: Sequence[float] | None = None,
    seed: int = 0,
) -> Located:
    """Find the directions, or the places, of the sources that an array heard.

    signals: samples (n, q) of q sensors, a row for each moment, or the name of a file with them; or complex snapshots
        (T, F q), those of the lowest frequency first, with a larger phase where a sensor is nearer to the source, as
        the Fourier transform of NumPy gives it; their conjugates see the mirrored direction.
    geometry: (q, 2) or (q, 3) places of the sensors in metres, or a CSV file with the columns x, y and z.
    frequencies: in hertz; all are judged together.  sampling_rate: samples a second, unless a .wav file states it.
    directions: (from, to, step) in degrees, from the x axis towards the y axis, or (E, 1) or (E, 2) azimuths and
        elevations.  places: {"x": (low, high), "y": (low, high), "step": step} in metres, with "z" if wanted, or
        (E, d) coordinates.
    count: how many sources there may be at most, or (least, most).
    error: sine of the angle by which a response may be off, such as by the gains of sensors; the errors between the
        places of the grid are added.
    frame, gap, segment: as `physupport.io.Frames` takes them.

    The first fifth of the frames tells how strong the noise is beside the sources; the others propose and judge, with
    white noise added to them where errors of responses would be stronger than the noise.  Sources may be correlated,
    loud and silent in turn, as long as they have the ratio that the answer names in the frames that judge, at each
    checkpoint; noise may have any covariance up to this ratio, frames are independent, and frequencies are.
    """
    sensors = _geometry(geometry)
    rows, chosen = _snapshots(signals, len(sensors), frequencies, sampling_rate, frame, gap, segment)
    far = directions is not None
    if far == (places is not None):
        remedy = (
            "Leave one of them out."
            if far
            else 'Write directions=(0, 180, 5), or places={"x": (0, 5), "y": (0, 4), "step": 0.25}.'
        )
        raise MisuseError(
            "directions",
            "be given, or places, and not both",
            Clause("both are given") if far else Clause("neither is given"),
            remedy,
        )
    points, step = _directions(directions) if far else _places(places)
    response = (PlaneWaves if far else SphericalWaves)(sensors, np.array(chosen), speed)
    _check_sides(response, points, step)
    columns = response(points)
    counts = check_counts("count", count)
    high = counts[1]
    n_first = int(_NOISE_SHARE * len(rows))
    off = check_open("error", error, 0.0, 1.0)
    ratio, added = _noise(rows[:n_first], columns, len(chosen), high, off)
    bank = _bank(points, columns, "degrees" if far else "m", counts)
    shape = {"kind": "any", "ratio": ratio}
    plan = StreamPlan("gaussian", rows="random", is_complex=True, bands=len(chosen), noise_shape=shape)
    near = 2.0 * step if tolerance is None else check_number("tolerance", tolerance)
    model = PhysicalSupport(
        bank, {REGION: near}, alpha=level, calibration=None, deployment=plan, judge=ByEvidence(), random_state=seed
    )
    return _located(model.fit(), _with_noise(rows[n_first:], added, seed), ratio)


def _located(model: PhysicalSupport, rows: Field, ratio: float) -> Located:
    report = model.report(rows)
    bank, library = model.bank_, model.bank_.states.library
    assert library is not None
    kept = model.result_.admissible
    elements = bank.deployment_parts(bank.deployment_keys(kept)).elements if len(kept) else np.zeros((0, 1), int)
    index = [bank.states.library_index[row[row >= 0]] for row in elements]
    names = tuple(tuple(library.ids[i] for i in each.tolist()) for each in index)
    return Located(report, model.result_, names, tuple(library.coordinates[i] for i in index), ratio, library.unit)


def _geometry(geometry: ArrayLike | str | os.PathLike[str]) -> Array:
    """(q, d) places of the sensors."""
    if not is_path(geometry):
        return check_array("geometry", geometry, (None, None))
    columns = read_columns(geometry)
    known = [axis for axis in _AXES if axis in columns]
    if known[:2] != ["x", "y"]:
        rule = "be a file with the columns x and y, and z where it is known, in metres"
        remedy = "Let its first line be x,y or x,y,z."
        raise MisuseError(f"geometry {geometry}", rule, ", ".join(columns), remedy)
    try:
        return np.array([[float(cell) for cell in columns[axis]] for axis in known]).T
    except ValueError as fault:
        raise MisuseError(f"geometry {geometry}", "hold numbers", str(fault)) from None


def _snapshots(
    signals: ArrayLike | str | os.PathLike[str],
    count: int,
    frequencies: ArrayLike,
    rate: float | None,
    frame: int | None,
    gap: int | None,
    segment: Sequence[float] | None,
) -> tuple[NDArray[np.complex128], tuple[float, ...]]:
    """(T, F q) snapshots, and the frequencies in their order."""
    if is_path(signals):
        is_sound = Path(signals).suffix.lower() == ".wav"
        samples = read_table(signals, channels="channels" if is_sound else 1, label="signals").values
        rate = wav_rate(signals) if rate is None else rate
    else:
        samples = np.asarray(signals)
    listed = np.sort(np.atleast_1d(np.asarray(frequencies, dtype=np.float64)))
    width = count * (len(listed) if np.iscomplexobj(samples) else 1)
    if samples.ndim != 2 or samples.shape[1] != width:
        rule = f"have a column for each of {count} sensors"
        remedy = "Its other axis has that many: give its transpose." if samples.shape[0] == width else ""
        raise MisuseError("signals", rule, f"shape {samples.shape}", remedy)
    if np.iscomplexobj(samples):
        _check_finite(samples, samples, "Leave out such snapshots.")
        _check_rows(len(samples), count, "Record more snapshots, or give real samples with a shorter frame.")
        return np.asarray(samples, dtype=np.complex128), tuple(listed.tolist())
    if rate is None:
        raise MisuseError(
            "sampling_rate", "be given, in samples a second", Clause("it is None"), "Write sampling_rate=16000."
        )
    frames = Frames.of(rate, listed, frame, gap, segment)
    rows = frames.rows(samples)
    _check_finite(rows, samples, "Name a segment of the recording without it: segment=(from, to), in seconds.")
    _check_rows(len(rows), count, frames.as_many(len(samples), _least(count)))
    return rows, frames.frequencies


def _check_finite(rows: Field, samples: Field, remedy: str) -> None:
    """Raise if rows are not finite, with the place of the first sample that is the cause."""
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(samples))[0].tolist()
        raise MisuseError(
            "signals", "be finite numbers", f"{samples[row, column]} in row {row}, column {column}", remedy
        )


def _least(count: int) -> int:
    """The number of snapshots that a number of sensors needs."""
    return int(np.ceil((2 * count + 2) / (1.0 - _NOISE_SHARE)))


def _check_rows(n_rows: int, count: int, remedy: str) -> None:
    least = _least(count)
    if n_rows < least:
        raise MisuseError("signals", f"have {least} frames or more for {count} sensors", n_rows, remedy)


def _directions(given: Any) -> tuple[Array, float]:  # noqa: ANN401  three numbers, or an array
    """(E, 1) or (E, 2) angles, and their step."""
    array = np.asarray(given, dtype=np.float64)
    if array.shape == (3,):
        low, high, step = array.tolist()
        if not (step > 0.0 and low < high <= low + 360.0):
            rule = "be (from, to, step) with from below to, at most 360 degrees apart, and a step above 0"
            raise MisuseError("directions", rule, (low, high, step), "Write directions=(0, 180, 5).")
        angles = low + step * np.arange(int(np.floor((high - low) / step + 1e-9)) + 1)
        return angles[angles < low + 360.0 - 1e-9][:, None], step
    angles = check_array("directions", array[:, None] if array.ndim == 1 else array, (None, None))
    return angles, _nearest(angles)


def _places(given: Any) -> tuple[Array, float]:  # noqa: ANN401  sides and a step, or an array
    """(E, d) places, and their step."""
    if not isinstance(given, Mapping):
        points = check_array("places", given, (None, None))
        return points, _nearest(points)
    known = [axis for axis in _AXES if axis in given]
    if {*given} != {*known, "step"} or known[:2] != ["x", "y"]:
        rule = "have the keys x, y and step, and z if wanted"
        remedy = 'Write places={"x": (0, 5), "y": (0, 4), "step": 0.25}.'
        raise MisuseError("places", rule, ", ".join(map(str, given)), remedy)
    step = check_number("places['step']", given["step"])
    sides = [np.arange(low, high + 1e-9 * step, step) for low, high in (given[axis] for axis in known)]
    return np.stack([each.ravel() for each in np.meshgrid(*sides, indexing="ij")], axis=1), step


def _nearest(points: Array) -> float:
    """The median distance from a place to the next one."""
    first = points[: min(len(points), 200)]
    apart = np.linalg.norm(first[:, None] - points, axis=2)
    return float(np.median(np.where(apart > 0.0, apart, np.inf).min(axis=1))) if len(points) > 1 else 0.0


def _check_sides(response: PlaneWaves | SphericalWaves, points: Array, step: float) -> None:
    """Refuse directions on both sides of a line of sensors."""
    line = mirror_line(response, points)
    if line is not None:
        rule = f"lie on one side of the line of the sensors, which runs along {line:g} degrees"
        remedy = f"Write directions=({line:g}, {line + 180.0:g}, {step:g}): the line sees both sides alike."
        raise MisuseError("directions", rule, "both sides", remedy)


def _noise(rows: Field, columns: Field, n_bands: int, most: int, error: float) -> tuple[float, Array]:
    r"""The share of noise and errors beside sources in the variance left along these, and the noise to be added (F,).

    Of every frequency the eigenvalues of the second moments are P of sources and n of the noise, for as many sources as
    make the share least; s is the square of the sine of half the largest angle between neighbours and of `error`
    together.  A source that is off by s leaks: all beside it has up to :math:`n + sP_1`, and tells of the weakest one
    all but :math:`n + P_kn/(sP_k + n)`.  Where n is small that is nearly nothing, as for any beamformer that cancels:
    so noise is added up to :math:`n = sP_1`, where the share is about 4s.
    """
    shares = []
    added = []
    for part, block in zip(np.split(rows, n_bands, axis=1), np.split(columns, n_bands), strict=True):
        values = np.maximum(np.linalg.eigvalsh(part.T @ part.conj())[::-1] / max(len(part), 1), 1e-300)
        unit = block / np.linalg.norm(block, axis=0)
        overlaps = np.abs(unit.conj().T @ unit) ** 2
        np.fill_diagonal(overlaps, 0.0)
        farthest = np.sqrt(float(overlaps.max(axis=0).min()))  # cosine between neighbours
        off = (np.sqrt(0.5 * max(1.0 - farthest, 0.0)) + error) ** 2
        leak = off * values[0]
        further = max(leak - float(values[min(most, len(values) - 1) :].mean()), 0.0)
        found = []
        for k in range(1, min(most, len(values) - 1) + 1):
            noise = values[k] + further
            source = max(float(values[k - 1] - values[k]), 1e-300)
            found.append((noise + leak) / (noise + source * noise / (off * source + noise)))
        shares.append(found)
        added.append(further)
    return float(np.max(shares, axis=0).min()), np.array(added)


def _with_noise(rows: Field, added: Array, seed: int) -> Field:
    """Rows (T, F q) and white noise of these variances (F,)."""
    drawn = np.random.default_rng([seed, 1]).standard_normal((2, *rows.shape))
    sizes = np.repeat(np.sqrt(0.5 * added), rows.shape[1] // len(added))
    return np.asarray(rows + sizes * (drawn[0] + 1j * drawn[1]))


def _bank(points: Array, columns: Field, unit: str, count: tuple[int, int]) -> Bank:
    """Every set of up to so many elements."""
    short = " deg" if unit == "degrees" else ""
    joint = "/" if short else ", "
    names = [f"{joint.join(f'{x:.6g}' for x in place)}{short}" for place in points.tolist()]
    names = names if short else [f"({name})" for name in names]
    responses = as_pairs(columns / np.linalg.norm(columns, axis=0), axis=0)
    library = Library(tuple(names), (REGION,) * len(names), points, responses, unit)
    return library_bank(library, [[REGION]], {REGION: [1.0]}, counts={REGION: count})

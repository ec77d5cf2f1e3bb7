"""From an Evoked or Epochs, a Forward and a Covariance to a set of places."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.spatial import KDTree

from .._checks import check_count, check_positive, is_whole
from .._errors import Clause, MissingError, MisuseError
from .._typing import Array, IntArray
from ..analysis import PhysicalSupport, StreamPlan
from ..banks import forward_library, library_bank
from ..io import at_time
from ..judges.rotation import ByRotation, Scan
from ..questions import RegionRule
from ._location import Location, Setting
from ._whitened import White, whitened

REGION: Final = "brain"
_MILLIMETRES = 1000.0
_RIVALS = 600
_SILENT = 1e-3  # of the strongest source; what answers less is left out
# Sources that pairs are made of, unless `spacing` says otherwise.
_PAIRED = 120
_NEAR = 6  # neighbours of a place
_DIRECTIONS = 4  # of a dipole, drawn for each
_COVERED = 0.95  # of dipoles between places, the part that the error of the grid covers
_MOST_ERROR = 0.9


def locate(
    data: Any,  # noqa: ANN401  mne carries no types
    forward: Any,  # noqa: ANN401
    noise_cov: Any = None,  # noqa: ANN401
    *,
    time: float | tuple[float, float] | None = None,
    count: int | tuple[int, int] = 1,
    level: float = 0.05,
    orientation: str = "free",
    error: float = 0.0,
    between: bool = True,
    spacing: float | None = None,
    tolerance: float = 10.0,
    depth: float | None = None,
    labels: Sequence[Any] | str = "aparc",
    draws: int = 999,
    seed: int = 0,
) -> Location:
    """Places where the sources of an evoked response may be, all that the data do not exclude.

    With probability at least 1 - level the set has the place of the source, if the noise is Gaussian and as `noise_cov`
    says up to a factor, and if the lead field of the true source is within an angle of that of a place.

    data: an `Evoked`, or `Epochs` whose rows repeat one mean.  forward: its `Forward`, of free orientation or fixed.
    noise_cov: a `Covariance`; None asks Epochs for their own scatter, and takes the noise of one kind of channels for
    white.  time: one time in seconds, or (first, last) of a window, over which channels are averaged.
    count: how many sources are active at once, or (least, most).
    orientation: `free`, or `normal` to the surface of the sources.
    error: sine of the largest angle by which the head model is off: .05 to .1 for a cap that is 5 mm off.
    between: True for sources between the places: the error of the grid, measured from neighbouring places, is added.
    spacing: millimetres between the places that are looked at; all of the solution unless given, of several sources
    at once about 120.  tolerance: millimetres within which an answer is called one place.
    depth: least distance of sources from the nearest EEG or MEG sensor in millimetres.
    labels: `mne.Label` of the surfaces to name places, or a parcellation of the subject in SUBJECTS_DIR, if it has one.
    """
    row, is_one_time = _rows(data, time)
    solved = _oriented(forward, orientation)
    white = whitened(data, row, solved, noise_cov, is_one_time=is_one_time)
    counts = (count, count) if is_whole(count) else (count[0], count[1])
    chosen = _sources(solved, white, spacing, depth, is_single=counts[1] == 1)
    names = [f"white {i + 1}" for i in range(len(white.whitener))]
    coordinates = {"data": white.white_gains, "row_names": names}
    library = forward_library({**solved, "sol": coordinates}, regions=REGION, sources=chosen)
    check_count("count", counts[0], 1)
    check_count("count", counts[1], counts[0], len(chosen))
    grid = np.zeros(len(chosen))
    if between and white.freedom is None:
        grid = grid_errors(white.white_gains, _MILLIMETRES * np.asarray(solved["source_rr"]), chosen)
    errors = np.minimum(grid + error, _MOST_ERROR) if white.freedom is None else None
    plan: dict[str, Any] = {}
    if white.freedom is not None:
        plan = {"covariance": np.eye(len(names)), "covariance_freedom": white.freedom}
        _check_no_error(error, white.freedom)
    judge = ByRotation(
        draws,
        outsiders=Scan(),
        rivals=_RIVALS,
        error=None if errors is None or not errors.any() else tuple(errors.tolist()),
    )
    model = PhysicalSupport(
        library_bank(library, [[REGION]], {REGION: 1.0}, counts={REGION: counts}),
        {REGION: RegionRule(check_positive("tolerance", tolerance))},
        alpha=level,
        random_state=seed,
        calibration=None,
        deployment=StreamPlan("gaussian", **plan),
        judge=judge,
    ).fit()
    model.report(white.white_rows)
    setting = Setting(data.info, solved, white, chosen, grid, error, counts, _labels(labels, solved), _told(time, data))
    return Location(model.result_, setting)


def _check_no_error(error: float, freedom: int) -> None:
    if error:
        rule = f"be 0 where the covariance has {freedom} degrees of freedom, whose errors are accounted for"
        remedy = "Give a covariance of more samples, or noise_cov=mne.make_ad_hoc_cov(data.info)."
        raise MisuseError("error", rule, error, remedy)


def _rows(data: Any, time: float | tuple[float, float] | None) -> tuple[Array, bool]:  # noqa: ANN401
    """(T, channels) of all channels of the data at a time, or over a window; and whether it is one time."""
    times = getattr(data, "times", None)
    if times is None or getattr(data, "info", None) is None:
        remedy = "Take epochs.average(), or epochs themselves; mne.read_evokeds('file-ave.fif')[0] reads a file."
        raise MisuseError("data", "be an Evoked or Epochs of mne", type(data).__name__, remedy)
    if time is None and len(times) > 1:
        middle = float(times[len(times) // 2])
        remedy = f"Give a time in seconds, time={middle:.4g}, or a window, time=({times[0]:.4g}, {times[-1]:.4g})."
        raise MissingError("time", "be given", "none", remedy)
    quiet = {} if getattr(data, "events", None) is None else {"verbose": "ERROR"}
    samples = np.asarray(data.get_data(**quiet))
    rows = np.atleast_2d(at_time("data", samples, np.asarray(times), time))
    first, last = time if isinstance(time, tuple) else (time, time)
    return rows, first == last


def _labels(labels: Sequence[Any] | str, forward: Mapping[str, Any]) -> tuple[Any, ...]:
    """The labels that are given, or those of a parcellation that the subject has; else none."""
    if not isinstance(labels, str):
        return tuple(labels)
    import mne

    subject = forward["src"][0].get("subject_his_id")
    home = mne.get_config("SUBJECTS_DIR")
    if not subject or not home or not (Path(home) / subject / "label" / f"lh.{labels}.annot").is_file():
        return ()
    return tuple(mne.read_labels_from_annot(subject, labels, subjects_dir=home, verbose="ERROR"))


def _told(time: float | tuple[float, float] | None, data: Any) -> str:  # noqa: ANN401
    """The time in words."""
    if isinstance(time, tuple):
        return f"mean from {1e3 * time[0]:g} to {1e3 * time[1]:g} ms"
    return f"{1e3 * float(data.times[0] if time is None else time):g} ms"


def _oriented(forward: Any, orientation: str) -> Mapping[str, Any]:  # noqa: ANN401
    """The forward solution with sources that point anywhere, or along the normals of their surface."""
    if orientation == "free":
        return dict(forward)
    if orientation != "normal":
        remedy = "Write orientation='free': a loose orientation is a weight of a prior, which a guarantee cannot have."
        raise MisuseError("orientation", "be 'free' or 'normal'", repr(orientation), remedy)
    if any(space["type"] != "surf" for space in forward["src"]):
        remedy = "Write orientation='free'."
        raise MisuseError("orientation", "be 'free' for sources in a volume, which have no normals", "'normal'", remedy)
    import mne

    return dict(mne.convert_forward_solution(forward, surf_ori=True, force_fixed=True, verbose="ERROR"))


def _sources(
    forward: Mapping[str, Any], white: White, spacing: float | None, depth: float | None, *, is_single: bool
) -> IntArray:
    """The sources that are looked at: those that sensors see, deep enough, and as far apart as wanted."""
    places = _MILLIMETRES * np.asarray(forward["source_rr"])
    sizes = np.linalg.norm(white.white_gains.reshape(len(white.whitener), len(places), -1), axis=(0, 2))
    chosen = np.flatnonzero(sizes > _SILENT * sizes.max())
    if depth is not None:
        sensors = _MILLIMETRES * np.array([channel["loc"][:3] for channel in forward["info"]["chs"]])
        chosen = chosen[KDTree(sensors).query(places[chosen])[0] >= depth]
    if not chosen.size:
        raise MisuseError(
            "depth", "leave at least one source", Clause(f"it is {depth} mm"), "Take a smaller depth, or leave it out."
        )
    if spacing is None and (is_single or len(chosen) <= _PAIRED):
        return chosen
    step = check_positive("spacing", spacing) if spacing is not None else _step(places[chosen])
    return chosen[_apart(places[chosen], step)]


def _step(places: Array) -> float:
    """Millimetres at which so many places are left as pairs can be made of."""
    step = 5.0
    while len(_apart(places, step)) > _PAIRED:
        step *= 1.1
    return step


def _apart(places: Array, step: float) -> IntArray:
    """Places at least so far from each other, taken in their order."""
    near = KDTree(places).query_ball_point(places, step * (1.0 - 1e-6))
    is_left = np.ones(len(places), dtype=np.bool_)
    for number, others in enumerate(near):
        if is_left[number]:
            is_left[others] = False
            is_left[number] = True
    return np.flatnonzero(is_left)


def grid_errors(gains: Array, places: Array, chosen: IntArray) -> Array:
    """(k,) sines of the angle between the chosen places' lead fields and those of dipoles between them.

    A dipole half way to a neighbouring place, of a direction drawn at random, has the mean of both lead fields to first
    order; of each place the sine that 95 % of these have at most.  gains: (r, s).
    """
    columns = gains.reshape(len(gains), len(places), -1)[:, chosen].transpose(1, 0, 2)  # (k, r, v)
    if len(chosen) < 2:
        return np.zeros(len(chosen))
    near = np.asarray(KDTree(places[chosen]).query(places[chosen], k=min(_NEAR + 1, len(chosen)))[1])  # (k, n)
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    spans = np.where((sizes > 1e-6 * sizes[:, :1])[:, None], left, 0.0)
    rng = np.random.default_rng(0)
    sines = np.empty((len(chosen), near.shape[1] - 1, _DIRECTIONS))
    for k in range(1, near.shape[1]):
        for d in range(_DIRECTIONS):
            directions = rng.standard_normal((len(chosen), columns.shape[2], 1))
            if columns.shape[2] == 1:
                directions = np.ones_like(directions)
            halfway = (0.5 * (columns + columns[near[:, k]]) @ directions)[..., 0]  # (k, r)
            halfway /= np.linalg.norm(halfway, axis=1)[:, None]
            along = np.einsum("krv,kr->kv", spans, halfway)
            sines[:, k - 1, d] = np.sqrt(np.maximum(1.0 - (along**2).sum(axis=1), 0.0))
    return np.asarray(np.quantile(sines.reshape(len(chosen), -1), _COVERED, axis=1))

"""Rows as people have them: options of their law that a project leaves open, and replicates of the elements.

Open are background, noise and coefficients.  Replicates come in tables with a line for each measured spectrum.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from .._typing import Array, Field
from ..io import Axis, ReaderOutput, as_pairs, read_columns, root_unit
from ..judges.conformal import Replicates
from ..laws import law_named
from ..responses import NO_LINE, GenericFamily, escape_columns, pile_up_column, tail_columns
from ._element_list import column_numbers
from ._element_sections import Background
from ._elements import Physical
from ._library import library_replicates
from ._load import Project, named_by_key
from ._responses import read_atoms
from ._schema import ProjectFile
from ._sections import File
from ._tables import ordered, outside_counts, read_recorded, recorded

_NOISE = "data.deployment.noise"
# Rows without a signal, by channels: the level holds for fewer, too, but hardly anything would be excluded.
_LEAST_ROWS = 2
# Squares of what is smaller, or larger than its inverse, are no numbers of full precision.
_SMALLEST = 1e-100


def check_noises_told_apart(project: Project, physical: Physical) -> None:
    """Refuse as many numbers as there are channels: they may be values to try, or one for each."""
    q = physical.n_channels
    for name, spec in project.settings.data.streams.items():
        if spec.noise is not None and len(spec.noise.values) == q > 1:
            raise project.misuse(
                f"data.{name}.noise",
                "be either values to try or one variance for each channel",
                Clause(f"{q} numbers for {q} channels may be both"),
                'For one variance per channel write { variance = "file.npy" } with the law gaussian. To try values, '
                "give another number of them.",
            )


def mixture_options(project: Project, physical: Physical) -> dict[str, object]:
    """The options of the deployment law beyond its bank; empty if nothing is left open."""
    settings = project.settings
    spec = settings.data.deployment
    is_counted = law_named(spec.law).is_counted
    thresholds = {
        name: region.absence_threshold
        for name, region in project.regions.items()
        if region.strength is None and region.absence_threshold is not None
    }
    error = settings.elements.error_size if physical.errors is None else physical.errors
    n_bands = len(spec.frequencies or ())
    options: dict[str, object] = {
        "rows": spec.rows,
        "bands": n_bands if n_bands > 1 else None,
        "exposure": spec.exposure,
        "background": background_columns(project, physical),
        "variants": physical.variants,
        **_unlisted(physical),
        "unlisted_unit": _unlisted_unit(settings),
        # Of counts no coefficient is negative anyway.
        "is_cone": (settings.elements.variants == "cone" and not is_counted) or None,
        "is_between": settings.elements.variants == "between" or None,
        "half_steps": physical.half_steps,
        "family": physical.family,
        "ranges": physical.ranges,
        "counted": physical.counted,
        "relative_error": error if settings.elements.is_error_relative else None,
        "error": None if settings.elements.is_error_relative else error,
        **_covariance(project, physical),
        "coefficients": None if is_counted else _boxes(project) or None,
        "thresholds": thresholds or None,
    }
    check_own_options(project, "data.deployment.options", spec.options, {*options, "is_complex", "noises"})
    return {name: value for name, value in (options | spec.options).items() if value is not None}


def _boxes(project: Project) -> dict[str, tuple[float, float]]:
    """The bounds of coefficients by region, where there are any; all must leave room for an absence threshold."""
    regions = project.regions
    boxes = {name: box for name, region in regions.items() if (box := region.coefficient) and box[0] > -np.inf}
    for name, (low, high) in boxes.items():
        threshold = regions[name].absence_threshold
        most = max(abs(low), abs(high))
        if threshold is not None and threshold > most:
            rule = f"be at most {most:g}, the largest coefficient: above it, ABSENT is certain without any data"
            raise project.misuse(f"regions.{name}.absence_threshold", rule, threshold)
    return boxes


def _unlisted(physical: Physical) -> dict[str, Array | None]:
    """The generic responses, or what they have beside elements that stand for them, and their places."""
    generic = physical.generic
    if generic is None:
        return {}
    columns = generic.further if isinstance(generic, GenericFamily) else generic.columns
    return {"unlisted": columns, "unlisted_places": generic.places}


def _unlisted_unit(settings: ProjectFile) -> str | None:
    """The unit of the places of generic responses: that of the axis or of directions, or numbers of columns."""
    if settings.unlisted is None:
        return None
    if settings.unlisted.atoms is not None:
        return "(columns of atoms)"
    if settings.elements.has_lines:
        return "keV"
    return (settings.elements.unit if settings.unlisted.directions else settings.elements.axis_unit) or None


def check_own_options(project: Project, key: str, options: Mapping[str, object], others: Collection[str]) -> None:
    """Refuse options of a law or a judge that other keys of the project file give."""
    for name in options:
        if name in others:
            remedy = f"Write {name} = ... beside {key}."
            raise project.misuse(key, "hold options that have no key of their own", name, remedy)


def background_columns(project: Project, physical: Physical) -> Array | None:
    """(q, b), or pairs (2 q, b), the columns one after the other in the order of the schema."""
    spec = project.settings.background
    q = physical.n_channels
    if spec is None:
        return None
    axis = np.linspace(-1.0, 1.0, q)
    columns: list[Field] = []
    if spec.polynomial is not None:
        is_counted = law_named(project.settings.data.deployment.law).is_counted
        columns.append(background_basis(q, spec.polynomial, is_counted))
    if spec.local is not None:
        columns.append(_local(project, spec.local, q))
    if spec.splines is not None:
        columns.append(_splines(axis, spec.splines))
    if spec.reference:
        columns.append(np.ones((q, 1)))
    if spec.atoms is not None:
        columns.append(_atoms(project, spec.atoms, physical))
    columns += _detector_columns(project, spec, physical)
    made = np.hstack(columns)
    return as_pairs(made, axis=0) if physical.is_complex else np.asarray(made, dtype=np.float64)


def background_basis(n_channels: int, degree: int, is_counted: bool) -> Array:
    """(q, degree + 1) polynomials along the channels, of counts such that none of them is negative."""
    axis = np.linspace(-1.0, 1.0, n_channels)
    return _bernstein(axis, degree) if is_counted else np.asarray(np.polynomial.legendre.legvander(axis, degree))


def _bernstein(axis: Array, degree: int) -> Array:
    """(q, degree + 1) polynomials that are nowhere negative and sum up to 1."""
    from scipy.special import comb  # slow to load, and few rows are counts

    right = (0.5 * (axis + 1.0))[:, None]
    powers = np.arange(degree + 1)
    return np.asarray(comb(degree, powers) * right**powers * (1.0 - right) ** (degree - powers))


def _local(project: Project, degree: int, q: int) -> Array:
    """(q, columns) polynomials on every piece of the window, of a degree that grows by 1 with 20 channels."""
    window = project.channels.window
    places = project.channels.places
    if places is None or window is None:
        remedy = "Give data.deployment.window, or polynomial in its place."
        raise project.misuse("background.local", "go with a window on an axis", Clause("there is none"), remedy)
    inside = places[window]
    made = []
    for piece in in_pieces_of(inside, project.channels.ends):
        columns = np.zeros((q, degree + 1 + len(piece) // 20))
        columns[piece] = background_basis(len(piece), columns.shape[1] - 1, is_counted=True)
        made.append(columns[:, columns.any(axis=0)])
    return np.hstack(made)


def in_pieces_of(places: Array, ends: Sequence[tuple[float, float]]) -> list[NDArray[np.intp]]:
    """The numbers of the channels in each piece of a window, where it has some."""
    pieces = [np.flatnonzero((places >= low) & (places <= high)) for low, high in ends]
    return [piece for piece in pieces if len(piece)]


def _splines(axis: Array, count: int) -> Array:
    """(q, count) cubic splines that sum up to 1, on equally long pieces."""
    from scipy.interpolate import BSpline  # slow to load, and few backgrounds are splines

    inner = np.linspace(-1.0, 1.0, count - 2)
    knots = np.concatenate([[-1.0] * 3, inner, [1.0] * 3])
    return np.asarray(BSpline.design_matrix(axis, knots, 3).toarray())


def _atoms(project: Project, file: File, physical: Physical) -> Field:
    """(q, m) of a size that squares can have."""
    key = "background.atoms"
    columns = read_atoms(project, key, file, physical.n_channels, is_complex=physical.is_complex)
    sizes = np.abs(columns).max(axis=0, initial=0.0)
    if ((sizes > 0.0) & ((sizes < _SMALLEST) | (sizes > 1.0 / _SMALLEST))).any():
        rule = f"have columns whose largest entries lie between {_SMALLEST:g} and {1.0 / _SMALLEST:g}, or are 0"
        raise project.misuse(key, rule, ", ".join(f"{size:g}" for size in sizes[:4].tolist()))
    return columns


def _detector_columns(project: Project, spec: Background, physical: Physical) -> list[Array]:
    """Pile-up, escape peaks and tails, worked out on the whole axis and cut to the window."""
    axis = project.channels.places
    if axis is None or not spec.needs_axis:
        return []
    if physical.is_complex:
        raise project.misuse(
            "background", "have no pile-up, escape peaks or tails with complex rows", Clause("one of these is given")
        )
    made: dict[str, list[Array]] = {}
    if spec.pile_up is not None:
        key = "background.pile_up"
        with named_by_key(project, key):
            counts = _spectrum(project, key, spec.pile_up, physical)
            made[key] = [pile_up_column(axis, counts)[:, None]]
    if physical.lines is not None:
        for key, make, values in (
            ("background.escape", escape_columns, spec.escape or ()),
            ("background.tail", tail_columns, spec.tail or ()),
        ):
            with named_by_key(project, key):
                made[key] = [make(axis, physical.lines, value) for value in values]
    return [_inside(project, key, np.hstack(columns)) for key, columns in made.items() if columns]


def _spectrum(project: Project, key: str, spec: File | Literal[True], physical: Physical) -> Array:
    """(q,) counts that pile up: of a file, or those of the rows outside of the window."""
    if spec is True:
        return outside_counts(project, physical)
    held = read_recorded(project, key, spec)
    values = ordered(project, key, held, (project.channels.axis, Axis("rows")))
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _inside(project: Project, key: str, columns: Array) -> Array:
    """(q, m) the columns that reach into the window."""
    cut = project.channels.cut(columns, 0)
    seen = cut.max(axis=0) > NO_LINE
    if not seen.any():
        raise project.misuse(key, "reach into the window", Clause("there is nothing"), "Leave it out.")
    return np.asarray(cut[:, seen] / cut[:, seen].max(axis=0))


def _covariance(project: Project, physical: Physical) -> dict[str, object]:
    """The covariance as (q,) variances, (q, q), or pairs of its rows (2 q, q), and the freedom of an estimate."""
    spec = project.settings.data.deployment.noise
    q = physical.n_channels
    if spec is not None and spec.kind is not None:
        return {"noise_shape": spec.kind}
    files = {name: getattr(spec, name) for name in _CHECKS if getattr(spec, name, None) is not None}
    if spec is None or not files:
        return {}
    ((key, file),) = files.items()
    held = read_recorded(project, f"{_NOISE}.{key}", file)
    project.channels.check_unit(project.name(f"{_NOISE}.{key}"), held.unit if key == "rows" else root_unit(held.unit))
    values = ordered(project, f"{_NOISE}.{key}", _named_alike(held, key), _noise_axes(project, held, key))
    with np.errstate(invalid="ignore"):
        if not np.isfinite(values.astype(np.complex128)).all():
            raise project.misuse(f"{_NOISE}.{key}", "be finite", Clause("one number is not"))
    covariance = _CHECKS[key](project.name(f"{_NOISE}.{key}"), values, project.channels.total(q))
    covariance = project.channels.cut(covariance, *range(covariance.ndim))
    if np.iscomplexobj(covariance) and not physical.is_complex:
        raise project.misuse(f"{_NOISE}.{key}", "be real as the responses are", "complex numbers")
    is_paired = physical.is_complex and covariance.ndim == 2
    stored = as_pairs(covariance, axis=0) if is_paired else np.asarray(covariance, dtype=np.float64)
    return {"covariance": stored, "covariance_freedom": None if spec.rows is None else len(values) - 1}


def _named_alike(held: ReaderOutput, key: str) -> ReaderOutput:
    """A covariance of which one axis is named has the other by the same names."""
    if key != "covariance" or not any(held.headings):
        return held
    rows, columns = held.headings
    return replace(held, headings=(rows or columns, columns or rows))


def _noise_axes(project: Project, held: ReaderOutput, key: str) -> tuple[Axis, ...]:
    """The axes of a noise file."""
    channels = project.channels.axis
    repeats = Axis("rows")
    if key == "covariance":
        return channels, channels
    return (repeats, channels) if key == "rows" or len(held.values) == 1 else (channels, repeats)


def _variance(key: str, values: Field, q: int) -> Field:
    if values.shape not in ((q,), (q, 1), (1, q)):
        raise MisuseError(key, f"hold {q} variances, one for each channel", f"shape {values.shape}")
    if not values.min() > 0.0:
        raise MisuseError(key, "be above 0", values.min())
    return values.reshape(-1)


def _matrix(key: str, values: Field, q: int) -> Field:
    if values.shape != (q, q):
        raise MisuseError(key, f"have shape {(q, q)}", values.shape)
    return values


def _estimated(key: str, values: Field, q: int) -> Field:
    """The covariance of rows without a signal."""
    if values.ndim != 2 or values.shape[1] != q:
        raise MisuseError(key, f"have {q} columns, one for each channel", f"shape {values.shape}")
    least = max(_LEAST_ROWS * q, q + 6)
    if len(values) < least:
        remedy = "Record more of them, or give the variances of the channels."
        raise MisuseError(key, f"hold at least {least} rows without a signal", len(values), remedy)
    left = values - values.mean(axis=0)
    return np.asarray(left.T @ left.conj() / (len(values) - 1))


_CHECKS = {"variance": _variance, "covariance": _matrix, "rows": _estimated}


def noise_notes(project: Project) -> tuple[str, ...]:
    """Say what an estimated covariance assumes."""
    spec = project.settings.data.deployment.noise
    if spec is None or spec.rows is None:
        return ()
    return (
        "The covariance of the noise is estimated from rows without a signal: they must have the noise of the rows "
        "with a signal. The judge takes the errors of the estimate into account, so that the level holds exactly; the "
        "more rows there are, the more is excluded.",
    )


def judge_note(project: Project, judge: Mapping[str, object]) -> str:
    """State the judge that was chosen, and why, if the project names none."""
    law = project.settings.data.deployment.law
    why = f"the usual one for rows of the law {law}"
    if judge["judge"] == "conformal":
        why = "as there are replicates, which nobody else takes"
    elif judge["judge"] == "rotation" and project.settings.data.deployment.rows == "random":
        why = "which takes the strengths of every row for unknown: all rows judge without a split"
    elif judge.get("cells"):
        why = "as the truth may lie anywhere in cells, unless elements.exact = true; no other judge takes these"
    elif judge["judge"] != law_named(law).usual_judge:
        why = "as rotations take no responses that are known up to an angle, or mixed without negative parts"
    return f"The judge is {judge['judge']}, {why}. It assumes: {judge['assumes']}."


_ELEMENT = "element"
_FILE = "file"


def read_spectra(
    project: Project, key: str, file: str, unit: str | None, physical: Physical
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Field, ...]]:
    """The element of each line, its unit, if a column for it is named, and its rows (n, q).

    The rows are in a file that the line names, or n = 1, in a column for each channel.
    """
    path = project.file(key, file)
    name = project.name(key)
    with recorded(project, key, file, path) as entry:
        with named_by_key(project, key):
            columns = read_columns(path)
        entry |= {"shape": [len(next(iter(columns.values()))), len(columns)]}
    own = (_ELEMENT, *([unit] if unit else []))
    rest = [column for column in columns if column not in own]
    is_by_file = rest == [_FILE]
    total = project.channels.total(physical.n_channels)
    if any(column not in columns for column in own) or not (is_by_file or len(rest) == total):
        rule = f"have the columns {', '.join(own)}, and either file or one for each of {total} channels"
        raise MisuseError(name, rule, f"{', '.join([*columns][:3])} and so on, {len(columns)} in all")
    elements = tuple(columns[_ELEMENT])
    if not elements:
        raise MisuseError(name, "have a line for each spectrum", Clause("there is none"))
    known = (*physical.library.ids, *project.channels.hidden)
    other = next((cell for cell in elements if cell not in known), None)
    if other is not None:
        raise MisuseError(name, "name elements of the list", repr(other))
    units = tuple(columns[unit]) if unit else ()
    if is_by_file:
        return elements, units, tuple(_of_file(project, key, cell, physical) for cell in columns[_FILE])
    rules = ("hold numbers", "hold finite numbers")
    is_complex = physical.is_complex
    order = project.channels.order(name, key, rest)
    cells = rest if order is None else [rest[i] for i in order]
    values = [column_numbers(name, cell, columns[cell], rules, is_complex=is_complex) for cell in cells]
    return elements, units, tuple(project.channels.cut(np.column_stack(values), 1)[:, None])


def _of_file(project: Project, key: str, file: str, physical: Physical) -> Field:
    """(n, q) rows of a file that a line names, relative to the project file."""
    try:
        spec = File(file=file)
    except ValueError:  # of its name, as pydantic tells it
        raise project.misuse(key, "name files", repr(file)) from None
    held = read_recorded(project, f"{key}[{file}]", spec)
    axes = (project.channels.axis, Axis("rows")) if _is_column(held) else (Axis("rows"), project.channels.axis)
    values = ordered(project, f"{key}[{file}]", held, axes)
    rows = np.atleast_2d(values.T if _is_column(held) else values)
    total = project.channels.total(physical.n_channels)
    if rows.ndim != 2 or rows.shape[1] != total or not np.isfinite(rows).all():
        rule = f"name files with {total} finite numbers in every row, one for each channel"
        raise project.misuse(key, rule, f"{file} of shape {values.shape}")
    if np.iscomplexobj(rows) and not physical.is_complex:
        raise project.misuse(key, "name files with real rows, as the responses are", file)
    return project.channels.cut(np.asarray(rows, dtype=np.complex128 if physical.is_complex else np.float64), 1)


def _is_column(held: ReaderOutput) -> bool:
    """True for a spectrum that stands in a column or a list."""
    return held.values.ndim == 1 or (held.values.ndim == 2 and held.values.shape[1] == 1)


_REPLICATES = "elements.replicates"


def read_replicates(project: Project, physical: Physical) -> Replicates | None:
    """One spectrum a line, each from a unit; groups are those of the regions."""
    spec = project.settings.elements
    name = project.name(_REPLICATES)
    found = None if spec.library is None else library_replicates(project)
    if found is not None:
        own = _groups(project)
        library, units = found
        group_of = {element: own.get(element, element) for element in library.names}
        with named_by_key(project, "elements.responses"):
            return Replicates(library.columns.T, library.names, units, group_of, background_columns(project, physical))
    if spec.replicates is None or spec.replicate_unit is None:
        return None
    if physical.is_complex:
        raise MisuseError(
            name, "be left out where responses are complex", Clause("a file is given"), "Replicates have real spectra."
        )
    elements, units, rows = read_spectra(project, _REPLICATES, spec.replicates, spec.replicate_unit, physical)
    if any(len(each) != 1 for each in rows):
        raise MisuseError(name, "have one spectrum in every line", "a file with several rows")
    groups = _groups(project)
    background = background_columns(project, physical)
    with named_by_key(project, _REPLICATES):
        spectra = np.concatenate(rows).astype(np.float64)
        return Replicates(spectra, elements, units, {e: groups.get(e, e) for e in elements}, background)


def _groups(project: Project) -> dict[str, str]:
    """The named group of each element that is in one, the outermost of nested ones."""
    group_of: dict[str, str] = {}
    for region in project.regions.values():
        for name, content in (region.groups or {}).items():
            group_of |= dict.fromkeys(_members(content), name)
    return group_of


def _members(content: Any) -> list[str]:  # noqa: ANN401  a list or a table
    """The elements of a group, which is a list of these or a table of such lists."""
    if type(content) is dict:
        return [member for inner in content.values() for member in _members(inner)]
    return list(content)


def replicate_notes(project: Project, replicates: Replicates | None) -> list[str]:
    """Elements with too few units to be excluded at all, and the noise of the replicates where it is left open."""
    spec = project.settings.elements
    if replicates is None:
        return []
    notes = []
    if spec.replicate_noise is None:
        notes.append(
            "replicate_noise is not stated: the noise of each signal and of the replicates is measured along the "
            "channels, and replicates that have less get as much before they are ranked."
        )
    if spec.pool is not None:
        return notes
    share = Fraction(spec.replicate_share or 0.0)
    level = Fraction(project.settings.level) * max(share, 1 - share)
    counts = replicates.n_units(replicates.group_of)[replicates.group_of].tolist()
    few = [f"{name} ({count})" for name, count in zip(replicates.names, counts, strict=True) if (count + 1) * level < 1]
    needed = ceil(1 / level - 1)
    if few:
        notes.append(f"Nothing can exclude {', '.join(few)}: {needed} units are needed at this level.")
    return notes

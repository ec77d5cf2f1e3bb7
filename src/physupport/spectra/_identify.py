"""Which elements of a library are in a measured spectrum: files, arrays and objects to one report."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from .._checks import check_count
from .._errors import MisuseError
from .._typing import Array
from ..analysis import PhysicalSupport, StreamPlan
from ..banks import Library, library_bank
from ..io import (
    Measured,
    Resampled,
    Spectrum,
    kind_of,
    library_units,
    measured_rows,
    read_spectra,
    resampled,
)
from ..judges import JudgeSpec
from ..judges.conformal import ByConformal, Replicates
from ..project import background_basis
from ..questions import RegionRule
from ..report import Report
from ..responses import in_window

# A folder, files, or spectra by name; several of a name are replicates.
SpectraByName: TypeAlias = Any

# More explanations than this take minutes; twenty elements have 211 mixtures of up to two.
MOST_MIXTURES = 20_000
_SAMPLE = "sample"


def identify(
    spectrum: Measured,
    library: SpectraByName,
    *,
    level: float = 0.05,
    max_active: int | None = None,
    background: int | None = 3,
    window: Sequence[float] | None = None,
    counts: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> Report:
    """Report which elements of a library are in a spectrum; all statements are true with probability 1 - level.

    The guarantee assumes that the spectrum is a mixture of at most `max_active` spectra of the library with amounts
    that are not negative, plus a background, in white noise of unknown level.  A library with one spectrum for each
    element has to come from the instrument of the spectrum.  A library with several, each from another sample or
    instrument, needs none of that: the spectrum is then one more of its element, exchangeable with those.

    spectrum: a file of two columns or of an instrument, (axis, values), a labelled array, a `Spectrum`, or a
    dictionary of rosettasciio.  Values (T, q) are T repeats.  It is never resampled, so that its noise stays.
    library: a folder with a file for each element, or with a folder of replicates for each; a pattern of files, a list
    of files, one file with several spectra; or spectra by name, of which a list holds replicates.  The spectra are
    brought to the axis of the measured one, and the error of the interpolation is part of their width (`Resampled`).
    max_active: how many elements may be there at once, 2 unless there are replicates, which allow 1 only.
    background: degree of the polynomial under the spectrum; None for none.
    window: (low, high), the part of the axis that is used.
    counts: True for counted photons, whose noise is Poisson's; no values may be scaled or smoothed before.
    groups: group -> its elements; needed for replicates only, which may allow the group where they do not the element.

    >>> axis = np.linspace(0.0, 10.0, 120)
    >>> library = {f"line {x}": (axis, np.exp(-((axis - x) ** 2))) for x in (2, 5, 8)}
    >>> noise = 0.02 * np.random.default_rng(1).standard_normal(120)
    >>> report = identify((axis, library["line 5"][1] + noise), library, max_active=1)
    >>> [field.field for field in report.fields if str(field.label) == "FINE"]
    ['line 5']
    """
    rows, places, unit = measured_rows(spectrum)
    used = np.ones(len(places), dtype=np.bool_) if window is None else in_window(places, (tuple(window),))
    named = as_spectra(library)
    several = len(named) > len({each.name for each in named})
    columns = resampled(named, places[used], unit)
    rows = rows[:, used]
    columns_beside = _background(background, int(used.sum()), counts)
    if several:
        if counts or max_active not in (None, 1):
            what = "counts" if counts else f"max_active={max_active}"
            raise MisuseError("library", f"have one spectrum for each element with {what}", "several", _ONE_OF_EACH)
        model = _of_replicates(columns, tuple(each.unit for each in named), columns_beside, groups or {}, level, seed)
    else:
        model = _of_mixtures(columns, columns_beside, 2 if max_active is None else max_active, counts, level, seed)
    return model.fit().report(rows)


_ONE_OF_EACH = "Leave counts and max_active out, or give one spectrum for each element."


def _background(degree: int | None, n_channels: int, is_counted: bool) -> Array | None:
    if degree is None:
        return None
    return background_basis(n_channels, check_count("background", degree, 0), is_counted)


def _of_mixtures(
    columns: Resampled, background: Array | None, max_active: int, is_counted: bool, level: float, seed: int
) -> PhysicalSupport:
    """The question which elements are there, each a region of its own that may be silent."""
    names = columns.names
    most = min(check_count("max_active", max_active), len(names))
    total = sum(comb(len(names), k) for k in range(most + 1))
    if total > MOST_MIXTURES:
        remedy = "Set max_active = 1, or leave out elements that cannot be there."
        raise MisuseError("max_active", f"make at most {MOST_MIXTURES} mixtures", f"{total} of {len(names)}", remedy)
    norms = np.linalg.norm(columns.columns, axis=0)
    library = Library(names, names, np.zeros((len(names), 0)), columns.columns / norms)
    supports = [each for k in range(most + 1) for each in combinations(names, k)]
    bank = library_bank(library, supports, dict.fromkeys(names, 1.0))
    options: dict[str, Any] = {"background": background}
    if columns.is_wide:
        widths = columns.widths / norms
        if is_counted:
            options["variants"] = np.array(
                [np.maximum(columns.columns / norms + sign * widths, 0.0) for sign in (1, -1)]
            )
        else:
            options |= {"variants": widths[None], "half_steps": [1.0]}
    if not is_counted:
        options["coefficients"] = dict.fromkeys(names, (0.0, np.inf))
    plan = StreamPlan("poisson" if is_counted else "gaussian", **options)
    return PhysicalSupport(bank, alpha=level, random_state=seed, calibration=None, deployment=plan)


def _of_replicates(
    columns: Resampled,
    units: tuple[str, ...],
    background: Array | None,
    groups: Mapping[str, Sequence[str]],
    level: float,
    seed: int,
) -> PhysicalSupport:
    """The question which element the signal is another replicate of."""
    names = tuple(dict.fromkeys(columns.names))
    group_of = dict(zip(names, names, strict=True))
    group_of |= {name: group for group, members in groups.items() for name in members}
    spectra = columns.columns.T
    replicates = Replicates(spectra, columns.names, units, group_of, background)
    shapes = spectra / np.linalg.norm(spectra, axis=1)[:, None]
    means = np.array([shapes[[each == name for each in columns.names]].mean(axis=0) for name in names]).T
    library = Library(
        names, tuple(_SAMPLE for _ in names), np.zeros((len(names), 0)), means / np.linalg.norm(means, axis=0)
    )
    bank = library_bank(library, [[_SAMPLE]], {_SAMPLE: 1.0})
    judge: JudgeSpec = ByConformal(replicates)
    rule = RegionRule(0.0, groups={group: list(members) for group, members in groups.items()} or None)
    plan = StreamPlan("gaussian", background=background)
    return PhysicalSupport(
        bank, {_SAMPLE: rule}, alpha=level, random_state=seed, calibration=None, deployment=plan, judge=judge
    )


def as_spectra(library: SpectraByName) -> tuple[Spectrum, ...]:
    """The spectra of a library by their names, as `identify` takes them; replicates have the same name."""
    match library:
        case Spectrum():
            return (library,)
        case str() | os.PathLike():
            return tuple(
                spectrum if element is None else replace(spectrum, name=element, unit=path.stem)
                for element, path in library_units(Path(library))
                for spectrum in read_spectra(path, "library")
            )
        case Mapping():
            return tuple(
                spectrum
                for name, held in library.items()
                for i, each in enumerate(held if type(held) is list else [held])
                for spectrum in _named(str(name), each, str(i))
            )
    if kind_of(library) == "DataFrame":
        return tuple(_named(str(name), library[name])[0] for name in library)
    return tuple(spectrum for each in library for spectrum in as_spectra(each))


def _named(name: str, value: Measured, unit: str = "") -> tuple[Spectrum, ...]:
    rows, places, of = measured_rows(value)
    return tuple(Spectrum.of(name, places, row, of, unit) for row in rows)

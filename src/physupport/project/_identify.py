"""One call from a spectrum of gammas or X-rays to a report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from .._checks import check_array, is_path
from .._errors import Clause, MisuseError, misuse_named
from .._files import write_whole
from ..analysis import analyse
from ..io import Measured, measure, measured_rows
from ..report import Report
from ._assemble import assemble
from ._load import load_project
from ._run import run_project

# Detectors by name: what differs from one of germanium.  Variances a + b E are those of a full width at half maximum of
# 7 %, 3 % and 2 % at 662 keV; scales of scintillators drift by about a percent.
DETECTORS_BY_NAME: Final[Mapping[str, Mapping[str, object]]] = {
    "HPGe": {},
    "NaI": {"resolution": (10.0, 0.57), "energy": 6.0, "escape": 0.0, "faint": 150.0},
    "CsI": {"resolution": (10.0, 0.57), "energy": 6.0, "escape": 0.0, "faint": 150.0},
    "LaBr3": {"resolution": (3.0, 0.103), "energy": 3.0, "escape": 0.0, "faint": 150.0},
    "CZT": {"resolution": (5.0, 0.04), "energy": 2.0, "escape": 0.0, "tail": 0.15, "faint": 150.0},
}


def identify(
    spectrum: Measured,
    *,
    nuclides: Sequence[str] | str = (),
    symbols: Sequence[str] | str = (),
    excitation: float | None = None,
    detector: str | Mapping[str, object] | None = None,
    x_rays: bool = False,
    unlisted: bool = False,
    level: float = 0.05,
    folder: str | Path | None = None,
    at_errors: bool = True,
) -> Report:
    """Report which nuclides, or which chemical elements, a spectrum of counts shows.

    With probability at least 1 - level all of it is true at once, if the truth is among the names and the detector is
    as stated.  This writes the project file that says the same, and runs it: see `elements.kind` of project files.

    spectrum: a file whose channels have energies, or the counts (q,) of channels and their energies (q,) in keV, or a
    labelled array or a dictionary of rosettasciio, whose axis has a unit of energy.
    nuclides: such as ["Cs-137", "K-40"], for gammas.  symbols: such as ["Fe", "Pb"], for X-rays that photons of the
    energy `excitation` in keV excite.  detector: for gammas a name, such as "NaI" (`DETECTORS_BY_NAME`), or keys of
    `[elements.detector]`, such as {"energy": 1.0} or {"energy": {"between": [0.4, 1.2]}}; germanium unless given.
    x_rays: with nuclides, True takes the X-rays that follow their decays among their lines.
    unlisted: True allows for lines that no name has, of the resolution of the detector, in the channels looked at.
    folder: where the project and its report are kept; nowhere unless given.
    at_errors: without a folder, False leaves out the answers at other errors of the responses, for speed.
    """
    if bool(nuclides) == bool(symbols):
        given = "both" if nuclides else "neither"
        remedy = 'Write nuclides=["Cs-137", "K-40"] for gammas, or symbols=["Fe", "Ni"], excitation=20.0 for X-rays.'
        raise MisuseError("nuclides", "be given, or else symbols", given, remedy)
    if bool(symbols) != (excitation is not None):
        remedy = "Write excitation=20.0 for photons of 20 keV." if symbols else "Leave excitation out."
        raise MisuseError("excitation", "go with symbols", Clause("none are given") if symbols else excitation, remedy)
    if symbols and isinstance(detector, str):
        raise MisuseError("detector", "hold keys of elements.detector for X-rays", repr(detector))
    kind, key, names = ("gamma lines", "nuclides", nuclides) if nuclides else ("xray lines", "symbols", symbols)
    listed = [names] if isinstance(names, str) else [*names]
    keys = _detector(detector) if isinstance(detector, str) else detector or {}
    text = ["[elements]", f"kind = {_toml(kind)}", f"{key} = {_toml(listed)}"]
    text += [] if excitation is None else [f"excitation = {float(excitation)!r}"]
    text += ["x_rays = true"] if x_rays else []
    text += ["", "[elements.detector]", *(f"{key} = {_toml(value)}" for key, value in keys.items())]
    text += ["", "[unlisted]", 'peaks = { width = "resolution" }'] if unlisted else []
    return _reported(spectrum, level, folder, text, at_errors=at_errors)


def _detector(name: str) -> Mapping[str, object]:
    known = {each.lower(): keys for each, keys in DETECTORS_BY_NAME.items()} | {"auto": {}}
    if name.lower() not in known:
        remedy = "Describe another one by its keys, as [elements.detector] of a project file has them."
        raise MisuseError("detector", f"be auto, {', '.join(DETECTORS_BY_NAME)}", repr(name), remedy)
    return known[name.lower()]


def identify_spectra(
    spectrum: Measured,
    library: str | Path,
    *,
    error: float = 0.03,
    level: float = 0.05,
    at_errors: bool = True,
) -> Report:
    """Report which elements of a library of measured spectra a spectrum of counts shows, each of them by itself.

    With probability at least 1 - level all of it is true at once, if the truth is a mixture of the library on a smooth
    background, and the spectra of the library are right to within a share `error` in every channel.

    library: a folder with a spectrum for each element, or one file with several, all of the detector of the spectrum.
    at_errors: as in `identify`.
    """
    text = ["[background]", "polynomial = 3", "", "[elements]", f"responses = {_toml(str(Path(library).absolute()))}"]
    text += [f"error = {{ relative = {float(error)!r} }}", "", '[regions."*"]', 'presence = "optional"']
    text += ["", "[supports]", "leave_one_out = true"]
    return _reported(spectrum, level, None, text, 'law = "poisson"', "channels = 1", trust=True, at_errors=at_errors)


def _reported(
    spectrum: Measured,
    level: float,
    folder: str | Path | None,
    text: Sequence[str],
    *rows: str,
    trust: bool = False,
    at_errors: bool = True,
) -> Report:
    """Write the project file with these lines, and run it; its page and its tables are made for a folder only."""
    with TemporaryDirectory() as beside, misuse_named(_argument):
        place = Path(beside if folder is None else folder)
        place.mkdir(parents=True, exist_ok=True)
        path = place / "project.toml"
        if path.exists():
            raise MisuseError(
                "folder", "have no project.toml yet", Clause(f"there is one in {place}"), "Name another folder."
            )
        name = _copied(spectrum, place)
        first = [f"level = {level!r}", "", "[data.deployment]", f"file = {_toml(name)}", *rows, ""]
        write_whole(path, ("\n".join([*first, *text]) + "\n").encode())
        project = load_project(path, trust=trust)
        if folder is not None:
            return run_project(project).result.report
        assembled = assemble(project)
        with project.named_run():
            return analyse(replace(assembled.protocol, at_errors=at_errors), assembled.tables).report


def _argument(name: str) -> str:
    """The argument in Python for a key of the project file."""
    key = name.removeprefix("project.toml: ")
    arguments = {"data.deployment.file": "spectrum", "unlisted.peaks": "unlisted"}
    found = (argument for start, argument in arguments.items() if key.startswith(start))
    return next(found, key.removeprefix("elements."))


def _copied(spectrum: Measured, place: Path) -> str:
    """Put the spectrum into the folder of the project; return its name there."""
    if is_path(spectrum):
        source = Path(spectrum)
        if not source.is_file():
            raise MisuseError(
                "spectrum", "be a file", str(source), "Give (counts, energies in keV), or correct its name."
            )
        if source.resolve().parent != place.resolve():
            write_whole(place / source.name, source.read_bytes())
        return source.name
    if isinstance(spectrum, tuple):
        rows = check_array("counts", spectrum[0], (None,))[None]
        energies = check_array("energies", spectrum[1], (rows.shape[1],))
        unit = "keV"
    else:
        rows, energies, unit = measured_rows(spectrum)
    if measure(unit)[0] != "eV" or not (np.diff(energies) > 0.0).all():
        rule = "have energies that increase, in a unit of energy"
        raise MisuseError("spectrum", rule, f"others, in {unit or 'no unit'}", "Give (counts, energies in keV).")
    lines = [",".join(f"{energy:.9g} {unit}".rstrip() for energy in energies.tolist())]
    lines += [",".join(f"{count:.17g}" for count in row) for row in rows.tolist()]
    write_whole(place / "spectrum.csv", "\n".join([*lines, ""]).encode())
    return "spectrum.csv"


def _toml(value: object) -> str:
    """A value as TOML writes it."""
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Mapping():
            return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in value.items())} }}"
        case list() | tuple() | np.ndarray():
            return f"[{', '.join(_toml(each) for each in value)}]"
        case int() | float() | np.number():
            return repr(float(value))
    return repr(value)

"""`physupport rid`: nuclides in a spectrum, for other programs, as JSON on standard output."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .. import project as projects
from .._errors import Clause, MisuseError
from . import _later
from ._app import use_threads
from ._text import save_report

_FILE = "Spectrum of counts with energies: N42, SPE, PCF, CNF, CHN, SPC and others; its content tells the format."
_LIBRARY = "Folder or file with a measured spectrum of the same detector for each nuclide, in place of lines."
_NUCLIDES = "Names separated by commas, or a text file with a name a line; 80 usual ones unless given."
_DRF = "Detector: auto (germanium), HPGe, NaI, CsI, LaBr3 or CZT."
_UNLISTED = "Allow for lines that no nuclide of the library has, and say where: for scintillators, or few nuclides."
_N42 = "Write the spectrum as N42 with the answer as AnalysisResults."
_MODE = "command-line: answer as InterSpec's External RID reads it."
_SAVE = "Write the report, which physupport verify and show take."

RID_OPTIONS = {
    "level": "--level", "detector": "--drf", "nuclides": "--nuclides", "elements.nuclides": "--nuclides",
    "elements.responses": "--library", "unlisted": "--unlisted",
}  # fmt: skip


def rid(
    file: Annotated[Path | None, typer.Argument(help=_FILE)] = None,
    nuclides: Annotated[str | None, typer.Option(help=_NUCLIDES)] = None,
    library: Annotated[Path | None, typer.Option(help=_LIBRARY)] = None,
    drf: Annotated[str, typer.Option(help=_DRF)] = "auto",
    detector_name: Annotated[str | None, typer.Option(help="Which detector of a file with several.")] = None,
    level: Annotated[float, typer.Option(help="Largest probability that any statement is false.")] = 0.05,
    unlisted: Annotated[bool, typer.Option("--unlisted", help=_UNLISTED)] = False,
    n42: Annotated[Path | None, typer.Option(help=_N42)] = None,
    save: Annotated[Path | None, typer.Option(help=_SAVE)] = None,
    mode: Annotated[str | None, typer.Option(help=_MODE)] = None,
    command_line: Annotated[bool, typer.Option("--command-line", help="The same as --mode=command-line.")] = False,
    out_format: Annotated[str, typer.Option(help="json, the only one.")] = "json",
    drfs: Annotated[bool, typer.Option("--drfs", help="List the detectors as JSON and stop.")] = False,
    synthesize_background: Annotated[int, typer.Option(hidden=True)] = 0,  # noqa: ARG001  that protocol passes it
) -> None:
    """Identify nuclides in a spectrum: which are certain and which possible, all at one level, as JSON.

    A nuclide is certain if the others of the library, on any background, cannot stand in for it.  Backgrounds that the
    file has beside its spectrum are left out: natural nuclides belong into the library.  With --mode=command-line the
    answer has the form that InterSpec's External RID reads.  Exit codes: 0, there is an answer, whatever it says; 2,
    misuse, told on standard error.
    """
    if drfs:
        typer.echo(json.dumps(["auto", *projects.DETECTORS_BY_NAME]))
        return
    use_threads(None, "--workers")
    if out_format != "json" or mode not in (None, "command-line"):
        given = out_format if out_format != "json" else mode
        raise MisuseError("--out-format" if out_format != "json" else "--mode", "be json, or command-line", repr(given))
    if file is None:
        raise MisuseError("FILE", "name a spectrum", Clause("none is given"), "Write physupport rid FILE.")
    report = projects.identify_nuclides(
        file,
        nuclides=_names(nuclides),
        library=library,
        detector=drf,
        member=detector_name,
        unlisted=unlisted,
        level=level,
    )
    answer = projects.nuclide_answer(report)
    if save is not None:
        save_report(report, save, "--save")
    if n42 is not None:
        confidence = 100.0 * (1.0 - report.level)
        found = [(name, projects.category(name), confidence) for name in answer["certain"]]
        _later.io.write_n42(file, n42, {f"physupport rid, report {answer['digest'][:16]}": found})
    is_external = mode is not None or command_line
    typer.echo(json.dumps(projects.external_answer(report, drf) if is_external else answer, indent=2))


def _names(given: str | None) -> tuple[str, ...]:
    """The names in a text with commas, or of the lines of a file; comments after # do not count."""
    if given is None:
        return ()
    if Path(given).is_file():
        lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
        return tuple(name for line in lines if (name := line.partition("#")[0].strip()))
    return tuple(name for part in given.split(",") if (name := part.strip()))

"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

import json
from dataclasses import asdict
from importlib.util import find_spec
from io import BytesIO
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track

from .. import project as projects
from .._errors import Clause, MisuseError
from ..local import planning, shell
from . import _later
from ._app import Trust
from ._text import check_ends, load_counted, show_lines

if TYPE_CHECKING:
    from ..local.planning import Design, Plan
    from ..local.shell import Amplitudes, LocalDictionary

# The calibration mixture has 2^(q + 1) components: one atom more takes about three times as long, eight some seconds.
_MOST_ATOMS = 8
# Fewest atoms with a turn that fixes the sum of the active ones; fewest that take long enough to say so.
_TURNING = 4
_SLOW = 7
_SUFFIXES = (".png", ".pdf", ".svg")

_DEFAULT_SCALE = 0.2
_DEFAULT_ATOMS = 4
_SCALE = f"Separation scale s: how far the atoms reach from their common axis, below 1; {_DEFAULT_SCALE} unless given."
_DICTIONARY = (
    "Your own block instead: a text file of q rows and q + 1 columns, comma- or blank-separated; each column is an "
    "atom of norm 1, the last one the separated atom."
)
_ATOMS = f"Number q of atoms in the block, 3 to {_MOST_ATOMS}; {_DEFAULT_ATOMS} unless given."
_WANTED = "Wanted resolution, a projective distance; the plan states what reaches it."
_PICTURE = "Draw the resolution over N and s into this file (.png, .pdf, .svg)."
_SUPPORT = "Indices of the active atoms, from 0, comma-separated; the first ones unless given."
_SEPARATED = "The same for the separated atom; unless given, LOW to HIGH times the number of active atoms."
_PROJECT = "A project file instead: what each judge would leave of as many rows as it has; none of them is looked at."
_STRENGTH = "Size of the free coefficients in simulated rows, with a project."
_TURN = "Treat the block as known except for its turn about the active atoms."

# Options by the arguments behind them.
_SAME = ("p", "noise", "sigma", "support", "coefficients", "wanted", "dictionary", "strength")
PLAN_OPTIONS = {name: f"--{name}" for name in _SAME} | {
    "n_calibration": "--calibration",
    "n_deployment": "--deployment",
    "alpha_calibration": "--alpha",
    "alpha_deployment": "--alpha",
}


def plan(
    scale: Annotated[float | None, typer.Option(help=_SCALE)] = None,
    atoms: Annotated[int | None, typer.Option(help=_ATOMS)] = None,
    dictionary: Annotated[Path | None, typer.Option(help=_DICTIONARY)] = None,
    calibration: Annotated[float, typer.Option("--calibration", "-N", help="Calibration rows N, up to 1e18.")] = 1e6,
    deployment: Annotated[float, typer.Option("--deployment", "-T", help="Deployment rows T, up to 1e18.")] = 1e4,
    p: Annotated[float, typer.Option(help="Probability that an atom is active in a calibration row.")] = 0.2,
    noise: Annotated[float, typer.Option(help="Calibration noise, a variance.")] = 0.5,
    sigma: Annotated[float, typer.Option(help="Deployment noise, a standard deviation.")] = 0.5,
    coefficients: Annotated[str, typer.Option(help="Coefficients of the active atoms, comma-separated.")] = "1,1",
    support: Annotated[str | None, typer.Option(help=_SUPPORT)] = None,
    amplitudes: Annotated[str, typer.Option(help="Range of coefficients allowed at all: LOW,HIGH.")] = "0.5,2",
    separated: Annotated[str | None, typer.Option(help=_SEPARATED)] = None,
    alpha: Annotated[float, typer.Option(help="Error level of calibration and of deployment, each.")] = 0.05,
    turn: Annotated[bool, typer.Option("--turn", help=_TURN)] = False,
    wanted: Annotated[float | None, typer.Option(help=_WANTED)] = None,
    picture: Annotated[Path | None, typer.Option(help=_PICTURE)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    project: Annotated[Path | None, typer.Option(help=_PROJECT)] = None,
    strength: Annotated[float, typer.Option(help=_STRENGTH)] = 1.0,
    trust: Trust = False,
) -> None:
    """Say what calibration and deployment data can resolve within a coherent block, with numbers.

    Three questions come in order: which local explanation is supported, which
    atoms participate, and how precisely those atoms map to physical elements.
    The last answer comes from the exact Fisher information of calibration.

    Distances are projective: the sine of the angle between two atoms.

    With --project, say what each judge would leave of the rows of a project.
    """
    if project is not None:
        _show_judges(project, as_json, trust, strength)
        return
    _check_picture(picture)
    block = _dictionary(scale, atoms, dictionary)
    values = _numbers("--coefficients", coefficients)
    active = _active(len(values), support, block.q)
    if turn and block.q < _TURNING:
        raise MisuseError("--turn", f"come with at least {_TURNING} atoms", block.q, "Fewer leave nothing to turn.")
    if not 1e-6 <= noise <= 1e6:
        raise MisuseError("--noise", "lie between 1e-06 and 1e+06", repr(noise))
    design = planning.Design(
        dictionary=block,
        law=_later.laws.BernoulliGaussian(p),
        noise=noise,
        n_calibration=_rows("--calibration", calibration),
        n_deployment=_rows("--deployment", deployment),
        sigma=sigma,
        support=active,
        coefficients=_later.np.array(values),
        amplitudes=_amplitudes(amplitudes, separated, len(values)),
        alpha_calibration=alpha,
        alpha_deployment=alpha,
        turn=shell.compensated_generator(block.block.frame.template, active) if turn else None,
    )
    if block.q >= _SLOW:
        typer.echo(f"{block.q} atoms take about half a minute.", err=True)
    _show(design, planning.plan(design, wanted), picture, as_json)


def _show(design: "Design", planned: "Plan", picture: Path | None, as_json: bool) -> None:
    """Show a plan as sentences or as JSON, and draw its picture if one is wanted."""
    sentences = planning.plan_sentences(design, planned)
    if as_json:
        typer.echo(_json(planned, sentences))
    else:
        show_lines(f"- {sentence}" for sentence in sentences)
    if picture is not None:
        _draw_map(design, picture)
        typer.echo(f"Picture written to {picture}.", err=True)


def _show_judges(project: Path, as_json: bool, trust: bool, strength: float) -> None:
    """Show a line for every judge of the rows of a project, and what these were made of; or JSON."""
    loaded = load_counted(project, {}, trust=trust)  # first: of a bank that is too large nothing else is loaded
    assembled = projects.assemble(loaded)
    forecasts = projects.compare_judges(assembled, strength=strength)
    if as_json:
        typer.echo(json.dumps([asdict(forecast) for forecast in forecasts], indent=2, allow_nan=False))
        return
    show_lines(f"- {forecast.sentence()}" for forecast in forecasts)
    show_lines([" ".join(projects.comparison_notes(assembled, forecasts, strength))])


def _dictionary(scale: float | None, atoms: int | None, path: Path | None) -> "LocalDictionary":
    """The block and its separated atom: of the options, or of a text file, one atom a column."""
    if path is None:
        q = _later.checks.check_count("--atoms", _DEFAULT_ATOMS if atoms is None else atoms, 3, _MOST_ATOMS)
        reach = _later.checks.check_open("--scale", _DEFAULT_SCALE if scale is None else scale, 0.0, 1.0)
        return shell.balanced_dictionary(shell.Frame.standard(q), reach)
    if scale is not None or atoms is not None:
        raise MisuseError("--dictionary", "come without --scale and --atoms", path, "The file has both.")
    name = f"--dictionary {path}"
    table = _later.np.array(_table(name, path))
    q, columns = table.shape
    if not 3 <= q <= _MOST_ATOMS or columns != q + 1:
        rule = f"have q rows, 3 to {_MOST_ATOMS}, and q + 1 columns, the separated atom last"
        raise MisuseError(name, rule, f"{q} rows and {columns} columns")
    table = _later.checks.check_unit_columns(name, table)
    block = shell.Block.from_columns(shell.Frame.around(table[:, :-1]), table[:, :-1])
    return shell.LocalDictionary(block, table[:, -1])


def _table(name: str, path: Path) -> list[list[float]]:
    """The numbers of a text file, equally many in every row; blank lines and comments after # do not count."""
    check_ends(name, path)
    try:
        # Spreadsheets write a byte-order mark, which this encoding drops.
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise MisuseError(name, "be a readable file", error.strerror) from None
    except UnicodeDecodeError:
        raise MisuseError(name, "be a text file", "bytes that are not UTF-8") from None
    table: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise MisuseError(name, "hold numbers only", f"{line.strip()!r} in line {number}") from None
        if row and table and len(row) != len(table[0]):
            rule = f"have equally many numbers in every row, {len(table[0])} as in the first"
            raise MisuseError(name, rule, f"{len(row)} in line {number}")
        table += [row] if row else []
    if not table:
        raise MisuseError(name, "hold a table of numbers", Clause("it is empty"))
    return table


def _active(count: int, support: str | None, q: int) -> tuple[int, ...]:
    """The active atoms, as many as there are coefficients: the first ones, unless given."""
    if not 2 <= count <= q - 1:
        raise MisuseError("--coefficients", f"be 2 to {q - 1} numbers for {q} atoms", count)
    if support is None:
        return tuple(range(count))
    active = _numbers("--support", support)
    for atom in active:
        if not atom.is_integer():
            raise MisuseError("--support", "be whole numbers", repr(atom))
    if len(active) != count:
        raise MisuseError("--support", f"hold as many atoms as --coefficients, {count}", len(active))
    return tuple(map(int, active))


def _amplitudes(block: str, separated: str | None, count: int) -> "Amplitudes":
    """The ranges of the coefficients; the separated atom has from one of the weakest to all of the strongest."""
    low, high = _range("--amplitudes", block)
    rival = (low, count * high) if separated is None else _range("--separated", separated)
    return shell.Amplitudes(_later.checks.Interval(low, high), _later.checks.Interval(*rival))


def _range(name: str, text: str) -> tuple[float, float]:
    ends = _numbers(name, text)
    if len(ends) != 2 or not 0.0 < ends[0] <= ends[1] < inf:
        raise MisuseError(name, "be two numbers LOW,HIGH with 0 < LOW <= HIGH", repr(text))
    return ends[0], ends[1]


def _numbers(name: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MisuseError(name, "be numbers separated by commas", repr(text)) from None


def _rows(name: str, value: float) -> int:
    """A number of rows, which may be written like 1e6."""
    most = planning.MOST_ROWS
    if not 1.0 <= value <= most or not value.is_integer():
        raise MisuseError(name, f"be a whole number from 1 to {most:.0e}".replace("e+", "e"), repr(value))
    return int(value)


def _json(planned: "Plan", sentences: list[str]) -> str:
    """The plan as strict JSON: what is infinite or absent is null, and `beyond_search` tells the two apart."""
    fields = asdict(planned)
    for name, gate in (("explanation", planned.explanation), ("support", planned.support)):
        fields[name] |= {"is_open": gate.is_open, "stays_open": gate.stays_open}
    if planned.remedies is not None:
        counts = ("n_calibration", "n_deployment")
        fields["remedies"]["beyond_search"] = [name for name in counts if fields["remedies"][name] == inf]
    return json.dumps(_finite(fields | {"sentences": sentences}), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    match value:
        case dict():
            return {key: _finite(entry) for key, entry in value.items()}
        case float() if not isfinite(value):
            return None
    return value


def _check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, if one is wanted, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in _SUFFIXES or path.is_dir() or not path.parent.is_dir():
        rule = f"name a {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]} file in a folder that exists"
        raise MisuseError("--picture", rule, repr(str(path)))
    if find_spec("matplotlib") is None:
        remedy = 'Install it with pip install "physupport[plot]".'
        raise MisuseError("--picture", "be drawn with matplotlib", Clause("that package is not installed"), remedy)


def _draw_map(design: "Design", path: Path) -> None:
    """Draw the resolution around the planned N and s; a bar on standard error shows how far it is."""
    scales = planning.map_scales(design, 13)
    rows = design.n_calibration * _later.np.geomspace(1e-4, 1e4, 49)
    console = Console(stderr=True)
    resolutions = planning.resolution_map(
        design, scales, rows, lambda each: track(list(each), "Drawing", console=console, transient=True)
    )
    figure = _later.figure.Figure(figsize=(3.4, 2.5), layout="constrained")
    _later.plots.plot_resolution(resolutions, figure.subplots())
    try:
        drawn = BytesIO()
        figure.savefig(drawn, dpi=200, format=path.suffix[1:])
        _later.files.write_whole(path, drawn.getvalue())
    except (OSError, ValueError) as error:
        raise MisuseError("--picture", "be a writable file", Clause(f"{path} is not ({error})")) from None

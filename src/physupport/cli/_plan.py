"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError
from ._app import app
from ._show import as_json as plan_json
from ._show import draw_map, show_sentences

if TYPE_CHECKING:
    from ..geometry import Amplitudes, LocalDictionary

SCALE, ATOMS = 0.2, 4


@app.command()
def plan(
    scale: Annotated[
        float | None,
        typer.Option(help=f"Coherence scale s: how far the atoms reach from their common axis, {SCALE} unless given."),
    ] = None,
    atoms: Annotated[int | None, typer.Option(help=f"Number q of atoms in the block, {ATOMS} unless given.")] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            help="Your own block instead: a text file of q rows and q + 1 columns, comma- or blank-separated; each "
            "column is an atom of norm 1, the last one the separated atom."
        ),
    ] = None,
    calibration: Annotated[float, typer.Option("--calibration", "-N", help="Calibration rows N.")] = 1e6,
    deployment: Annotated[float, typer.Option("--deployment", "-T", help="Deployment rows T.")] = 1e4,
    p: Annotated[float, typer.Option(help="Probability that an atom is active in a calibration row.")] = 0.2,
    noise: Annotated[float, typer.Option(help="Calibration noise, a variance.")] = 0.5,
    sigma: Annotated[float, typer.Option(help="Deployment noise, a standard deviation.")] = 0.5,
    coefficients: Annotated[str, typer.Option(help="Coefficients of the active atoms, comma-separated.")] = "1,1",
    support: Annotated[
        str | None,
        typer.Option(help="Indices of the active atoms, from 0, comma-separated; the first ones unless given."),
    ] = None,
    amplitudes: Annotated[str, typer.Option(help="Range of coefficients allowed at all: LOW,HIGH.")] = "0.5,2",
    separated: Annotated[
        str | None,
        typer.Option(
            help="The same for the separated atom; unless given, LOW to HIGH times the number of active atoms."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Error level of calibration and of deployment, each.")] = 0.05,
    turn: Annotated[
        bool, typer.Option("--turn", help="All of the block is known but how far it is turned about its active atoms.")
    ] = False,
    wanted: Annotated[
        float | None, typer.Option(help="Wanted resolution, a projective distance: say what reaches it.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the resolution over N and s into this file (.png, .pdf, .svg).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what calibration and deployment data can resolve within a coherent block, with numbers.

    Three questions come in order: which local explanation is supported, which
    atoms participate, and how precisely those atoms map to physical elements.
    The last answer comes from the exact Fisher information of calibration.

    Distances are projective: the sine of the angle between two atoms.
    """
    import numpy as np

    from ..models import BernoulliGaussian
    from ..theory import Design, compensated_generator
    from ..theory import plan as make_plan

    block = _dictionary(scale, atoms, dictionary)
    x = _numbers("coefficients", coefficients)
    active = (
        tuple(range(len(x))) if support is None else tuple(_whole("support", j) for j in _numbers("support", support))
    )
    design = Design(
        dictionary=block,
        law=BernoulliGaussian(p),
        noise=noise,
        n_calibration=_whole("calibration", calibration),
        n_deployment=_whole("deployment", deployment),
        sigma=sigma,
        support=active,
        coefficients=np.array(x),
        amplitudes=_amplitudes(amplitudes, separated, len(x)),
        alpha_calibration=alpha,
        alpha_deployment=alpha,
        turn=compensated_generator(block.block.frame.template, active) if turn else None,
    )
    found = make_plan(design, wanted)
    if as_json:
        typer.echo(plan_json(design, found))
    else:
        show_sentences(design, found)
    if picture is not None:
        draw_map(design, picture)
        typer.echo(f"Picture written to {picture}.", err=True)


def _dictionary(scale: float | None, atoms: int | None, path: Path | None) -> "LocalDictionary":
    from ..geometry import Frame
    from ..theory import balanced_dictionary

    if path is None:
        return balanced_dictionary(Frame.standard(ATOMS if atoms is None else atoms), SCALE if scale is None else scale)
    if scale is not None or atoms is not None:
        raise MisuseError("dictionary", "come without --scale and --atoms", path, "The file has both.")
    return read_dictionary(path)


def read_dictionary(path: Path) -> "LocalDictionary":
    """A block and its separated atom from a text file, one atom a column."""
    import numpy as np

    from .._checks import check_unit_columns
    from ..geometry import Block, Frame, LocalDictionary

    name = f"dictionary {path}"
    try:
        text = path.read_text(encoding="utf-8").replace(",", " ")
        lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
        table = np.loadtxt(lines or ["nothing"], ndmin=2)
    except OSError as error:
        raise MisuseError(name, "be a readable file", error.strerror) from None
    except ValueError as error:
        raise MisuseError(name, "hold numbers, equally many in every row", error) from None
    rows, columns = table.shape
    if rows < 3 or columns != rows + 1:
        rule = "have q rows, at least 3, and q + 1 columns, the separated atom last"
        raise MisuseError(name, rule, f"{rows} rows and {columns} columns")
    table = check_unit_columns(name, table)
    frame = Frame.around(table[:, :-1])
    return LocalDictionary(Block.from_columns(frame, table[:, :-1]), table[:, -1])


def _amplitudes(block: str, separated: str | None, r: int) -> "Amplitudes":
    from .._checks import Interval
    from ..geometry import Amplitudes

    low, high = _pair("amplitudes", block)
    # One weakest coefficient up to all the strongest together.
    rival = (low, r * high) if separated is None else _pair("separated", separated)
    return Amplitudes(Interval(low, high), Interval(*rival))


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MisuseError(name, "be numbers separated by commas", repr(text)) from None


def _pair(name: str, text: str) -> tuple[float, float]:
    numbers = _numbers(name, text)
    if len(numbers) != 2:
        raise MisuseError(name, "be two numbers, LOW,HIGH", repr(text))
    return numbers[0], numbers[1]


def _whole(name: str, value: float) -> int:
    if not value.is_integer():
        raise MisuseError(name, "be whole numbers" if name == "support" else "be a whole number", repr(value))
    return int(value)

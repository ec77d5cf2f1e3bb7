"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError, misuse_named
from ._app import app
from ._options import Trust
from ._plan_show import as_json as plan_json, check_picture, draw_map
from ._plan_values import MOST_ATOMS, OPTIONS, amplitude_ranges, check_active, checked, numbers, read_dictionary, rows
from ._text import load_counted, show_lines

if TYPE_CHECKING:
    from ..local.shell import LocalDictionary

# Fewest atoms with a turn that fixes the sum of the active ones; fewest that take long enough to say so.
_TURNING, _SLOW = 4, 7

_DEFAULT_SCALE, _DEFAULT_ATOMS = 0.2, 4
_SCALE = f"Separation scale s: how far the atoms reach from their common axis, below 1; {_DEFAULT_SCALE} unless given."
_DICTIONARY = (
    "Your own block instead: a text file of q rows and q + 1 columns, comma- or blank-separated; each column is an "
    "atom of norm 1, the last one the separated atom."
)
_ATOMS = f"Number q of atoms in the block, 3 to {MOST_ATOMS}; {_DEFAULT_ATOMS} unless given."
_WANTED = "Wanted resolution, a projective distance: say what reaches it."
_PICTURE = "Draw the resolution over N and s into this file (.png, .pdf, .svg)."
_SUPPORT = "Indices of the active atoms, from 0, comma-separated; the first ones unless given."
_SEPARATED = "The same for the separated atom; unless given, LOW to HIGH times the number of active atoms."
_PROJECT = "A project file instead: what each judge would leave of as many rows as it has; none of them is looked at."
_STRENGTH = "With a project whose coefficients are free: how large they are in the rows that are made."
_TURN = "All of the block is known but how far it is turned about its active atoms."


@app.command()
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
    import numpy as np

    from ..laws import BernoulliGaussian
    from ..local.rates import Design, compensated_generator, plan as make_plan, plan_sentences

    check_picture(picture)
    block, x = _dictionary(scale, atoms, dictionary), numbers("--coefficients", coefficients)
    active = check_active(len(x), support, block.q)
    if turn and block.q < _TURNING:
        raise MisuseError("--turn", f"come with at least {_TURNING} atoms", block.q, "Fewer leave nothing to turn.")
    with misuse_named(lambda argument: OPTIONS.get(argument, argument)):
        design = Design(
            dictionary=block,
            law=BernoulliGaussian(p),
            noise=checked("--noise", noise, 1e-6, 1e6),
            n_calibration=rows("--calibration", calibration),
            n_deployment=rows("--deployment", deployment),
            sigma=sigma,
            support=active,
            coefficients=np.array(x),
            amplitudes=amplitude_ranges(amplitudes, separated, len(x)),
            alpha_calibration=alpha,
            alpha_deployment=alpha,
            turn=compensated_generator(block.block.frame.template, active) if turn else None,
        )
        if block.q >= _SLOW:
            typer.echo(f"{block.q} atoms take about half a minute.", err=True)
        result = make_plan(design, wanted)
    if as_json:
        typer.echo(plan_json(design, result))
    else:
        show_lines(f"- {sentence}" for sentence in plan_sentences(design, result))
    if picture is not None:
        draw_map(design, picture)
        typer.echo(f"Picture written to {picture}.", err=True)


def _dictionary(scale: float | None, atoms: int | None, path: Path | None) -> "LocalDictionary":
    from .._checks import check_count, check_open
    from ..local.rates import balanced_dictionary
    from ..local.shell import Frame

    if path is None:
        q = check_count("--atoms", _DEFAULT_ATOMS if atoms is None else atoms, 3, MOST_ATOMS)
        return balanced_dictionary(
            Frame.standard(q), check_open("--scale", _DEFAULT_SCALE if scale is None else scale, 0.0, 1.0)
        )
    if scale is not None or atoms is not None:
        raise MisuseError("--dictionary", "come without --scale and --atoms", path, "The file has both.")
    return read_dictionary(path)


def _show_judges(project: Path, as_json: bool, trust: bool, strength: float) -> None:
    """A line for every judge of the rows of a project, and what these were made of; or JSON."""
    import json

    loaded = load_counted(project, {}, trust=trust)
    from ..project import assemble, compare_judges, comparison_notes

    with misuse_named(lambda argument: "--strength" if argument == "strength" else argument):
        assembled = assemble(loaded)
        forecasts = compare_judges(assembled, strength=strength)
    if as_json:
        typer.echo(json.dumps([forecast.as_dict() for forecast in forecasts], indent=2, allow_nan=False))
        return
    show_lines(f"- {forecast.sentence()}" for forecast in forecasts)
    show_lines([" ".join(comparison_notes(assembled, forecasts, strength))])

"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError
from ._app import app
from ._plan_options import (
    MOST_ATOMS,
    amplitude_ranges,
    check_active,
    checked,
    named_by_option,
    numbers,
    read_dictionary,
    rows,
)
from ._plan_show import as_json as plan_json
from ._plan_show import check_picture, draw_map, show_sentences

if TYPE_CHECKING:
    from ..local.shell import LocalDictionary

SCALE, ATOMS = 0.2, 4

# Fewest atoms with a turn that fixes the sum of the active ones; fewest that take long enough to say so.
_TURNING, _SLOW = 4, 7


@app.command()
def plan(
    scale: Annotated[
        float | None,
        typer.Option(
            help=f"Separation scale s: how far the atoms reach from their common axis, below 1; {SCALE} unless given."
        ),
    ] = None,
    atoms: Annotated[
        int | None, typer.Option(help=f"Number q of atoms in the block, 3 to {MOST_ATOMS}; {ATOMS} unless given.")
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            help="Your own block instead: a text file of q rows and q + 1 columns, comma- or blank-separated; each "
            "column is an atom of norm 1, the last one the separated atom."
        ),
    ] = None,
    calibration: Annotated[float, typer.Option("--calibration", "-N", help="Calibration rows N, up to 1e18.")] = 1e6,
    deployment: Annotated[float, typer.Option("--deployment", "-T", help="Deployment rows T, up to 1e18.")] = 1e4,
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

    from ..laws import BernoulliGaussian
    from ..local.rates import Design, compensated_generator
    from ..local.rates import plan as make_plan

    if picture is not None:
        check_picture(picture)
    block, x = _dictionary(scale, atoms, dictionary), numbers("--coefficients", coefficients)
    active = check_active(len(x), support, block.q)
    if turn and block.q < _TURNING:
        raise MisuseError("--turn", f"come with at least {_TURNING} atoms", block.q, "Fewer leave nothing to turn.")
    with named_by_option():
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
        found = make_plan(design, wanted)
    if as_json:
        typer.echo(plan_json(design, found))
    else:
        show_sentences(design, found)
    if picture is not None:
        draw_map(design, picture)
        typer.echo(f"Picture written to {picture}.", err=True)


def _dictionary(scale: float | None, atoms: int | None, path: Path | None) -> "LocalDictionary":
    from .._checks import check_count, check_open
    from ..local.rates import balanced_dictionary
    from ..local.shell import Frame

    if path is None:
        q = check_count("--atoms", ATOMS if atoms is None else atoms, 3, MOST_ATOMS)
        return balanced_dictionary(
            Frame.standard(q), check_open("--scale", SCALE if scale is None else scale, 0.0, 1.0)
        )
    if scale is not None or atoms is not None:
        raise MisuseError("--dictionary", "come without --scale and --atoms", path, "The file has both.")
    return read_dictionary(path)

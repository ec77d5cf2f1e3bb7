"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .._errors import MisuseError
from . import _plan_options as options
from ._app import app
from ._plan_show import as_json as plan_json, check_picture, draw_map, show_sentences
from ._plan_values import (
    MOST_ATOMS,
    amplitude_ranges,
    check_active,
    checked,
    named_by_option,
    numbers,
    read_dictionary,
    rows,
)

if TYPE_CHECKING:
    from ..local.shell import LocalDictionary

# Fewest atoms with a turn that fixes the sum of the active ones; fewest that take long enough to say so.
_TURNING, _SLOW = 4, 7


@app.command()
def plan(
    scale: options.Scale = None,
    atoms: options.Atoms = None,
    dictionary: options.DictionaryFile = None,
    calibration: options.Calibration = 1e6,
    deployment: options.Deployment = 1e4,
    p: options.Activity = 0.2,
    noise: options.Noise = 0.5,
    sigma: options.Sigma = 0.5,
    coefficients: options.Coefficients = "1,1",
    support: options.Support = None,
    amplitudes: options.Amplitudes = "0.5,2",
    separated: options.Separated = None,
    alpha: options.Alpha = 0.05,
    turn: options.Turn = False,
    wanted: options.Wanted = None,
    picture: options.Picture = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what calibration and deployment data can resolve within a coherent block, with numbers.

    Three questions come in order: which local explanation is supported, which
    atoms participate, and how precisely those atoms map to physical elements.
    The last answer comes from the exact Fisher information of calibration.

    Distances are projective: the sine of the angle between two atoms.
    """
    import numpy as np

    from ..laws import BernoulliGaussian
    from ..local.rates import Design, compensated_generator, plan as make_plan

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
        result = make_plan(design, wanted)
    if as_json:
        typer.echo(plan_json(design, result))
    else:
        show_sentences(design, result)
    if picture is not None:
        draw_map(design, picture)
        typer.echo(f"Picture written to {picture}.", err=True)


def _dictionary(scale: float | None, atoms: int | None, path: Path | None) -> "LocalDictionary":
    from .._checks import check_count, check_open
    from ..local.rates import balanced_dictionary
    from ..local.shell import Frame

    if path is None:
        q = check_count("--atoms", options.ATOMS if atoms is None else atoms, 3, MOST_ATOMS)
        return balanced_dictionary(
            Frame.standard(q), check_open("--scale", options.SCALE if scale is None else scale, 0.0, 1.0)
        )
    if scale is not None or atoms is not None:
        raise MisuseError("--dictionary", "come without --scale and --atoms", path, "The file has both.")
    return read_dictionary(path)

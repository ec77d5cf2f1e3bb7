"""`physupport plan`: what an experiment can resolve, and what to raise to resolve more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._app import app

if TYPE_CHECKING:
    from ..theory import Design, Plan


@app.command()
def plan(
    scale: Annotated[
        float, typer.Option(help="Coherence scale s: how far the atoms of the block reach from their axis.")
    ] = 0.1,
    atoms: Annotated[int, typer.Option(help="Number q of atoms in the coherent block.")] = 4,
    calibration: Annotated[float, typer.Option("--calibration", "-N", help="Calibration rows N.")] = 1e6,
    deployment: Annotated[float, typer.Option("--deployment", "-T", help="Deployment rows T.")] = 1e4,
    p: Annotated[float, typer.Option(help="Probability that an atom is active in a calibration row.")] = 0.2,
    noise: Annotated[float, typer.Option(help="Calibration noise variance.")] = 0.5,
    sigma: Annotated[float, typer.Option(help="Deployment noise, standard deviation.")] = 0.5,
    coefficients: Annotated[str, typer.Option(help="Active deployment coefficients, comma-separated.")] = "1,1",
    amplitudes: Annotated[str, typer.Option(help="Range of coefficients that the user allows: LOW,HIGH.")] = "0.5,2",
    alpha: Annotated[float, typer.Option(help="Error level of calibration and of deployment, each.")] = 0.05,
    wanted: Annotated[
        float | None, typer.Option(help="Wanted resolution, a projective distance: say what reaches it.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Write the resolution over (N, s) to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what calibration and deployment data can resolve within a coherent block, with numbers.

    Three gates stand in order: which local explanation, which atoms, and how precisely those atoms map to physical
    elements. The last comes from the exact Fisher information of the calibration law.
    """
    from ..theory import plan as make_plan

    design = _design(
        scale,
        atoms,
        calibration,
        deployment,
        p,
        noise,
        sigma,
        _numbers("coefficients", coefficients),
        _numbers("amplitudes", amplitudes),
        alpha,
    )
    found = make_plan(design, wanted)
    if as_json:
        _print_json(found)
    else:
        _print_plan(design, found)
    if picture is not None:
        _draw(design, picture)


def _numbers(name: str, text: str) -> list[float]:
    from .._errors import MisuseError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise MisuseError(name, "be numbers separated by commas", repr(text)) from error


def _whole(name: str, value: float) -> int:
    from .._errors import MisuseError

    if not value.is_integer():
        raise MisuseError(name, "be a whole number", repr(value))
    return int(value)


def _design(
    scale: float,
    q: int,
    n: float,
    t: float,
    p: float,
    noise: float,
    sigma: float,
    coefficients: list[float],
    amplitudes: list[float],
    alpha: float,
) -> "Design":
    import numpy as np

    from .._checks import Interval
    from .._errors import MisuseError
    from ..geometry import Amplitudes, Block, Frame, LocalDictionary, default_separated_atom
    from ..models import BernoulliGaussian
    from ..theory import Design

    if len(amplitudes) != 2:
        raise MisuseError("amplitudes", "be LOW,HIGH", amplitudes)
    frame = Frame.standard(q)
    low, high, r = amplitudes[0], amplitudes[1], len(coefficients)
    # The separated atom may be as strong as any sum of active coefficients seen through it.
    ranges = Amplitudes(Interval(low, high), Interval(0.5 * r * low, r * high))
    return Design(
        dictionary=LocalDictionary(Block.balanced(frame, scale), default_separated_atom(frame)),
        law=BernoulliGaussian(p),
        noise=noise,
        n_calibration=_whole("calibration", n),
        n_deployment=_whole("deployment", t),
        sigma=sigma,
        support=tuple(range(r)),
        coefficients=np.array(coefficients),
        amplitudes=ranges,
        alpha_calibration=alpha,
        alpha_deployment=alpha,
    )


def _print_json(found: "Plan") -> None:
    import json
    from dataclasses import asdict

    typer.echo(json.dumps(asdict(found), indent=2))


def _print_plan(design: "Design", found: "Plan") -> None:
    from rich.console import Console

    from ..theory import plan_sentences

    console = Console(highlight=False)
    for sentence in plan_sentences(design, found):
        console.print(f"- {sentence}")


def _draw(design: "Design", path: Path) -> None:
    """The map about the planned point: three times finer to three times coarser, around the planned N."""
    import matplotlib

    matplotlib.use("Agg")
    import numpy as np
    from rich.progress import track

    from ..plots import plot_resolution
    from ..theory import block_scale, collect_map, resolution_map

    middle = block_scale(design.dictionary)
    scales = np.geomspace(middle / 3, min(3 * middle, 0.6), 13)
    rows = np.geomspace(1e2, 1e12, 61)
    found = track(resolution_map(design, scales, rows), description="resolution map", total=len(scales), transient=True)
    plot_resolution(collect_map(rows, iter(found))).figure.savefig(path, dpi=160)
    typer.echo(f"picture: {path}")

"""`physupport demo`: the planner and a small correspondence, on data made on the spot."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from .._errors import MisuseError
from ._app import app
from ._plan import ATOMS, SCALE
from ._show import as_json, draw_map, show_sentences

if TYPE_CHECKING:
    from numpy.random import Generator
    from rich.console import Console

    from ..coarsen import Reading
    from ..retain import CalibrationParameter, CalibrationRegion, Correspondence, DeploymentBall
    from ..theory import Design

# The measured block: two active atoms of four, known up to a turn about their sum.
_SCALE, _SUPPORT, _TURNS, _WIDEST_TURN = 0.3, (0, 1), 41, 0.4
_NOISE, _SIGMA, _ROWS, _ALPHA, _SEED = 0.05, 0.5, 100_000, 0.025, 0
_CASES = ((1, (1.0, 1.0)), (10, (1.0, 1.0)), (10_000, (1.0, 1.0)), (10_000, (1.4, 0.6)))


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One deployment experiment and what its data allow."""

    n_deployment: int
    coefficients: tuple[float, ...]
    level: float
    n_kept: int
    reading: "Reading"


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files that the demo writes.")] = Path("physupport-demo"),
) -> None:
    """Plan an experiment, then read simulated data, each number explained."""
    from rich.console import Console

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError("--out", "be a folder that can be made", f"{out} ({error.strerror})") from None
    console = Console(highlight=False)
    typer.echo("A few seconds; the first run on a machine compiles for up to half a minute.", err=True)
    _plan_part(console, out)
    cases = _reading_part(console)
    _write_cases(cases, out / "demo.json")
    picture = _picture(out / "plan.png")
    console.print(f"\nWritten to {out}: plan.json and demo.json (the numbers above){picture}", soft_wrap=True)
    console.print("Next: physupport plan --help, to plan with your own numbers or your own block.")


def _plan_part(console: "Console", out: Path) -> None:
    from ..theory import plan

    console.rule("1. Before measuring: what could be resolved?", align="left")
    console.print(
        f"{ATOMS} nearly parallel atoms within {SCALE} of their axis, two of them active with coefficient 1. "
        "Calibration: a million rows. Deployment: ten thousand rows of one signal. Wanted: elements to within 0.05.\n"
        "Distances are sines of angles between atoms: 0 is the same element, 1 is a right angle.\n"
    )
    design = _design()
    found = plan(design, wanted=0.05)
    show_sentences(design, found)
    (out / "plan.json").write_text(as_json(design, found) + "\n", encoding="utf-8")


def _picture(path: Path) -> str:
    """Draw the plan if that is possible, and say which."""
    try:
        draw_map(_design(), path)
    except MisuseError as error:
        return f"; no picture, because {error}"
    return f", {path.name} (resolution over N and s)."


def _design() -> "Design":
    import numpy as np

    from .._checks import Interval
    from ..geometry import Amplitudes, Frame
    from ..models import BernoulliGaussian
    from ..theory import Design, balanced_dictionary

    return Design(
        dictionary=balanced_dictionary(Frame.standard(ATOMS), SCALE),
        law=BernoulliGaussian(0.2),
        noise=0.5,
        n_calibration=10**6,
        n_deployment=10**4,
        sigma=0.5,
        support=_SUPPORT,
        coefficients=np.ones(2),
        amplitudes=Amplitudes(Interval(0.5, 2.0), Interval(0.5, 4.0)),
    )


def _reading_part(console: "Console") -> list[Case]:
    from rich.table import Table

    cases = _cases()
    console.print()
    console.rule("2. After measuring: what do the data allow?", align="left")
    console.print(
        f"A block of scale {_SCALE} is known up to a turn about its two active atoms: {_TURNS} turns, times 6 pairs "
        f"of atoms and 1 separated atom, make {7 * _TURNS} explanations. They are kept or dropped by {_ROWS:,} "
        "calibration rows and by T measurements of the signal; the truth is kept with probability at least "
        f"{1 - cases[0].level:.0%}.\n"
    )
    table = Table("T", "coefficients", "kept", "spread", "what all that is kept says", box=None, pad_edge=False)
    for case in cases:
        pair = " and ".join(f"{x:g}" for x in case.coefficients)
        kept, spread = f"{case.n_kept} of {7 * _TURNS}", f"{case.reading.diameter:.2g}"
        table.add_row(f"{case.n_deployment:,}", pair, kept, spread, case.reading.sentence)
    console.print(table)
    console.print(
        "\nSpread is the largest distance between two kept physical supports. Equal coefficients hide the turn from "
        "the signal, so no T makes the third row finer; unequal ones show it, and the fourth row is."
    )
    return cases


def _cases() -> list[Case]:
    """Simulate with a fixed seed, retain, and read."""
    import numpy as np

    from ..coarsen import reading
    from ..models import GaussianMean, deployment_mean
    from ..retain import deployment_ball

    rng = np.random.default_rng(_SEED)
    candidates, cases = _candidates(), []
    truth = candidates[_TURNS // 2].dictionary
    region = _region(candidates[_TURNS // 2], rng)
    for replicates, coefficients in _CASES:
        signal = GaussianMean(deployment_mean(truth.atoms, _SUPPORT, coefficients), _SIGMA**2)
        ball = deployment_ball(signal.sample(rng, replicates), _SIGMA, _ALPHA)
        kept = _correspondence(region, ball).retain(candidates)
        cases.append(Case(replicates, coefficients, kept.level, kept.n_kept, reading(kept)))
    return cases


def _candidates() -> "list[CalibrationParameter]":
    """The turns, the true one in the middle."""
    import numpy as np

    from ..geometry import Block, Frame, LocalDictionary, default_separated_atom
    from ..models import BernoulliGaussian
    from ..retain import CalibrationParameter
    from ..theory import compensated_generator, turned_block

    frame, law = Frame.standard(ATOMS), BernoulliGaussian(0.2)
    block, away = Block.balanced(frame, _SCALE), default_separated_atom(frame)
    generator = compensated_generator(frame.template, _SUPPORT)
    turned = (turned_block(block, generator, angle) for angle in np.linspace(-_WIDEST_TURN, _WIDEST_TURN, _TURNS))
    return [CalibrationParameter(law, LocalDictionary(each, away), _NOISE) for each in turned]


def _region(truth: "CalibrationParameter", rng: "Generator") -> "CalibrationRegion":
    from .._checks import Interval
    from ..geometry import Shell
    from ..models import make_calibration
    from ..retain import CalibrationClass, inverted_median_of_means_region

    dictionary = truth.dictionary
    shell = Shell(
        frame=dictionary.block.frame,
        scale=_SCALE,
        cap=1.1,
        stretch=Interval(0.8, 1.2),
        reference=dictionary.separated,
        separated_radius=0.5,
        noise=Interval(_NOISE / 2, _NOISE * 2),
    )
    rows = make_calibration(truth.law, dictionary.atoms, truth.noise, rng, _ROWS)
    return inverted_median_of_means_region(rows, CalibrationClass(shell, Interval(0.1, 0.3)), _ALPHA)


def _correspondence(region: "CalibrationRegion", ball: "DeploymentBall") -> "Correspondence":
    from .._checks import Interval
    from ..geometry import Amplitudes
    from ..retain import Correspondence

    return Correspondence(region, ball, Amplitudes(Interval(0.5, 2.0), Interval(0.5, 4.0)), len(_SUPPORT))


def _write_cases(cases: list[Case], path: Path) -> None:
    import json

    fields = [
        {
            "n_deployment": case.n_deployment,
            "coefficients": case.coefficients,
            "n_kept": case.n_kept,
            "stage": case.reading.stage.name,
            "supports": case.reading.supports,
            "diameter": case.reading.diameter,
            "sentence": case.reading.sentence,
        }
        for case in cases
    ]
    setup = {"seed": _SEED, "n_calibration": _ROWS, "scale": _SCALE, "level": cases[0].level, "n_turns": _TURNS}
    path.write_text(json.dumps(setup | {"cases": fields}, indent=2, allow_nan=False) + "\n", encoding="utf-8")

"""The options of `physupport plan`, each with what it means."""

from pathlib import Path
from typing import Annotated

from typer import Option

from ._plan_values import MOST_ATOMS

SCALE, ATOMS = 0.2, 4

_SCALE = f"Separation scale s: how far the atoms reach from their common axis, below 1; {SCALE} unless given."
_DICTIONARY = (
    "Your own block instead: a text file of q rows and q + 1 columns, comma- or blank-separated; each column is an "
    "atom of norm 1, the last one the separated atom."
)
_SUPPORT = "Indices of the active atoms, from 0, comma-separated; the first ones unless given."
_SEPARATED = "The same for the separated atom; unless given, LOW to HIGH times the number of active atoms."
_TURN = "All of the block is known but how far it is turned about its active atoms."

Scale = Annotated[float | None, Option(help=_SCALE)]
Atoms = Annotated[int | None, Option(help=f"Number q of atoms in the block, 3 to {MOST_ATOMS}; {ATOMS} unless given.")]
DictionaryFile = Annotated[Path | None, Option(help=_DICTIONARY)]
Calibration = Annotated[float, Option("--calibration", "-N", help="Calibration rows N, up to 1e18.")]
Deployment = Annotated[float, Option("--deployment", "-T", help="Deployment rows T, up to 1e18.")]
Activity = Annotated[float, Option(help="Probability that an atom is active in a calibration row.")]
Noise = Annotated[float, Option(help="Calibration noise, a variance.")]
Sigma = Annotated[float, Option(help="Deployment noise, a standard deviation.")]
Coefficients = Annotated[str, Option(help="Coefficients of the active atoms, comma-separated.")]
Support = Annotated[str | None, Option(help=_SUPPORT)]
Amplitudes = Annotated[str, Option(help="Range of coefficients allowed at all: LOW,HIGH.")]
Separated = Annotated[str | None, Option(help=_SEPARATED)]
Alpha = Annotated[float, Option(help="Error level of calibration and of deployment, each.")]
Turn = Annotated[bool, Option("--turn", help=_TURN)]
Wanted = Annotated[float | None, Option(help="Wanted resolution, a projective distance: say what reaches it.")]
Picture = Annotated[Path | None, Option(help="Draw the resolution over N and s into this file (.png, .pdf, .svg).")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]

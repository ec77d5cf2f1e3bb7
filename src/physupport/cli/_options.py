"""Arguments and options that several commands have, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

PROJECT_FILE = Path("project.toml")

ProjectFile = Annotated[Path, typer.Argument(help="The project file, or the folder with project.toml in it.")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Allow the project to reach outside its folder, and to name a Python function, which is then run.",
    ),
]
Workers = Annotated[int | None, typer.Option(help="Threads; all cores unless given. No number depends on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no result, only errors.")]

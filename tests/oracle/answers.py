"""The answers that are frozen: which there are, how each is found again, and the file that stores them."""

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from . import adapter, projects
from .compare import rounded

STORE = Path(__file__).with_name("answers.json")


def entries() -> dict[str, Callable[[Path], dict]]:
    """Every entry of the store, with a function from an empty folder to its answers."""
    found = {f"example {name}": partial(_example, name) for name in adapter.EXAMPLE_NAMES}
    found |= {f"study {name}": partial(_study, name) for name in adapter.STUDY_NAMES}
    found |= {f"project {number}": partial(_project, number) for number in range(projects.COUNT)}
    return found


def found_again(entry: str) -> dict[str, dict]:
    """The answers that the program gives today: that of the run, and of the map where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        return entries()[entry](Path(folder))


def _project(number, folder):
    options = projects.write_project(folder, number)
    answers = {"run": adapter.project_answer(folder / "project.toml")}
    return answers if options is None else answers | {"map": adapter.map_answer(folder / "project.toml", options)}


def _example(name, folder):
    path = adapter.write_example(folder / name, name)
    answers = {"run": adapter.project_answer(path)}
    image = path.parent / "image.npy"
    if image.exists():
        answers["map"] = adapter.map_answer(path, ["--signals", image.name, "--rate", "0.1"])
    return answers


def _study(name, folder):
    return {"tables": adapter.study_answer(folder / "study", name)}


def arithmetic() -> str:
    """A digest of the last bits of functions and sums here: another processor may round them otherwise.

    Draws come from hashes of what is computed, so that verdicts near a threshold may differ with it.
    """
    numbers = np.linspace(-3.0, 3.0, 4096).reshape(64, 64)
    parts = [np.exp(numbers), np.sin(numbers), numbers @ numbers.T, np.linalg.qr(numbers + np.eye(64))[0]]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def stored() -> dict[str, dict]:
    """The frozen answers by entry, and under `arithmetic` where they were found."""
    return json.loads(STORE.read_text())


def store(answers: dict[str, dict]) -> None:
    """One line an entry, so that a difference of two versions names it; a part keeps the arithmetic of the rest."""
    whole = {**answers, "arithmetic": answers.get("arithmetic", arithmetic())}
    lines = (f"{json.dumps(entry)}:{json.dumps(rounded(each), separators=(',', ':'))}" for entry, each in whole.items())
    STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n")

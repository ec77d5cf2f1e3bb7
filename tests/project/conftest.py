from types import SimpleNamespace

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import load_project, run_project

# Two regions on a line of eight channels; small enough that a run takes a fraction of a second.
PROJECT = """\
title = "Small"
level = 0.1
budget = 1.0
seed = 3

[data.deployment]
file = "deployment.npy"
channels = 1
law = "covariance"
noise = 0.5
proposal = 0.4

[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }

[regions.A]
strength = 2.0
tolerance = 0.01

[regions.B]
strength = 2.0
presence = "optional"
tolerance = 0.01
"""

ELEMENTS = "id,region,x\na1,A,0.2\na2,A,0.35\nb1,B,0.7\nb2,B,0.9\n"

CALIBRATION = """
[data.calibration]
file = "calibration.npy"
channels = 1
law = "latent"
activity = 0.3
noise = 0.5
proposal = 0.4
"""


def columns(places, width=0.15):
    """The responses of the project, written anew."""
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - np.array(places)) / width) ** 2)
    return waves / np.linalg.norm(waves, axis=0)


def make_rows(atoms, n_rows, seed=0, strength=2.0, noise=0.5):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(n_rows, atoms.shape[1])) * np.sqrt(strength)
    return codes @ atoms.T + np.sqrt(noise) * rng.normal(size=(n_rows, len(atoms)))


@pytest.fixture
def write(tmp_path):
    """Write the small project with parts of its text replaced, and files of one's own over its files."""

    def written(*changes, more="", elements=ELEMENTS, **files):
        text = PROJECT + more
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / "project.toml").write_text(text)
        (tmp_path / "elements.csv").write_text(elements)
        arrays = {"deployment": make_rows(columns([0.2, 0.7]), 400)}
        if "[data.calibration]" in text:
            arrays["calibration"] = make_rows(columns([0.2, 0.7]), 300, seed=1)
        for name, array in {**arrays, **files}.items():
            np.save(tmp_path / f"{name}.npy", array)
        return tmp_path / "project.toml"

    return written


def contents(folder):
    """Every file below a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def small():
    """What the small project is made of, for tests that change it."""
    return SimpleNamespace(
        calibration=CALIBRATION, elements=ELEMENTS, columns=columns, make_rows=make_rows, contents=contents
    )


@pytest.fixture
def refused(small):
    """The one message with which a run ends, nothing written."""

    def message(path, **options):
        before = small.contents(path.parent)
        with pytest.raises(MisuseError) as caught:
            run_project(load_project(path, **options))
        assert small.contents(path.parent) == before
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith((path.name, "override "))  # what is to be changed, wherever it was met
        return str(caught.value)

    return message


@pytest.fixture
def write_lines(tmp_path):
    """Write a project of lines on an axis, with parts of its text replaced and arrays as files."""

    def written(text, changes, places, **arrays):
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (tmp_path / "project.toml").write_text(text)
        for name, values in arrays.items():
            np.save(tmp_path / f"{name}.npy", values)
        listed = [f"L{i},line,{place}" for i, place in enumerate(places)]
        (tmp_path / "lines.csv").write_text("\n".join(["id,region,place", *listed]))
        return tmp_path / "project.toml"

    return written

from types import SimpleNamespace

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import load_project, run_project

# Behind the project of peaks.
SECOND = """
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
def write(tmp_path, write_peaks):
    """Write the project of peaks with a second region and rows of both."""

    def written(*changes, more="", elements=ELEMENTS, **files):
        arrays = {"deployment": make_rows(columns([0.2, 0.7]), 400)}
        if "[data.calibration]" in more:
            arrays["calibration"] = make_rows(columns([0.2, 0.7]), 300, seed=1)
        return write_peaks(tmp_path, *changes, more=SECOND + more, elements=elements, **(arrays | files))

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

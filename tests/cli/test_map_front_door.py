"""`physupport map` with the image that the project names, and nothing else."""

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.maps import SignalMap

FILE = """
level = 0.1

[data.deployment]
file = "cube.npy"
law = "{law}"

[background]
polynomial = 1

[elements]
file = "list.csv"
responses = "lines.npy"

[regions.line]
coefficient = ">= 0"
presence = "optional"
"""


def invoke(*arguments):
    answer = CliRunner().invoke(app, [str(each) for each in arguments])
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer.output


@pytest.fixture
def folder(tmp_path):
    axis = np.arange(30)
    lines = np.exp(-0.5 * ((axis[:, None] - [6.0, 14.0, 22.0]) / 2.0) ** 2)
    cube = 5.0 + 0.1 * axis + np.random.default_rng(1).standard_normal((3, 4, 30))
    cube[1, 2] += 30.0 * lines[:, 1]
    np.save(tmp_path / "cube.npy", cube)
    np.save(tmp_path / "lines.npy", lines)
    (tmp_path / "list.csv").write_text("id,region\na,line\nb,line\nc,line\n")
    (tmp_path / "project.toml").write_text(FILE.format(law="gaussian"))
    return tmp_path


def test_the_image_of_the_project_is_mapped_as_it_lies(folder):
    invoke("map", folder, "--quiet")
    found = SignalMap.open(folder / "map")
    assert found.labels("line").shape == (3, 4)
    assert str(found.labels("line")[1, 2]) == "FINE"


def test_one_pixel_is_reported_and_run_says_so_of_an_image(folder):
    with pytest.raises(
        MisuseError, match=r"hold rows of one signal, but it holds an image of shape \(3, 4, 30\)"
    ) as caught:
        invoke("run", folder)
    command = str(caught.value).split("in full: physupport ")[1].rstrip(".").split()
    assert "b is there" in invoke(*command[:-1], "1,2")


def test_channels_may_lie_along_another_axis(folder):
    np.save(folder / "cube.npy", np.moveaxis(np.load(folder / "cube.npy"), -1, 0))
    text = (folder / "project.toml").read_text()
    (folder / "project.toml").write_text(text.replace('law = "gaussian"', 'law = "gaussian"\nchannels = 0'))
    invoke("map", folder, "--quiet")
    assert str(SignalMap.open(folder / "map").labels("line")[1, 2]) == "FINE"

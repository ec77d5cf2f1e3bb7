"""A response that is a program: run only where it is trusted, each project with its own, faults in one message."""

import shutil
import sys
from types import ModuleType

import numpy as np
import pytest

from physupport.project import assemble, load_project

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
OWN = (RESPONSE, 'response = { function = "my_response:peaks" }')
SOURCE = """\
import numpy as np

def peaks(places):
    return np.exp(-((np.linspace(0, 1, 8)[:, None] - places.T) ** 2))
"""


def test_it_is_run_only_where_the_user_trusts_it(write, refused):
    path = write(OWN)
    (path.parent / "my_response.py").write_text("raise SystemExit('it was run')\n")
    message = refused(path)
    assert "elements.response.function must be trusted to be run, not 'my_response:peaks'." in message
    assert "--trust" in message


def test_trusted_it_answers_for_the_elements(write):
    path = write(OWN)
    (path.parent / "my_response.py").write_text(SOURCE)
    found = assemble(load_project(path, trust=True))
    waves = np.exp(-((np.linspace(0, 1, 8)[:, None] - np.array([0.2, 0.35, 0.7, 0.9])) ** 2))
    expected = waves / np.linalg.norm(waves, axis=0)
    np.testing.assert_allclose(found.bank.states.elements, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "file", "helper"),
    [
        ("mine", "mine.py", "helper.py"),
        ("mine", "mine/__init__.py", "helper.py"),
        ("mine.inner", "mine/inner.py", "mine/helper.py"),
    ],
    ids=["module", "package", "module of a package"],
)
def test_every_project_has_its_own_also_in_one_process(write, tmp_path, name, file, helper):
    scales, before = (1.0, 2.0, 3.0), {*sys.modules}
    importing = "from . import helper" if "." in name else "import helper"
    source = f"{importing}\n{SOURCE}".replace("** 2", "** 2 * helper.SCALE")
    path = write((RESPONSE, f'response = {{ function = "{name}:peaks" }}'))
    (tmp_path / "mine").mkdir()
    if "." in name:
        (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / file).write_text(source)
    for scale in scales:
        (tmp_path / helper).write_text(f"SCALE = {scale}\n")
        folder = tmp_path.parent / f"{tmp_path.name} {scale}"
        shutil.copytree(tmp_path, folder)
        files = sorted(folder.rglob("*"))
        elements = assemble(load_project(folder / path.name, trust=True)).bank.states.elements
        waves = np.exp(-((np.linspace(0, 1, 8)[:, None] - np.array([0.2, 0.35, 0.7, 0.9])) ** 2) * scale)
        np.testing.assert_allclose(elements, waves / np.linalg.norm(waves, axis=0), rtol=0, atol=1e-15)
        assert sorted(folder.rglob("*")) == files
    assert not {"mine", "helper", "mine.inner", "mine.helper"} & ({*sys.modules} - before)


def test_a_module_of_that_name_that_was_there_before_is_another_one(write, monkeypatch):
    other = ModuleType("my_response")
    monkeypatch.setitem(sys.modules, "my_response", other)
    path = write(OWN)
    (path.parent / "my_response.py").write_text(SOURCE)
    assert assemble(load_project(path, trust=True)).bank.size == 8
    assert sys.modules["my_response"] is other


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def peaks(places):\n    raise ValueError('no\\nanswer')\n", "not ValueError: no answer."),
        ("def peaks(places):\n    raise SystemExit(0)\n", "not SystemExit: 0."),
        ("def peaks(places) return 1\n", "(SyntaxError: "),
        ("raise KeyError('x')\n", "(KeyError: 'x')"),
        ("import no_such_module\n", "(ModuleNotFoundError: No module named 'no_such_module')"),
        ("peeks = abs\n", "(no 'peaks' in 'my_response')"),
        ("def peaks(places):\n    return 'text'\n", "response must hold real or complex numbers"),
        ("def peaks(places):\n    return places\n", "response must have"),
    ],
)
def test_whatever_goes_wrong_in_it_is_one_message(write, refused, source, told):
    path = write(OWN)
    (path.parent / "my_response.py").write_text(source)
    message = refused(path, trust=True)
    assert message.startswith("project.toml: elements")
    assert told in message


def test_a_peak_of_ones_own_keeps_its_width(write):
    path = write(OWN, more="\n[parameters.width]\nvalues = [0.9, 1.0]\n")
    text = "import numpy as np\nfrom physupport.responses import Peak\npeaks = Peak(np.linspace(0, 1, 8), 0.15)\n"
    (path.parent / "my_response.py").write_text(text)
    assert assemble(load_project(path, trust=True)).bank.states.n_states == 8


@pytest.mark.parametrize("name", ["no_such_module:peaks", "math:no_such_function", "math:pi"])
def test_what_is_no_function_is_refused(write, refused, name):
    message = refused(write((RESPONSE, f'response = {{ function = "{name}" }}')), trust=True)
    assert "elements.response.function must be a function" in message

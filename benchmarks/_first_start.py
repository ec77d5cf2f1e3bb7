"""What a new user waits for: the demo on a machine that has compiled nothing yet."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_PROGRAM = "import sys; sys.argv = ['physupport', 'demo']; from physupport.cli import main; main()"


def first_start(add, tree=None):
    """The demo with an empty cache, and the same again: the difference is what compiling takes."""
    with TemporaryDirectory() as cache:
        first, second = (_demo(Path(cache), folder, tree) for folder in ("first", "second"))
    add("the demo, nothing compiled yet", f"{first:.1f} s of CPU", "imports included")
    add("  of these, compiling", f"{first - second:.1f} s of CPU", "wanted: at most 12")


def _demo(cache, folder, tree):
    """Seconds of processor of one run, of this tree or another."""
    (cache / folder).mkdir()
    return _seconds([sys.executable, "-c", _PROGRAM], cache / folder, tree, {"NUMBA_CACHE_DIR": str(cache)})


def _seconds(command, folder, tree, more=None, code=0):
    """Seconds of processor of a command, which has to end with this code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | (more or {}) | ({"PYTHONPATH": str(tree / "src")} if tree else {})
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert answer.returncode == code, answer.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_OPTIONAL = 40  # regions that may be left out: 2^40 explanations
_REFUSED = """
level = 0.05
[data.deployment]
file = "rows.csv"
channels = 1
law = "mean"
noise = 0.5
proposal = 0.5
[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }
"""


def refusal(add, tree=None):
    """A project whose bank is too large, from the shell to the message."""
    command = [sys.executable, "-c", _PROGRAM.replace("'demo'", "'run'")]
    with TemporaryDirectory() as folder:
        regions = "".join(f'[regions.R{i}]\nstrength = 1.0\npresence = "optional"\n' for i in range(_OPTIONAL))
        (Path(folder) / "project.toml").write_text(_REFUSED + regions)
        listed = "".join(f"r{i},R{i},0.5\n" for i in range(_OPTIONAL))
        (Path(folder) / "elements.csv").write_text(f"id,region,x\n{listed}")
        taken = min(_seconds(command, folder, tree, code=2) for _ in range(5))
    add("a bank of 10^12 refused", f"{taken:.2f} s of CPU", "imports included; wanted: at most 1")


CASES = {"first_start": first_start, "refusal": refusal}

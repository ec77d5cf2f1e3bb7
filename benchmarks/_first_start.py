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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | ({"PYTHONPATH": str(tree / "src")} if tree else {})
    command = [sys.executable, "-c", _PROGRAM]
    subprocess.run(command, cwd=cache / folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


CASES = {"first_start": first_start}

"""Two checkouts side by side: each case in a process of either tree, in turns, so that both meet the same machine."""

import json
import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

from rich.progress import track
from rich.table import Table

from . import _first_start, _project, _studies
from ._busy import Busy

# What runs a command, alike in every tree.
_COMMANDS = _project.CASES | _first_start.CASES | _studies.CASES

HERE = Path(__file__).resolve().parent.parent

# A tree may be one whose benchmarks run as soon as they are imported: it is given its shortest part to run.
_RUN = """
import json, sys
case, sys.argv = sys.argv[1], ["benchmarks", "one"]
import benchmarks.__main__ as tree
getattr(tree, case, lambda add: None)(lambda *row: print("ROW", json.dumps(row)))
"""


def compared(cases, other, rounds):
    """A table with a column for the other tree and one for this, all rounds in each cell."""
    table = Table("what", f"before: {other}", "after", "note")
    turns, measured, meanwhile = [(case, k) for case in cases for k in range(rounds)], {}, {}
    for turn in track(turns):
        busy = Busy()
        measured[turn] = [rows(turn[0], tree) for tree in (Path(other).resolve(), HERE)]
        meanwhile[turn] = str(busy)
    for case in cases:
        columns = [[measured[case, k][side] for k in range(rounds)] for side in (0, 1)]
        for lines in zip_longest(*columns[0], *columns[1], fillvalue=("", "-", "")):
            what, _, note = lines[-1]
            before, after = (" | ".join(line[1] for line in part) for part in (lines[:rounds], lines[rounds:]))
            table.add_row(what, before, after, note)
        table.add_row("  meanwhile", "", "", " | ".join(meanwhile[case, k] for k in range(rounds)))
    return table


def rows(case, tree):
    """What a case adds to the table of a tree, a list of (what, measured, note); none if the tree has no such case."""
    if case in _COMMANDS:
        found = []
        _COMMANDS[case](lambda *row: found.append(row), tree)
        return found
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)])}
    run = subprocess.run(
        [sys.executable, "-c", _RUN, case], cwd=tree, env=environment, capture_output=True, text=True, check=True
    )
    return [json.loads(line[4:]) for line in run.stdout.splitlines() if line.startswith("ROW ")]

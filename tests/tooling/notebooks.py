"""Run a notebook as plain Python: every code cell in order, in one namespace, in a scratch folder.

`python -m tests.tooling.notebooks docs/notebooks/meeg.ipynb` runs it, and writes what it prints and draws into it.
"""

import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import matplotlib
from matplotlib import pyplot

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def executed(notebook):
    """The notebook (a dictionary) with the outputs of this run: what each cell prints, and the figures it leaves."""
    matplotlib.use("agg")
    names = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        printed = io.StringIO()
        source = "".join(cell["source"])
        with contextlib.redirect_stdout(printed):
            exec(compile(source, f"cell {count}", "exec"), names)
        cell["execution_count"] = count
        cell["outputs"] = [*streams(printed.getvalue()), *figures()]
    return notebook


def streams(text):
    return [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []


def figures():
    """Every open figure as a picture; they are closed."""
    found = []
    for number in pyplot.get_fignums():
        drawn = io.BytesIO()
        pyplot.figure(number).savefig(drawn, format="png", dpi=70)
        data = {"image/png": base64.b64encode(drawn.getvalue()).decode()}
        found.append({"data": data, "metadata": {}, "output_type": "display_data"})
    pyplot.close("all")
    return found


def main(paths):
    for path in map(Path, paths):
        where = path.resolve()
        notebook = json.loads(where.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            executed(notebook)
        where.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MNE_USE_NUMBA", "false")
    main(sys.argv[1:])

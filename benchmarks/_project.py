"""A project file for very many explanations: two regions of some hundred elements, one stream of 2000 rows.

`python -m benchmarks._project FOLDER PER_REGION` writes one, for a profile of `physupport run`.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

CHANNELS, ROWS, NOISE = 16, 2000, 0.05

_TOML = """\
level = 0.05
budget = 1.0

[data.deployment]
file = "rows.npy"
channels = 1
law = "covariance"
noise = {noise}
proposal = 0.4

[elements]
file = "elements.csv"
coordinates = ["place"]
response = {{ kind = "peak", axis = {axis}, width = 1.0 }}

[regions.left]
strength = 1.0
tolerance = 0.3

[regions.right]
strength = 1.0
tolerance = 0.3
"""


def places(per_region):
    """Where the elements of each region lie, on the axis of the channels."""
    middle = (CHANNELS - 1) / 2
    return {"left": np.linspace(1.0, middle - 1.0, per_region), "right": np.linspace(middle + 1.0, 14.0, per_region)}


def write_project(folder, per_region):
    """Files of a project with per_region^2 explanations; the rows are of the middle element of either region."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng, axis, found = np.random.default_rng(11), np.arange(float(CHANNELS)), places(per_region)
    atoms = np.exp(-((axis[:, None] - [x[per_region // 2] for x in found.values()]) ** 2) / 2.0)  # (q, 2)
    codes = rng.standard_normal((ROWS, 2))
    noise = np.sqrt(NOISE) * rng.standard_normal((ROWS, CHANNELS))
    np.save(folder / "rows.npy", codes @ (atoms / np.linalg.norm(atoms, axis=0)).T + noise)
    lines = [f"{name}{k},{name},{x!r}" for name, xs in found.items() for k, x in enumerate(xs.tolist())]
    (folder / "elements.csv").write_text("\n".join(["id,region,place", *lines, ""]), encoding="utf-8")
    path = folder / "project.toml"
    path.write_text(_TOML.format(noise=NOISE, axis=axis.tolist()), encoding="utf-8")
    return path


def run_project(path, tree):
    """`physupport run` as a tree has it: seconds of processor, largest memory in MB, and the folder of the report."""
    program = f"import sys; sys.argv = ['physupport', 'run', {str(path)!r}]; from physupport.cli import main; main()"
    environment = os.environ if tree is None else os.environ | {"PYTHONPATH": str(tree / "src")}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, path.parent / "report"


def _measured(add, tree, per_region, seconds, memory):
    with TemporaryDirectory() as folder:
        run_project(write_project(Path(folder, "small"), 12), tree)  # compiles
        cpu, peak, report = run_project(write_project(Path(folder, "large"), per_region), tree)
        sizes = {path.name: path.stat().st_size / 1e6 for path in report.iterdir()}
    add(f"{per_region**2:,} explanations from a project file", f"{cpu:.1f} s of processor", f"wanted: under {seconds}")
    add("  largest memory of the process", f"{peak:.0f} MB", f"wanted: under {memory}" if memory else "")
    largest = ", ".join(f"{name} {size:.1f}" for name, size in sorted(sizes.items()))
    add("  size of the report", f"{sum(sizes.values()):.1f} MB", largest)


def hundred_thousand(add, tree=None):
    """All of `physupport run` for 10^5 explanations, nearly all of which are asked about."""
    _measured(add, tree, 317, 8, None)


def million(add, tree=None):
    """The same for 10^6."""
    _measured(add, tree, 1000, 60, 1000)


CASES = {"project": hundred_thousand, "project_million": million}

if __name__ == "__main__":
    print(write_project(sys.argv[1], int(sys.argv[2])))

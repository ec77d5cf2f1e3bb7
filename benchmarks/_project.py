"""A project file for very many explanations: two regions of some hundred elements, one stream, few rows.

`python -m benchmarks._project FOLDER PER_REGION` writes one, for a profile of `physupport run`.
"""

import sys
from pathlib import Path

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


if __name__ == "__main__":
    print(write_project(sys.argv[1], int(sys.argv[2])))

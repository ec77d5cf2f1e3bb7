import numpy as np

from physupport import PhysicalSupport
from physupport.analysis import StreamPlan
from physupport.banks import Library, library_bank

channels = np.arange(60)
lines = np.exp(-0.5 * ((channels[:, None] - [15.0, 22.0, 40.0]) / 3.0) ** 2)
lines /= np.linalg.norm(lines, axis=0)
library = Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], lines)
bank = library_bank(library, [["line"]], {"line": [1.0]})
shape = lines[:, 1] + 0.02 * lines.max() * np.cos(channels)  # not quite that of the library
spectrum = np.random.default_rng(1).poisson(np.maximum(4e4 * shape, 0.0) + 50.0)
plan = StreamPlan("poisson", background=np.ones((60, 1)))
report = PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment=plan).fit().report(spectrum[None])
for step in report.staircase():
    (field,) = step["fields"]
    print(f"{step['least']:.4f} to {step['most']:.4f}", field["label"], field["cell"])
print(*report.width, sep="\n")

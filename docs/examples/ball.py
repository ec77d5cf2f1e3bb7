import numpy as np

from physupport import PhysicalSupport
from physupport.analysis import StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.judges import ByEvidence

lines = np.exp(-0.5 * ((np.arange(40)[:, None] - [8.0, 16.0, 24.0, 32.0]) / 3.0) ** 2)
lines /= np.linalg.norm(lines, axis=0)
library = Library(["a", "b", "c", "d"], ["line"] * 4, np.arange(4.0)[:, None], lines)
bank = library_bank(library, [["line"]], {"line": [1.0]}, deployment=product_grid(noise=[1.0]))
aside = np.cos(np.arange(40) / 2.0)
truth = lines[:, 1] + 0.18 * aside / np.linalg.norm(aside)  # a ripple that the library does not have
row = 100.0 * truth + np.random.default_rng(1).standard_normal(40)
for error in (None, 0.2):
    plan = StreamPlan("gaussian", error=error)
    model = PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment=plan, judge=ByEvidence("fission")).fit()
    field = model.report(row[None]).fields[0]
    print(error, field.label, field.cell)

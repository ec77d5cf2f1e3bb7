# try_law.py
import numpy as np
from laplace_law import Laplace
from line import BANK, TRUTH

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.verify import verify

rows = Laplace(noises=[0.3]).sample(BANK, TRUTH, np.random.default_rng(1), 200)
model = PhysicalSupport(BANK, {"line": 0.05}, calibration=None, deployment=StreamPlan("laplace", 0.4, first=16)).fit()
report = model.report(rows)
print(report.fields[0].label, report.fields[0].cell)
print(verify(report.json(), {"deployment": rows}).is_verified)

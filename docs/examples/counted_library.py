import numpy as np

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable

rng = np.random.default_rng(1)
channels = np.arange(60)
rates = np.exp(-0.5 * ((channels[:, None] - [20.0, 25.0, 45.0]) / 4.0) ** 2) + 0.02
recorded = rng.poisson(5000.0 * rates)  # 50 000 counts of each element
counts = rng.poisson(10000.0 * rates[:, 1] + 30.0)
supports, flat = [(0,), (1,), (2,)], np.ones((60, 1))
for name, table in (
    ("taken for exact", CountTable(recorded, supports, flat)),
    ("counted", CountTable.from_recorded(recorded, supports, flat)),
):
    codes = ByCounts().judge(table, counts, 0.05, seed=1).verdicts(np.arange(3)).codes
    print(name, [j for j, code in enumerate(codes) if code != Verdict.REJECTED])

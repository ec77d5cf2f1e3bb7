# try_response.py
from pathlib import Path

import bar_reader
import numpy as np
from decay_response import Decay

from physupport.project import load_project, run_project

Path("elements.csv").write_text("id,region,x\nslow,tank,0.2\nmiddle,tank,0.8\nfast,tank,3.0\n")
answer = Decay(np.linspace(0.0, 1.0, 8), 2.0)(np.array([[0.8]]))[:, 0]
rows = answer / np.linalg.norm(answer) + 0.1 * np.random.default_rng(1).standard_normal((60, 8))
Path("rows.bar").write_text("\n".join("|".join(map(repr, row)) for row in rows.tolist()))
report = run_project(load_project("project.toml")).result.report
print(report.fields[0].label, report.fields[0].cell)

# try_question.py
from half_question import Half
from line import BANK, ROWS

from physupport.analysis import PhysicalSupport
from physupport.verify import verify

model = PhysicalSupport(BANK, Half(BANK), calibration=None, deployment="mean").fit()
report = model.report(ROWS)
print(report.fields[0].label, report.fields[0].cell)
print(verify(report.json(), {"deployment": ROWS}, question=Half(BANK)).is_verified)

# try_judge.py
from chi_square_judge import ByChiSquare
from line import BANK, LIBRARY, ROWS

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import bank_regions
from physupport.questions import RegionalMap
from physupport.verify import verify

judge = ByChiSquare(LIBRARY.responses.T, noise=0.3)
plans = {"deployment": StreamPlan("mean", 0.3)}
protocol = AnalysisProtocol(RegionalMap(bank_regions(BANK)), RegionalPolicy(), 0.05, 1.0, BANK, plans, judge=judge)
report = analyse(protocol, {"deployment": ROWS}).report
print(report.fields[0].label, report.fields[0].cell)
print(report.document["protocol"]["judge"]["assumes"])
print(verify(report.json(), {"deployment": ROWS}).is_verified)

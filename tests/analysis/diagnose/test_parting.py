"""What would part two explanations: times the data by hand, and the channels in which they differ."""

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library, bank_regions, library_bank
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear
from physupport.questions import RegionalMap, RegionRule

Q = 30
LINE = np.exp(-0.5 * ((np.arange(Q) - 15.0) / 5.0) ** 2)
OTHER = LINE + 0.2 * (np.arange(Q) == 22)  # differs in one channel
COLUMNS = np.stack([LINE / np.linalg.norm(LINE), OTHER / np.linalg.norm(OTHER)], axis=1)
LEVEL = 0.05


def found(amplitude):
    bank = library_bank(
        Library(["a", "b"], ["line"] * 2, np.arange(2.0)[:, None], COLUMNS), [["line"]], {"line": [1.0]}
    )
    question = RegionalMap(bank_regions(bank), {"line": RegionRule(tolerance=0.5)})
    plans = {"deployment": StreamPlan(Linear(noises=[1.0]), 0.5)}
    protocol = AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=ByRotation())
    rows = amplitude * COLUMNS[:, :1].T + np.random.default_rng(3).standard_normal((1, Q))
    return analyse(protocol, {"deployment": rows}), rows[0]


def test_times_the_data_are_the_evidence_that_is_missing_over_the_divergence():
    result, row = found(9.0)
    details = diagnose(result)
    (field,) = details.document["fields"]
    fact = field["remedies"][0]
    truth, rival = (COLUMNS[:, "ab".index(name.split()[-1])] for name in fact["pair"])
    signal = (truth @ row) * truth
    missed = signal - (rival @ signal) * rival
    assert fact["times"] == pytest.approx(1.0 - np.log(LEVEL) / (0.5 * missed @ missed))
    assert (fact["channels"]["first"], fact["channels"]["n"]) == ("22", 1)
    said = details.remedies[0]
    assert said.startswith("About ")
    assert " times the rows in all would be expected to part " in said
    assert said.endswith("half of their difference lies in channel 22.")


def test_nothing_is_said_where_nothing_is_left_to_part():
    result, _ = found(200.0)
    details = diagnose(result)
    assert details.document["fields"][0]["label"] == "FINE"
    assert details.remedies == []

"""Replicates in a frozen protocol: the verdicts of the judge asked directly, in a report that verifies."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, region_supports
from physupport.judges import Verdict
from physupport.judges._specs import decoded, make_judge
from physupport.judges.conformal import ByConformal, Replicates
from physupport.questions import RegionalMap
from physupport.verify import verify

AXIS = np.arange(40)
NAMES = ("chalk", "marble", "quartz")
LINES = {name: np.exp(-0.5 * ((AXIS - place) / 3.0) ** 2) for name, place in zip(NAMES, (10, 11, 30), strict=True)}
UNITS = 12


def measured(name, unit, rng):
    return 50.0 * (1.0 + 0.2 * np.sin(AXIS / 9.0 + unit)) * LINES[name] + 3.0 + 0.2 * rng.standard_normal(40)


def made_replicates(**changes):
    rng = np.random.default_rng(2)
    listed = [(name, unit) for name in NAMES for unit in range(UNITS)]
    options = {
        "spectra": np.array([measured(name, unit, rng) for name, unit in listed]),
        "elements": tuple(name for name, _ in listed),
        "units": tuple(f"unit {unit}" for _, unit in listed),
        "groups": {"chalk": "calcite", "marble": "calcite", "quartz": "quartz"},
        "background": np.ones((40, 1)),
    }
    return Replicates(**options | changes)


def made_bank(ids=NAMES, optional=()):
    columns = np.array([LINES[name] for name in NAMES]).T
    library = Library(ids, ("stone",) * 3, np.arange(3.0)[:, None], columns / np.linalg.norm(columns, axis=0))
    supports = region_supports([] if optional else ["stone"], optional)
    return library_bank(library, supports, {"stone": [1.0]})


def protocol(spec, bank):
    plans = {"deployment": StreamPlan("gaussian", 0.5)}
    question, policy = RegionalMap(bank_regions(bank)), RegionalPolicy()
    return AnalysisProtocol(question, policy, 0.1, 1.0, bank, plans, judge=spec, stop="set")


ROW = measured("marble", 99, np.random.default_rng(7))[None]


@pytest.fixture(scope="module")
def result():
    return analyse(protocol(ByConformal(made_replicates()), made_bank()), {"deployment": ROW})


def test_verdicts_are_those_of_the_judge_asked_directly(result):
    direct = ByConformal(made_replicates()).judge(ROW[0], 0.1).verdicts(np.arange(3))
    found = result.seal.verdicts()
    np.testing.assert_array_equal(found.codes, direct.codes)
    np.testing.assert_array_equal(found.lower, direct.lower)
    assert found.codes.tolist() == [Verdict.ADMISSIBLE, Verdict.ADMISSIBLE, Verdict.REJECTED]


def test_the_report_names_the_group_and_verifies_from_its_own_replicates(result):
    (stone,) = result.report.fields
    assert (str(stone.label), stone.cell) == ("GROUP", ("chalk", "marble"))
    text = result.report.json()
    assert json.loads(text)["protocol"]["judge"]["assumes"].startswith(
        "the unit (specimen) of the signal is exchangeable"
    )
    # A wide member of a group is lost more often than the level says, so the report does not promise it for each.
    assert "the level holds on average over the members of a group, not for each." in result.report.sentence
    found = verify(text, {"deployment": ROW})
    assert found.is_verified
    assert found.are_verdicts_scored
    assert not verify(text, {"deployment": ROW + 0.001}).is_verified


def test_what_is_written_is_read_back_whole():
    for share, pool, noise, seed in ((None, "ratio", (0.0, 0.5), 8), (0.0, None, (0.0,), 0)):
        for background in (None, np.ones((40, 1))):
            spec = ByConformal(made_replicates(background=background), share, pool, noise, seed)
            content = json.loads(json.dumps(spec.encode()))
            again = decoded(content)
            assert json.loads(json.dumps(again.encode())) == content
            mine, other = (each.judge(ROW[0], 0.2).verdicts(np.arange(3)) for each in (spec, again))
            np.testing.assert_array_equal(mine.codes, other.codes)
    with pytest.raises(MisuseError, match=r"judge .*seed"):
        decoded({key: value for key, value in content.items() if key != "seed"})


@pytest.mark.parametrize(
    ("bank", "rows", "message"),
    [
        (made_bank(), np.vstack([ROW, ROW]), "judge conformal must judge one row, not 2 rows"),
        (made_bank(optional=("stone",)), ROW, "have explanations of one or two elements, but one has 0"),
        (made_bank(ids=("chalk", "marble", "opal")), ROW, "spectra of every element, but 'opal' has none"),
    ],
)
def test_banks_and_rows_that_replicates_cannot_judge(bank, rows, message):
    with pytest.raises(MisuseError, match=message):
        analyse(protocol(ByConformal(made_replicates()), bank), {"deployment": rows})


def test_a_judge_by_name_needs_its_replicates():
    assert make_judge("conformal", {"replicates": made_replicates(), "share": 0.5}).share == 0.5
    with pytest.raises(MisuseError, match=r"replicates is required\."):
        make_judge("conformal", {})

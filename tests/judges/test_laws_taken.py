"""A judge takes the same laws in Python as in project files, and carries no label where it cannot reject."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.judges.cases import asked_map, conformal, learnt, linear, made_bank, scored

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import product_grid
from physupport.judges import JUDGES, ByEvidence, Judge, JudgeSpec, TableJudge, make_judge, register
from physupport.laws import laws_of_files, make_law
from physupport.report import document_hash
from physupport.verify import verify

# Laws of deployment rows that a project file may name, by the judges that take them.
TAKEN = {
    "evidence": {"covariance", "gaussian", "mean"},
    "simulation": {"covariance", "mean"},
    "counts": {"poisson"},
    "conformal": {"gaussian", "poisson"},  # spectra are exchangeable, whatever their law
    "rotation": {"gaussian"},
    "invariant": {"gaussian"},
    "learnt": {"gaussian"},
}
GIVEN = {"conformal": conformal, "learnt": learnt}  # judges that have more than options


def judge_of(kind):
    return GIVEN[kind]()[2] if kind in GIVEN else make_judge(kind, {})


def protocol_of(bank, judge, plans):
    return AnalysisProtocol(asked_map(bank), RegionalPolicy(), 0.1, 1.0, bank, plans, judge=judge, seed=4, stop="set")


def test_every_judge_of_the_package_is_looked_at():
    assert {kind for kind in JUDGES if JUDGES[kind].__module__.startswith("physupport.")} == {*TAKEN}


@pytest.mark.parametrize("law", laws_of_files("deployment"))
@pytest.mark.parametrize("kind", TAKEN)
def test_a_protocol_refuses_a_law_that_its_judge_cannot_take(kind, law):
    noise = product_grid(noise=[0.3])
    bank = made_bank(supports=("A", "B"), calibration=product_grid(p=[0.2], noise=[0.3]), deployment=noise)
    judge = judge_of(kind)
    plans = {"deployment": StreamPlan(make_law(law, {}), 0.5)}
    if law in TAKEN[kind]:
        assert protocol_of(bank, judge, plans).judge.kind == kind
        return
    with pytest.raises(MisuseError, match=r"(judge|deployment) must be"):
        protocol_of(bank, judge, plans)


def forged(report, change):
    """The document after a change, with a hash that fits."""
    document = json.loads(report.json())
    change(document)
    document["digests"]["document"] = document_hash(document)
    return document


def test_verify_refuses_a_judge_on_a_law_that_it_cannot_take():
    bank, plans, judge, rows = scored("mean", ByEvidence())
    report = analyse(protocol_of(bank, judge, plans), rows).report
    assert verify(report.json(), rows).is_verified

    def rename(document):
        _, _, other, _ = linear(make_judge("rotation", {}))
        document["protocol"]["judge"] = json.loads(json.dumps(other.encode()))

    findings = " ".join(verify(forged(report, rename)).findings)
    assert "the judge does not take the laws of the streams: judge must be 'rotation' only where" in findings


@dataclass(frozen=True, eq=False)
class Stuck(JudgeSpec):
    """Keeps the first explanation alone, which no data make it reject."""

    kind = "stuck"
    is_stuck: bool = True

    def encode(self):
        return {"judge": self.kind, "assumes": "nothing", "is_stuck": self.is_stuck}

    def open(self, sealed):
        return StuckJudge(self, sealed.size, sealed.level)

    def unrejectable(self, bank, level):
        return np.arange(bank.size) == 0 if self.is_stuck else None


@dataclass(frozen=True, eq=False)
class StuckJudge(Judge):
    spec: JudgeSpec
    size: int
    level: float

    def verdicts(self, explanations):
        return TableJudge((np.arange(self.size) > 0).astype(int), level=self.level).verdicts(explanations)

    def facts(self, possible):
        return {"is_withheld": possible.tolist() == [0]} if self.spec.has_facts else None


@dataclass(frozen=True, eq=False)
class StuckWithFacts(Stuck):
    kind = "stuck with facts"
    has_facts = True


@pytest.fixture
def registered():
    kinds = [register(spec).kind for spec in (Stuck, StuckWithFacts)]
    yield
    for kind in kinds:
        del JUDGES[kind]


@pytest.mark.usefixtures("registered")
def test_what_cannot_be_rejected_carries_no_label_or_is_refused():
    bank, plans, _, rows = scored("mean", ByEvidence())
    with pytest.raises(MisuseError, match="judge must have `has_facts` beside `unrejectable`"):
        protocol_of(bank, Stuck(), plans)
    asked = protocol_of(bank, StuckWithFacts(), plans)
    told = analyse(asked, rows).report
    assert {str(field.label) for field in told.fields} == {"ABSTAIN"}
    assert verify(told.json(), rows).is_verified
    # Without the facts, labels rest on what no data exclude: only a forger writes that.
    labelled = analyse(replace(asked, judge=Stuck(is_stuck=False)), rows).report
    assert "FINE" in {str(field.label) for field in labelled.fields}

    def claim(document):
        document["protocol"]["judge"]["is_stuck"] = True

    findings = " ".join(verify(forged(labelled, claim)).findings)
    assert "labels are not withheld, though the judge cannot reject what they rest on" in findings

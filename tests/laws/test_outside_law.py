"""A law of one's own: one class, registered from outside, that every step from plan to verify knows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from flint import arb, ctx

from physupport._errors import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.analysis.diagnose import diagnose, misfit, rows_needed
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges.simulation import BySimulation
from physupport.laws import LAWS, NoisyLaw, Scores, decode_law, laws_of_files, register
from physupport.project._streams import Deployment
from physupport.questions import RegionalMap
from physupport.verify import verify

U = 2.0**-53


@dataclass(frozen=True, eq=False)
class LaplaceStream:
    """Rows with a common mean and independent Laplace noise; the noise of a key is its scale b."""

    bank: object
    scales: np.ndarray
    rows: np.ndarray
    checkpoints: np.ndarray
    is_density: ClassVar[bool] = True

    @property
    def n_keys(self):
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys):
        """Every sum has at most n = t q + r + 4 terms, each within n u of itself, u = 2^-53; four times the bound."""
        parts, elements = self.bank.deployment_parts(keys), self.bank.states.elements
        values, errors = np.empty((2, len(keys), len(self.checkpoints)))
        for k in range(len(keys)):
            active, b = parts.elements[k] >= 0, self.scales[parts.nuisance[k]]
            terms = elements[:, parts.elements[k, active]] * parts.strengths[k, active]  # (q, r)
            for c, t in enumerate(self.checkpoints):
                rows, constant = self.rows[:t], self.rows[:t].size * np.log(2.0 * b)
                values[k, c] = -np.abs(rows - terms.sum(axis=1)).sum() / b - constant
                size = (np.abs(rows).sum() + t * np.abs(terms).sum()) / b + abs(constant) + rows.size
                errors[k, c] = 4.0 * U * (rows.size + terms.shape[1] + 4) * size
        return Scores(values, errors)

    def enclosure(self, key, bits):
        parts = self.bank.deployment_parts(np.array([key]))
        active, b = parts.elements[0] >= 0, arb(float(self.scales[parts.nuisance[0]]))
        atoms = self.bank.states.elements[:, parts.elements[0, active]].tolist()
        with ctx.workprec(bits):
            strengths = [arb(x) for x in parts.strengths[0, active].tolist()]
            mean = [sum((arb(a) * x for a, x in zip(row, strengths, strict=True)), arb(0)) for row in atoms]
            total, balls = arb(0), []
            for t, row in enumerate(self.rows.tolist()):
                total -= sum(abs(arb(z) - m) / b + (2 * b).log() for z, m in zip(row, mean, strict=True))
                balls += [total] if t + 1 in self.checkpoints else []
            return balls


@dataclass(frozen=True, eq=False, kw_only=True)
class Laplace(NoisyLaw):
    """The mean of the active atoms in Laplace noise."""

    name: ClassVar[str] = "laplace"
    part: ClassVar[str] = "deployment"

    def sample(self, bank, explanation, rng, n_rows):
        member, nuisance = bank.explanation(explanation), bank.split(explanation).deployment[0]
        mean = member.atoms[:, list(member.positions)] @ member.strengths
        return mean + rng.laplace(0.0, self.variances[nuisance], (n_rows, len(mean)))

    def stream(self, bank, rows, checkpoints):
        return LaplaceStream(bank, self.variances, np.concatenate([*rows.blocks()]), np.asarray(checkpoints))


@pytest.fixture
def laplace():
    register(Laplace)
    yield Laplace
    del LAWS["laplace"]


@pytest.fixture
def bank():
    atoms = np.random.default_rng(0).standard_normal((5, 4))
    atoms /= np.linalg.norm(atoms, axis=0)
    library = Library(["a1", "a2", "a3", "b"], ["A", "A", "A", "B"], [[0.0], [1.0], [2.0], [0.0]], atoms)
    return library_bank(library, ["A", "AB"], {"A": 1.5, "B": 1.0}, deployment=product_grid(noise=[0.4, 0.6]))


@pytest.mark.usefixtures("laplace")
def test_it_runs_from_plan_to_verify(bank):
    plan = StreamPlan("laplace", 0.5, first=16)
    truth = next(e for e in range(bank.size) if bank.explanation(e).ids == ("a2", "b"))
    rows = plan.law.completed(bank).sample(bank, truth, np.random.default_rng(1), 160)
    protocol = AnalysisProtocol(
        RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.05, 1.0, bank, {"deployment": plan}
    )
    result = analyse(protocol, {"deployment": rows})
    assert result.report.fields[0].cell == ("a2",)
    content = result.seal.content["streams"][0]
    assert content["law"] == {"kind": "laplace", "noises": [0.4, 0.6], "laws": [], "is_complex": False}
    assert [*content["numerator"]] == ["key"]
    checked = verify(result.report.json(), {"deployment": rows}, protocol=result.seal.digest)
    assert checked.findings == ()
    assert "held-out rows" in " ".join(verify(result.report.json(), {"deployment": rows + 1.0}).findings)
    assert misfit(result) == ()  # no energy of known law
    assert all(one.basis == "average" for one in rows_needed(result))
    assert diagnose(result).document["fields"]


@pytest.mark.usefixtures("laplace")
def test_it_is_judged_by_simulation_as_it_can_be_sampled(bank):
    plan = StreamPlan("laplace", 0.5)
    truth = next(e for e in range(bank.size) if bank.explanation(e).ids == ("a2", "b"))
    rows = plan.law.completed(bank).sample(bank, truth, np.random.default_rng(1), 20)
    question, judge = RegionalMap(bank_regions(bank)), BySimulation(draws=59)
    protocol = AnalysisProtocol(question, RegionalPolicy(), 0.05, 1.0, bank, {"deployment": plan}, judge=judge)
    result = analyse(protocol, {"deployment": rows})
    assert result.report.fields[0].cell == ("a2",)
    assert (
        "The likelihood of all rows together is not unusual for a remaining explanation (p = " in result.report.sentence
    )
    assert verify(result.report.json(), {"deployment": rows}).findings == ()


@pytest.mark.usefixtures("laplace")
def test_it_can_be_named_in_a_project_file_and_read_back(bank):
    assert "laplace" in laws_of_files("deployment")
    spec = Deployment(file="z.npy", channels=1, noise=0.5, proposal=0.5, law="laplace")
    assert spec.law == "laplace"
    law = StreamPlan("laplace", 0.5).law.completed(bank)
    assert decode_law(law.encode()).encode() == law.encode()


@pytest.mark.usefixtures("laplace")
def test_its_scores_are_those_that_it_proves(bank):
    law = Laplace(noises=[0.4, 0.6])
    rows = law.sample(bank, 0, np.random.default_rng(2), 20)
    stream = law.stream(bank, ArrayRows(rows), [5, 20])
    scores = stream.log_likelihood(np.arange(stream.n_keys))
    for key in range(stream.n_keys):
        for c, ball in enumerate(stream.enclosure(key, 200)):
            assert abs(ball - arb(float(scores.values[key, c]))) <= arb(float(scores.errors[key, c]))


def test_a_name_stands_for_one_law_and_an_unknown_one_names_those_that_are_known(laplace):
    with pytest.raises(MisuseError, match="name must be one that no other law has, not 'laplace'"):
        register(laplace)
    with pytest.raises(MisuseError, match=r"law must be one of .*covariance, .*laplace, not 'cauchy'"):
        StreamPlan("cauchy", 0.5)

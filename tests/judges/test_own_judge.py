"""A judge of one's own on the streams of a protocol: all of it in this file."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, chi2

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import JUDGES, Judge, JudgeSpec, Panel, TableJudge, Verdict, VerdictCache, Verdicts, register
from physupport.questions import RegionalMap
from physupport.verify import verify

NOISE, ROUNDING = 0.25, 1e-9
PLACES = np.array([0.0, 0.3, 0.6, 0.9])


@dataclass(frozen=True)
class ChiSquareJudge(Judge):
    """Rejects a mean whose residuals are too large: |y - mean|^2 / noise has a chi-square law under the truth.

    The statistic is off by rounding, and so is scipy's quantile, by far less than the stated relative error.
    """

    means: np.ndarray  # (M, q) of every explanation
    rows: np.ndarray  # (n, q)
    noise: float
    level: float

    @property
    def size(self):
        return len(self.means)

    def verdicts(self, explanations):
        residuals = self.rows[None] - self.means[explanations][:, None]
        statistic = (residuals**2).sum(axis=(1, 2)) / self.noise
        quantile = chi2.isf(self.level, self.rows.size)
        margin, error = statistic - quantile, ROUNDING * (statistic + quantile)
        lower, upper = margin - error, margin + error
        codes = np.select([lower > 0.0, upper <= 0.0], [Verdict.REJECTED, Verdict.ADMISSIBLE], Verdict.INDETERMINATE)
        return Verdicts(codes.astype(np.uint8), lower, upper)

    def encode(self):
        return ByChiSquare(self.noise).encode()


@dataclass(frozen=True)
class ByChiSquare(JudgeSpec):
    kind = "chi-square"

    noise: float

    def encode(self):
        return {"judge": "chi-square", "assumes": "rows are Gaussian around the mean", "noise": self.noise}

    @classmethod
    def decode(cls, content):
        return cls(content["noise"])

    def open(self, sealed):
        (stream,) = sealed.streams
        rows = np.concatenate(list(stream.rows.blocks()))
        means = BANK.states.elements.T[stream.keys_of(np.arange(sealed.size))]
        return ChiSquareJudge(means, rows, self.noise, sealed.level)


def response(place):
    column = np.exp(-(((np.arange(6) / 5.0) - place) ** 2) / 0.08)
    return column / np.linalg.norm(column)


MEANS = np.stack([*map(response, PLACES)])  # (4, 6)
LIBRARY = Library([f"p{i}" for i in range(4)], ["place"] * 4, PLACES[:, None], MEANS.T)
BANK = library_bank(LIBRARY, [("place",)], {"place": 1.0}, deployment=product_grid(noise=[NOISE]))


def make_protocol(**changes):
    given = {"question": RegionalMap(bank_regions(BANK)), "policy": RegionalPolicy(), "level": 0.1, "budget": 1.0}
    plans = {"deployment": StreamPlan("mean", 0.3)}
    return AnalysisProtocol(
        **(given | {"bank": BANK, "streams": plans, "seed": 3, "judge": ByChiSquare(NOISE)} | changes)
    )


def make_rows(seed, n=60):
    return response(PLACES[1]) + np.sqrt(NOISE) * np.random.default_rng(seed).standard_normal((n, 6))


@pytest.fixture
def registered():
    register(ByChiSquare)
    yield
    del JUDGES["chi-square"]


def test_streams_and_a_judge_of_ones_own_go_together_to_the_report():
    rows = make_rows(1)
    result = analyse(make_protocol(), {"deployment": rows})
    assert result.report.fields[0].cell == ("p1",)
    judge = result.report.document["protocol"]["judge"]
    assert judge == ByChiSquare(NOISE).encode()
    found = verify(result.report.json(), {"deployment": rows})
    assert found.findings == ()
    assert not found.are_verdicts_scored
    assert "a judge of the kind 'chi-square', not known here, gave them" in " ".join(found.notes)
    assert "held-out rows of deployment do not match" in " ".join(
        verify(result.report.json(), {"deployment": rows + 1.0}).findings
    )


@pytest.mark.usefixtures("registered")
def test_a_registered_judge_is_asked_again_by_verify():
    rows = make_rows(1)
    written = analyse(make_protocol(), {"deployment": rows}).report
    found = verify(written.json(), {"deployment": rows})
    assert found.findings == ()
    assert found.are_verdicts_scored
    assert not verify(written.json()).are_verdicts_scored
    assert "not known here" not in " ".join(found.notes)
    forged = json.loads(written.json())
    forged["protocol"]["judge"]["noise"] = 2 * NOISE
    assert "margins are not what the rows give" in " ".join(verify(forged, {"deployment": rows}).findings)


def test_the_judge_is_part_of_what_is_frozen():
    rows = make_rows(1)
    digests = {make_protocol(judge=ByChiSquare(noise)).read(deployment=rows).digest for noise in (0.2, 0.25)}
    digests.add(AnalysisProtocol(**{**_options(), "bank": BANK}).read(deployment=rows).digest)
    assert len(digests) == 3
    evidence = AnalysisProtocol(**{**_options(), "bank": BANK}).read(deployment=rows).content["judge"]
    assert evidence["judge"] == "evidence"


def _options():
    protocol = make_protocol()
    names = ("question", "policy", "level", "budget", "streams", "seed")
    return {name: getattr(protocol, name) for name in names}


@pytest.mark.parametrize(("size", "level"), [(3, 0.1), (4, 0.2)])
def test_a_judge_of_another_size_or_level_is_refused_when_it_is_opened(size, level):
    class Another(JudgeSpec):
        def encode(self):
            return {"judge": "another", "assumes": "nothing"}

        def open(self, sealed):
            return TableJudge(np.zeros(size, dtype=int), level=level)

    with pytest.raises(MisuseError, match=r"judge must decide (about the 4 explanations|at the level 0.1)"):
        make_protocol(judge=Another()).read(deployment=make_rows(1)).run()


RECORDS, LEVELS = 400, (0.05, 0.1)


def count_lost(share=lambda first: np.random.default_rng([first, 1]).standard_normal((20, 6))):
    """How often a panel of two judges rejects the truth; the second looks at rows of its own unless told otherwise."""
    lost = 0
    for record in range(RECORDS):
        own = np.random.default_rng([record, 0]).standard_normal((20, 6))
        noises = own, share(record)
        judges = [
            ChiSquareJudge(MEANS, MEANS[1] + np.sqrt(NOISE) * noise, NOISE, level)
            for noise, level in zip(noises, LEVELS, strict=True)
        ]
        panel = Panel(tuple(judges))
        lost += int(panel.verdicts(np.array([1])).codes[0] == Verdict.REJECTED)
    return lost, panel.level


# A correct panel exceeds this count for fewer than one seed in a million.
def most_allowed(level):
    return int(binom.isf(1e-6, RECORDS, level))


def test_a_panel_loses_the_truth_in_at_most_its_level_of_the_records():
    lost, level = count_lost()
    assert level == pytest.approx(1.0 - 0.95 * 0.9)
    assert lost <= most_allowed(level)
    assert lost > most_allowed(0.01)  # the level is used, not merely kept


def test_negative_control_the_same_count_exposes_a_judge_that_claims_too_little_noise():
    lost, level = count_lost(lambda record: 1.3 * np.random.default_rng([record, 1]).standard_normal((20, 6)))
    assert lost > most_allowed(level)


def test_a_panel_rejects_what_one_rejects_and_admits_what_all_admit():
    codes = np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]])
    panel = Panel(tuple(TableJudge(row, level=0.1) for row in codes))
    found = panel.verdicts(np.arange(9))
    assert found.codes.tolist() == [0, 1, 2, 1, 1, 1, 2, 1, 2]
    assert found.are_proven().all()
    assert [entry["judge"] for entry in panel.encode()["members"]] == ["table", "table"]
    with pytest.raises(MisuseError, match="judges must decide about the explanations of one bank"):
        Panel((TableJudge([0], level=0.1), TableJudge([0, 1], level=0.1)))
    with pytest.raises(MisuseError, match="judges must know their levels"):
        Panel((TableJudge([0]),))


@pytest.mark.parametrize("change", [{"judge": ["a"]}, {"judge": "evidence", "more": 1}, {"assumes": None}])
def test_a_judge_that_cannot_be_read_is_a_finding(change):
    document = json.loads(analyse(make_protocol(), {"deployment": make_rows(1)}).report.json())
    document["protocol"]["judge"] |= change
    assert any("judge" in finding for finding in verify(document).findings)


@pytest.mark.parametrize(
    ("ahead", "message"),
    [([0, -1], "explanations ahead must lie from 0"), ([0, 0], "give a verdict on"), ([0.0, 1.0], "whole numbers")],
)
def test_a_judge_that_looks_ahead_to_what_is_none_is_refused(ahead, message):
    class Careless:
        size, level = 3, None

        def verdicts(self, explanations):
            return Verdicts.unmeasured(np.zeros(len(explanations), dtype=np.uint8))

        def ahead(self, e, count):
            return np.array(ahead), self.verdicts(ahead)

    with pytest.raises(MisuseError, match=message):
        VerdictCache(Careless()).look_up(0, 0)

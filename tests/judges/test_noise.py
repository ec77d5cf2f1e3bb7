"""Rows refute a noise that is stated where it is wrong, and by chance as seldom as said where it is right."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from physupport._codec import content_hash
from physupport._errors import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, PhysicalSupport, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence
from physupport.judges.rotation import ByRotation, FreeRows, Outsiders, Rotation, RotationTable
from physupport.laws import Linear, two_sided
from physupport.laws._design import NoiseLook
from physupport.maps import GATES, MapProtocol, as_signals, map_signals
from physupport.project import load_project, run_project
from physupport.project._differences import protocol_differences
from physupport.questions import RegionalMap, RegionRule
from physupport.report import document_hash
from physupport.report._assumptions import why_withheld, withheld_in_short
from physupport.report._outcome import doubt_sentence
from physupport.verify import Verification, verify

Q = 16
PLACES = np.linspace(0.1, 0.9, 9)
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, Q)[:, None] - PLACES) / 0.12) ** 2)
WAVES /= np.linalg.norm(WAVES, axis=0)
LIBRARY = Library([f"p{i}" for i in range(9)], ["line"] * 9, PLACES[:, None], WAVES)
JUDGES = {"rotation": ByRotation(), "evidence": ByEvidence(), "splits": ByEvidence("rows", 3)}
NOISE = "the stated noise"
SHARED = f"{NOISE}, or the assumption that they share one mean"
UNLUCKY = 1e-6  # a right test fails one of these assertions for fewer than one seed in a million


def bank_of(*noises, elements=LIBRARY):
    grid = product_grid(noise=noises) if noises else None
    return library_bank(elements, [[], ["line"]], {"line": [1.0]}, **({} if grid is None else {"deployment": grid}))


def reported(rows, *noises, judge=JUDGES["rotation"], **options):
    plan = StreamPlan("gaussian", **options)
    bank = bank_of(*noises)
    return PhysicalSupport(bank, {"line": 0.05}, calibration=None, deployment=plan, judge=judge).fit().report(rows)


def nothing_there(seed, n_rows=20):
    return np.random.default_rng(seed).standard_normal((n_rows, Q))


MIXED = np.random.default_rng(3).standard_normal((Q, Q))
COVARIANCE = MIXED @ MIXED.T / Q + np.eye(Q)
VARIANCES = np.linspace(0.3, 3.0, Q)
SETTINGS = {
    "rows of one mean": ({}, 5, (5 - 1) * Q),
    "two rows": ({}, 2, Q),
    "one row": ({}, 1, Q - 9),
    "free rows": ({"rows": "free"}, 4, 4 * (Q - 9)),
    "random rows": ({"rows": "random"}, 4, 4 * (Q - 9)),
    "a background": ({"rows": "free", "background": np.ones((Q, 1))}, 3, 3 * (Q - 10)),
    "a covariance": ({"covariance": COVARIANCE}, 5, (5 - 1) * Q),
    "variances": ({"covariance": VARIANCES}, 3, (3 - 1) * Q),
    "a ball": ({"error": 0.1}, 3, (3 - 1) * Q),
}


def drawn(rng, options, n_rows, count):
    """(count, n_rows, Q) records of noise of variance 0.7, whose means are as large as one likes."""
    covariance = options.get("covariance", np.eye(Q))
    root = np.linalg.cholesky(np.diag(covariance) if covariance.ndim == 1 else covariance)
    noise = np.sqrt(0.7) * rng.standard_normal((count, n_rows, Q)) @ root.T
    n_means = n_rows if "rows" in options else 1
    coefficients = 30.0 * rng.standard_normal((count, n_means, 9))
    return noise + coefficients @ WAVES.T + 5.0 * options.get("background", np.zeros((Q, 1)))[:, 0]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_p_value_is_uniform_under_the_right_noise_whatever_the_mean_is(name):
    options, n_rows, _ = SETTINGS[name]
    bank, rng = bank_of(0.7), np.random.default_rng(11)
    law = Linear(**options).completed(bank)
    p = np.array([law.noise_test(bank)(ArrayRows(rows)).p[0] for rows in drawn(rng, options, n_rows, 500)])
    for level in (0.01, 0.1, 0.5):
        assert stats.binom.sf((p <= level).sum() - 1, len(p), level) > UNLUCKY
        assert stats.binom.cdf((p <= level).sum(), len(p), level) > UNLUCKY  # exact, not only on the safe side
    half = Linear(**options, noises=[0.7]).completed(bank_of(0.7))
    wrong = np.array([half.noise_test(bank)(ArrayRows(2.0 * rows)).p[0] for rows in drawn(rng, options, n_rows, 200)])
    assert stats.binom.sf((wrong <= 0.1).sum() - 1, len(wrong), 0.1) < UNLUCKY  # negative control: twice the deviation


@pytest.mark.parametrize("name", SETTINGS)
def test_degrees_of_freedom_and_ratio_are_those_of_the_definition(name):
    options, n_rows, freedom = SETTINGS[name]
    bank, (rows,) = bank_of(0.7, 2.0), drawn(np.random.default_rng(4), options, n_rows, 1)
    seen = Linear(**options).completed(bank).noise_test(bank)(ArrayRows(rows))
    covariance = options.get("covariance", np.eye(Q))
    inverse = np.linalg.inv(np.diag(covariance) if covariance.ndim == 1 else covariance)
    columns = np.hstack([WAVES, options.get("background", np.zeros((Q, 0)))])
    left = rows - rows.mean(axis=0)
    if freedom != (n_rows - 1) * Q:
        left = rows - (columns @ np.linalg.lstsq(columns, rows.T, rcond=None)[0]).T
    energy = np.einsum("ti,ij,tj->", left, inverse, left)
    for setting, noise in enumerate((0.7, 2.0)):
        tails = stats.chi2.cdf(energy / noise, freedom), stats.chi2.sf(energy / noise, freedom)
        assert seen.p[setting] == pytest.approx(2.0 * min(tails), rel=1e-6)  # rounding is allowed for
        assert seen.ratio[setting] == pytest.approx(energy / noise / freedom, rel=1e-9)


def test_complex_rows_have_twice_the_degrees_of_freedom():
    rng = np.random.default_rng(5)
    pairs = np.stack([0.8 * WAVES, 0.6 * WAVES], axis=1).reshape(2 * Q, 9)
    bank = bank_of(0.7, elements=Library(LIBRARY.ids, LIBRARY.regions, PLACES[:, None], pairs))
    law = Linear(is_complex=True).completed(bank)
    rows = np.sqrt(0.35) * (rng.standard_normal((4, Q)) + 1j * rng.standard_normal((4, Q))) + 3.0
    energy = (np.abs(rows - rows.mean(axis=0)) ** 2).sum()
    tails = stats.chi2.cdf(2 * energy / 0.7, 6 * Q), stats.chi2.sf(2 * energy / 0.7, 6 * Q)
    seen = law.noise_test(bank)(ArrayRows(as_pairs(rows)))
    assert seen.p[0] == pytest.approx(2.0 * min(tails), rel=1e-6)


@pytest.mark.parametrize("judge", JUDGES)
def test_with_half_the_noise_nothing_is_said_and_with_the_right_one_the_rows_agree(judge):
    wrong = [reported(nothing_there(seed), 0.5, judge=JUDGES[judge]) for seed in range(2)]
    assert {report.status for report in wrong} <= {"EMPTY", "WITHHELD"}
    assert {str(field.label) for report in wrong for field in report.fields} <= {"EMPTY", "ABSTAIN"}
    assert all("it is stated too small" in report.text() for report in wrong)
    right = [reported(nothing_there(seed), 1.0, judge=JUDGES[judge]) for seed in range(2)]
    assert [report.status for report in right] == ["REPORT"] * 2
    assert not any("refute" in report.text() for report in right)


def test_a_noise_that_is_stated_too_large_is_told_too():
    report = reported(nothing_there(1), 2.0, judge=ByEvidence())
    assert report.status == "WITHHELD"
    (finding,) = report.document["gate"]["findings"]
    assert 0.35 < finding["ratio"] < 0.7  # a half, of 160 numbers
    assert f"{finding['ratio']:.3g} times the variance of the stated noise" in report.sentence
    assert "stated too large, or the rows were scaled, averaged or smoothed" in report.sentence


@pytest.mark.parametrize(("noise", "premises"), [(0.5, SHARED), (2.0, NOISE)])
def test_where_the_noise_is_refuted_nobody_says_that_the_best_explanation_is(noise, premises):
    """By evidence nothing else can withhold labels: no fit is looked at."""
    report = reported(nothing_there(1), noise, judge=ByEvidence())
    assert report.status == "WITHHELD"
    for field in report.fields:
        assert field.answer.endswith(f": no answer, because the rows refute {premises}.")
        assert field.sentence.endswith(f": no label is given, because the rows refute {premises}.")
        assert field.plain == "no answer, because the stated noise is refuted"
    said = report.text() + report._repr_html_()
    assert not any(words in said for words in ("itself rejected", "not even the best", "Not even the best", "yet"))
    assert {answer.partition(": ")[2] for answer in report.answers} == {
        f"no answer, because the rows refute {premises}."
    }


def test_where_it_is_the_best_explanation_that_is_rejected_this_is_said():
    """The other way round: a misfit along something, with or without an energy that is too large for the noise."""
    facts = [{"part": "columns", "place": "shape 1", "p": 1e-5}, {"part": "noise", "place": "what the best fit leaves"}]
    for p, ratio in ((0.4, 1.1), (1e-6, 2.0)):
        gate = {"is_best_rejected": True, "level": 0.01, "findings": [facts[0], facts[1] | {"p": p, "ratio": ratio}]}
        document = {"outcome": {"status": "WITHHELD"}, "gate": gate}
        assert why_withheld(document) == ""
        assert withheld_in_short(document) == "the best fit is rejected"
        assert doubt_sentence(document | {"bank": None}).startswith("Not even the best explanation considered")
    alone = document | {"gate": gate | {"findings": gate["findings"][1:]}}
    assert (
        why_withheld(alone)
        == f"the rows refute {NOISE}, or the assumption that the bank contains everything that is present"
    )
    assert withheld_in_short(alone | {"outcome": {"status": "REPORT"}}) == ""


@pytest.mark.parametrize("judge", JUDGES)
def test_rows_that_do_not_share_their_mean_are_a_reason_too_and_what_else_was_seen_is_told(judge):
    """The noise is right, and the element is in the bank: its amplitude is 10, and 3 more or less from row to row."""
    rng = np.random.default_rng(0)
    rows = (10.0 + 3.0 * rng.standard_normal((20, 1))) * WAVES[:, 4] + rng.standard_normal((20, Q))
    report = reported(rows, 1.0, judge=JUDGES[judge])
    assert report.status in ("EMPTY", "WITHHELD")
    assert "it is stated too small, or the rows do not share one mean." in report.sentence
    assert report.text().startswith(f"The rows refute {SHARED}, so no label")
    gate = report.document["gate"]
    seen = [each for each in gate["findings"] if each["part"] == "spectrum" and each["p"] <= gate["level"]]
    assert ("The residuals of the best fit point to" in report.sentence) == bool(seen) == (judge == "rotation")


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("scale", "noises"), [(2.5, (0.01, 0.5, 1.0)), (1e8, (1e-6, 1.0, 1e-3))])
def test_where_no_stated_noise_agrees_the_ratio_is_to_the_one_that_is_refuted_least(judge, scale, noises):
    """Also where all p-values are 0, of rows of 1e8 times the variance."""
    rows = np.sqrt(scale) * nothing_there(2)
    report = reported(rows, *noises, judge=JUDGES[judge])
    (finding,) = [each for each in report.document["gate"]["findings"] if each["part"] == "noise"]
    assert 0.8 * scale < finding["ratio"] < 1.25 * scale  # to a variance of 1, the nearest, of 160 numbers or more
    assert verify(report.json(), {"deployment": rows}).is_verified


def test_what_agrees_is_told_with_the_threshold_that_it_was_compared_with():
    report = reported(nothing_there(1), 1.0, judge=ByEvidence())
    (finding,) = report.document["gate"]["findings"]
    assert report.document["gate"]["level"] == pytest.approx(0.2 * report.document["protocol"]["level"])
    said = f"agrees with the scatter of the rows (p = {finding['p']:.2g}, threshold 0.01)"
    assert said in report.sentence
    assert "(smallest p = " in (text := reported(nothing_there(1), 1.0).sentence)
    assert ", threshold 0.0033)" in text  # a fifth of the level in three equal parts


@pytest.mark.parametrize("judge", JUDGES)
def test_one_noise_of_several_that_agrees_is_enough_and_it_is_the_one_of_what_is_left(judge):
    report = reported(nothing_there(2), 0.4, 1.0, judge=JUDGES[judge])
    assert report.status == "REPORT"
    (finding,) = [each for each in report.document["gate"]["findings"] if each["part"] == "noise"]
    assert 0.8 < finding["ratio"] < 1.25  # that of the second: of the first it is 2.5
    neither = reported(nothing_there(2), 0.4, 2.5, judge=JUDGES[judge])
    assert neither.status in ("EMPTY", "WITHHELD")


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_what_rows_say_of_the_noise_is_derived_again_from_them(judge, noise):
    rows = nothing_there(6)
    report = reported(rows, noise, judge=JUDGES[judge])
    assert verify(report.json()).is_verified
    assert verify(report.json(), {"deployment": rows}).is_verified
    place = [each["part"] for each in report.document["gate"]["findings"]].index("noise")
    for change in ({"p": 0.9 if noise == 0.5 else 0.001}, {"ratio": 1.01}, {"place": "nowhere"}):
        forged = copy.deepcopy(report.document)
        forged["gate"]["findings"][place] |= change
        forged["digests"]["document"] = document_hash(forged)
        assert not verify(forged, {"deployment": rows}).is_verified, change


@pytest.mark.parametrize("judge", JUDGES)
def test_a_report_without_the_test_of_the_noise_is_refused(judge, monkeypatch):
    rows = nothing_there(7)
    with monkeypatch.context() as then:
        then.setattr(Linear, "noise_test", lambda law, bank: None)
        report = reported(rows, 0.5, judge=JUDGES[judge])
    assert "noise" not in report.document["protocol"]["judge"]
    assert report.status == "REPORT"  # confidently wrong, as it was
    for given in (None, {"deployment": rows}):
        (finding,) = verify(report.json(), given).findings
        said = "the judge is not the one that a run has for this bank and these laws, which has other noise"
        assert finding == said
    assert not any("not asked" in note for note in verify(reported(rows, 1.0).json(), {"deployment": rows}).notes)


def test_taking_the_test_out_of_a_report_is_refused_without_rows():
    """The document has all its hashes; that the protocol is another one its own hash tells."""
    report = reported(nothing_there(6), 0.5, judge=ByEvidence())
    forged = copy.deepcopy(report.document)
    del forged["protocol"]["judge"]["noise"]
    forged["digests"]["protocol"] = content_hash(forged["protocol"])
    forged["digests"]["document"] = document_hash(forged)
    assert not verify(forged).is_verified


@pytest.mark.parametrize("judge", [ByRotation(), ByEvidence("rows", 3)])
def test_nothing_is_tested_where_no_noise_is_stated(judge):
    report = reported(nothing_there(8, 40), judge=judge)
    assert "noise" not in report.document["protocol"]["judge"]
    assert not any(each["part"] == "noise" for each in (report.document["gate"] or {}).get("findings", ()))


def test_a_covariance_that_comes_from_rows_is_compared_with_the_rows_by_rotation_and_refused_by_evidence():
    empty = np.random.default_rng(9).standard_normal((400, Q))
    estimated = {"covariance": empty.T @ empty / 400, "covariance_freedom": 400}
    report = reported(nothing_there(8, 40), judge=ByRotation(), **estimated)
    assert {each["part"] for each in report.document["gate"]["findings"]} == {"columns", "spectrum", "noise"}
    assert verify(report.json(), {"deployment": nothing_there(8, 40)}).is_verified
    for judge in (ByEvidence(), ByEvidence("rows", 3), ByEvidence("fission", 3)):
        with pytest.raises(
            MisuseError, match="judge must be 'rotation' where the covariance of the noise is estimated"
        ):
            reported(nothing_there(8, 40), judge=judge, **estimated)


def test_rows_that_leave_nothing_beside_the_elements_say_so():
    """A single row whose response may lie beside its column has no part that is noise alone."""
    report = reported(nothing_there(3, 1), 1.0, judge=ByEvidence("fission", 3), error=0.1)
    assert report.document["gate"]["findings"] == []
    assert "These rows cannot test the stated noise" in report.sentence


def gated(kind="same mean", sigma=1.0, n_rows=1, seed=0):
    rng = np.random.default_rng(seed)
    table = RotationTable(WAVES, [(), *((i,) for i in range(9))])
    coefficients = 20.0 * rng.standard_normal((n_rows if kind == "free" else 1, 1))
    rows = coefficients * WAVES[:, 4] + rng.standard_normal((n_rows, Q))
    return Rotation(table, kind, draws=99, sigma=sigma, outsiders=Outsiders(noise=True)).judge(rows, 0.2), rows


@pytest.mark.parametrize(("kind", "n_rows"), [("same mean", 1), ("same mean", 4), ("free", 3)])
def test_the_part_of_the_gate_is_exact_for_the_explanation_that_made_the_rows(kind, n_rows):
    p = np.array([gated(kind, 1.0, n_rows, seed)[0].rows.noise(5, 99).p for seed in range(300)])
    for level in (0.02, 0.2):
        assert stats.binom.sf((p <= level).sum() - 1, len(p), level) > UNLUCKY
        assert stats.binom.cdf((p <= level).sum(), len(p), level) > UNLUCKY
    wrong = np.array([gated(kind, 0.5, n_rows, seed)[0].rows.noise(5, 99).p for seed in range(100)])
    assert stats.binom.sf((wrong <= 0.2).sum() - 1, len(wrong), 0.2) < UNLUCKY  # negative control


def test_the_part_of_the_gate_decides_alone_and_says_so():
    judge, rows = gated("free", 0.3, 5)
    codes = judge.verdicts(np.arange(10)).codes
    facts = judge.facts(np.flatnonzero(codes != 1))
    assert (codes == 1).all() and facts["is_best_rejected"]  # noqa: PT018
    outsider = min(facts["findings"], key=lambda finding: finding["p"])
    assert outsider["part"] == "noise"
    left = rows - np.outer(rows @ WAVES[:, 4], WAVES[:, 4])
    assert outsider["ratio"] == pytest.approx((left**2).sum() / 0.3**2 / (5 * (Q - 1)), rel=1e-9)


def test_a_gate_of_the_noise_alone_needs_no_draws_and_asks_once(monkeypatch):
    """At a level that 19 draws could not reject at; the closed form has no least p-value."""
    table = RotationTable(WAVES, [(), *((i,) for i in range(9))])
    spec = {"draws": 9999, "gate_draws": 19, "sigma": 0.3}
    judge = Rotation(table, "free", outsiders=Outsiders(noise=True), **spec).judge(nothing_there(1, 5), 0.01)
    asked, noise = [], FreeRows.noise
    monkeypatch.setattr(FreeRows, "noise", lambda tests, e, enough: asked.append(e) or noise(tests, e, enough))
    assert (judge.verdicts(np.arange(10)).codes == 1).all()
    assert asked
    assert len(asked) == len({*asked})
    with pytest.raises(MisuseError, match="draws must be at least"):
        Rotation(table, "free", outsiders=Outsiders(WAVES[:, :1], noise=True), **spec).judge(nothing_there(1, 5), 0.01)


@pytest.mark.parametrize("judge", [ByEvidence(noise=0.5), ByEvidence("rows", 3, noise=0.5)])
def test_a_share_that_is_given_is_kept_and_one_that_is_none_is_refused(judge):
    report = reported(nothing_there(1), 1.0, judge=judge)
    assert report.document["protocol"]["judge"]["noise"] == 0.5
    assert report.document["gate"]["level"] == pytest.approx(0.5 * 0.05)
    assert verify(report.json(), {"deployment": nothing_there(1)}).is_verified
    for share in (0.0, 1.0, -0.1):
        with pytest.raises(MisuseError, match="noise must lie"):
            replace(judge, noise=share)


def test_the_noise_is_not_looked_at_where_nobody_states_it():
    with pytest.raises(
        MisuseError, match=r"noise must be looked at where sigma is given, but it is not given\. Leave it out\."
    ):
        gated(sigma=None)


def test_rounding_keeps_a_noise_that_is_lost_in_huge_rows():
    """Rows of 1e16 deviations have no digit left for the noise: nothing refutes it."""
    rows = np.full((3, Q), 1e16) + nothing_there(0, 3)
    seen = Linear().completed(bank := bank_of(1.0)).noise_test(bank)(ArrayRows(rows))
    assert seen.p[0] > 0.5
    assert two_sided(1e16, 5, 1.0) < 1e-300
    assert two_sided(np.nan, 5, 1.0) == 1.0


def lower_tail(freedom, energy):
    """The tail of chi-square, by its series of positive terms, all of them, times a factor in 300 bits."""
    a, x = freedom / 2, energy / 2
    terms = np.cumprod(x / (a + np.arange(1, int(40 * np.sqrt(freedom)) + 2000)))
    with ctx.workprec(300):
        factor = (arb(x).log() * arb(a) - arb(x) - (arb(a) + 1).lgamma()).exp()
        return float(factor.mid()) * (1.0 + float(terms[::-1].sum()))


@pytest.mark.parametrize("freedom", [10**3, 99_999, 10**5, 10**6, 10**7, 10**8])
def test_no_lower_tail_is_told_as_less_than_it_is_whatever_the_degrees_of_freedom(freedom):
    """The allowance is that of rounding: 1e-9 of a log p-value is what verdicts leave."""
    for deviations in (2.0, 4.0, 4.5, 5.0, 6.0, 12.0):
        energy = freedom - deviations * np.sqrt(2.0 * freedom)
        told, exact = float(two_sided(energy, freedom, 1.0)), 2.0 * lower_tail(freedom, energy)
        assert told >= exact * (1.0 - 1e-9)
        if exact > 2e-5 or freedom < 10**5:
            assert told == pytest.approx(exact, rel=1e-9)
        assert told <= max(exact * (1.0 + 1e-9), 2e-5)


def test_more_draws_let_the_other_parts_reject_where_they_could_without_the_noise():
    """At the least level that 1999 draws allowed two parts of the gate, three are no reason to refuse."""
    bank, plan = bank_of(1.0), StreamPlan("gaussian")
    model = PhysicalSupport(bank, {"line": 0.05}, calibration=None, deployment=plan, judge=ByRotation(), alpha=0.005)
    report = model.fit().report(nothing_there(4))
    assert report.document["gate"]["level"] == pytest.approx(0.2 * 0.005 / 3)


@pytest.mark.parametrize(
    ("judge", "repeats"), [(ByEvidence("fission", 3), 1), (ByEvidence("fission", 3), 20), (ByRotation(), 20)]
)
def test_a_map_withholds_labels_of_signals_that_refute_the_noise(judge, repeats, tmp_path):
    """Half of them have the stated noise, the others four times its variance."""
    bank, plan = bank_of(1.0), StreamPlan("gaussian")
    asked = RegionalMap(bank_regions(bank), {"line": RegionRule(0.05)})
    protocol = AnalysisProtocol(asked, RegionalPolicy(), 0.05, 1.0, bank, {"deployment": plan}, judge=judge)
    rng = np.random.default_rng(12)
    rows = np.repeat([1.0, 2.0], 4)[:, None, None] * rng.standard_normal((8, repeats, Q))
    maps = MapProtocol.of(protocol, repeats=repeats)
    found = map_signals(as_signals(rows, repeats=1), maps, tmp_path / "m", threads=1)
    gates, misfit = found.array("gate"), found.array("misfit")
    assert (gates[:4] == GATES.index("open")).all()
    reason = "the residual noise contradicts the stated noise (of the noise, p = "
    for number in np.flatnonzero(gates == GATES.index("withheld")).tolist():
        assert (f"Labels are withheld: {reason}" in found.sentence((number,))) == (judge != ByRotation())
        assert ("even the best fit is rejected" in found.sentence((number,))) == (judge == ByRotation())
    assert judge == ByRotation() or GATES.index("withheld") in gates
    law = plan.law.completed(bank)
    for number, own in enumerate(rows):
        seen, facts = (
            law.noise_test(bank)(ArrayRows(own)),
            protocol.read(deployment=own).judge.facts(np.arange(bank.size)),
        )
        assert (gates[number] != GATES.index("open")) == facts["is_best_rejected"]
        assert [each["p"] for each in facts["findings"] if each["part"] == "noise"] == pytest.approx(seen.p, rel=1e-6)
        assert min(1.0, len(facts["findings"]) * seen.p[0]) >= 0.99 * misfit[number]
    # The scatter of 20 rows has 304 degrees of freedom, a row beside all elements 7.
    assert (gates[4:] != GATES.index("open")).sum() >= (4 if repeats == 20 else 1)


def test_p_values_of_complex_rows_are_those_of_two_real_parts():
    """The variance of an entry is that of both parts together, so the energy over half of it has a chi-square."""
    look = NoiseLook(2 * Q * 9, 2, None, 0.0)
    rng = np.random.default_rng(2)
    rows = 0.7 * np.sqrt(0.5) * (rng.standard_normal((50, 10, Q)) + 1j * rng.standard_normal((50, 10, Q)))
    energies = (np.abs(rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)) / (0.7**2 / 2)
    exact = stats.chi2(2 * Q * 9)
    np.testing.assert_allclose(
        look.p_values(rows, 0.7), 2.0 * np.minimum(exact.cdf(energies), exact.sf(energies)), rtol=1e-9
    )


def test_with_its_project_a_report_that_does_not_test_the_noise_is_refused(tmp_path, monkeypatch):
    (tmp_path / "elements.csv").write_text("id,region,x\n" + "".join(f"p{i},line,{x}\n" for i, x in enumerate(PLACES)))
    np.save(tmp_path / "rows.npy", nothing_there(3))
    response = '{ kind = "peak", axis = { from = 0, to = 1, count = 16 }, width = 0.12 }'
    (tmp_path / "project.toml").write_text(
        'level = 0.05\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\nlaw = "gaussian"\nnoise = 0.5\n'
        f'[elements]\nfile = "elements.csv"\ncoordinates = ["x"]\nexact = true\nresponse = {response}\n'
        "[regions.line]\ntolerance = 0.05\n"
    )
    project = load_project(tmp_path / "project.toml")
    with monkeypatch.context() as then:
        then.setattr(Linear, "noise_test", lambda law, bank: None)
        before = run_project(project).result.report.document["protocol"]
    finished = run_project(project)
    today = finished.result.report.document["protocol"]
    assert finished.result.report.status == "EMPTY"
    assert "The rows refute the stated noise" in (finished.folder / "report.html").read_text()
    assert protocol_differences(project, today)[0] == Verification((), ())
    differences = protocol_differences(project, before)[0]
    assert differences.notes == ()
    assert differences.findings == (
        "the project file describes another protocol than the report has, with other judge",
    )
    assert protocol_differences(project, before | {"level": 0.1})[0].findings

"""An exact test of the strength of rows against the explanations left; the report states its result."""

import copy

import numpy as np
import pytest
from scipy import stats

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import misfit
from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges.simulation import BySimulation
from physupport.laws import make_law
from physupport.report import document_hash
from physupport.verify import verify

Q = 12
PLACES = np.linspace(0.1, 0.9, 4)
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, Q)[:, None] - PLACES) / 0.15) ** 2)
WAVES /= np.linalg.norm(WAVES, axis=0)
LIBRARY = Library([f"p{i}" for i in range(4)], ["A", "A", "B", "B"], PLACES[:, None], WAVES)
PHASES = np.exp(2j * np.pi * np.outer(np.arange(Q), PLACES)) / np.sqrt(Q)
PAIRS = Library(
    LIBRARY.ids, LIBRARY.regions, PLACES[:, None], np.stack([PHASES.real, PHASES.imag], 1).reshape(2 * Q, 4)
)
UNLUCKY = 1e-6  # a right test fails one of these assertions for fewer than one seed in a million


def bank_of(supports, strengths, library=LIBRARY):
    return library_bank(library, supports, strengths, deployment=product_grid(noise=[0.7]))


@pytest.mark.parametrize(
    ("kind", "is_complex"), [("mean", False), ("mean", True), ("covariance", False), ("covariance", True)]
)
@pytest.mark.parametrize("supports", [[["A"]], [["A", "B"]]])
def test_the_p_value_is_exact_for_what_made_the_rows_and_a_weaker_source_is_seen(kind, is_complex, supports):
    bank = bank_of(supports, {"A": [1.0], "B": [2.0]}, PAIRS if is_complex else LIBRARY)
    law = make_law(kind, {"is_complex": is_complex}).completed(bank)
    rng, e = np.random.default_rng(1), bank.size - 1
    drawn = [law.sample(bank, e, rng, 15) for _ in range(500)]
    p = np.array([law.strengths_seen(bank, ArrayRows(rows))(e).p for rows in drawn])
    for level in (0.01, 0.1):
        assert stats.binom.sf((p <= level).sum() - 1, len(p), level) > UNLUCKY
        if supports == [["A"]]:  # of two atoms it is the smaller one times two, and below its level
            assert stats.binom.cdf((p <= level).sum(), len(p), level) > UNLUCKY
    noise = [np.sqrt(0.7 / (1 + is_complex)) * rng.standard_normal((15, Q * (1 + is_complex))) for _ in range(200)]
    seen = [law.strengths_seen(bank, ArrayRows(rows))(e) for rows in noise]
    assert stats.binom.sf(sum(each.p <= 0.1 for each in seen) - 1, len(seen), 0.1) < UNLUCKY  # negative control
    assert np.mean([each.is_weaker for each in seen]) > 0.9


def test_the_p_values_are_those_of_the_definition():
    bank, rng = bank_of([["A", "B"]], {"A": [1.0], "B": [2.0]}), np.random.default_rng(2)
    rows, e = rng.standard_normal((9, Q)), 3
    member = bank.explanation(e)
    atoms = member.atoms[:, list(member.positions)]
    mean = make_law("mean", {}).completed(bank).strengths_seen(bank, ArrayRows(rows))(e)
    z = np.sqrt(9 / 0.7) * atoms.T @ (rows.mean(axis=0) - atoms @ member.strengths)
    assert mean.p == pytest.approx(min(1.0, 2 * (2 * stats.norm.sf(np.abs(z))).min()), rel=1e-9)
    sigma = 0.7 * np.eye(Q) + atoms @ np.diag(member.strengths) @ atoms.T
    energies = [((rows @ np.linalg.inv(sigma) @ a) ** 2).sum() / (a @ np.linalg.inv(sigma) @ a) for a in atoms.T]
    tails = [2 * min(stats.chi2.cdf(x, 9), stats.chi2.sf(x, 9)) for x in energies]
    covariance = make_law("covariance", {}).completed(bank).strengths_seen(bank, ArrayRows(rows))(e)
    assert covariance.p == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-9)


def reported(rows, kind="mean", strengths=(1.0,)):
    bank = bank_of([["A"]], {"A": [*strengths]})
    options = {"calibration": None, "deployment": StreamPlan(kind), "judge": BySimulation(draws=199)}
    return PhysicalSupport(bank, {"A": 0.5}, **options).fit().report(rows)


def noise(seed, n_rows=40):
    return np.sqrt(0.7) * np.random.default_rng(seed).standard_normal((n_rows, Q))


@pytest.mark.parametrize("kind", ["mean", "covariance"])
def test_in_pure_noise_a_bank_without_absence_is_never_believed_without_a_word(kind):
    """Rows of a source would have 7.6 deviations of its mean, or 2.4 times the energy along it."""
    silent = 0
    for seed in range(12):
        report = reported(noise(seed, 40 if kind == "mean" else 120), kind)
        if report.status == "EMPTY":
            continue
        said = "the rows are weaker than what is left says"
        silent += said not in report.text().splitlines()[0] or said.lower() not in report.sentence.lower()
    assert silent == 0


@pytest.mark.parametrize("kind", ["mean", "covariance"])
def test_rows_of_the_bank_agree_with_its_strengths(kind):
    told = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        amplitudes = np.ones((40, 1)) if kind == "mean" else rng.standard_normal((40, 1))
        report = reported(noise(seed + 100) + amplitudes * WAVES[:, 1], kind)
        told.append("But the rows are" in report.sentence)
        assert told[-1] or "The strength of the rows agrees with a remaining explanation (p = " in report.sentence
    assert sum(told) <= 2  # of 12 at .01: three or more have a probability of 2e-4


@pytest.mark.parametrize(("stated", "is_small"), [(0.35, True), (0.7, False)])
def test_of_rows_with_more_energy_than_the_noise_allows_and_less_along_an_element_both_are_told_at_once(
    stated, is_small
):
    """Noise of variance 0.7 and nothing else, in a bank that always has a source of strength 20 along one element."""
    bank = library_bank(LIBRARY, [["A"]], {"A": [20.0]}, deployment=product_grid(noise=[stated]))
    options = {"calibration": None, "deployment": StreamPlan("covariance"), "judge": BySimulation(draws=199)}
    fitted = PhysicalSupport(bank, {"A": 0.5}, **options).fit()
    fitted.report(noise(3, 120))
    result = fitted.result_
    assert (
        "along one of its elements, the rows are weaker than what is left says (p < 0.0001): " in result.report.sentence
    )
    (found,) = misfit(result)
    assert found.is_all
    assert found.beside == "weaker"
    assert found.sentence.startswith("The deployment rows have ")
    both = "although along one of its elements they are weaker than expected: the noise of the bank is too small, "
    assert (both in found.sentence) == is_small
    assert "strengths of the bank are too small" not in found.sentence


@pytest.mark.parametrize(("sizes", "is_off"), [((1.5, 1.5), True), ((1.0, -1.0), False)])
def test_where_nothing_is_left_nobody_says_what_the_rows_are_beside_it(sizes, is_off):
    """Rows of two sources far apart, while the bank has single ones, each compared with its neighbours."""
    places = np.linspace(0.1, 0.9, 7)
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, Q)[:, None] - places) / 0.15) ** 2)
    waves /= np.linalg.norm(waves, axis=0)
    library = Library([f"p{i}" for i in range(7)], ["A"] * 7, places[:, None], waves)
    bank = library_bank(library, [["A"]], {"A": [1.0]}, deployment=product_grid(noise=[0.02]))
    options = {"calibration": None, "deployment": StreamPlan("mean"), "judge": BySimulation("score", draws=199)}
    statuses = set()
    for seed in range(6):
        rows = np.sqrt(0.02 / 0.7) * noise(seed) + waves[:, [1, 5]] @ np.array(sizes)
        report = PhysicalSupport(bank, {"A": 0.1}, **options).fit().report(rows)
        statuses.add(report.status)
        if report.status == "EMPTY":
            assert report.document["gate"]["strengths"]["place"].endswith("than what fits best says")
            assert not is_off or report.document["gate"]["strengths"]["is_off"]
            assert "left says" not in report.text() + report.csv()
            assert verify(report.json(), {"deployment": rows}).is_verified
    assert "EMPTY" in statuses


def drawn_reports():
    for seed in range(20):
        yield {"deployment": noise(seed)}, reported(noise(seed))


def test_verify_derives_it_again_and_refuses_a_report_that_says_nothing_of_it():
    rows, report = next((rows, found) for rows, found in drawn_reports() if found.status == "REPORT")
    assert verify(report.json(), rows).is_verified

    def changed(change, rows=rows):
        document = copy.deepcopy(report.document)
        change(document["gate"])
        document["digests"]["document"] = document_hash(document)
        return verify(document, rows)

    strengths, level = report.document["gate"]["strengths"], report.document["gate"]["level"]
    assert strengths["is_off"] and strengths["p"] < 1e-4 < level  # noqa: PT018
    # A p-value on the other side of the level is far from that of the rows, and contradicts what is said of it.
    assert not changed(lambda gate: gate["strengths"].update(p=level + 1e-5, is_off=False)).is_verified
    for told in ({"p": level + 1e-5}, {"is_off": False}):
        assert "but p says otherwise" in " ".join(
            changed(lambda gate, told=told: gate["strengths"].update(told)).findings
        )
    assert not changed(lambda gate: gate["strengths"].update(p=0.5)).is_verified
    assert not changed(lambda gate: gate["strengths"].update(place="stronger than what is left says")).is_verified
    for found in (None, rows):
        (finding, *_) = changed(lambda gate: gate.pop("strengths"), rows=found).findings
        assert finding == "the report lacks strengths, which its judge tells"
    assert not changed(lambda gate: gate["strengths"].pop("is_off"), rows=None).is_verified

"""Laws and rows at the ends of the range of numbers: details are made all the same, and no number is made up."""

import json

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.analysis.diagnose import Misfit, diagnose, misfit, outcome_sentences
from physupport.banks import bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.laws._latent import latent_energy_variance
from physupport.laws._noisy import whitened_energy
from physupport.questions import RegionalMap, RegionRule
from physupport.report._diagnosis import field_notes, misfit_sentence, refine_sentences
from physupport.report._words import explanation_words
from physupport.report.page import page_html


@pytest.fixture(scope="module")
def extreme(kit):
    """A run of the usual rows, scaled, against a bank with these variances."""

    def run(kinds=("latent", "covariance"), calibration=kit.noise, deployment=kit.noise, strength=1.0, scale=1.0):
        grids = product_grid(p=[kit.law.p], noise=[calibration]), product_grid(noise=[deployment])
        strengths = {"A": strength, "B": 0.7 * strength}
        bank = library_bank(kit.make_library(), ["A", "AB"], strengths, calibration=grids[0], deployment=grids[1])
        usual, rng = kit.make_bank(), np.random.default_rng(1)
        names = ["calibration" if kind in ("latent", "known codes") else "deployment" for kind in kinds]
        plans = {name: StreamPlan(kind, 0.5, first=16) for name, kind in zip(names, kinds, strict=True)}
        tables = {name: scale * kit.make_rows(usual, plans[name].law.name, rng, 40) for name in names}
        question = RegionalMap(bank_regions(bank), {"A": RegionRule(0.5), "B": RegionRule(0.5)})
        return analyse(AnalysisProtocol(question, RegionalPolicy(), 0.05, 1.0, bank, plans), tables)

    return run


ENDS = [
    {"calibration": 1e-18},
    {"calibration": 1e300},
    {"deployment": 1e-18},
    {"deployment": 1e-300},
    {"deployment": 1e300},
    {"scale": 1e160},
    {"scale": 1e-160},
    {"strength": 1e300},
    {"strength": 1e300, "deployment": 5e-324},
    {"kinds": ("known codes", "mean"), "calibration": 1e-300},
    {"kinds": ("known codes", "mean"), "scale": 1e160},
    {"kinds": ("known codes", "mean"), "scale": 2e307},
]


@pytest.mark.parametrize("end", ENDS, ids=str)
def test_details_and_page_are_made_whatever_the_numbers(extreme, end):
    result = extreme(**end)
    details = diagnose(result)
    assert numbers_are_finite(json.loads(details.json()))
    page = page_html(result.report, details)
    for each in details.document["misfit"]:
        is_known, sentence = each["z"] is not None, misfit_sentence(each)
        assert sentence.split(":")[0] in page
        assert is_known == (each["statistic"] is not None)
        assert is_known == ("double precision" not in sentence)
        assert len(sentence) < 400


def numbers_are_finite(value):
    if isinstance(value, dict | list):
        return all(map(numbers_are_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or bool(np.isfinite(value))


@pytest.mark.parametrize("stream", ["calibration", "deployment"])
def test_a_noise_far_below_the_signal_is_called_too_small(extreme, stream):
    """Nearly all of the energy is then what the atoms cannot explain: the residual of least squares over the noise."""
    result = extreme(**{stream: 1e-18})
    found = next(each for each in misfit(result) if each.stream == stream)
    part = next(each for each in result.seal.parts if each.name == stream)
    member = result.seal.protocol.bank.explanation(found.explanation)
    atoms = member.atoms if stream == "calibration" else member.atoms[:, list(member.positions)]
    rows = part.table[part.split.held_out].T
    residual = rows - atoms @ np.linalg.lstsq(atoms, rows, rcond=None)[0]
    # What the atoms explain is 18 orders of magnitude smaller.
    assert found.statistic == pytest.approx(np.sum(residual**2) / 1e-18, rel=1e-9)
    assert found.is_misfit
    assert "the noise or the strengths of the bank are too small" in found.sentence


def test_atoms_that_span_everything_leave_nothing_to_the_noise():
    """With a basis turned at random, rounding errors outside of it would be divided by the noise."""
    rng = np.random.default_rng(2)
    basis, rows = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal((20, 3))
    assert whitened_energy(ArrayRows(rows), basis, 1e-200) == pytest.approx(np.sum(rows**2), rel=1e-12)


def test_the_energy_does_not_depend_on_the_unit(extreme):
    """Rows in other units, with variances in their squares: the laws are the same."""
    usual, large = (
        misfit(extreme(("covariance",), deployment=0.4 * c**2, strength=c**2, scale=c), 3)[0] for c in (1.0, 1e150)
    )
    # Rounding of the scaled rows and factors.
    assert large.statistic == pytest.approx(usual.statistic, rel=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_the_variance_of_the_latent_energy_does_not_depend_on_the_unit(kit, size):
    atoms = np.random.default_rng(0).standard_normal((3, 4))
    usual, scaled = (latent_energy_variance(kit.law, c * atoms, 0.7 * c**2) for c in (1.0, size))
    assert scaled == pytest.approx(usual, rel=1e-12)


@pytest.mark.parametrize("n_atoms", [2, 4])
def test_the_variance_of_the_latent_energy_has_a_limit_without_noise(kit, n_atoms):
    """It differs from the limit in the order of the noise."""
    atoms = np.random.default_rng(0).standard_normal((3, n_atoms))
    small, none = (latent_energy_variance(kit.law, atoms, noise) for noise in (1e-8, 1e-30))
    assert none == pytest.approx(small, rel=1e-6)


def test_what_cannot_be_computed_is_said():
    beyond, unknown = (Misfit("deployment", 3, energy, 120.0, 15.5) for energy in (np.inf, np.nan))
    assert beyond.is_misfit  # no chance makes rows this large
    assert "more energy under explanation 3 than double precision can hold, while it expects 120" in beyond.sentence
    assert not unknown.is_misfit
    assert "cannot be computed: its noise and its strengths are too many powers of ten apart" in unknown.sentence


def test_an_empty_outcome_does_not_call_an_unknown_energy_right(empty):
    unknown = Misfit("deployment", 3, np.nan, 120.0, 15.5)
    sentences = outcome_sentences(empty, [unknown])
    assert unknown.sentence in sentences
    assert not any("energy is right" in text for text in sentences)
    assert any("in the units of the rows" in text for text in sentences)


def test_rows_needed_of_singular_laws_are_not_guessed(extreme):
    refine = [
        text for field in diagnose(extreme(deployment=1e-300)).document["fields"] for text in refine_sentences(field)
    ]
    assert [
        text for text in refine if text.startswith("How many more deployment rows") and "cannot be computed" in text
    ]


def test_pictures_cope_with_missing_numbers(extreme):
    plots = pytest.importorskip("physupport.report.plots")
    plt = pytest.importorskip("matplotlib.pyplot")
    details = diagnose(extreme(scale=1e160))
    assert None in details.document["evidence"]["curves"][0]["upper"]
    for draw in (plots.plot_evidence, plots.plot_map, plots.plot_library, plots.plot_brackets):
        figure = draw(details).figure
        figure.canvas.draw()
        plt.close(figure)


def test_only_verdicts_that_can_be_asked_for_are_recommended(extreme):
    result = extreme(scale=1e160)
    assert result.trace.n_indeterminate
    assert len(result.trace) == result.trace.size
    refine = [text for field in diagnose(result).document["fields"] for text in refine_sentences(field)]
    assert any("more queries would not settle" in text for text in refine)
    assert not any("may settle" in text for text in refine)


def test_of_many_regions_only_those_with_something_are_named():
    says = {f"R{i}": f"e{i}" if i < 10 else None for i in range(40)}
    named = ", ".join(f"R{i}: e{i}" for i in range(6))
    assert explanation_words(5, says) == f"explanation 5 ({named} and more)"
    assert explanation_words(5, dict.fromkeys(says)) == "explanation 5 (nothing anywhere)"
    assert explanation_words(5, {"A": "A1", "B": None}) == "explanation 5 (A: A1, B: nothing)"


def test_elements_of_a_settled_field_that_were_left_alone_are_named(result):
    """A0 and A1 are kept and apart, so that A is a GROUP whatever becomes of A2."""
    field = diagnose(result).document["fields"][0]
    assert {e["id"]: e["state"] for e in field["elements"]} == {"A0": "kept", "A1": "kept", "A2": "not asked"}
    assert field_notes(field) == ["A2 was not tested: no verdict on it would change the label."]


def test_an_open_field_has_no_such_note(kit, bank):
    cut = kit.run(bank, ("latent", "covariance"), (120, 40), seed=6, budget=2)
    assert cut.report.status == "ABSTAIN"
    fields = {field["field"]: field_notes(field) for field in diagnose(cut).document["fields"]}
    assert all(not fields[name] for name in cut.open_fields)
    assert cut.open_fields

"""Where nothing fits, the true cause is named, and a report tells it and survives a check."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank
from physupport.io import ArrayRows, as_pairs
from physupport.laws import Linear
from physupport.laws.alternatives import diagnosis, linear_rows, ranked_causes, smallest_error
from physupport.report._causes import diagnosis_sentences
from physupport.verify import verify

_PATH = Path(__file__).parents[3] / "benchmarks" / "diagnosis.py"
_SPEC = importlib.util.spec_from_file_location("made_up_causes", _PATH)
made_up = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(made_up)


@pytest.mark.parametrize("field", made_up.FIELDS)
def test_the_true_cause_is_among_the_first_three(field):
    causes = made_up.FIELDS[field][1]
    found = [(cause, ranked) for cause in causes for ranked in made_up.ranks(field, cause, 2)]
    named = [cause in ranked[:3] for cause, ranked in found if ranked]
    first = [cause == ranked[0] for cause, ranked in found if ranked]
    assert np.mean(named) >= 0.9
    assert np.mean(first) >= 0.7


@pytest.mark.parametrize("field", made_up.FIELDS)
def test_rows_of_the_bank_itself_have_no_cause(field):
    found = [*made_up.ranks(field, "none", 4)]
    assert found == [[]] * 4


def report(field, cause):
    law, bank, rows = made_up.FIELDS[field][0](cause, np.random.default_rng(3))
    regions = {bank.states.library.regions[0]: 0.0}
    return PhysicalSupport(bank, regions, calibration=None, deployment=StreamPlan(law)).fit().report(rows), rows


def test_a_report_tells_the_cause_its_key_and_the_smallest_error_and_is_verified():
    made, rows = report("array", "place")
    assert made.status == "EMPTY"
    first = made.text().split("\n")[0]
    assert "between the listed places" in first
    assert "`[cover]`" in first
    assert "an angle whose sine is about" in first
    assert "without a guarantee" in first
    assert verify(made.json(), {"deployment": rows}).is_verified


def test_a_report_whose_causes_were_changed_is_refused():
    made, rows = report("array", "source")
    forged = json.loads(made.json())
    forged["diagnosis"]["causes"].reverse()
    assert any("diagnosis" in finding for finding in verify(forged, {"deployment": rows}).findings)


def test_a_report_in_which_something_fits_has_no_diagnosis():
    made, _ = report("array", "none")
    assert made.status == "REPORT"
    assert "diagnosis" not in made.document


def test_the_smallest_error_grows_with_the_error_of_the_response():
    errors = []
    for size in (0.0, 1.0, 2.0):
        law, bank, rows = made_up.array("error", np.random.default_rng(1), size)
        errors.append(smallest_error(linear_rows(law, bank, ArrayRows(rows))) or 0.0)
    assert errors[0] < errors[1] < errors[2] < 0.8


def test_the_gain_of_a_source_is_what_least_squares_give():
    law, bank, rows = made_up.raman("source", np.random.default_rng(5))
    linear = linear_rows(law, bank, ArrayRows(rows))
    (first, *_) = ranked_causes(linear)
    names = first.place.replace(" beside ", ",").split(",")
    chosen = [linear.names.index(name) for name in names]

    def left(columns):
        both = np.hstack([linear.columns[:, columns], linear.background])
        return float(np.linalg.lstsq(both, linear.measured, rcond=None)[1][0])

    alone = min(left([e]) for e in range(len(linear.names)))
    misfit = alone - (linear.size - 3)
    assert first.share == pytest.approx(min(1.0, (alone - left(chosen) - 1.0) / misfit), rel=1e-9)


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e150])
def test_numbers_of_any_size_and_places_on_a_line_in_space_end_in_facts_or_in_nothing(scale):
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((12, 6))
    places = np.outer(np.arange(6.0), np.ones(3))
    library = Library([f"e{i}" for i in range(6)], ["r"] * 6, places, columns / np.linalg.norm(columns, axis=0))
    bank = library_bank(library, [["r"]], {"r": [1.0]})
    for law in (Linear(), Linear(rows="free")):
        rows = ArrayRows(scale * rng.standard_normal((5, 12)))
        found = diagnosis(law.completed(bank), bank, rows, is_all=True)
        assert found is None or all(0.0 <= cause["share"] <= 1.0 for cause in found["causes"])


def test_counts_that_an_empty_explanation_without_background_leaves_have_a_diagnosis():
    lines = np.exp(-0.5 * ((np.arange(40)[:, None] - [12.0, 28.0]) / 3.0) ** 2)
    library = Library(["a", "b"], ["left", "right"], [[12.0], [28.0]], lines / np.linalg.norm(lines, axis=0))
    bank = library_bank(library, [[], ["left"], ["right"]], {"left": [1.0], "right": [1.0]})
    rows = np.random.default_rng(1).poisson(200.0 * lines[:, 0] + 20.0)[None]
    model = PhysicalSupport(bank, {"left": 0.5, "right": 0.5}, calibration=None, deployment=StreamPlan("poisson"))
    assert model.fit().report(rows).document["outcome"]["status"] == "EMPTY"


def test_a_remedy_names_keys_that_the_bank_and_the_law_take():
    made, _ = report("array", "source")
    document = json.loads(made.json())
    assert "`error` does not go with it" not in diagnosis_sentences(document)
    document["protocol"]["streams"][-1]["law"]["noise_shape"] = {"kind": "any", "ratio": 0.01}
    library = document["bank"]["states"]
    places = np.arange(0.0, 50.0 * len(library["ids"]), 50.0).tolist()
    library |= {"unit": "degrees", "coordinates": {"type": "real", "shape": [len(places), 1], "values": places}}
    document["diagnosis"]["causes"] = [
        {"cause": cause, "place": "x", "value": None, "share": 1.0} for cause in ("source", "error")
    ]
    said = diagnosis_sentences(document)
    assert "`[elements] error`" not in said
    assert "halve `step`" in said
    assert "max_active" not in said
    library["order"] = ["a", "b"]
    assert "`max_active` of `identify`" in diagnosis_sentences(document)


@pytest.mark.parametrize("seed", range(3))
def test_a_complex_row_that_is_off_is_named_whatever_the_phase_of_the_others(seed):
    """The mean is far from real, so that a median row with a wrong phase would hide the one that is off."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((12, 3)) + 1j * rng.standard_normal((12, 3))
    atoms /= np.linalg.norm(atoms, axis=0)
    bank = library_bank(
        Library(["a", "b", "c"], ["A"] * 3, np.arange(3.0)[:, None], as_pairs(atoms, axis=0)), ["A"], {"A": 1.0}
    )
    rows = 60.0j * atoms[:, 0] + rng.standard_normal((20, 12)) + 1j * rng.standard_normal((20, 12))
    rows[7] += 6.0 * (rng.standard_normal(12) + 1j * rng.standard_normal(12))
    law = Linear(noises=[2.0], is_complex=True).completed(bank)
    causes = ranked_causes(linear_rows(law, bank, ArrayRows(as_pairs(rows))))
    assert "row 7" in [cause.place for cause in causes]

"""Reports of signals of a learnt dictionary, from Python: the learner only counts and names."""

import numpy as np
import pytest
from tests.judges.learnt.test_space import PEAK, PLACES, rows_of, unit

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library
from physupport.verify import verify

RNG = np.random.default_rng(11)
CALIBRATION = rows_of(RNG, deviation=0.02, n=1000)
SIGNAL = RNG.standard_normal((60, 2)) @ unit(PLACES[[0, 2]]).T + 0.02 * RNG.standard_normal((60, 8))
BOX = {"x": (0.0, 1.0)}


class Learner:
    """An estimator that was fitted."""

    components_ = 3.0 * unit(PLACES + np.array([0.01, -0.02, 0.01])).T


def fitted(learner=Learner, **options):
    given = {"library": PEAK, "calibration": CALIBRATION, "places": BOX, "tolerance": 0.05} | options
    return PhysicalSupport.from_learner(learner, **given)


def facts(report):
    return report.document["gate"]["calibration"]


def test_the_active_places_are_found_and_the_report_verifies():
    report = fitted().report(SIGNAL)
    assert [str(field.label) for field in report.fields] == ["FINE", "SUPPORT_AMBIGUOUS", "FINE"]
    assert verify(report.json(), {"deployment": SIGNAL}).is_verified
    assert "Read as points, the learnt atoms would be" in str(report)
    assert "N s^6" in str(report)


def test_details_have_no_spectrum_and_no_forecast_that_take_cells_for_points():
    model = fitted()
    model.report(SIGNAL)
    document = diagnose(model.result_).document
    assert document["spectrum"] is None
    assert all(fact["kind"] != "data" for field in document["fields"] for fact in field["remedies"])


def test_learners_of_all_kinds_give_the_same_answer_and_their_own_readings():
    atoms = unit(PLACES)
    reports = [
        fitted(learner, **options).report(SIGNAL)
        for learner, options in (
            (Learner, {}),
            (atoms, {}),
            (atoms.T, {"learnt_on": "rows of last year"}),
            (lambda rows, n, seed: unit(np.linspace(0.2, 0.8, n)), {"n_atoms": 3}),
        )
    ]
    assert len({tuple(str(field.cell) for field in report.fields) for report in reports}) == 1
    assert facts(reports[0])["read_as"] != facts(reports[1])["read_as"]
    assert "learnt on rows of last year" in str(reports[2])


def test_a_library_without_the_response_of_an_atom_is_empty_in_words():
    report = fitted(places={"x": (0.0, 0.6)}).report(SIGNAL)
    assert report.status == "EMPTY"
    assert str(report).startswith("EMPTY\n") or "The learnt atoms are not responses of this library" in str(report)
    assert "explains at most 2 of the 3: atom 3 is" in str(report)


def test_more_atoms_than_learnt_are_empty_in_words():
    report = fitted(unit(PLACES[:2])).report(SIGNAL)
    assert report.status == "EMPTY"
    assert "hold more than 2 atoms" in str(report)


def test_rows_that_resolve_nothing_leave_every_place_and_say_what_would():
    noisy = rows_of(np.random.default_rng(1), deviation=1.0)
    report = fitted(calibration=noisy).report(SIGNAL)
    assert "exclude no place" in str(report)
    assert "calibration rows would resolve them" in str(report)
    assert not any(str(field.label) == "FINE" for field in report.fields)


def test_listed_places_and_rows_with_one_mean():
    places = np.sort(np.append(PLACES, [0.1, 0.37, 0.7]))
    library = Library([f"{x:g} m" for x in places], ["line"] * 6, places[:, None], unit(places), "m")
    rows = unit(PLACES[[1]])[:, 0] + 0.05 * np.random.default_rng(2).standard_normal((20, 8))
    plan = StreamPlan("gaussian", rows="same mean")
    report = fitted(library=library, places=None, deployment=plan).report(rows)
    assert [(field.field, str(field.label)) for field in report.fields] == [
        ("0.21 m", "SUPPORT_AMBIGUOUS"), ("0.52 m", "FINE"), ("0.83 m", "SUPPORT_AMBIGUOUS"),
    ]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), [
    ({"places": None}, "be the box of places of the library"),
    ({"learner": np.zeros((3, 8))}, "have atoms other than zero"),
    ({"learner": np.ones((3, 5))}, "have atoms of 8 channels"),
    ({"learner": lambda *_: 0}, "n_atoms must be given"),
    ({"library": lambda x: np.ones((8, len(x)))}, "bound its own slopes"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused(options, message):
    with pytest.raises(MisuseError, match=message):
        fitted(**options)


@pytest.mark.parametrize("options", [
    {"covariance": np.array([1.0] * 4 + [900.0] * 4)}, {"error": 0.1}, {"bands": 2, "rows": "free"},
    {"rows": "random", "noise_shape": {"kind": "any"}},
])  # fmt: skip
def test_signals_of_anything_but_atoms_in_white_noise_are_refused(options):
    plan = StreamPlan("gaussian", **options)
    with pytest.raises(MisuseError, match="deployment must be of atoms in white noise"):
        fitted(deployment=plan).report(SIGNAL)

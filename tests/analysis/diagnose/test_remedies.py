"""What would change an answer is right: applied to simulated data, each remedy makes the answer finer."""

import numpy as np

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library, bank_regions, library_bank
from physupport.judges.counts import ByCounts
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear, Poisson
from physupport.questions import RegionalMap, RegionRule
from physupport.report._remedies import field_remedies, remedy_sentences
from physupport.responses import Parameter, UniformLinearArray, settings_grid

AXIS = np.arange(40.0)
SEEDS = 10
WANTED = 7  # of ten data sets with as many data as are forecast, or a little more


def lines(*centres, width=3.0):
    return np.exp(-0.5 * ((AXIS[:, None] - np.array(centres)) / width) ** 2)


def bank_of(columns, **options):
    names = [f"e{i}" for i in range(columns.shape[1])]
    places = np.arange(float(len(names)))[:, None]
    columns = columns / np.linalg.norm(columns, axis=0)
    return library_bank(Library(names, ["line"] * len(names), places, columns), [["line"]], {"line": [1.0]}, **options)


def answered(bank, law, judge, rows, level=0.05):
    question = RegionalMap(bank_regions(bank), {"line": RegionRule(tolerance=0.5)})
    plans = {"deployment": StreamPlan(law, 0.5)}
    return analyse(
        AnalysisProtocol(question, RegionalPolicy(), level, 1.0, bank, plans, judge=judge, stop="set"),
        {"deployment": rows},
    )


def facts(result, kind):
    (field,) = diagnose(result).document["fields"]
    return [fact for fact in field["remedies"] if fact["kind"] == kind]


def finer_with(times, drawn, answer):
    """In how many data sets the answer is FINE with so many times the data."""
    return sum(answer(drawn(np.random.default_rng([7, seed]), times)).report.fields[0].label == "FINE"
               for seed in range(SEEDS))  # fmt: skip


def ambiguous(drawn, answer):
    """The first data set whose answer is not FINE."""
    found = (answer(drawn(np.random.default_rng(seed), 1.0)) for seed in range(20))
    return next(result for result in found if result.report.fields[0].label not in ("FINE", "EMPTY"))


def test_so_many_times_the_counts_part_what_holds_a_label_back():
    columns = lines(18.0, 20.0)
    columns /= np.linalg.norm(columns, axis=0)
    bank = bank_of(columns)

    def drawn(rng, times):
        return rng.poisson(times * (40.0 * columns[:, 0] + 10.0))[None].astype(float)

    def answer(rows):
        return answered(bank, Poisson(background=np.ones((40, 1))), ByCounts(), rows)

    (fact,) = facts(ambiguous(drawn, answer), "data")
    assert 1.0 < fact["times"] < 100.0
    assert finer_with(1.5 * fact["times"], drawn, answer) >= WANTED
    assert finer_with(1.0, drawn, answer) < WANTED


def test_so_many_times_the_rows_part_two_directions_of_free_rows():
    response = UniformLinearArray(8, 0.5)(np.array([[10.0], [14.0]])) / np.sqrt(8.0)
    bank = bank_of(np.stack([response.real, response.imag], axis=1).reshape(16, 2))

    def normal(rng, *shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)

    def drawn(rng, times):
        n = max(round(12 * times), 12)
        return 1.2 * normal(rng, n, 1) * response[:, 0] + normal(rng, n, 8)

    def answer(rows):
        return answered(bank, Linear(rows="free", is_complex=True), ByRotation(), rows)

    (fact,) = facts(ambiguous(drawn, answer), "data")
    assert 1.0 < fact["times"] < 30.0
    assert finer_with(1.5 * fact["times"], drawn, answer) >= WANTED
    assert finer_with(1.0, drawn, answer) < WANTED


def test_so_many_times_the_rows_show_an_element_of_the_amount_that_is_told():
    columns = lines(12.0, 26.0)
    columns /= np.linalg.norm(columns, axis=0)
    library = Library(["e0", "e1"], ["line", "other"], np.arange(2.0)[:, None], columns)
    bank = library_bank(library, [["line"], ["line", "other"]], {"line": [1.0], "other": [1.0]})
    law = Linear(background=np.ones((40, 1)), coefficients=dict.fromkeys(("line", "other"), (0.0, np.inf)))
    plans = {"deployment": StreamPlan(law, 0.5)}
    question = RegionalMap(bank_regions(bank))
    judge = ByRotation(amounts=0.3)
    protocol = AnalysisProtocol(question, RegionalPolicy(), 0.05, 1.0, bank, plans, judge=judge, stop="set")

    def other(amount, times, seed):
        rows = columns @ np.array([6.0, amount]) + np.random.default_rng(seed).standard_normal((round(4 * times), 40))
        result = analyse(protocol, {"deployment": rows})
        return result.report.fields[1].label, diagnose(result).document["fields"][1]["remedies"]

    label, told = other(0.4, 1.0, 2)
    assert label == "SUPPORT_AMBIGUOUS"
    (fact,) = told
    assert (fact["kind"], fact["element"], fact["data"]) == ("amount", "e1", "rows")
    assert fact["times"] > 1.0
    assert sum(other(fact["amount"], 1.5 * fact["times"], [5, seed])[0] == "FINE" for seed in range(SEEDS)) >= WANTED


def shifted(shifts):
    """A bank of two lines at 18 and 20, whose axis may be shifted."""
    settings = settings_grid(lines(18.0, 20.0), np.arange(2.0)[:, None], [Parameter("shift", shifts)], AXIS)
    columns = settings.responses[len(shifts) // 2]
    return bank_of(columns, settings=settings)


def test_a_parameter_that_is_known_to_lie_in_the_interval_makes_the_label_finer():
    shifts = np.linspace(-3.0, 3.0, 13)
    law = Poisson(background=np.ones((40, 1)))
    rows = np.random.default_rng(3).poisson(900.0 * lines(18.0)[:, 0] + 5.0)[None].astype(float)
    result = answered(shifted(shifts), law, ByCounts(), rows)
    assert result.report.fields[0].label == "GROUP"
    (fact,) = facts(result, "parameter")
    assert (fact["parameter"], fact["label"]) == ("shift", "FINE")
    inside = shifts[np.abs(shifts - fact["value"]) <= fact["within"]]
    narrow = answered(shifted(inside), law, ByCounts(), rows).report.fields[0]
    assert (narrow.label, [*narrow.cell]) == ("FINE", fact["cell"])
    beyond = shifts[np.abs(shifts - fact["value"]) <= fact["within"] + 0.3]
    assert answered(shifted(beyond), law, ByCounts(), rows).report.fields[0].label == "GROUP"
    (said,) = [text for text in diagnose(result).remedies if text.startswith("If shift lies between ")]
    assert f"{fact['cell'][0]} is there: a calibration of shift can show that." in said


def test_sets_of_elements_are_named_apart_from_the_sets_that_they_are_parted_from():
    fact = {"kind": "data", "pair": ["a + b", "b"], "times": 4.0, "data": "counts", "channels": None}
    (said,) = field_remedies({"remedies": [fact]})
    assert said == "About 4 times the counts in all would be expected to part a + b from b."


def test_an_interval_of_a_parameter_is_told_within_its_ends_however_small_beside_its_middle():
    for value, within, ends in ((1234.5, 0.25, "1234.25 and 1234.75"), (0.0, 0.1279, "-0.127 and 0.127")):
        fact = {"kind": "parameter", "parameter": "gain", "value": value, "within": within}
        (said,) = field_remedies({"remedies": [fact | {"label": "FINE", "cell": ["e0"]}]})
        assert said == f"If gain lies between {ends}, e0 is there: a calibration of gain can show that."


def test_the_error_from_which_something_fits_is_rounded_up():
    fact = {"kind": "error", "scale": "angle", "error": 0.12345, "is_proven": True}
    assert "an error of the responses of 0.124 on" in remedy_sentences({"remedies": [fact]})[0]


def counted_with(error, rows):
    return answered(bank_of(lines(18.0, 21.0)), Poisson(background=np.ones((40, 1)), error=error), ByCounts(), rows)


def test_responses_as_exact_as_told_make_the_label_finer():
    rows = np.random.default_rng(5).poisson(400.0 * lines(18.0)[:, 0] + 5.0)[None].astype(float)
    result = counted_with(0.5, rows)
    assert result.report.fields[0].label == "GROUP"
    (fact,) = facts(result, "responses")
    exact = counted_with(0.98 * fact["error"], rows).report.fields[0]
    assert (exact.label, [*exact.cell]) == (fact["label"], fact["cell"])
    assert any(text.startswith("If responses are right to within ") for text in diagnose(result).remedies)


def test_where_nothing_fits_something_does_from_the_error_that_is_told():
    mean = 4000.0 * lines(18.0)[:, 0] * (1.0 + 0.15 * np.sin(AXIS)) + 5.0
    rows = np.random.default_rng(6).poisson(mean)[None].astype(float)
    result = counted_with(0.001, rows)
    assert result.report.status == "EMPTY"
    fact = next(fact for fact in diagnose(result).document["remedies"] if fact["kind"] == "error")
    assert fact["is_proven"]
    assert counted_with(1.02 * fact["error"], rows).report.status == "REPORT"
    assert counted_with(0.9 * fact["error"], rows).report.status == "EMPTY"
    assert diagnose(result).remedies[0].startswith("Something fits from an error of the responses of ")


def test_where_nothing_fits_something_does_without_the_channels_that_are_told():
    columns = lines(18.0, 21.0)
    rng = np.random.default_rng(8)
    rows = rng.poisson(400.0 * columns[:, 0] + 5.0 + 200.0 * ((AXIS >= 32) & (AXIS < 34)))[None].astype(float)

    def answer(inside):
        law = Poisson(background=np.ones((inside.sum(), 1)))
        return answered(bank_of(columns[inside]), law, ByCounts(), rows[:, inside])

    result = answer(np.ones(40, dtype=bool))
    assert result.report.status in ("EMPTY", "WITHHELD")
    details = diagnose(result)
    fact = next(fact for fact in details.document["remedies"] if fact["kind"] == "channels")
    first, last = int(fact["first"]), int(fact["last"])
    assert 32 <= first <= last < 34
    assert any(f"channel {first}" in text or f"channels {first} to {last} (" in text for text in details.remedies)
    assert answer((AXIS < 32) | (AXIS >= 34)).report.status == "REPORT"


def test_what_the_best_fit_would_say_stands_beside_the_set_where_no_rows_propose():
    rows = np.random.default_rng(9).poisson(25.0 * lines(18.0)[:, 0] + 10.0)[None].astype(float)
    result = answered(bank_of(lines(18.0, 20.0)), Poisson(background=np.ones((40, 1))), ByCounts(), rows)
    (field,) = diagnose(result).document["fields"]
    assert field["plug_in"] is None
    assert field["best_fit"] == {"label": "FINE", "cell": [result.says(result.best)["line"]]}

"""The details as one document: complete, strict, and true to the run."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport._codec import content_hash
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.analysis.diagnose import coherence, diagnose, misfit, rows_needed
from physupport.banks import array_bank, product_grid
from physupport.io import as_pairs
from physupport.questions import Answer, Certificate, Label, Progress, Question, Resolution
from physupport.report import Details
from physupport.report._diagnosis import refine_sentences


@pytest.fixture(scope="module")
def details(result):
    return diagnose(result, title="Two regions", coordinate_names=["angle"])


@pytest.fixture(scope="module")
def document(details):
    return details.document


def test_it_has_all_parts_and_names_its_report(document, result):
    assert [*document] == [
        "format", "version", "report", "title", "inputs", "seconds", "fields", "remedies", "rows", "spectrum",
        "library", "library_coherence", "evidence", "brackets", "misfit", "outcome", "verify",
    ]  # fmt: skip
    assert document["report"] == result.report.digests["document"]
    assert document["title"] == "Two regions"
    assert document["verify"] is None
    assert diagnose(result, verify="look here").document["verify"] == "look here"


def test_it_survives_a_file(details, tmp_path):
    details.save(tmp_path / "details.json")
    assert Details.load(tmp_path / "details.json").document == details.document
    text = (tmp_path / "details.json").read_text(encoding="utf-8")
    assert json.loads(text) == details.document | {"sha256": content_hash(details.document)}
    with pytest.raises(MisuseError, match="must be as they were written"):
        Details.from_json(text.replace('"seconds": {', '"seconds": {"more": 1, '))


@pytest.mark.parametrize("text", ['{"format": "physupport report", "version": 1}', "[]", '{"format": NaN}', "{", "{}"])
def test_what_is_no_such_document_is_refused(text):
    with pytest.raises(MisuseError):
        Details.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"misfit": None}, r"details\.misfit must be a list, not None"),
        ({"more": 1}, r"details must have no other names than the format has, not also 'more'"),
        ({"fields": [{}]}, r"details\.fields\[0\] must hold 'field', not none"),
    ],
)
def test_a_part_of_another_form_is_refused_by_its_path(details, change, message):
    with pytest.raises(MisuseError, match=message):
        Details(details.document | change)


def test_inputs_say_what_was_read(document, result):
    for entry, part in zip(document["inputs"], result.seal.parts, strict=True):
        table = result.tables[part.name]
        assert entry["stream"] == part.name
        assert entry["shape"] == list(table.values.shape)
        assert entry["sha256"] == table.digest()
        assert entry["proposal_rows"] + entry["held_out_rows"] == len(table.values)
        assert entry["channels"] == ["0", "1", "2", "3", "4", "5"]


def test_elements_are_counted_as_the_verdicts_count_them(document, result, bank):
    verdicts = dict(zip(result.trace.queries.tolist(), result.trace.codes.tolist(), strict=True))
    for field in document["fields"]:
        for element in [*field["elements"], *([field["absent"]] if field["absent"] else [])]:
            name = element.get("id")
            saying = [e for e in range(bank.size) if says(bank, e, field["field"]) == name]
            kept = sum(verdicts.get(e) in (0, 2) for e in saying)
            not_asked = sum(e not in verdicts for e in saying)
            assert (element["n_kept"], element["n_not_asked"]) == (kept, not_asked)
            assert element["n_explanations"] == len(saying)
            assert element["state"] == ("kept" if kept else "not asked" if not_asked else "excluded")


def says(bank, e, region):
    return next((name for name in bank.explanation(e).ids if name.startswith(region)), None)


def test_the_explanations_of_an_element_say_it_and_come_witnesses_first(document, result, bank):
    order = ["ADMISSIBLE", "INDETERMINATE", "not asked", "REJECTED"]
    queries = result.trace.queries.tolist()
    for field in document["fields"]:
        for element in field["elements"]:
            ranks = [order.index(entry["verdict"]) for entry in element["explanations"]]
            assert ranks == sorted(ranks)
            assert 0 < len(ranks) <= 12
            for entry in element["explanations"]:
                e = entry["explanation"]
                assert entry["says"] == {region: says(bank, e, region) for region in "AB"}
                assert says(bank, e, field["field"]) == element["id"]
                asked = result.trace.verdicts.margins()[queries.index(e)].tolist() if e in queries else None
                assert entry["margin"] == asked


def test_fields_carry_their_rules_readings_and_remedies(document, result):
    a, b = document["fields"]
    assert (a["field"], a["is_optional"], a["tolerance"], a["coordinate_names"]) == ("A", False, 0.5, ["angle"])
    assert a["absent"] is None
    assert b["is_optional"]
    assert [element["coordinates"] for element in a["elements"]] == [[0.0], [1.0], [2.0]]
    assert a["refine"][:2] == [each.json() for each in rows_needed(result) if each.field == "A"]
    for field, plug_in, answer in zip(document["fields"], result.plug_in, result.trace.answers, strict=True):
        assert field["plug_in"] == {"label": str(plug_in.label), "cell": list(plug_in.cell)}
        assert [each["level"] for each in field["levels"]] == [0.01, 0.05, 0.1, 0.2]
        assert (field["label"], field["cell"]) == (str(answer.label), list(answer.cell))
        nothing = answer.number("possible_absent") > 0
        said = {"label": str(answer.label), "cell": list(answer.cell), "or_nothing": nothing}
        assert field["levels"][1] == {"level": 0.05} | said


def test_coherence_is_that_of_the_responses(document, kit):
    library = kit.make_library()
    whole = coherence(library.responses)
    assert document["library_coherence"]["ids"] == list(library.ids)
    # Six digits are kept.
    np.testing.assert_allclose(document["library_coherence"]["matrix"], whole, atol=1e-6)
    np.testing.assert_allclose(document["fields"][1]["coherence"]["matrix"], whole[3:, 3:], atol=1e-6)
    np.testing.assert_allclose(np.transpose(document["library"]["responses"]), library.responses, rtol=1e-5)


def test_curves_are_of_explanations_that_were_asked_about_and_end_as_judged(document, result):
    evidence, queries = document["evidence"], result.trace.queries.tolist()
    assert evidence["steps"][-1] == [60, 20]
    assert evidence["threshold"] == pytest.approx(np.log(20))
    for curve in evidence["curves"]:
        lower, upper = result.trace.verdicts.margins()[queries.index(curve["explanation"])]
        # Margin = peak of the log evidence less the threshold; both are bounds of the same number.
        assert max(0.0, *curve["lower"]) - evidence["threshold"] <= max(upper, -evidence["threshold"]) + 1e-9
        assert max(curve["upper"]) - evidence["threshold"] >= lower - 1e-9
        assert (curve["verdict"] == "REJECTED") == (max(curve["lower"]) > evidence["threshold"])
    assert {curve["role"] for curve in evidence["curves"]} == {"proposal", "witness", "nearest excluded"}


def test_brackets_lead_from_the_whole_bank_to_the_end_of_the_run(document, result, bank):
    found, trace = document["brackets"], result.trace
    assert found["queries"] == list(range(len(trace) + 1))
    assert (found["witnessed"][0], found["possible"][0], found["open"][0]) == (0, bank.size, 2)
    assert (found["witnessed"][-1], found["possible"][-1]) == (trace.n_witnessed, trace.n_possible)
    assert found["open"][-1] == 0
    for k in (1, len(trace) // 2):
        assert found["possible"][k] == trace.at(k).n_possible


def test_misfits_are_those_of_the_function(document, result):
    found = [(entry["z"], entry["probability"], entry["is_exact"]) for entry in document["misfit"]]
    assert found == [(each.z, each.probability, each.is_exact) for each in misfit(result)]
    assert [is_exact for _, _, is_exact in found] == [False, True]  # latent codes, covariance


def test_long_runs_are_thinned(kit, result, monkeypatch):
    monkeypatch.setattr("physupport.analysis.diagnose._pictures.MOST_POINTS", 3)
    monkeypatch.setattr("physupport.analysis.diagnose._pictures.MOST_SHOWN", 2)
    monkeypatch.setattr("physupport.analysis.diagnose._fields.MOST_LISTED", 1)
    thinned = diagnose(result).document
    assert len(thinned["brackets"]["queries"]) == 3
    assert thinned["brackets"]["queries"][-1] == len(result.trace)
    possible = [e["id"] for field in thinned["fields"] for e in field["elements"] if e["state"] != "excluded"]
    assert (thinned["library"]["shown"], thinned["library"]["of"]) == (len(thinned["library"]["ids"]), 5)
    assert thinned["library"]["shown"] <= 2
    assert possible[0] in thinned["library"]["ids"]  # what is left is shown before what is excluded
    assert all(len(element["explanations"]) == 1 for element in thinned["fields"][0]["elements"])


def test_a_region_with_many_elements_has_the_envelope_of_all_of_them(kit, result, monkeypatch):
    monkeypatch.setattr("physupport.analysis.diagnose._pictures.MOST_LINES", 2)
    monkeypatch.setattr("physupport.analysis.diagnose._pictures.MOST_SHOWN", 2)
    library, shown = kit.make_library(), diagnose(result).document["library"]
    wide = [name for name in library.region_names if len(library.members(name)) > 2]
    assert [*shown["envelopes"]] == wide
    assert wide
    for name in wide:
        columns = library.responses[:, library.members(name)]
        lower, upper = shown["envelopes"][name]
        np.testing.assert_allclose(lower, columns.min(axis=1), atol=1e-6)
        np.testing.assert_allclose(upper, columns.max(axis=1), atol=1e-6)


def test_complex_responses_are_shown_by_their_real_part(kit):
    found = diagnose(kit.run(kit.make_bank(is_complex=True), ("covariance",), (60,), is_complex=True)).document
    library = kit.make_library(is_complex=True).responses
    complex_ones = library[0::2] + 1j * library[1::2]
    np.testing.assert_allclose(np.transpose(found["library"]["responses"]), complex_ones.real, rtol=1e-5)
    np.testing.assert_allclose(found["library_coherence"]["matrix"], coherence(complex_ones), atol=1e-6)
    assert found["library"]["channels"] == ["0", "1", "2", "3", "4", "5"]


def test_an_empty_outcome_has_details_too(empty):
    found = diagnose(empty).document
    assert {element["state"] for field in found["fields"] for element in field["elements"]} == {"excluded"}
    assert found["brackets"]["possible"][-1] == 0
    assert found["outcome"]["status"] == "EMPTY"
    assert all(field["refine"] == [] for field in found["fields"])


def make_turned(question_of):
    """Three dictionaries given as arrays, measured with the first."""
    rng = np.random.default_rng(5)
    dictionaries = rng.standard_normal((3, 4, 2))
    dictionaries[1] = dictionaries[0] + 0.05 * dictionaries[1]
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    bank = array_bank(dictionaries, [(0, 1)], deployment=product_grid(noise=[0.5]))
    rows = rng.standard_normal((60, 2)) @ dictionaries[0].T + np.sqrt(0.5) * rng.standard_normal((60, 4))
    question, policy = question_of(bank)
    protocol = AnalysisProtocol(
        question, policy, 0.05, 1.0, bank, {"deployment": StreamPlan("covariance", 0.5, first=8)}
    )
    return analyse(protocol, {"deployment": rows})


def test_a_resolution_has_no_elements_but_says_what_would_narrow_it():
    distances = np.array([[0.0, 0.3, 1.0], [0.3, 0.0, 1.0], [1.0, 1.0, 0.0]])

    def question(bank):
        asked = Resolution.of_states(bank, distances, distances[0], delta_fine=0.1, delta_group=0.5)
        return asked, FixedOrder()

    result = make_turned(question)
    (field,) = diagnose(result).document["fields"]
    assert (field["elements"], field["coherence"], field["tolerance"]) == ([], None, 0.1)
    assert result.trace.answers[0].label is Label.GROUP
    assert refine_sentences(field)[0].startswith("About ")
    assert "(place: place 0)" in refine_sentences(field)[0]


class Own(Question):
    """A question of one's own: is the first explanation kept?"""

    n_explanations = 3

    def begin(self):
        return OwnProgress()

    def describe(self):
        return {"question": "own"}


class OwnProgress(Progress):
    def __init__(self):
        self.kept = None

    def witness(self, e):
        self.kept = True if e == 0 else self.kept

    def reject(self, e):
        self.kept = False if e == 0 else self.kept

    @property
    def is_certified(self):
        return self.kept is not None

    def answers(self):
        if self.kept is None:
            return (Answer("first", Label.ABSTAIN, (), None, (), Certificate("open")),)
        return (Answer("first", Label.FINE if self.kept else Label.ABSENT, (), None, (), Certificate("universal")),)


def test_a_question_of_ones_own_has_details_without_elements():
    found = diagnose(make_turned(lambda bank: (Own(), FixedOrder()))).document
    (field,) = found["fields"]
    assert (field["field"], field["elements"], field["refine"]) == ("first", [], [])
    assert found["library"] is None
    assert found["brackets"]["open"] == [1, 0]


def test_pairs_and_channel_names_come_from_the_table(kit):
    bank = kit.make_bank(is_complex=True)
    rows = kit.make_rows(bank, "covariance", np.random.default_rng(1), 60, is_complex=True)
    result = kit.run(bank, ("covariance",), (60,), is_complex=True)
    values = rows[:, 0::2] + 1j * rows[:, 1::2]
    assert np.array_equal(as_pairs(values), result.seal.parts[0].table)
    again = analyse(result.seal.protocol, {"deployment": values})
    assert diagnose(again).document["inputs"][0]["dtype"] == "complex128"
    assert again.report.document == result.report.document


def texts(value):
    """All texts within a document."""
    if isinstance(value, dict | list):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_it_holds_facts_and_no_sentence(kit, bank, result, empty):
    """Names and codes of these runs have no full stop; every sentence ends with one."""
    for run in (result, kit.run(bank, ("latent", "covariance"), (120, 40), budget=1), empty):
        details = diagnose(run)
        said = [*details.notes, *(text for field in details.document["fields"] for text in refine_sentences(field))]
        assert said
        assert all(text.endswith(".") for text in said)
        assert not [text for text in texts(details.document) if text.endswith(".")]

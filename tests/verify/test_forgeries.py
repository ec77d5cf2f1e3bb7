"""Documents whose hashes all fit, and which no honest run can have written."""

import base64
import copy
import json
import zlib

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy, WitnessFirst
from physupport.report import MOST_EXPLANATIONS
from physupport.verify import verify
from physupport.verify._data import PLAUSIBILITY


@pytest.fixture
def document(four_regions):
    return copy.deepcopy(four_regions.report.document)


def findings(*args, **options):
    return " / ".join(verify(*args, **options).findings)


def stream(document, number=0):
    return document["protocol"]["streams"][number]


# What is changed in the protocol, and words of the finding; all of it is found without any rows.
CHANGES = {
    "no rows": (lambda d: stream(d).update(rows=0), "out of range"),
    "all rows propose": (lambda d: stream(d).update(fraction=1.0), "out of range"),
    "no row proposes": (lambda d: stream(d).update(fraction=1e-9), "no row of calibration is left to the proposal"),
    "checkpoints fall": (lambda d: stream(d)["checkpoints"].reverse(), "do not increase within"),
    "checkpoints outside": (lambda d: stream(d)["checkpoints"].append(10**9), "do not increase within"),
    "no checkpoints": (lambda d: stream(d).update(checkpoints=[]), "do not increase within"),
    "unknown law": (lambda d: stream(d)["law"].update(kind="gamma"), "unknown kind 'gamma'"),
    "box without profile": (
        lambda d: stream(d)["law"].update(box={}),
        "law of calibration must be as a run writes it, not box: the report says dict",
    ),
    "no noise": (lambda d: stream(d)["law"].update(noises=[0.0]), "the noise of calibration is not positive"),
    "negative noise": (lambda d: stream(d, 1)["law"].update(noises=[-1.0]), "the noise of deployment is not positive"),
    "no code law": (lambda d: stream(d)["law"].update(laws=[]), "not one coefficient law for each noise"),
    "more in a code law": (
        lambda d: stream(d)["law"]["laws"][0].update(more=1),
        "not laws[0].more: the report says 1",
    ),
    "activity": (lambda d: stream(d)["law"]["laws"][0].update(p=0.7), "the activity of calibration"),
    "two numerators": (
        lambda d: stream(d)["numerator"].update(point={}),
        "the numerator of calibration has other names",
    ),
    "no numerator": (lambda d: stream(d).update(numerator={}), "the numerator of calibration has other names"),
    "a number as numerator": (lambda d: stream(d).update(numerator=3), "document.protocol.streams[0].numerator"),
    "numerator below": (lambda d: stream(d).update(numerator={"key": -1}), "lies outside the bank"),
    "numerator beyond": (
        lambda d: stream(d).update(numerator={"key": 10**6}),
        "the numerator of calibration lies outside the bank",
    ),
    "another width": (lambda d: stream(d, 1).update(width=17), "have 17 entries, not the 16 that the bank needs"),
    "another noise": (
        lambda d: stream(d, 1)["law"].update(noises=[x / 2 for x in stream(d, 1)["law"]["noises"]]),
        "the law of deployment is not that of the bank: noises must be those of the bank",
    ),
    "another activity": (
        lambda d: stream(d)["law"]["laws"][0].update(p=0.123),
        "the law of calibration is not that of the bank: laws must be those of the bank",
    ),
    "more noises": (
        lambda d: stream(d, 1)["law"]["noises"].append(0.3),
        "noises must be one for each of the",
    ),
    "numerator of text": (lambda d: stream(d).update(numerator={"key": "0"}), "key must be a whole number"),
    "half a point": (
        lambda d: stream(d).update(numerator={"point": {"p": 0.2}}),
        "point must hold 'atoms'",
    ),
    "a mean for codes": (
        lambda d: stream(d).update(
            numerator={"mean_point": {"mean": {"type": "real", "shape": [1], "values": [1.0]}, "noise": 1.0}}
        ),
        "is a mean_point, which latent rows cannot have",
    ),
    "hash of rows": (lambda d: stream(d).update(proposal_rows="abc"), "proposal_rows must be a SHA-256"),
    "hash of data": (lambda d: d["data"].update(deployment="X" * 64), "document.data.deployment must be a SHA-256"),
    "missing data": (lambda d: d["data"].pop("deployment"), "not those of the streams"),
    "plausibility": (lambda d: d["protocol"].update(plausibility="f" * 63), "plausibility must be a SHA-256"),
    "no plausibility": (lambda d: d["protocol"].update(plausibility=None), "what their proposal rows make plausible"),
    "more in a policy": (lambda d: d["protocol"]["policy"].update(more=1), "the policy must have no other names"),
    "level": (lambda d: d["protocol"].update(level=1.0), "no probability of an error"),
    "seed": (lambda d: d["protocol"].update(seed=-1), "out of range"),
    "size": (lambda d: d["protocol"].update(size=MOST_EXPLANATIONS + 1), "does not lie from 1 to"),
    "no explanation": (lambda d: d["protocol"].update(size=0), "does not lie from 1 to"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_protocol_that_cannot_be_is_refused_without_its_rows(document, resealed, name):
    change, words = CHANGES[name]
    change(document)
    assert words in findings(resealed(document))


@pytest.mark.parametrize("kind", ["regional", "witness first"])
def test_the_policies_of_the_package_are_known_in_full_and_others_are_free(reports, resealed, kind):
    written = copy.deepcopy(reports["group and ambiguity"].report.document)
    mask = np.array([True, False])
    policies = {
        "regional": RegionalPolicy().describe(),
        "witness first": WitnessFirst((mask,), (), [0, 1]).describe() | {"obligations": [["left", "0" * 64]]},
    }
    written["protocol"]["policy"] = dict(policies[kind])
    assert verify(resealed(written)).is_verified
    written["protocol"]["policy"]["order"] = "by hand"
    assert "the policy" in findings(resealed(written))
    written["protocol"]["policy"] = {"policy": "my own", "whatever": [1, {"two": 3}]}
    assert verify(resealed(written)).is_verified


def test_a_numerator_that_is_not_the_best_on_the_proposal_rows_is_refused_by_them(document, resealed, four_regions):
    for number, name in enumerate(("calibration", "deployment")):
        forged = copy.deepcopy(document)
        key = stream(forged, number)["numerator"]["key"]
        stream(forged, number)["numerator"]["key"] = key + (1 if key == 0 else -1)
        found = findings(resealed(forged), four_regions.rows)
        assert f"the numerator of {name} is not the best of the bank on the proposal rows" in found
        assert "do not match their hash" not in found


def test_proposals_that_the_proposal_rows_do_not_favour_are_refused_by_them(document, resealed, four_regions):
    """A resolution is about what survives together with the first of them."""
    honest = document["protocol"]["proposals"]
    assert verify(document, four_regions.rows).is_verified
    for proposals in (
        [],
        honest[:1],
        [*honest, honest[0]],
        [(honest[0] + 1) % document["protocol"]["size"], honest[1]],
    ):
        forged = copy.deepcopy(document)
        forged["protocol"]["proposals"] = proposals
        found = findings(resealed(forged), four_regions.rows)
        assert "the proposals of the protocol are not what the proposal rows favour" in found


def test_another_plausibility_than_that_of_the_proposal_rows_is_noted(document, resealed, four_regions):
    assert PLAUSIBILITY not in verify(document, four_regions.rows).notes
    document["protocol"]["plausibility"] = "0" * 64
    found = verify(resealed(document), four_regions.rows)
    assert (found.findings, PLAUSIBILITY in found.notes) == ((), True)


def test_held_out_rows_with_another_hash_are_refused(document, resealed, four_regions):
    document["data"]["deployment"] = "0" * 64
    found = findings(resealed(document), four_regions.rows)
    assert "the held-out rows of deployment do not match their hash" in found
    assert "proposal rows of deployment" not in found
    assert "rows of calibration" not in found


def test_a_query_after_the_end_of_the_run_is_refused(reports, resealed):
    """Everything is admissible, so all is settled before all was asked about; one more verdict changes no label."""
    forged = copy.deepcopy(reports["everything"].report.document)
    trace, outcome = forged["trace"], forged["outcome"]
    asked = trace["queries"]["values"]
    asked.append(next(e for e in range(12) if e not in asked))
    trace["codes"]["values"].append(0)
    trace["lower"].append(-2.0)
    trace["upper"].append(-1.0)
    trace["queries"]["shape"] = trace["codes"]["shape"] = [len(asked)]
    outcome["queries"] += 1
    outcome["witnessed"] += 1
    assert "the last queries came after the run was over" in findings(resealed(forged))


def test_the_order_of_names_does_not_matter(reports):
    for written in reports.values():
        turned = json.loads(written.report.json(), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        for text in (json.dumps(turned), json.dumps(turned, sort_keys=True)):
            assert verify(text).findings == ()


def test_an_array_that_promises_more_than_it_packs_takes_no_memory(document):
    nodes = document["bank"]["states"]["responses"]
    for shape, words in (([10**6, 10**6], "packed into"), ([100, 1], "entries that its shape declares")):
        packed = base64.b64encode(zlib.compress(np.zeros(101).tobytes())).decode()
        forged = copy.deepcopy(document)
        forged["bank"]["states"]["responses"] = {"type": "real", "shape": shape, "packed": packed}
        assert words in findings(forged)
    for shape in ([-1, 1], [True, 1], [1.0, 1], "11", [nodes["shape"][0] + 1, nodes["shape"][1]]):
        forged = copy.deepcopy(document)
        forged["bank"]["states"]["responses"]["shape"] = shape
        assert "array must" in findings(forged)


def test_a_bomb_is_not_unpacked(document):
    """A shape that fits the compressed length, and content a hundred times as long."""
    bomb = zlib.compress(bytes(8 * 10**6), 9)
    count = 10**4
    node = {"type": "real", "shape": [count, 1], "packed": base64.b64encode(bomb).decode()}
    document["bank"]["states"]["coordinates"] = node
    assert "entries that its shape declares" in findings(document)


def test_states_that_would_fill_the_memory_are_refused(reports, resealed):
    forged = copy.deepcopy(reports["group and ambiguity"].report.document)

    def packed(kind, values, shape):
        raw = base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
        return {"type": kind, "shape": shape, "packed": raw}

    forged["bank"] = {
        "states": {
            "kind": "arrays",
            "elements": packed("real", np.full(30000, 30000**-0.5), [30000, 1]),
            "index": packed("whole", np.zeros(30000, dtype=np.int64), [30000, 1]),
        },
        "strengths": {"type": "real", "shape": [1, 1], "values": [1.0]},
        "calibration": {"names": [], "values": {"type": "real", "shape": [1, 0], "values": []}},
        "deployment": {"names": [], "values": {"type": "real", "shape": [1, 0], "values": []}},
    }
    assert "too many to be checked here" in findings(resealed(forged))


def test_running_out_of_memory_is_a_refusal(document, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("physupport.verify._verify.rebuilt_bank", full)
    assert "there is not enough memory to check it" in findings(document)


def test_a_number_beyond_float64_is_refused(four_regions):
    text = four_regions.report.json().replace('"level": 0.077', '"level": 1e999', 1)
    assert findings(text) == "report must be strict JSON, not 1e999 is larger than any float64."


def test_groups_are_refused_in_words_that_name_what_is_wrong(reports, resealed):
    document = reports["group and ambiguity"].report.document

    def found(change):
        forged = copy.deepcopy(document)
        change(forged["protocol"]["question"]["regions"][0]["groups"])
        return findings(resealed(forged))

    assert "not 'x' in group 'near'" in found(lambda groups: groups[0][1].append("x"))
    assert "must have names of their own, not 'left'" in found(lambda groups: groups.reverse())
    assert "protocol.question.regions[0].groups[1]" in found(lambda groups: groups.insert(0, groups[0]))

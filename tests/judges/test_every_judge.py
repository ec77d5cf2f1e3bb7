"""Properties of every judge under each law that it takes, for any question: the cases of `cases.py`."""

import copy
import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.judges.cases import PLACES, asked_map, every_case

from physupport._errors import MisuseError
from physupport.aeb import EndpointPolicy, FixedOrder, RandomOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, analyse, report
from physupport.banks import bank_regions
from physupport.judges import JUDGES, Verdict, decoded
from physupport.laws import LAWS
from physupport.questions import Claim, RegionalMap, RegionRule, Resolution
from physupport.report import document_hash
from physupport.verify import verify

CASES = every_case()


def asked_claims(bank):
    rules = {"A": RegionRule(2.0, asks=("fine", "ambiguity"), groups={"high": ["a2", "a3"]}), "B": RegionRule(0.0)}
    claims = {"some": Claim("any", ("a0", "b0")), "one": Claim("exactly_one", ("high", "b0", "b1"))}
    return RegionalMap(bank_regions(bank), rules, claims)


def asked_resolution(bank):
    """Of the place in region A, by number; an explanation without one stands at its end."""
    slots = asked_map(bank).slots(np.arange(bank.size))[:, 0]
    x = np.append(np.array([*PLACES.values()])[:4], 20.0)
    places = np.where(slots < 0, 4, slots)
    return Resolution(places, np.abs(x[:, None] - x), np.abs(x - 7.0), 1.5, 4.0)


QUESTIONS = {"map": asked_map, "claims": asked_claims, "resolution": asked_resolution}


@cache
def case(name):
    bank, plans, judge, rows = CASES[name]()
    question = asked_map(bank)
    return AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0, bank, plans, judge=judge, seed=4, stop="set"), rows


@cache
def sealed(name):
    protocol, rows = case(name)
    return protocol.read(**rows)


@cache
def written(name, question="map"):
    """The report, with its rows."""
    protocol, rows = case(name)
    policy = EndpointPolicy() if question == "resolution" else RegionalPolicy()
    asked = replace(protocol, question=QUESTIONS[question](protocol.bank), policy=policy)
    return analyse(asked, rows).report, rows


@pytest.mark.parametrize("name", CASES)
def test_a_judge_tells_something_and_keeps_what_made_the_rows(name):
    """A judge may reject the truth once in ten data sets; with these seeds it does not."""
    protocol, _ = case(name)
    codes, slots = sealed(name).verdicts().codes, protocol.question.slots(np.arange(protocol.bank.size))
    is_simple = all(not plan.law.is_linear for plan in protocol.streams.values())
    truth = slots[-1] if is_simple else np.array([2, -1])  # a2 alone
    assert (codes == Verdict.REJECTED).any()
    assert (codes[(slots == truth).all(axis=1)] == Verdict.ADMISSIBLE).any()


@pytest.mark.parametrize("name", CASES)
def test_verdicts_are_proven_and_do_not_depend_on_order_or_company(name):
    judge, rng = sealed(name).judge, np.random.default_rng(1)
    whole = judge.verdicts(np.arange(judge.size))
    assert whole.are_proven().all()
    order = rng.permutation(judge.size)
    turned = judge.verdicts(order)
    assert (turned.codes == whole.codes[order]).all()
    assert (turned.margins() == whole.margins()[order]).all()
    for e in rng.choice(judge.size, 4, replace=False).tolist():
        alone = judge.verdicts(np.array([e]))
        assert alone.codes[0] == whole.codes[e]
        near, ahead = judge.ahead(e, 5)
        assert e in near
        assert (ahead.codes == whole.codes[near]).all()
    assert len(judge.verdicts(np.array([], dtype=np.int64))) == 0


@pytest.mark.parametrize("name", CASES)
def test_another_opening_of_the_same_rows_gives_the_same_verdicts(name):
    protocol, rows = case(name)
    one, two = sealed(name).verdicts(), protocol.read(**rows).verdicts()
    assert (one.codes == two.codes).all()
    assert (one.margins() == two.margins()).all()


@pytest.mark.parametrize("name", CASES)
def test_no_verdict_depends_on_policy_budget_stop_or_question(name):
    """Else who tries several could choose the draws, and with them a label."""
    protocol, rows = case(name)
    asked = {"question": asked_resolution(protocol.bank), "policy": EndpointPolicy()}
    ways = {"policy": RandomOrder(3)}, {"budget": 0.5}, {"stop": "label"}, {"until_witnessed": False}, {"ranks": False}
    whole = sealed(name).verdicts()
    for changes in (*ways, asked):
        other = replace(protocol, **changes).read(**rows)
        assert other.digest != sealed(name).digest or "ranks" in changes
        assert (other.verdicts().codes == whole.codes).all()
        assert (other.verdicts().margins() == whole.margins()).all()


@pytest.mark.parametrize("name", CASES)
def test_a_smaller_level_keeps_all_that_a_larger_one_keeps(name):
    protocol, rows = case(name)
    codes = [replace(protocol, level=level).read(**rows).verdicts().codes for level in (0.2, 0.1, 0.07)]
    for larger, smaller in pairwise(codes):
        assert (smaller[larger == Verdict.ADMISSIBLE] == Verdict.ADMISSIBLE).all()


@pytest.mark.parametrize("name", CASES)
def test_explanations_beyond_the_bank_are_refused(name):
    judge = sealed(name).judge
    for wrong in ([-1], [judge.size], [0.5]):
        with pytest.raises(MisuseError, match=r"(explanations|indices) must (lie from 0|be a list of whole)"):
            judge.verdicts(np.array(wrong))


@pytest.mark.parametrize("name", CASES)
def test_what_a_judge_says_of_itself_is_read_back(name):
    spec = case(name)[0].judge
    content = json.loads(json.dumps(spec.encode()))
    again = decoded(content)
    assert type(again) is type(spec)
    assert json.loads(json.dumps(again.encode())) == content
    assert content["assumes"]
    with pytest.raises(MisuseError, match="judge"):
        decoded(content | {"judge": ["no", "name"]})
    with pytest.raises(MisuseError):
        decoded({key: value for key, value in content.items() if key != "assumes"})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "policy", [FixedOrder(), RandomOrder(3), RegionalPolicy()], ids=["fixed", "random", "regional"]
)
def test_every_prefix_of_a_run_brackets_what_an_exhaustive_look_keeps(name, policy):
    protocol, rows = case(name)
    seal = replace(protocol, policy=policy, stop="label").read(**rows)
    kept = {*np.flatnonzero(seal.verdicts().codes == Verdict.ADMISSIBLE).tolist()}
    left = {*np.flatnonzero(seal.verdicts().codes != Verdict.REJECTED).tolist()}
    trace, before = seal.run(), None
    for n in range(len(trace) + 1):
        brackets = trace.at(n).brackets()
        low, high = {*brackets.witnessed().tolist()}, {*brackets.possible().tolist()}
        assert low <= kept <= left <= high
        if before is not None:
            assert before[0] <= low
            assert high <= before[1]
        before = low, high


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", CASES)
def test_an_honest_report_is_verified_from_its_rows(name, question):
    found, rows = written(name, question)
    answer = verify(found.json(), rows, protocol=found.document["digests"]["protocol"])
    assert answer.findings == ()
    assert answer.are_verdicts_scored
    assert "not known here" not in " ".join(answer.notes)


@pytest.mark.parametrize("name", CASES)
def test_other_rows_than_those_that_judged_are_refused(name):
    found, rows = written(name)
    stream = [*rows][-1]
    other = rows[stream].copy()
    other[-1, 0] += 1.0
    others = other if name != "counts" else np.abs(other)
    findings = verify(found.json(), rows | {stream: others}).findings
    # A row that proposed, not judged, chose what is frozen; either way something no longer fits.
    assert findings


def tampered(document, change):
    """A copy with one fact changed, and the hash of the document made to fit."""
    forged = copy.deepcopy(document)
    change(forged)
    forged["digests"]["document"] = document_hash(forged)
    return forged


def flip(document):
    codes = document["trace"]["codes"]["values"]
    place = codes.index(1)
    codes[place] = 0


def shift(document):
    document["trace"]["lower"][0] = document["trace"]["upper"][0] = document["trace"]["upper"][0] + 0.5


def rename(document):
    document["fields"][0]["label"] = "GROUP" if document["fields"][0]["label"] == "FINE" else "FINE"


def shrink(document):
    document["fields"][0]["cell"] = document["fields"][0]["cell"][:-1]


def relevel(document):
    document["protocol"]["level"] = 0.01


def reassume(document):
    document["protocol"]["judge"]["judge"] = (
        "evidence" if document["protocol"]["judge"]["judge"] != "evidence" else "simulation"
    )


def reseed(document):
    document["protocol"]["seed"] += 1


def drop(document):
    for name in ("queries", "codes"):
        document["trace"][name]["values"] = document["trace"][name]["values"][:-1]
        document["trace"][name]["shape"] = [len(document["trace"][name]["values"])]
    for name in ("lower", "upper"):
        document["trace"][name] = document["trace"][name][:-1]


@pytest.mark.parametrize("change", [flip, shift, rename, shrink, relevel, reassume, reseed, drop])
@pytest.mark.parametrize("name", CASES)
def test_one_changed_fact_is_refused_though_the_document_has_its_hash(name, change):
    found, _ = written(name)
    forged = tampered(found.document, change)
    assert forged != found.document
    assert not verify(forged).is_verified  # nor with the rows, of which more is found, never less


@pytest.mark.parametrize("name", CASES)
def test_what_a_judge_found_beside_its_verdicts_is_checked_from_the_rows(name):
    found, rows = written(name)
    gate = found.document.get("gate")
    assert (gate is not None) == case(name)[0].judge.has_facts
    if gate is None:
        return
    changed = 0
    for key, value in gate.items():
        if not isinstance(value, bool | int | float | str):
            continue
        other = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else value + "x"
        forged = tampered(found.document, lambda d, key=key, other=other: d["gate"].__setitem__(key, other))
        assert not verify(forged, rows).is_verified, key
        changed += 1
    assert changed


@pytest.mark.parametrize("name", CASES)
def test_a_larger_budget_never_takes_a_statement_back(name):
    """Truth-level labels of a shorter run hold for the longer one: its cells are no larger."""
    protocol, rows = case(name)
    seal = replace(protocol, stop="label", policy=FixedOrder()).read(**rows)
    trace = seal.run()
    cells = []
    for n in range(0, len(trace) + 1, 3):
        found = report(seal, trace.at(n))
        cells.append([(str(field.label), {*field.cell}) for field in found.fields])
    for shorter, longer in pairwise(cells):
        for (label, cell), (_, later) in zip(shorter, longer, strict=True):
            if label in ("FINE", "GROUP"):
                assert later <= cell


def test_every_registered_law_is_judged_here():
    named = {plan.law.name for name in CASES for plan in case(name)[0].streams.values()}
    assert named == {*LAWS}


def test_every_registered_judge_has_a_case():
    assert {case(name)[0].judge.kind for name in CASES} == {*JUDGES}

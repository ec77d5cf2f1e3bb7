"""Properties of every judge under each law that it takes, for any question: one table of cases."""

import copy
import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import EndpointPolicy, FixedOrder, RandomOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse, report
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import as_pairs
from physupport.judges import ByEvidence, ByInvariant, Verdict, decoded
from physupport.judges.conformal import ByConformal, Replicates
from physupport.judges.counts import ByCounts
from physupport.judges.learnt import ByLearnt
from physupport.judges.learnt._places import Component, Pieces
from physupport.judges.rotation import ByRotation, Scan
from physupport.judges.simulation import BySimulation
from physupport.laws import LAWS, Linear, Poisson, make_law
from physupport.questions import Claim, RegionalMap, RegionRule, Resolution
from physupport.report import document_hash
from physupport.verify import verify

CHANNELS, AXIS = 16, np.arange(16)
PLACES = {"a0": 2.0, "a1": 3.2, "a2": 7.0, "a3": 8.2, "b0": 12.0, "b1": 13.5}
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.array([*PLACES.values()])) / 1.2) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
PHASES = np.exp(1j * np.outer(AXIS, np.arange(1.0, 7.0)) / 7.0)


def made_bank(elements=ATOMS, supports=("A", "AB"), strengths=2.0, **nuisances):
    names = [*PLACES]
    library = Library(names, ["A"] * 4 + ["B"] * 2, np.array([*PLACES.values()])[:, None], elements)
    return library_bank(library, [list(s) for s in supports], {"A": strengths, "B": strengths}, **nuisances)


def replicates():
    rng = np.random.default_rng(5)
    listed = [(e, unit) for e in range(6) for unit in range(12)]
    spectra = [ATOMS[:, e] * (1.0 + 0.1 * np.sin(AXIS / 3.0 + unit)) + 0.02 * rng.standard_normal(CHANNELS)
               for e, unit in listed]  # fmt: skip
    names = [*PLACES]
    return Replicates(np.array(spectra), tuple(names[e] for e, _ in listed), tuple(f"unit {k}" for _, k in listed))


def scored(name, judge, n_rows=40, **options):
    """Rows of one stream under a law whose parameters the bank has."""
    bank = made_bank(calibration=product_grid(p=[0.2, 0.4], noise=[0.3]), deployment=product_grid(noise=[0.3]))
    law = make_law(name, options)
    rows = law.completed(bank).sample(bank, bank.size - 1, np.random.default_rng(11), n_rows)
    stream = "calibration" if name in ("latent", "known codes") else "deployment"
    return bank, {stream: StreamPlan(law, 0.4, first=4)}, judge, {stream: rows}


def linear(judge, amplitude=9.0, n_rows=1, **options):
    """Open coefficients over a straight line."""
    rng, base = np.random.default_rng(14), np.stack([np.ones(CHANNELS), AXIS / CHANNELS], axis=1)
    law = Linear(background=base, **options)
    rows = amplitude * ATOMS[:, 2] / np.sqrt(n_rows) + 3.0 + rng.standard_normal((n_rows, CHANNELS))
    return made_bank(), {"deployment": StreamPlan(law, 0.5)}, judge, {"deployment": rows}


def free_rows(judge):
    """Snapshots of unknown waveforms, complex."""
    rng, atoms = np.random.default_rng(13), ATOMS * PHASES
    waves, noise = (rng.standard_normal((20, k)) + 1j * rng.standard_normal((20, k)) for k in (1, CHANNELS))
    rows = 2.0 * waves @ atoms[:, [2]].T + noise
    bank = made_bank(as_pairs(atoms, axis=0))
    plan = StreamPlan(Linear(rows="free", is_complex=True), 0.5)
    return bank, {"deployment": plan}, judge, {"deployment": as_pairs(rows)}


def counted():
    means = 4.0 + 120.0 * ATOMS[:, 2]
    rows = np.random.default_rng(14).poisson(means)[None].astype(float)
    law = Poisson(background=np.ones((CHANNELS, 1)))
    return made_bank(), {"deployment": StreamPlan(law, 0.5)}, ByCounts(n_splits=2), {"deployment": rows}


def conformal():
    row = 30.0 * ATOMS[:, 2] * (1.0 + 0.1 * np.sin(AXIS / 3.0 + 99)) + 0.02
    plans = {"deployment": StreamPlan("gaussian", 0.5)}
    return made_bank(supports=("A", "B")), plans, ByConformal(replicates()), {"deployment": row[None]}


LEARNT_FACTS = {
    "n_rows": 100, "rows": "0" * 64, "n_atoms": 2, "level": 0.025, "unit": "", "learnt_on": "", "noise_at_most": 0.1,
    "weakest": 1.0, "is_resolved": True, "rows_needed": None, "scale": 0.9, "information": 53.1,
    "left": [
        {"low": [2.0], "high": [8.2], "most_atoms": 1, "cells": [{"name": "a0", "low": [2.0], "high": [3.0]}]},
        {"low": [12.0], "high": [13.5], "most_atoms": 1, "cells": []},
    ],
    "read_as": [
        {"atom": 1, "place": "7", "at": [7.0], "degrees": 1.0},
        {"atom": 2, "place": "12", "at": [12.0], "degrees": 2.0},
    ],
}  # fmt: skip


def learnt():
    """Rows of one of two atoms, each of which a calibration leaves some places to."""
    places = np.array([*PLACES.values()])[:, None]
    components = tuple(
        Component(Pieces(ATOMS[:, own], np.zeros(len(own)), places[own], places[own]), own, best, 1, 0.0)
        for own, best in ((np.arange(4), 2), (np.arange(4, 6), 0))
    )
    rng = np.random.default_rng(17)
    rows = 2.0 * rng.standard_normal((20, 1)) @ ATOMS[:, [2]].T + 0.1 * rng.standard_normal((20, CHANNELS))
    judge = ByLearnt(components, LEARNT_FACTS)
    return made_bank(), {"deployment": StreamPlan(Linear(rows="free"), 0.5)}, judge, {"deployment": rows}


def two_streams():
    """Rotation of one row beside the evidence of calibration rows with known codes."""
    bank, plans, judge, rows = linear(ByRotation(199, 499))
    grid = {"calibration": product_grid(noise=[0.3])}
    bank = made_bank(**grid)
    law = make_law("known codes", {})
    is_true = asked_map(bank).slots(np.arange(bank.size)) == [2, -1]
    truth = int(np.flatnonzero(is_true.all(axis=1))[0])
    table = law.completed(bank).sample(bank, truth, np.random.default_rng(16), 12)
    plans = {"calibration": StreamPlan(law, 0.5, first=2), **plans}
    return bank, plans, judge, {"calibration": table, **rows}


CASES = {
    **{f"evidence, {name}": lambda name=name: scored(
        name, ByEvidence(), **({"box": ([-4.0] * 2, [4.0] * 2)} if name == "profiled mean" else {}))
       for name in ("latent", "known codes", "covariance", "mean", "profiled mean")},
    "evidence, gaussian rows": lambda: linear(ByEvidence(), n_rows=12),
    "splits of rows": lambda: linear(ByEvidence("rows", 3), n_rows=12),
    "fission": lambda: linear(ByEvidence("fission", 3), noises=[1.0]),
    "rotation, one row": lambda: linear(ByRotation(199, 499)),
    "rotation, rows": lambda: linear(ByRotation(199, 499), n_rows=6),
    "rotation, noise known": lambda: linear(ByRotation(199, 499, Scan("none")), noises=[1.0]),
    "rotation, no gate": lambda: linear(ByRotation(199, 499, None), amplitude=6.0),
    "rotation, free rows": lambda: free_rows(ByRotation(199, 499)),
    "invariant, one row": lambda: linear(ByInvariant(), coefficients={"A": (0.0, np.inf)}),
    "invariant, noise known": lambda: linear(ByInvariant(), n_rows=6, noises=[1.0]),
    "invariant, free rows": lambda: free_rows(ByInvariant()),
    "rotation beside evidence": two_streams,
    **{f"simulation, {name}": lambda name=name: scored(name, BySimulation(draws=99, copies=2), n_rows=20)
       for name in ("latent", "covariance", "mean")},
    "learnt": learnt,
    "counts": counted,
    "conformal": conformal,
}  # fmt: skip


def asked_map(bank):
    groups = {"low": ["a0", "a1"], "high": ["a2", "a3"]}
    rules = {"A": RegionRule(0.5, groups=groups), "B": RegionRule(0.5)}
    return RegionalMap(bank_regions(bank), rules)


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

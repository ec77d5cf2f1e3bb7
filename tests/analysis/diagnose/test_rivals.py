"""Which explanations keep a field from being finer, and when queries could."""

import numpy as np
import pytest

from physupport.aeb import FixedOrder
from physupport.analysis import analyse
from physupport.analysis.diagnose import diagnose, rows_needed
from physupport.analysis.diagnose._rows_needed import contradicts, last_to_go, rivals
from physupport.banks import bank_regions
from physupport.questions import Contradictions, RegionalMap, RegionRule
from physupport.report._diagnosis import refine_sentences

QUERIES = "more queries may settle"


def weight(bank, e, region):
    """Name and strength of what an explanation has in a region."""
    member = bank.explanation(e)
    pairs = zip(member.ids, member.strengths, strict=True)
    return next(((name, strength) for name, strength in pairs if name.startswith(region)), (None, 0.0))


def without_b(bank):
    return next(e for e in range(bank.size) if bank.explanation(e).ids == ("A1",))


@pytest.mark.parametrize(("threshold", "seed"), [(None, 1), (0.5, 1), (0.5, 0)], ids=["none", "absent", "weak"])
def test_beside_nothing_or_something_weak_only_what_reaches_the_threshold_is_a_contradiction(kit, threshold, seed):
    bank, question = kit.make_strengths(threshold)
    result = kit.run(bank, ("covariance",), (200,), seed=seed, question=question, truths=[without_b(bank)])
    everything = np.arange(bank.size)
    assert weight(bank, result.reference, "B")[1] == (0.02 if seed == 0 else 0.0)
    found = contradicts(result, 1, everything)
    assert found.tolist() == [weight(bank, e, "B")[1] >= (threshold or 1e-9) for e in everything.tolist()]


def test_beside_something_strong_absence_and_distant_elements_are(kit):
    bank, question = kit.make_strengths(0.5)
    truth = next(e for e in range(bank.size) if bank.explanation(e).ids == ("A1", "B0") and
                 weight(bank, e, "B")[1] == 2.0)  # fmt: skip
    result = kit.run(bank, ("covariance",), (200,), question=question, truths=[truth])
    assert result.reference == truth
    everything = np.arange(bank.size)
    assert contradicts(result, 1, everything).tolist() == [weight(bank, e, "B")[0] != "B0" for e in everything.tolist()]


def test_the_best_that_was_asked_and_rejected_is_no_reference(kit, bank):
    """Proposal rows of deployment from one explanation, all others from another one."""
    first = kit.true_explanation(bank)
    other = next(e for e in range(bank.size) if bank.explanation(e).ids == ("A2", "B1"))
    drawn = kit.run(bank, ("latent", "covariance"), (300, 300), truths=[other, other], policy=FixedOrder())
    calibration, deployment = (np.array(part.table) for part in drawn.seal.parts)
    proposal = drawn.seal.parts[1].split.proposal
    deployment[proposal] = kit.make_rows(bank, "covariance", np.random.default_rng(2), len(proposal), truth=first)
    result = analyse(drawn.seal.protocol, {"calibration": calibration, "deployment": deployment})
    assert (result.best, result.verdict(first)) == (first, "REJECTED")
    trace = result.trace
    upper = np.where(trace.codes == 0, trace.verdicts.margins()[:, 1], np.inf)
    assert upper.min() < 0.0
    assert result.reference == trace.queries[upper.argmin()]


def test_the_best_stays_the_reference_though_there_is_less_evidence_against_another(kit, bank):
    result = kit.run(bank, ("covariance",), (8,), seed=1)
    assert result.verdict(result.best) == "ADMISSIBLE"
    assert result.admissible[0] != result.best
    assert result.reference == result.best


def test_without_any_survivor_the_best_of_the_proposal_rows_is_the_reference(empty):
    assert empty.reference == empty.best


@pytest.fixture(scope="module")
def in_the_middle(kit, bank):
    """Three elements in a row, all admissible, the middle one the best: each end is near it, both are not."""
    question = RegionalMap(bank_regions(bank), {"A": RegionRule(1.2)})
    result = kit.run(bank, ("covariance",), (8,), question=question, seed=1)
    assert result.trace.answers[0].cell == ("A0", "A1", "A2")
    assert weight(bank, result.reference, "A")[0] == "A1"
    return result


def test_two_ends_about_the_reference_keep_a_field_from_being_fine(in_the_middle, bank):
    result = in_the_middle
    assert in_the_middle.trace.answers[0].label == "GROUP"
    assert not contradicts(result, 0, result.admissible).any()
    assert {weight(bank, e, "A")[0] for e in rivals(result, 0).tolist()} == {"A0", "A2"}
    (found,) = rows_needed(in_the_middle)
    # A0 resembles A1, so the other end is what fewer rows rule out.
    assert weight(bank, found.rival, "A")[0] == "A2"
    assert (found.rows - 1) * found.rate < found.missing <= found.rows * found.rate


@pytest.mark.parametrize("seed", range(8))
def test_the_last_to_go_leaves_nothing_apart_and_the_one_before_does(seed):
    rng = np.random.default_rng(seed)
    n_sides = 5
    apart = np.triu(rng.random((n_sides, n_sides)) < 0.4, 1)
    apart |= apart.T
    apart[0, 1] = apart[1, 0] = True
    theirs = np.append(rng.integers(1, n_sides, size=11), 1)
    needed = rng.permutation(12) + 1.0
    needed[rng.random(12) < 0.2] = np.inf

    def is_fine(rows):
        left = np.append(theirs[needed > rows], 0)
        return not apart[np.ix_(left, left)].any()

    found = last_to_go(needed, theirs, Contradictions(0, lambda one, other: apart[np.ix_(one, other)], np.asarray))
    if np.isinf(needed[found]):
        assert not is_fine(12.0)
    else:
        assert is_fine(needed[found])
        assert not is_fine(needed[found] - 0.5)


def test_no_queries_are_called_for_where_a_field_is_settled(result, in_the_middle, kit):
    """A GROUP with its two witnesses, and an ABSENT under a threshold with explanations that were not tested."""
    bank, question = kit.make_strengths(0.5)
    absent = kit.run(bank, ("covariance",), (200,), seed=1, question=question, truths=[without_b(bank)])
    assert [answer.label for answer in absent.trace.answers] == ["FINE", "ABSENT"]
    assert len(absent.trace) < bank.size
    for each in (result, in_the_middle, absent):
        assert each.report.status == "REPORT"
        assert not any(
            QUERIES in text for field in diagnose(each).document["fields"] for text in refine_sentences(field)
        )


def test_no_queries_are_called_for_where_no_more_was_asked(kit, bank):
    """Presence settles the field; the question did not ask for the element."""
    question = RegionalMap(bank_regions(bank), {"A": RegionRule(0.5, asks=("presence",))})
    found = kit.run(bank, ("covariance",), (40,), question=question)
    (field,) = diagnose(found).document["fields"]
    assert (field["label"], len(field["cell"]), found.trace.n_witnessed) == ("GROUP", 3, 1)
    assert field["refine"] == []


def test_queries_are_called_for_where_nothing_admissible_stands_against_a_finer_statement(kit, bank):
    cut = kit.run(bank, ("latent", "covariance"), (120, 40), budget=1)
    fields = diagnose(cut).document["fields"]
    assert all(QUERIES in refine_sentences(field)[-1] for field in fields)


def test_no_query_helps_where_two_witnesses_rule_out_the_only_label_asked_for(kit, bank):
    question = RegionalMap(bank_regions(bank), {"A": RegionRule(0.5, asks=("fine",))})
    found = kit.run(bank, ("covariance",), (12,), question=question)
    (field,) = diagnose(found).document["fields"]
    assert (field["label"], len(rivals(found, 0)) > 0) == ("ABSTAIN", True)
    assert not any(QUERIES in text for text in refine_sentences(field))
    assert "a question that asks for less" in found.report.sentence

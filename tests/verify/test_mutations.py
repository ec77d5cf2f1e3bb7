"""Every single change of a saved report is refused; and what remains when a forger makes all hashes fit again."""

import copy
from contextlib import suppress

import numpy as np
import pytest

from physupport.io import as_pairs
from physupport.project import load_project, read_tables, run_project, write_example
from physupport.project._differences import protocol_differences
from physupport.verify import verify

NEXT_FLOAT = 2


def nodes(value, path=()):
    """Every node below the top, the deepest included."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from nodes(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from nodes(inner, (*path, number))


def other_values(value):
    """Replacements of a value: numbers one off and a rounding off, texts altered, truth turned around."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value + 1.0, value - 1.0, float(np.nextafter(value, np.inf))]  # the last is number NEXT_FLOAT
    if isinstance(value, str):
        return [value + "x", value[:-1] + ("0" if value[-1:] != "0" else "1")]
    if value is None:
        return ["x", 0]
    if isinstance(value, list):
        shorter = [value[:i] + value[i + 1 :] for i in range(len(value))]
        swapped = [[*value[:i], value[i + 1], value[i], *value[i + 2 :]] for i in range(len(value) - 1)]
        return shorter + [changed for changed in swapped if changed != value] + [[*value, *value[-1:]]]
    names = [{k: v for k, v in value.items() if k != name} for name in value]
    return [*names, value | {"more": 1}]


def mutants(document, most=None):
    """(path, document) for every single change, or for at most so many of each kind of entry, spread evenly."""
    kinds = {}
    for path, value in nodes(document):
        for number, other in enumerate(other_values(value)):
            if other != value:
                kinds.setdefault((name_of((*path, number)), type(value)), []).append(((*path, number), other))
    for found in kinds.values():
        chosen = found if most is None else found[:: -(-len(found) // most)]
        for path, other in chosen:
            yield path, changed(document, path[:-1], other)


def changed(document, path, value):
    copied = copy.copy(document)
    here, there = copied, document
    for step in path[:-1]:
        here[step] = copy.copy(there[step])
        here, there = here[step], there[step]
    here[path[-1]] = value
    return copied


def name_of(path):
    """The place of a change without the numbers of list entries."""
    return ".".join(step for step in path[:-1] if isinstance(step, str))


def has_same_claims(forged, document):
    """Two witnesses that contradict each other do so in either order."""

    def claims(written):
        named = [{w["explanation"]: w for w in field["witnesses"]} for field in written["fields"]]
        fields = [field | {"witnesses": each} for field, each in zip(written["fields"], named, strict=True)]
        return written | {"fields": fields, "digests": written["digests"] | {"document": None}}

    def counts(written):
        return [len(field["witnesses"]) for field in written["fields"]]

    with suppress(KeyError, TypeError):  # a document that is none has no claims
        return claims(forged) == claims(document) and counts(forged) == counts(document)
    return False


# A forger who makes all hashes fit has written another report: about another question, bank or protocol, or with
# other verdicts.  It is refused all the same if its claims do not follow from its trace.  The rest cannot be told from
# an honest report without more knowledge; these are the places where that is so.
ANOTHER_PROTOCOL = (
    "protocol.question", "protocol.level", "protocol.seed", "protocol.plausibility", "protocol.proposals",
    "protocol.judge", "protocol.policy", "protocol.budget", "protocol.until_witnessed", "protocol.streams",
    "question.view", "question.places", "question.distances", "question.proposal_distances", "bank.", "data",
)  # fmt: skip
# Verdicts and margins are claims about the rows: these are needed to refute them.
ANOTHER_TRACE = ("trace.",)
# No claim depends on these: versions are there for the curious, and labels are safe at every budget.
WITHOUT_EFFECT = ("program.", "outcome.budget")


@pytest.mark.parametrize(
    ("name", "most"), [("group and ambiguity", 2), ("cut", 2), ("resolution wide", 2), ("four regions", 1)]
)
def test_a_single_change_of_any_kind_of_entry_is_refused(reports, name, most):
    document = reports[name].report.document
    assert verify(document).is_verified
    found = {path: verify(mutant).is_verified for path, mutant in mutants(document, most)}
    assert len(found) > 150
    assert [path for path, is_verified in found.items() if is_verified] == []


@pytest.mark.parametrize("name", ["group and ambiguity", "resolution wide"])
def test_a_change_with_all_hashes_made_to_fit_is_refused_unless_it_is_another_protocol_or_trace(
    reports, resealed, name
):
    document = reports[name].report.document
    count = 0
    for path, mutant in mutants(document, 2):
        forged = resealed(mutant)
        if forged == document:
            continue  # only a hash was changed, and is mended
        count += 1
        place = name_of(path)
        if has_same_claims(forged, document):
            continue
        if verify(forged).is_verified:
            assert place.startswith(ANOTHER_PROTOCOL + ANOTHER_TRACE + WITHOUT_EFFECT), path
        if verify(forged, protocol=document["digests"]["protocol"]).is_verified:
            assert place.startswith(ANOTHER_TRACE + WITHOUT_EFFECT), path
    assert count > 100


def test_with_hash_and_rows_nothing_but_a_rounding_is_left_to_a_forger(four_regions, resealed):
    document, rows = four_regions.report.document, four_regions.rows
    digest, count = document["digests"]["protocol"], 0
    for path, mutant in mutants(document, 4):
        if path[0] not in ("trace", "outcome", "data", "program"):
            continue  # refused by the hash of the protocol, or because labels do not follow
        forged = resealed(mutant)
        if forged == document or not verify(forged, protocol=digest).is_verified:
            continue
        count += 1  # the trace alone does not refute it
        if verify(forged, rows, protocol=digest).is_verified:
            is_rounding = path[:2] in {("trace", "lower"), ("trace", "upper")} and path[-1] == NEXT_FLOAT
            assert is_rounding or name_of(path).startswith(WITHOUT_EFFECT), path
    assert count > 8


@pytest.mark.parametrize("name", ["group and ambiguity", "cut", "indeterminate", "empty", "resolution wide"])
def test_another_order_of_the_queries_with_all_hashes_made_to_fit_changes_no_claim(reports, resealed, name):
    """Labels follow from the set of verdicts: a forged order has other witnesses, or queries after the end."""
    document, rng = reports[name].report.document, np.random.default_rng(6)
    verified = 0
    for _ in range(10):
        forged = copy.deepcopy(document)
        trace = forged["trace"]
        order = rng.permutation(len(trace["lower"])).tolist()
        for column in (trace["queries"]["values"], trace["codes"]["values"], trace["lower"], trace["upper"]):
            column[:] = [column[i] for i in order]
        found = verify(resealed(forged), protocol=document["digests"]["protocol"])
        # Of several witnesses the first are named, which are others now.
        others = [text for text in found.findings if "].witnesses[" not in text]
        assert {*others} <= {"the last queries came after the run was over"}
        verified += found.is_verified
    assert verified


def test_fewer_queries_with_all_hashes_made_to_fit_must_claim_less(reports, resealed):
    """Without a rejection more is possible, and what was said of less no longer follows."""
    forged = copy.deepcopy(reports["fine and absent"].report.document)
    trace = forged["trace"]
    place = trace["codes"]["values"].index(1)
    for column in (trace["queries"]["values"], trace["codes"]["values"], trace["lower"], trace["upper"]):
        del column[place]
    trace["queries"]["shape"] = trace["codes"]["shape"] = [len(trace["lower"])]
    forged["outcome"]["queries"] -= 1
    forged["outcome"]["possible"] += 1
    assert any("the report says" in text for text in verify(resealed(forged)).findings)


# What decides how much is said, or in which order, and nothing about whether it is true.
SAFE = ("program.", "protocol.policy", "protocol.budget", "protocol.until_witnessed", "protocol.plausibility")


def says_the_same(path, forged, document):
    """True if a change is a rounding, an order, the shape of nothing, or a proposal that is as good as another."""
    asked = [sorted(written["trace"]["queries"]["values"]) for written in (forged, document)]
    is_order = path[:3] == ("trace", "queries", "values") and asked[0] == asked[1]
    return path[-1] == NEXT_FLOAT or is_order or path[-3:-1] == ("shape", 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-region", "raman", "array"])  # evidence, conformal and rotation
def test_beside_its_project_nothing_that_decides_can_be_changed_in_the_report_of_an_example(tmp_path, resealed, name):
    """With every hash made to fit: refused for itself, for another protocol than the project's, or by the rows."""
    write_example(tmp_path, name)
    project = load_project(tmp_path / "project.toml")
    document = run_project(project).result.report.document
    tables = {stream: table.values for stream, table in read_tables(project).items()}
    rows = {stream: as_pairs(values) if values.dtype.kind == "c" else values for stream, values in tables.items()}
    assert verify(document, rows).is_verified
    assert protocol_differences(project, document["protocol"])[0].findings == ()
    passed, count, without = [], 0, 0
    for path, mutant in [*mutants(document, 1)][:: 1 if name == "four-region" else 2]:  # the others are large
        forged = resealed(mutant)
        if forged == document or has_same_claims(forged, document):
            continue
        count += 1
        if not verify(forged).is_verified:
            continue
        without += 1
        if protocol_differences(project, forged["protocol"])[0].findings:
            continue
        if name_of(path).startswith(SAFE) or says_the_same(path, forged, document):
            continue
        if verify(forged, rows).is_verified:
            passed.append(path)
    assert passed == []
    assert count > 70
    assert without > 3  # which passes where neither project nor rows are given

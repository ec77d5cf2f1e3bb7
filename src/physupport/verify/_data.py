"""Stored values beside those that are derived again: differences by path, and every verdict scored from the rows."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from .._codec import MARGIN_TOLERANCE, Node, Refusal, described, differences, rows_hash
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ..io import ArrayRows, SplitRows, as_pairs, split_rows, undivided_rows
from ..judges import (
    Factor,
    Judge,
    JudgeSpec,
    RunningEvidence,
    Sealed,
    SealedStream,
    Verdict,
    Verdicts,
    best_keys,
    contradiction,
)
from ..laws import Law, Opponent, Proposal, decode_law, decode_opponent, opponents_of
from ..questions import Question
from ..report import amounts_json, diagnosis_json, is_withheld, rebuilt_bank, staircase_json, unlisted_json

Tables = Mapping[str, NDArray[np.generic]]
Opponents = Mapping[str, str]


# What the proposal rows make plausible orders the queries and decides nothing; a hash knows of no rounding.
PLAUSIBILITY = (
    "what the proposal rows make plausible has another hash here: other arithmetic in the last digit does that as "
    "well, and nothing but the order of the queries depends on it"
)


def data_findings(
    document: Node,
    bank: Bank,
    judge: JudgeSpec | None,
    laws: Sequence[Law],
    trace: tuple[IntArray, Verdicts],
    question: Question | None,
    possible: BoolArray,
    tables: Tables,
    notes: list[str],
    opponents: Opponents | None = None,
) -> Iterator[str]:
    """Hashes of the rows, the proposals, and every verdict; notes takes what is no reason to refuse.

    trace: queries and their verdicts.  possible: (M,) explanations that these leave.
    opponents: the name of that of each stream, where it is known how the numerators were to be proposed.
    """
    protocol = document["protocol"]
    plausibility = np.zeros(bank.size)
    favoured = list[BoolArray]()
    held_out = []
    diagnosed = []
    for stream, law, table, split in zip(protocol["streams"], laws, *_splits(document, tables), strict=True):
        name = stream["name"]
        if _rows_hash(table, split.proposal) != stream["proposal_rows"]:
            yield f"the proposal rows of {name} do not match their hash"
        if _rows_hash(table, split.held_out) != document["data"][name]:
            yield f"the held-out rows of {name} do not match their hash"
        chosen = split.proposal if stream["fraction"] else split.held_out
        diagnosed.append((law, ArrayRows(table, chosen), not stream["fraction"]))
        opponent = decode_opponent(law, stream["numerator"], name) if stream["fraction"] else None
        rows = ArrayRows(table, split.held_out)
        factor = partial(_factor, name, law, opponent, rows, stream["checkpoints"], bank)
        held_out.append(SealedStream(name, rows, law, law.keys(bank), factor))
        if not len(split.proposal):
            continue
        planned = None if opponents is None else opponents.get(name, "bank")
        proposal = law.proposed(bank, ArrayRows(table, split.proposal))
        plausibility = plausibility + proposal.plausibility
        is_best, mask = _favoured(law, opponent, proposal, bank, planned)
        favoured = favoured if mask is None else [mask, *favoured]
        if not is_best:
            best = "the best of the bank" if planned is None else f"what the opponent {planned!r} is"
            yield f"the numerator of {name} is not {best} on the proposal rows"
    proposals = protocol["proposals"]
    if len(proposals) != len(favoured) or not all(mask[e] for mask, e in zip(favoured, proposals, strict=True)):
        yield "the proposals of the protocol are not what the proposal rows favour"
    if protocol["plausibility"] not in (None, rows_hash([plausibility[:, None]], (bank.size, 1))):
        notes.append(PLAUSIBILITY)
    yield from _diagnosis_findings(document.get("diagnosis"), diagnosis_json(document, bank, diagnosed))
    if judge is not None:
        sealed = Sealed(bank, protocol["level"], tuple(held_out), protocol["seed"])
        opened = judge.open(sealed)
        yield from _judge_findings(document, judge, opened, sealed, trace, question, possible, notes)
        is_cover = "cover" in protocol
        held = amounts_json(opened, bank, laws, possible, is_withheld=is_withheld(document["gate"]), is_cover=is_cover)
        yield from differences(document.get("amounts"), held, "amounts", "the rows give", rounds=True)


def running_findings(document: Node, bank: Bank, trace: tuple[IntArray, Verdicts], tables: Tables) -> Iterator[str]:
    """Repeat the looks of rows that kept arriving, and compare all that their judge wrote, and every verdict.

    tables: (n, width) the rows of each stream in the order in which they arrived; those after the last look are left.
    """
    content = document["protocol"]["judge"]
    level = document["protocol"]["level"]
    streams = {}
    forms = {}
    widths: Sequence[float] = ()
    for node in content["streams"]:
        own = rebuilt_bank(node["bank"]) if "bank" in node else bank
        assert own is not None
        streams[node["name"]] = (own, decode_law(node["law"], node["name"]))
        forms[node["name"]] = node.get("form", "increments")
        widths = node.get("widths", widths)
    if missing := {name for name, _, _ in content["looks"]} - {*tables}:
        raise Refusal(f"the rows of {', '.join(sorted(missing))} are missing")
    read = {name: as_pairs(table) if table.dtype.kind == "c" else table for name, table in tables.items()}
    evidence = RunningEvidence.begin(streams, level, forms, widths).replayed(content["looks"], read)
    yield from differences(content, described("judge", evidence.encode()), "protocol.judge", "the rows give")
    judge = evidence.judge(level)
    if len(trace[0]):
        yield from _verdict_findings(judge.verdicts(trace[0]), *trace)
    possible = np.ones(bank.size, dtype=np.bool_)
    possible[trace[0][trace[1].codes == Verdict.REJECTED]] = False
    held = amounts_json(judge, bank, [], possible, is_withheld=is_withheld(document["gate"]), is_cover=False)
    yield from differences(document.get("amounts"), held, "amounts", "the rows give", rounds=True)


_SHARE = 0.01  # by which a search in floating point may differ


def _diagnosis_findings(stored: Node | None, again: Node | None) -> Iterator[str]:
    """Check that the causes are those that the rows give, in their order, and what they explain nearly the same."""
    told, found = ([] if each is None else each["causes"] for each in (stored, again))
    names, others = ([each["cause"] for each in causes] for causes in (told, found))
    shares, fresh = (np.array([each["share"] for each in causes]) for causes in (told, found))
    if (stored is None) != (again is None) or names != others or (np.abs(shares - fresh) > _SHARE).any():
        yield "diagnosis: what would have to be true is not what the rows give"
        return
    errors = [each["error"] for each in (stored, again) if each is not None and each["error"] is not None]
    if len(errors) == 1 or (errors and abs(errors[0] - errors[1]) > _SHARE * errors[1]):
        yield "diagnosis.error: the smallest error is not what the rows give"


def _splits(document: Node, tables: Tables) -> tuple[list[NDArray[np.generic]], list[SplitRows]]:
    """The table of each stream, complex rows as pairs, and which of its rows propose."""
    streams = document["protocol"]["streams"]
    names = [stream["name"] for stream in streams]
    if {*names} != {*tables} or {*names} != {*document["data"]} or len({*names}) < len(names):
        raise Refusal(f"the streams are {names}, those of the data {sorted(tables)}")
    chosen = [as_pairs(tables[name]) if tables[name].dtype.kind == "c" else tables[name] for name in names]
    seed = SeedSequence(document["protocol"]["seed"])
    splits = []
    for stream, table, child in zip(
        streams, chosen, [seed] if len(streams) == 1 else seed.spawn(len(streams)), strict=True
    ):
        wanted = stream["rows"], stream["width"]
        if table.shape != wanted:
            raise Refusal(f"the {stream['name']} rows have shape {table.shape}, not {wanted}")
        share = stream["fraction"]
        splits.append(split_rows(len(table), share, child) if share else undivided_rows(len(table)))
    return chosen, splits


def _judge_findings(
    document: Node,
    judge: JudgeSpec,
    opened: Judge,
    sealed: Sealed,
    trace: tuple[IntArray, Verdicts],
    question: Question | None,
    possible: BoolArray,
    notes: list[str],
) -> Iterator[str]:
    """Verdicts, facts and contradictions of the streams that the judge gives otherwise."""
    theirs = document["program"].get("numpy")
    if judge.draws_by_numpy and theirs != np.__version__:
        notes.append(
            f"the judge draws by the random numbers of NumPy, {np.__version__} here and {theirs} where the report was "
            "written: should verdicts differ, check with that version before anything else"
        )
    if len(trace[0]):
        yield from _verdict_findings(opened.verdicts(trace[0]), *trace)
    facts = opened.facts(np.flatnonzero(possible))
    yield from differences(document["gate"], facts and described("facts", facts), "gate", "the rows give", rounds=True)
    if question is not None and document["protocol"].get("at_errors", True):
        is_cover = "cover" in document["protocol"]
        stairs = staircase_json(question, *trace, opened, document["gate"], is_cover=is_cover)
        yield from differences(document.get("staircase"), stairs, "staircase", "the rows give", rounds=True)
    elif question is not None and "staircase" in document:
        yield "there are answers at other errors of the responses, which the protocol leaves out"
    where = unlisted_json(document["fields"], [part.law for part in sealed.streams], opened, sealed.bank)
    yield from differences(document.get("unlisted"), where, "unlisted", "the rows give", rounds=True)
    again = None if possible.any() else contradiction(judge, sealed)
    if unsaid(document.get("contradiction")) != again:
        yield "what each stream keeps by itself is not what the rows give"


def unsaid(contradiction: Node | None) -> Node | None:
    """The contradiction as a judge gives it: without what the question says of each stream."""
    if contradiction is None:
        return None
    streams = [{name: value for name, value in each.items() if name != "says"} for each in contradiction["streams"]]
    return {**contradiction, "streams": streams}


def _verdict_findings(scored: Verdicts, queries: IntArray, stored: Verdicts) -> Iterator[str]:
    wrong = np.flatnonzero(scored.codes != stored.codes)
    for query in wrong[:10].tolist():
        yield f"the verdict on explanation {queries[query]} is not what the rows give"
    if len(wrong) > 10:
        yield f"{len(wrong) - 10} more verdicts are not what the rows give"
    off = _differs(stored.lower, scored.lower) | _differs(stored.upper, scored.upper)
    if off.any():
        yield f"{int(off.sum())} margins are not what the rows give, that of explanation {queries[off][0]} first"


def _differs(stored: Array, derived: Array) -> NDArray[np.bool_]:
    is_finite = np.isfinite(stored) & np.isfinite(derived)  # an infinite bound is near to nothing but itself
    apart = np.abs(np.where(is_finite, stored, 0.0) - np.where(is_finite, derived, 0.0))
    is_near = is_finite & (apart <= MARGIN_TOLERANCE * (1.0 + np.abs(np.where(is_finite, derived, 0.0))))
    return ~np.asarray((stored == derived) | is_near, dtype=np.bool_)


def _rows_hash(table: NDArray[np.generic], order: IntArray) -> str:
    if not len(order):
        return rows_hash([], (0, table.shape[1]))
    rows = ArrayRows(table, order)
    return rows_hash(rows.blocks(), (rows.n_rows, rows.width))


def _favoured(
    law: Law, opponent: Opponent | None, proposal: Proposal, bank: Bank, planned: str | None
) -> tuple[bool, BoolArray | None]:
    """True if the proposal rows give this opponent, and (M,) the explanations that are best on them.

    planned: the opponent by its name; without it any that rows may propose will do, as may one off the bank.  No
    explanations where the opponent is not of the bank.
    """
    own = None if planned is None else law.own_opponent(proposal.rows)
    if opponent is None or (planned is None and not opponent.is_of_bank):
        return True, None
    if own is not None:
        return opponent.agrees(own), None
    tied = best_keys(proposal.stream, proposal.keys, scores=proposal.scores)
    made = (other for key in tied.tolist() for other in opponents_of(law, bank, proposal, key, planned))
    return any(map(opponent.agrees, made)), np.isin(law.keys(bank)(np.arange(bank.size)), tied)


def _factor(
    name: str, law: Law, opponent: Opponent | None, rows: ArrayRows, checkpoints: list[int], bank: Bank
) -> Factor:
    """The evidence that held-out rows give."""
    if opponent is None:
        raise Refusal(f"{name} has no numerator")
    stream = law.stream(bank, rows, checkpoints)
    return Factor(name, stream, law.keys(bank), opponent.numerator(stream, law.scored_rows(bank, rows)))

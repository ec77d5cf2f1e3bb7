"""Every verdict of a trace scored again from the rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from .._hashes import rows_hash
from .._stored import Node, Refusal
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank
from ..io import ArrayRows, SplitRows, as_pairs, split_rows, undivided_rows
from ..judges import Factor, Judge, JudgeSpec, Sealed, SealedStream, Verdicts, best_key, judge_facts
from ..laws import Law, Opponent, Proposal, decode_law
from ._protocol import COMPLETE, judge_of
from ._trace import ReadTrace

# Both bounds of a margin are proven, so they need not agree to the last digit between machines; where they differ by
# more than their usual width of about 1e-9, they are not those of the same rows.
MARGIN_TOLERANCE = 1e-6
# Other facts follow from protocol and rows up to the last digits; p-values are as near as margins, in their logarithm.
_FACT_TOLERANCE, _LEAST_P = 1e-12, 1e-300

Tables = Mapping[str, NDArray[np.generic]]
Opponents = Mapping[str, str]


# What the proposal rows make plausible orders the queries and decides nothing; a hash knows of no rounding.
PLAUSIBILITY = (
    "what the proposal rows make plausible has another hash here: other arithmetic in the last digit does that as "
    "well, and nothing but the order of the queries depends on it"
)


def data_findings(
    document: Node, bank: Bank, trace: ReadTrace, tables: Tables, notes: list[str], opponents: Opponents | None = None
) -> Iterator[str]:
    """Hashes of the rows, the proposals, and every verdict; notes takes what is no reason to refuse.

    opponents: the name of that of each stream, where it is known how the numerators were to be proposed.
    """
    protocol, data = document["protocol"], document["data"]
    streams = protocol["streams"]
    names = [stream["name"] for stream in streams]
    tables = {name: as_pairs(table) if table.dtype.kind == "c" else table for name, table in tables.items()}
    if {*names} != {*tables} or {*names} != {*data} or len({*names}) < len(names):
        raise Refusal(f"the streams are {names}, those of the data {sorted(tables)}")
    for stream in streams:
        shape = tables[stream["name"]].shape
        if shape != (stream["rows"], stream["width"]):
            raise Refusal(f"the {stream['name']} rows have shape {shape}, not {(stream['rows'], stream['width'])}")
    splits, plausibility, favoured = _splits(protocol), np.zeros(bank.size), list[BoolArray]()
    for stream, split in zip(streams, splits, strict=True):
        table, name = tables[stream["name"]], stream["name"]
        if _rows_hash(table, split.proposal) != stream["proposal_rows"]:
            yield f"the proposal rows of {name} do not match their hash"
        if _rows_hash(table, split.held_out) != data[name]:
            yield f"the held-out rows of {name} do not match their hash"
        if not len(split.proposal):
            continue
        planned = None if opponents is None else opponents.get(name, "bank")
        proposal = _Proposal.of(_ReadStream.of(stream), table, split, bank, planned)
        plausibility = plausibility + proposal.plausibility
        favoured = favoured if proposal.favoured is None else [proposal.favoured, *favoured]
        if not proposal.is_best:
            best = "the best of the bank" if planned is None else f"what the opponent {planned!r} is"
            yield f"the numerator of {name} is not {best} on the proposal rows"
    told = protocol["proposals"]
    if len(told) != len(favoured) or not all(mask[e] for mask, e in zip(favoured, told, strict=True)):
        yield "the proposals of the protocol are not what the proposal rows favour"
    if protocol["plausibility"] not in (None, rows_hash([plausibility[:, None]], (bank.size, 1))):
        notes.append(PLAUSIBILITY)
    judge = judge_of(protocol)
    notes.extend(_version_notes(judge, document["program"]))
    if judge is not None:
        parts = zip(map(_ReadStream.of, streams), splits, strict=True)
        held_out = [_sealed(read, tables[read.name], split, bank) for read, split in parts]
        opened = judge.open(Sealed(bank, protocol["level"], tuple(held_out), document["digests"]["protocol"]))
        yield from _judged_findings(opened, document, trace, notes)


def _judged_findings(opened: Judge, document: Node, trace: ReadTrace, notes: list[str]) -> Iterator[str]:
    """Every verdict, and what the judge says of the answer as a whole; of that it speaks where nothing was asked."""
    if len(trace):
        yield from _verdict_findings(opened.verdicts(trace.queries), trace)
    facts = judge_facts(opened, np.flatnonzero(trace.possible(len(trace))))
    if document["version"] < COMPLETE:
        notes.extend(_unsaid(document.get("gate"), facts))
    yield from _fact_findings(document.get("gate"), facts)


def _version_notes(judge: JudgeSpec | None, program: Node) -> Iterator[str]:
    """Where a judge draws by random numbers that versions of NumPy need not share: who wrote the report had others."""
    theirs = program.get("numpy")
    if getattr(judge, "draws_by_numpy", False) and theirs != np.__version__:
        yield (
            f"the judge draws by the random numbers of NumPy, {np.__version__} here and {theirs} where the report was "
            "written: should verdicts differ, check with that version before anything else"
        )


def _verdict_findings(scored: Verdicts, trace: ReadTrace) -> Iterator[str]:
    wrong = np.flatnonzero(scored.codes != trace.codes)
    for query in wrong[:10].tolist():
        yield f"the verdict on explanation {trace.queries[query]} is not what the rows give"
    if len(wrong) > 10:
        yield f"{len(wrong) - 10} more verdicts are not what the rows give"
    off = _differs(trace.verdicts.lower, scored.lower) | _differs(trace.verdicts.upper, scored.upper)
    if off.any():
        yield f"{int(off.sum())} margins are not what the rows give, that of explanation {trace.queries[off][0]} first"


def _unsaid(stored: Node | None, again: dict[str, object] | None) -> Iterator[str]:
    """Facts that earlier programs did not look for, and that this one finds: they are taken out, and told if bad."""
    if not stored or not again or "strengths" not in again:
        return
    looked = again["strengths"]
    if "strengths" not in stored:
        del again["strengths"]
        if isinstance(looked, dict) and looked["is_off"]:
            yield f"the report does not say that the rows are {looked['place']} (p = {looked['p']:.2g})"
    elif isinstance(looked, dict) and "is_off" not in (stored["strengths"] or {}):
        del looked["is_off"]  # follows from p there


def _fact_findings(stored: Node | None, again: Node | None) -> Iterator[str]:
    """What the judge says of the answer as a whole, entry by entry; earlier programs left out what is null."""
    flat, derived = dict(_flat(stored)), dict(_flat(again))
    for name in sorted({*flat, *derived}):
        mine, other = flat.get(name), derived.get(name)
        if name not in derived:
            yield f"of the answer as a whole the report says {name} = {mine}, of which the rows say nothing"
        elif mine != other and not _is_near(mine, other, is_p="p" in name.split(".")):
            yield f"of the answer as a whole the report says {name} = {mine}, but the rows give {other}"


def _is_near(mine: object, other: object, *, is_p: bool) -> bool:
    """Whether rounding may lie between two numbers.

    Of p-values the logarithm is compared, as that of a margin is: they are shares of draws, or tails and evidence whose
    exponent is known to so many digits.  One draw more or less is refused, as it is where it changes a margin: it would
    have to lie within rounding of the rows.
    """
    if not (isinstance(mine, float) and isinstance(other, float)):
        return False
    if is_p and min(mine, other) >= 0.0:
        mine, other = (float(np.log(max(p, _LEAST_P))) for p in (mine, other))
        return abs(mine - other) <= MARGIN_TOLERANCE * (1.0 + abs(other))
    return abs(mine - other) <= _FACT_TOLERANCE * max(abs(other), 1.0)


def _flat(node: object, name: str = "gate") -> Iterator[tuple[str, object]]:
    """Single values by their path, and what is empty."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if entries is None or not node:
        yield name, node
    else:
        for key, value in entries:
            yield from _flat(value, f"{name}.{key}")


def _differs(stored: Array, derived: Array) -> NDArray[np.bool_]:
    is_finite = np.isfinite(stored) & np.isfinite(derived)  # an infinite bound is near to nothing but itself
    apart = np.abs(np.where(is_finite, stored, 0.0) - np.where(is_finite, derived, 0.0))
    is_near = is_finite & (apart <= MARGIN_TOLERANCE * (1.0 + np.abs(np.where(is_finite, derived, 0.0))))
    return ~np.asarray((stored == derived) | is_near, dtype=np.bool_)


def _splits(protocol: Node) -> tuple[SplitRows, ...]:
    streams, seed = protocol["streams"], protocol["seed"]
    seeds = [SeedSequence(seed)] if len(streams) == 1 else SeedSequence(seed).spawn(len(streams))
    return tuple(
        split_rows(stream["rows"], stream["fraction"], child) if stream["fraction"] else undivided_rows(stream["rows"])
        for stream, child in zip(streams, seeds, strict=True)
    )


def _rows_hash(table: NDArray[np.generic], order: IntArray) -> str:
    if not len(order):
        return rows_hash([], (0, table.shape[1]))
    rows = ArrayRows(table, order)
    return rows_hash(rows.blocks(), (rows.n_rows, rows.width))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    """What the proposal rows of a stream say."""

    plausibility: Array  # (M,) their log likelihood
    is_best: bool  # whether an opponent that they give is the one that the best of the bank gives
    favoured: BoolArray | None = (
        None  # (M,) explanations that are best on them; None if the opponent is not of the bank
    )

    @classmethod
    def of(
        cls, read: "_ReadStream", table: NDArray[np.generic], split: SplitRows, bank: Bank, planned: str | None
    ) -> "_Proposal":
        """planned: the opponent by its name; without it any that rows may propose will do, as may one off the bank."""
        law, rows, opponent = read.law, ArrayRows(table, split.proposal), read.opponent
        proposal, own = law.proposed(bank, rows), None if planned is None else law.own_opponent(rows)
        if opponent is None or (planned is None and not opponent.is_of_bank):
            return cls(proposal.plausibility, True)
        if own is not None:
            return cls(proposal.plausibility, opponent.agrees(own))
        tied = best_key(proposal.stream, proposal.keys, scores=proposal.scores).tied
        made = (other for key in tied.tolist() for other in _opponents(law, bank, proposal, key, planned))
        is_favoured = np.isin(law.keys(bank)(np.arange(bank.size)), tied)
        return cls(proposal.plausibility, any(map(opponent.agrees, made)), is_favoured)


def _opponents(law: Law, bank: Bank, proposal: Proposal, key: int, planned: str | None) -> Iterator[Opponent]:
    """What a key may give: with a free one beside it or without, as rows that propose give both; or as was planned."""
    if planned is None:
        yield from law.opponents_of(bank, proposal, key)
    else:
        yield law.half_free(bank, proposal, key) if planned == "free" else law.opponent(bank, proposal, key)


def _sealed(read: "_ReadStream", table: NDArray[np.generic], split: SplitRows, bank: Bank) -> SealedStream:
    rows = ArrayRows(table, split.held_out)
    return SealedStream(read.name, rows, read.law, read.law.keys(bank), partial(_factor, read, rows, bank))


def _factor(read: "_ReadStream", rows: ArrayRows, bank: Bank) -> Factor:
    if read.opponent is None:
        raise Refusal(f"{read.name} has no numerator")
    stream = read.law.stream(bank, rows, read.checkpoints)
    numerator = read.opponent.numerator(stream, read.law.scored_rows(bank, rows))
    return Factor(read.name, stream, read.law.keys(bank), numerator)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _ReadStream:
    """What the protocol says of a stream."""

    name: str
    law: Law
    opponent: Opponent | None  # None if nothing proposed it
    checkpoints: list[int]

    @classmethod
    def of(cls, stream: Node) -> "_ReadStream":
        name, law = stream["name"], decode_law(stream["law"], stream["name"])
        opponent = law.decode_opponent(stream["numerator"], name) if stream["fraction"] else None
        return cls(name, law, opponent, stream["checkpoints"])

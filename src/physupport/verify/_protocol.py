"""Checks of the protocol and its cover: entries that no run can write, even if all hashes fit."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np

from .._codec import Hash, Node, Refusal, check_form, check_written
from .._errors import MisuseError
from .._typing import BoolArray
from ..banks import Bank, Cover
from ..judges import JUDGES, JudgeSpec, check_laws, decoded
from ..laws import Law, check_cover, check_sets, decode_law, decode_opponent

# Policies of this package; one of the author's own may describe itself as it likes.
_POLICIES = {
    "regional": {"policy": str, "probes": int},
    "endpoints": {"policy": str, "order": Hash | None},
    "farthest first": {"policy": str, "distances": str},
    "fixed order": {"policy": str, "order": Hash | None},
    "random order": {"policy": str, "seed": int},
    "witness first": {"policy": str, "stages": list[Hash], "obligations": list[list[Any]], "order": Hash | None},
}
# A p-value this near to its level may be on either side of it.
_P_TOLERANCE = 1e-9


def laws_of(protocol: Node) -> list[Law]:
    """The law of each stream; raises if one is written otherwise than a run writes it."""
    return [decode_law(stream["law"], stream["name"]) for stream in protocol["streams"]]


def protocol_findings(document: Node, judge: JudgeSpec | None, laws: Sequence[Law]) -> Iterator[str]:
    """Numbers and entries that no protocol can have."""
    protocol = document["protocol"]
    size = protocol["size"]
    names = [stream["name"] for stream in protocol["streams"]]
    if not 0.0 < protocol["level"] < 1.0:
        yield f"the level {protocol['level']} is no probability of an error"
    if not 0 <= protocol["budget"] <= size or protocol["seed"] < 0:
        yield "budget or seed of the protocol are out of range"
    if not all(0 <= e < size for e in protocol["proposals"]):
        yield "a proposal lies outside the bank"
    if {*document["data"]} != {*names} or len({*names}) < len(names):
        yield "the hashes of the data are not those of the streams"
    _check_policy(protocol["policy"])
    numerators = [*zip(protocol["streams"], laws, strict=True)]
    is_ranked = protocol["plausibility"] is not None or not all(_is_of_bank(*each) for each in numerators)
    if names and (protocol["bank"] is None or not is_ranked):
        yield "streams come with a bank, and with the hash of what their proposal rows make plausible"
    for number, (stream, law) in enumerate(numerators):
        yield from _stream_findings(stream, law, judge, f"protocol.streams[{number}].numerator")
    # Rows whose coefficients are not the strengths of the bank say nothing about these.
    rules = protocol["question"]["regions"] if document["question"]["kind"] == "regional map" else []
    thresholds = {rule["region"]: rule["absence_threshold"] for rule in rules}
    for each in protocol.get("cover", {}).get("ranges", ()):
        if (thresholds.get(each["region"]) or 0.0) > each["low"]:
            yield f"region {each['region']!r} has an absence threshold that strengths of one cell lie on both sides of"
    for law in laws:
        for region, threshold in thresholds.items():
            if threshold is not None and not law.has_strengths and law.thresholds.get(region) != threshold:
                yield f"region {region!r} has an absence threshold, which {law.name} rows cannot reach"


def bank_findings(document: Node, bank: Bank, judge: JudgeSpec | None, laws: Sequence[Law]) -> Iterator[str]:
    """Streams and a judge that a run does not have with this bank."""
    streams = document["protocol"]["streams"]
    for stream, law in zip(streams, laws, strict=True):
        name = stream["name"]
        try:
            law.check_bank(bank)
            check_sets(law, bank)
        except MisuseError as error:
            yield f"the law of {name} is not that of the bank: {error}"
            continue
        if stream["width"] != law.width(bank):
            yield f"the rows of {name} have {stream['width']} entries, not the {law.width(bank)} that the bank needs"
        parts = stream["numerator"].get("mixture", [{"law": stream["numerator"]}])
        if not all(0 <= part["law"].get("key", 0) < law.n_keys(bank) for part in parts):
            yield f"the numerator of {name} lies outside the bank"
    if judge is not None and streams:
        try:
            check_laws(judge, laws)
        except MisuseError as error:
            yield f"the judge does not take the laws of the streams: {error}"
        # Such as the test of a stated noise.
        frozen = judge.encode()
        completed = judge.completed(bank, laws).encode()
        other = [name for name in {**frozen, **completed} if frozen.get(name) != completed.get(name)]
        if other:
            what = f"which has other {', '.join(other)}"
            yield f"the judge is not the one that a run has for this bank and these laws, {what}"


def judge_of(protocol: Node) -> JudgeSpec | None:
    """The judge that decided, if its kind is known here."""
    content = protocol["judge"]
    if content["judge"] not in JUDGES:
        return None
    return decoded(content)


def gate_findings(document: Node, judge: JudgeSpec | None) -> Iterator[str]:
    """Facts of the judge that are missing, or that this judge does not give; rows tell whether they are true."""
    has_facts = bool(document["gate"])
    if judge is not None and has_facts != judge.has_facts:
        yield f"the report {'has' if has_facts else 'lacks'} what its judge says of the answer as a whole"
    elif judge is not None and has_facts:
        if not 0 <= document["gate"].get("best", 0) < document["protocol"]["size"]:
            yield "what fits best lies outside the bank"
        missing = [name for name in judge.fact_names if name not in document["gate"]]
        yield from (f"the report lacks {name}, which its judge tells" for name in missing)
        yield from _gate_findings(document["gate"])


def withheld_findings(document: Node, judge: JudgeSpec | None, bank: Bank | None, possible: BoolArray) -> Iterator[str]:
    """Labels that are given, or not, otherwise than the facts of the judge and what it can reject allow."""
    gate = document["gate"]
    level = document["protocol"]["level"]
    if judge is None:
        return
    stuck = None if bank is None else judge.unrejectable(bank, level)
    rests = stuck is not None and bool(possible.any()) and bool(stuck[possible].all())
    if not gate:
        if rests:
            yield "labels are not withheld, though the judge cannot reject what they rest on"
        return
    is_unfit = judge.withholds and gate.get("is_best_rejected", False)
    if gate["is_withheld"] != (rests or (is_unfit and bool(possible.any()))):
        yield f"labels are {'' if gate['is_withheld'] else 'not '}withheld, which the judge does otherwise"
    unlisted = gate.get("unlisted")
    if unlisted is None:
        return
    if unlisted["is_excluded"] != (unlisted["p"] <= level) and not _is_at(unlisted["p"], level):
        yield "something that is not in the library is said to be excluded, or not, but its p-value says otherwise"
    if gate["is_complete"] != (unlisted["is_excluded"] and stuck is None) or bool(gate["cannot_exclude"]) != (
        stuck is not None
    ):
        yield "what cannot be excluded is not what the numbers of units give"


def _gate_findings(gate: Node) -> Iterator[str]:
    """Facts that contradict each other: the best fit is rejected by its p-values."""
    least = min((finding["p"] for finding in gate.get("findings", ())), default=1.0)
    is_rejected = gate.get("is_best_rejected", False)
    if "level" in gate and not _is_at(least, gate["level"]) and is_rejected != (least <= gate["level"]):
        yield f"the best fit is said to be {'' if is_rejected else 'not '}rejected, but its p-values say otherwise"
    seen = gate.get("strengths") or {}
    if seen and seen["is_off"] != (seen["p"] <= gate["level"]) and not _is_at(seen["p"], gate["level"]):
        said = f"{'not ' if seen['is_off'] else ''}to be as strong as what is left"
        yield f"the rows are said {said}, but p says otherwise"
    looked = gate.get("whiteness") or {}
    if any(finding["part"] == looked.get("part") and finding != looked for finding in gate.get("findings", ())):
        yield "the noise is said to be other than the same test found it"


def _is_at(p: float, level: float) -> bool:
    return abs(p - level) <= _P_TOLERANCE


def protocol_notes(protocol: Node, judge: JudgeSpec | None, bank: Bank | None, laws: Sequence[Law]) -> Iterator[str]:
    """Notes on what is not checked: unknown judges, and numerators off the bank."""
    if protocol["streams"] and judge is None:
        kind = protocol["judge"]["judge"]
        yield f"verdicts are taken as they stand: a judge of the kind {kind!r}, not known here, gave them"
    streams = [*zip(protocol["streams"], laws, strict=False)]
    for stream, law in streams:
        if bank is not None and judge is not None and judge.trusts_noise and law.noise_test(bank) is not None:
            yield f"the noise that is stated of {stream['name']} is taken as it stands: rows were not tested it"
    for stream, law in streams:
        if stream["fraction"] and not _is_of_bank(stream, law):
            yield (
                f"the numerator of {stream['name']} is a law off the bank: that it comes from the proposal rows alone "
                f"is taken as it stands"
            )


def _is_of_bank(stream: Node, law: Law) -> bool:
    """True if the bank gave the numerator; of a stream that is refused anyway it counts as if it had."""
    try:
        return decode_opponent(law, stream["numerator"], stream["name"]).is_of_bank
    except (Refusal, MisuseError):
        return bool(stream["fraction"])  # without a proposal there is none


def _check_policy(policy: Node) -> None:
    form = _POLICIES.get(str(policy.get("policy")))
    if form is not None:
        check_form(policy, form, "the policy")
    for obligation in policy["obligations"] if policy.get("policy") == "witness first" else ():
        check_form(dict(zip("ab", obligation, strict=True)), {"a": str, "b": Hash}, "an obligation of the policy")


def _stream_findings(stream: Node, law: Law, judge: JudgeSpec | None, path: str) -> Iterator[str]:
    name = stream["name"]
    rows = stream["rows"]
    if rows < 1 or stream["width"] < 1 or not 0.0 <= stream["fraction"] < 1.0:
        raise Refusal(f"rows, width or fraction of {name} are out of range")
    is_split = stream["fraction"] > 0.0
    if judge is not None and judge.splits(law) != is_split:
        raise Refusal(f"rows of {name} are {'' if is_split else 'not '}divided, which its judge does otherwise")
    n_proposal = int(Fraction(repr(stream["fraction"])) * rows)
    if is_split and n_proposal == 0:
        yield f"no row of {name} is left to the proposal"
    stops = stream["checkpoints"]
    is_within = bool(stops) and stops[0] >= 1 and stops[-1] <= rows - n_proposal
    if not is_within or any(later <= earlier for earlier, later in pairwise(stops)):
        yield f"the checkpoints of {name} do not increase within its held-out rows"
    if is_split:
        opponent = decode_opponent(law, stream["numerator"], name)
        check_written(f"the numerator of {name}", stream["numerator"], opponent.encode(), path)
    elif stream["numerator"]:
        yield f"{name} has a numerator although no row proposes"


# Relative: numbers that a program worked out in the same way may differ by so much.
_ROUNDING = 1e-6


def cover_findings(protocol: Node, bank: Bank, laws: Sequence[Law]) -> Iterator[str]:
    """Findings against the cover of a protocol, if it has one; bounds that a response proves are proven again."""
    node = protocol.get("cover")
    if node is None:
        return
    cover = Cover.decode(node)
    try:
        check_cover(cover, bank, [(law, stream["rows"]) for law, stream in zip(laws, protocol["streams"], strict=True)])
    except MisuseError as error:
        yield f"the cover is not that of the bank and its rows: {error}"
        return
    if not isclose(cover.level(node["asked"]), protocol["level"], rel_tol=_ROUNDING):
        yield f"the run is at the level {protocol['level']!r}, not at {cover.level(node['asked'])!r} as its cover says"
    if cover.response is not None:
        yield from _answer_findings(cover, bank, laws[0])
    if cover.response is not None and node["bounds"] == "proven":
        for name, bounds in cover.proven().items():
            stored = cover.regions[name].bounds
            is_low = (stored.slopes < bounds.slopes * (1.0 - _ROUNDING)).any()
            if is_low or (cover.tangents and (stored.bends < bounds.bends * (1.0 - _ROUNDING)).any()):
                yield f"the bounds of region {name!r} are below those that its responses have"
    check_written("the cover", node, {"asked": node["asked"]} | cover.encode(), "protocol.cover")


def cover_notes(protocol: Node) -> Iterator[str]:
    """Notes on the parts of a cover that are not checked."""
    node = protocol.get("cover")
    if node is None:
        return
    yield f"that no signal is stronger than the ratio {node['snr']:g} of the cover is taken as it stands"
    if "ranges" in node:
        yield "that strengths and noise lie in the ranges of the cover is taken as it stands"
    if node["bounds"] == "given" or node["response"] is None:
        yield "bounds of the responses between the cells' middles are taken as they stand"


def _answer_findings(cover: Cover, bank: Bank, law: Law) -> Iterator[str]:
    """Answers at the middles of cells are those of the response, and so are tangents."""
    columns = cover.settings().responses.transpose(1, 0, 2).reshape(len(bank.states.elements), -1)
    shared = bank.states.elements.shape[1] - columns.shape[1]
    if shared < 0 or not np.allclose(bank.states.elements[:, : columns.shape[1]], columns, rtol=0.0, atol=_ROUNDING):
        raise Refusal("the responses of the bank are not those of the cover")
    if cover.tangents:
        tangents = cover.tangent_columns()
        variants = np.asarray(getattr(law, "variants", None))
        scale = np.abs(tangents).max()
        if not np.allclose(variants[:, :, : columns.shape[1]], tangents, rtol=0.0, atol=_ROUNDING * scale):
            yield "the tangents of the law are not those of the cover"

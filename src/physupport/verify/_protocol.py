"""What no frozen protocol can say, whoever made the hashes fit."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from .._errors import MisuseError
from .._stored import HASH, Node, Refusal, check_form
from ..banks import Bank
from ..judges import JUDGES, ByEvidence, JudgeSpec, completed_with, decoded, splits_rows
from ..laws import check_sets, decode_law
from ..report import MOST_EXPLANATIONS

_ORDER = (HASH, None)
# Policies of this package; one of the author's own may describe itself as it likes.
_POLICIES = {
    "regional": {"policy": str, "probes": int},
    "endpoints": {"policy": str, "order": _ORDER},
    "farthest first": {"policy": str, "distances": str},
    "fixed order": {"policy": str, "order": _ORDER},
    "random order": {"policy": str, "seed": int},
    "witness first": {"policy": str, "stages": [HASH], "obligations": [list], "order": _ORDER},
}
# A p-value this near to its level may be on either side of it.
_P_TOLERANCE = 1e-9


def check_size(protocol: Node) -> None:
    """Refuse a number of explanations that no array could hold, before one is made."""
    if not 1 <= protocol["size"] <= MOST_EXPLANATIONS:
        raise Refusal(f"the size {protocol['size']} does not lie from 1 to {MOST_EXPLANATIONS}")


def protocol_findings(protocol: Node, data: Node) -> Iterator[str]:
    """Numbers and entries that no protocol can have."""
    size, names = protocol["size"], [stream["name"] for stream in protocol["streams"]]
    if not 0.0 < protocol["level"] < 1.0:
        yield f"the level {protocol['level']} is no probability of an error"
    if not 0 <= protocol["budget"] <= size or protocol["seed"] < 0:
        yield "budget or seed of the protocol are out of range"
    if not all(0 <= e < size for e in protocol["proposals"]):
        yield "a proposal lies outside the bank"
    if {*data} != {*names} or len({*names}) < len(names):
        yield "the hashes of the data are not those of the streams"
    _check_policy(protocol["policy"])
    is_ranked = protocol["plausibility"] is not None or not all(map(_is_of_bank, protocol["streams"]))
    if names and (protocol["bank"] is None or not is_ranked):
        yield "streams come with a bank, and with the hash of what their proposal rows make plausible"
    judge = judge_of(protocol)
    for stream in protocol["streams"]:
        yield from _stream_findings(stream, judge)
    yield from _threshold_findings(protocol)


def _threshold_findings(protocol: Node) -> Iterator[str]:
    """Rows whose coefficients are not the strengths of the bank say nothing about these."""
    rules = protocol["question"].get("regions", [])
    thresholds = {rule["region"]: rule.get("absence_threshold") for rule in rules if isinstance(rule, dict)}
    for each in protocol.get("cover", {}).get("ranges", ()):
        if (thresholds.get(each["region"]) or 0.0) > each["low"]:
            yield f"region {each['region']!r} has an absence threshold that strengths of one cell lie on both sides of"
    for stream in protocol["streams"]:
        law = decode_law(stream["law"], stream["name"])
        for region, threshold in thresholds.items():
            if threshold is not None and not law.has_strengths and law.thresholds.get(region) != threshold:
                yield f"region {region!r} has an absence threshold, which {stream['law']['kind']} rows cannot reach"


def bank_findings(protocol: Node, bank: Bank) -> Iterator[str]:
    """Streams that no bank but another one could have: their laws, widths and numerators are those of this one."""
    for stream in protocol["streams"]:
        name, law = stream["name"], decode_law(stream["law"], stream["name"])
        try:
            law.check_bank(bank)
            check_sets(law, bank)
        except MisuseError as error:
            yield f"the law of {name} is not that of the bank: {error}"
            continue
        if stream["width"] != law.width(bank):
            yield f"the rows of {name} have {stream['width']} entries, not the {law.width(bank)} that the bank needs"
        mixed = stream["numerator"].get("mixture")
        laws = [part["law"] for part in mixed] if isinstance(mixed, list) else [stream["numerator"]]
        if not all(0 <= part["key"] < law.n_keys(bank) for part in laws if isinstance(part.get("key"), int)):
            yield f"the numerator of {name} lies outside the bank"


def judge_of(protocol: Node) -> JudgeSpec | None:
    """Who decided, if the kind is known here; reports of before judges described themselves have evidence."""
    content = protocol.get("judge") or ByEvidence().encode()
    kind = content.get("judge")
    if not isinstance(kind, str) or not isinstance(content.get("assumes"), str):
        raise Refusal("the judge does not say what it is and what it assumes")
    return decoded(content) if kind in JUDGES else None


# The first in which no fact is left out that a judge gives, nor a test that it makes.
COMPLETE = 3


def gate_findings(document: Node, judge: JudgeSpec | None) -> Iterator[str]:
    """Facts of the judge that are missing, or that this judge does not give; rows tell whether they are true."""
    has_facts = bool(document.get("gate"))
    if judge is not None and has_facts != bool(getattr(judge, "has_facts", False)):
        yield f"the report {'has' if has_facts else 'lacks'} what its judge says of the answer as a whole"
    elif judge is not None and has_facts:
        if not 0 <= document["gate"].get("best", 0) < document["protocol"]["size"]:
            yield "what fits best lies outside the bank"
        if document["version"] >= COMPLETE:
            yield from (f"the report lacks {name}, which its judge tells" for name in _untold(document["gate"], judge))
        yield from _gate_findings(document["gate"], document["outcome"], withholds=bool(getattr(judge, "withholds", 0)))


def _untold(gate: Node, judge: JudgeSpec | None) -> list[str]:
    """Facts that the judge always gives and the report does not have."""
    missing = [name for name in getattr(judge, "fact_names", ()) if name not in gate]
    looked = gate.get("strengths")
    return [*missing, "strengths.is_off"] if looked and "is_off" not in looked else missing


def gate_notes(document: Node, judge: JudgeSpec | None) -> Iterator[str]:
    """What programs of before did not look for."""
    if document["version"] < COMPLETE:
        for name in _untold(document.get("gate") or {}, judge) if document.get("gate") else ():
            yield f"the report does not tell {name}, as it says that it is of version {document['version']}"


def completed_findings(document: Node, judge: JudgeSpec | None, bank: Bank) -> Iterator[str]:
    """A judge that leaves out what a run sets for this bank and these laws, such as the test of a stated noise."""
    protocol = document["protocol"]
    if judge is None or document["version"] < COMPLETE or not protocol["streams"]:
        return
    laws = [decode_law(stream["law"], stream["name"]) for stream in protocol["streams"]]
    frozen, completed = judge.encode(), completed_with(judge, bank, laws).encode()
    if frozen != completed:
        names = [name for name in {**frozen, **completed} if frozen.get(name) != completed.get(name)]
        other = f"which has other {', '.join(names)}"
        yield f"the judge is not the one that a run has for this bank and these laws, {other}"


def _gate_findings(gate: Node, outcome: Node, *, withholds: bool) -> Iterator[str]:
    """Facts that contradict each other: the best fit is rejected by its p-values, and labels are withheld by that."""
    least = min((finding["p"] for finding in gate.get("findings", ())), default=1.0)
    is_rejected = gate.get("is_best_rejected", False)
    if "level" in gate and not _is_at(least, gate["level"]) and is_rejected != (least <= gate["level"]):
        yield f"the best fit is said to be {'' if is_rejected else 'not '}rejected, but its p-values say otherwise"
    seen = gate.get("strengths") or {}
    if "is_off" in seen and seen["is_off"] != (seen["p"] <= gate["level"]) and not _is_at(seen["p"], gate["level"]):
        said = f"{'not ' if seen['is_off'] else ''}to be as strong as what is left"
        yield f"the rows are said {said}, but p says otherwise"
    looked = gate.get("whiteness") or {}
    if any(finding["part"] == looked.get("part") and finding != looked for finding in gate.get("findings", ())):
        yield "the noise is said to be other than the same test found it"
    if gate["is_withheld"] != (withholds and is_rejected and outcome["possible"] > 0):
        yield f"labels are {'' if gate['is_withheld'] else 'not '}withheld, which the judge does otherwise"


def _is_at(p: float, level: float) -> bool:
    return abs(p - level) <= _P_TOLERANCE


def protocol_notes(protocol: Node, judge: JudgeSpec | None, bank: Bank | None) -> Iterator[str]:
    """What is taken as it stands: judges that are not known here, and what proposal rows are said to have led to."""
    if protocol["streams"] and judge is None:
        kind = protocol["judge"].get("judge")
        yield f"verdicts are taken as they stand: a judge of the kind {kind!r}, not known here, gave them"
    for stream in protocol["streams"]:
        if bank is not None and not getattr(judge, "noise", True) and _states_noise(stream, bank):
            yield f"the noise that is stated of {stream['name']} is taken as it stands: rows were not asked about it"
    for stream in protocol["streams"]:
        if stream["fraction"] and not _is_of_bank(stream):
            yield (
                f"the numerator of {stream['name']} is a law off the bank: that it comes from the proposal rows alone "
                f"is taken as it stands"
            )


def _states_noise(stream: Node, bank: Bank) -> bool:
    """Whether rows could refute the noise; of a stream that is refused anyway nothing is said."""
    try:
        return decode_law(stream["law"], stream["name"]).states_noise(bank)
    except (Refusal, MisuseError):
        return False


def _is_of_bank(stream: Node) -> bool:
    """Whether the bank gave the numerator; of a stream that is refused anyway it counts as if it had."""
    try:
        return decode_law(stream["law"], stream["name"]).decode_opponent(stream["numerator"], stream["name"]).is_of_bank
    except (Refusal, MisuseError):
        return bool(stream["fraction"])  # without a proposal there is none


def _check_policy(policy: Node) -> None:
    kind = policy.get("policy")
    if isinstance(kind, str) and kind in _POLICIES:
        check_form(policy, _POLICIES[kind], "the policy")
    if kind == "witness first":
        for obligation in policy["obligations"]:
            check_form(dict(enumerate(obligation)), {0: str, 1: HASH}, "an obligation of the policy")


def _stream_findings(stream: Node, judge: JudgeSpec | None) -> Iterator[str]:
    name, rows = stream["name"], stream["rows"]
    if rows < 1 or stream["width"] < 1 or not 0.0 <= stream["fraction"] < 1.0:
        raise Refusal(f"rows, width or fraction of {name} are out of range")
    law, is_split = decode_law(stream["law"], name), stream["fraction"] > 0.0
    if judge is not None and splits_rows(judge, law) != is_split:
        raise Refusal(f"rows of {name} are {'' if is_split else 'not '}divided, which its judge does otherwise")
    n_proposal = int(Fraction(repr(stream["fraction"])) * rows)
    if is_split and n_proposal == 0:
        yield f"no row of {name} is left to the proposal"
    stops = stream["checkpoints"]
    is_within = bool(stops) and stops[0] >= 1 and stops[-1] <= rows - n_proposal
    if not is_within or any(later <= earlier for earlier, later in pairwise(stops)):
        yield f"the checkpoints of {name} do not increase within its held-out rows"
    if is_split:
        law.decode_opponent(stream["numerator"], name)
    elif stream["numerator"]:
        yield f"{name} has a numerator although no row proposes"

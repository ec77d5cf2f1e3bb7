"""What no frozen protocol can say, whoever made the hashes fit."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from .._codec import real
from .._stored import HASH, check_form
from ..judges import JUDGES, ByEvidence, JudgeSpec, decoded
from ._content import MOST_EXPLANATIONS
from ._document import Node, Refusal

_KINDS = ("latent", "known codes", "covariance", "mean", "profiled mean")
_MOST_ACTIVE = 0.5
_LAWS = {
    "bernoulli gaussian": {"law": "bernoulli gaussian", "p": float},
    "exchangeable gaussian": {"law": "exchangeable gaussian", "size_probabilities": [float], "variances": [float]},
}
_NUMERATORS = {
    "key": {"key": int},
    "point": {"point": {"atoms": dict, "p": float, "noise": float}},
    "mean_point": {"mean_point": {"mean": dict, "noise": float}},
}
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
    check_form(data, dict.fromkeys(data, HASH), "document.data")
    _check_policy(protocol["policy"])
    yield from _judge_findings(protocol)
    if names and (protocol["bank"] is None or protocol["plausibility"] is None):
        yield "streams come with a bank, and with the hash of what their proposal rows make plausible"
    for stream in protocol["streams"]:
        yield from _stream_findings(stream)


def judge_of(protocol: Node) -> JudgeSpec | None:
    """Who decided, if the kind is known here; reports of before judges described themselves have evidence."""
    content = protocol.get("judge") or ByEvidence().encode()
    return decoded(content) if content.get("judge") in JUDGES else None


def protocol_notes(protocol: Node) -> Iterator[str]:
    """What is taken as it stands: judges that are not known here, and what proposal rows are said to have led to."""
    if protocol["streams"] and judge_of(protocol) is None:
        kind = protocol["judge"].get("judge")
        yield f"verdicts are taken as they stand: a judge of the kind {kind!r}, not known here, gave them"
    for stream in protocol["streams"]:
        if "point" in stream["numerator"]:
            yield (
                f"the numerator of {stream['name']} is a law off the bank: that it comes from the proposal rows alone "
                f"is taken as it stands"
            )


def _judge_findings(protocol: Node) -> Iterator[str]:
    """Reports of before judges described themselves do not name theirs."""
    judge = protocol.get("judge")
    if judge is None:
        return
    if not isinstance(judge.get("judge"), str) or not isinstance(judge.get("assumes"), str):
        yield "the judge does not say what it is and what it assumes"


def _check_policy(policy: Node) -> None:
    kind = policy.get("policy")
    if isinstance(kind, str) and kind in _POLICIES:
        check_form(policy, _POLICIES[kind], "the policy")
    if kind == "witness first":
        for obligation in policy["obligations"]:
            check_form(dict(enumerate(obligation)), {0: str, 1: HASH}, "an obligation of the policy")


def _stream_findings(stream: Node) -> Iterator[str]:
    name, law, rows = stream["name"], stream["law"], stream["rows"]
    check_form(stream["proposal_rows"], HASH, f"the hash of the proposal rows of {name}")
    if rows < 1 or stream["width"] < 1 or not 0.0 < stream["fraction"] < 1.0:
        raise Refusal(f"rows, width or fraction of {name} are out of range")
    n_proposal = int(Fraction(repr(stream["fraction"])) * rows)
    if n_proposal == 0:
        yield f"no row of {name} is left to the proposal"
    stops = stream["checkpoints"]
    is_within = bool(stops) and stops[0] >= 1 and stops[-1] <= rows - n_proposal
    if not is_within or any(later <= earlier for earlier, later in pairwise(stops)):
        yield f"the checkpoints of {name} do not increase within its held-out rows"
    if law["kind"] not in _KINDS:
        raise Refusal(f"rows of the unknown kind {law['kind']!r}")
    if ("box" in law) != (law["kind"] == "profiled mean"):
        yield f"{name}: a box belongs to a profiled mean, and to nothing else"
    yield from _law_findings(name, law)
    yield from _numerator_findings(name, law["kind"], stream["numerator"])


def _law_findings(name: str, law: Node) -> Iterator[str]:
    if not law["noises"] or not min(law["noises"]) > 0.0:
        yield f"the noise of {name} is not positive"
    if len(law["laws"]) != (len(law["noises"]) if law["kind"] == "latent" else 0):
        yield f"{name} has not one coefficient law for each noise, or has laws where there are no latent codes"
    for node in law["laws"]:
        if not isinstance(node, dict) or node.get("law") not in _LAWS:
            raise Refusal(f"a coefficient law of {name} is malformed")
        check_form(node, _LAWS[node["law"]], f"a coefficient law of {name}")
        if node["law"] == "bernoulli gaussian" and not 0.0 < node["p"] < _MOST_ACTIVE:
            yield f"the activity of {name} does not lie between 0 and {_MOST_ACTIVE}"


def _numerator_findings(name: str, kind: str, numerator: Node) -> Iterator[str]:
    """A key of the bank, a latent law off it, or, where denominators are suprema, a mean off it."""
    where = f"the numerator of {name}"
    entry = next(iter(numerator)) if len(numerator) == 1 else None
    if entry not in _NUMERATORS:
        raise Refusal(f"{where} has other names than one of {', '.join(_NUMERATORS)}")
    check_form(numerator, _NUMERATORS[entry], where)
    allowed = {"latent": ("key", "point"), "profiled mean": ("mean_point",)}.get(kind, ("key",))
    if entry not in allowed:
        yield f"{where} is a {entry}, which {kind} rows cannot have"
    if entry == "key":
        if numerator["key"] < 0:
            yield f"{where} lies outside the bank"
        return
    about = numerator[entry]
    shape = (None,) if entry == "mean_point" else (None, None)
    if not real(about["mean" if entry == "mean_point" else "atoms"], *shape).size or not about["noise"] > 0.0:
        yield f"{where} is no law"
    if entry == "point" and not 0.0 < about["p"] < _MOST_ACTIVE:
        yield f"{where} has an activity that does not lie between 0 and {_MOST_ACTIVE}"

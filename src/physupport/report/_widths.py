"""How far responses may be off in the explanations of a report: up to there its promise goes."""

from collections.abc import Iterator

from .._codec import real
from ..laws import LAWS
from ._phrases import Entry, gate_of, plain


def width_sentence(document: Entry) -> str:
    """What is taken to be true of responses, where they have a width; empty where they are exact, or not used."""
    protocol = document["protocol"]
    if gate_of(document).get("assumes"):
        return ""  # replicates have a width of their own, and the judge says what it assumes
    laws = [stream["law"] for stream in protocol["streams"] if "law" in stream]
    told = [*_settings(document), *(part for law in laws for part in _mixed(law, "cover" in protocol))]
    return f" For its responses that means: {'; '.join(told)}." if told else ""


def _settings(document: Entry) -> Iterator[str]:
    """Parameters and variants that make states; a cover tells of its own."""
    states = (document["bank"] or {}).get("states", {})
    if not {"names", "values"} <= {*states} or "cover" in document["protocol"]:
        return
    for name, column in zip(states["names"], real(states["values"], None, None).T, strict=True):
        values = {*column.tolist()}
        if name == "variant":
            yield f"one of {len(values)} variants is right, for all elements alike"
        elif len(values) > 1:
            yield f"{plain(name)} is one of {len(values)} values, {min(values):g} to {max(values):g}"


def _mixed(law: Entry, is_covered: bool) -> Iterator[str]:
    """What a law leaves open; of cells with tangents a cover tells, with what a straight line leaves in its level."""
    if "error" in law:
        yield f"each lies within an angle of sine {law['error']:g} of the one listed, in any direction"
    if "half_steps" in law:
        if is_covered:
            return
        steps = " and ".join(f"{step:g}" for step in law["half_steps"])
        yield f"or, between values, at most {steps} off one of them, where responses are nearly straight"
    elif "variants" in law:
        count = 1 + int(law["variants"].get("shape", (0,))[0])
        parts = "without negative parts" if _is_cone(law) else "of either sign"
        yield f"each is a mix of the {count} variants of its element, {parts}"


def _is_cone(law: Entry) -> bool:
    """Whether variants of a response are mixed without negative parts: it says so, or has amounts, which never are."""
    kind = LAWS.get(str(law.get("kind")))
    return bool(law.get("is_cone")) or (kind is not None and kind.is_counted)

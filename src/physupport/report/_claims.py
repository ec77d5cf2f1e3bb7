"""Claims over several regions, in sentences."""

from ._noise import UNFIT, why_withheld
from ._phrases import Entry, listed, plain

_CLAIMED = {
    "any": ("At least one of {} is there.", "None of {} is there."),
    "all": ("All of {} are there.", "Not all of {} are there."),
    "exactly_one": ("Exactly one of {} is there.", "Not exactly one of {} is there."),
    "one": ("{} is there.", "{} is not there."),
}


def claims_of(document: Entry) -> list[tuple[Entry, str, str]]:
    """Each claim with its kind and what it names."""
    claims = document["protocol"]["question"].get("claims", ())
    # Of one thing all kinds say the same.
    kinds = {name: (kind if len(of) > 1 else "one", listed(of)) for name, kind, of in claims}
    return [(entry, *kinds[entry["claim"]]) for entry in document.get("claims", ()) if entry["claim"] in kinds]


def claim_sentence(claim: tuple[Entry, str, str]) -> str:
    """Whether it holds, in full; empty where nothing can be said."""
    entry, kind, of = claim
    yes, no = (text.format(of) for text in _CLAIMED[kind])
    match entry["value"]:
        case "true":
            return yes
        case "false":
            return no
        case "open":
            one, other = entry["witnesses"]
            return f"The data cannot tell whether this holds: {yes} Explanation {one} says so, {other} does not."
        case "unknown":
            return f"Not yet known: {yes}"
    return ""


def claim_answers(document: Entry) -> tuple[str, ...]:
    """One short sentence for each claim, by its name."""
    withheld = why_withheld(document, is_best=UNFIT)
    told = ((plain(str(claim[0]["claim"])), _claim_answer(claim, withheld)) for claim in claims_of(document))
    return tuple(f"{name[:1].upper()}{name[1:]}: {said}" for name, said in told)


def _claim_answer(claim: tuple[Entry, str, str], withheld: str) -> str:
    entry, kind, of = claim
    if entry["value"] in ("empty", "withheld"):
        why = "nothing in the bank fits these data" if entry["value"] == "empty" else withheld
        return f"no answer, because {why}."
    if entry["value"] == "open":
        return f"these data cannot tell whether {_continued(kind, _CLAIMED[kind][0].format(of))}"
    return _continued(kind, claim_sentence(claim))


def _continued(kind: str, said: str) -> str:
    """Within a sentence; the name of one thing stays as it is."""
    return said if kind == "one" else said[:1].lower() + said[1:]

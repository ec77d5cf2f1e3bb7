"""The form of a document: which names stand where, and what kind of value each has.

Whether what stands there is true is for `verify` to say.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from .._errors import MisuseError
from .._hashes import content_hash
from .._stored import NONE, TWO, Hash, Real, check_form, in_words
from ..banks import CoverForm

FORMAT = "physupport report"
VERSION = 4

_Margin = Annotated[
    list[Real | Literal["inf", "-inf"]],
    TWO,
    in_words("two bounds, each a number, 'inf' or '-inf'"),
]
_Ends = Annotated[list[Real], TWO, in_words("two numbers")]
_Says = dict[str, str | None]
# Pages show them: nothing but a version fits in there.
_Version = Annotated[str, Field(pattern="^[0-9][0-9A-Za-z.+]{0,63}$"), in_words("a version")]
_Program = TypedDict("_Program", {"physupport": _Version, "numpy": _Version, "python": _Version})
_Explanation = TypedDict("_Explanation", {"explanation": int, "margin": _Margin, "says": _Says})
_Kept = TypedDict("_Kept", {"name": str | None, "explanation": int, "margin": _Margin})
_Set = TypedDict("_Set", {
    "kept": list[_Kept], "not_asked": list[str | None], "extent": Real | None, "box": NotRequired[list[_Ends]],
})  # fmt: skip
_Label = Literal["FINE", "GROUP", "SUPPORT_AMBIGUOUS", "LOCAL_AMBIGUOUS", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY"]
_Field = TypedDict("_Field", {
    "field": str, "label": _Label, "cell": list[str], "group": str | None, "numbers": dict[str, Real],
    "certificate": Literal["universal", "witnesses", "open", "withheld"], "witnesses": list[_Explanation],
    "excluded": _Explanation | None, "set": _Set | None,
})  # fmt: skip
_Sides = Annotated[
    Annotated[list[int], NONE] | Annotated[list[int], TWO],
    in_words("two whole numbers or none"),
]
_Claim = TypedDict("_Claim", {
    "claim": str, "value": Literal["true", "false", "open", "unknown", "withheld", "empty"], "witnesses": _Sides,
})  # fmt: skip
_Outcome = TypedDict("_Outcome", {
    "status": Literal["REPORT", "EMPTY", "ABSTAIN", "WITHHELD"],
    "ending": Literal["CERTIFIED", "NO_SURVIVOR", "BUDGET", "NOTHING_LEFT", "STOPPED"], "is_certified": bool,
    "queries": int, "budget": int, "witnessed": int, "possible": int, "indeterminate": int,
})  # fmt: skip
_Stream = TypedDict("_Stream", {
    "name": str, "rows": int, "width": int, "fraction": Real, "proposal_rows": Hash, "checkpoints": list[int],
    "law": dict[str, Any], "numerator": dict[str, Any],
})  # fmt: skip
_Judge = TypedDict("_Judge", {"judge": str, "assumes": str})  # and what it fixed beforehand
_Protocol = TypedDict("_Protocol", {
    "bank": Hash | None, "size": int, "question": dict[str, Any], "level": Real, "judge": _Judge, "seed": int,
    "streams": list[_Stream], "proposals": list[int], "plausibility": Hash | None, "policy": dict[str, Any],
    "budget": int, "until_witnessed": bool, "stop": Literal["label", "set"], "cover": NotRequired[CoverForm],
})  # fmt: skip
_Edge = TypedDict("_Edge", {"of": str, "value": Real, "end": Literal["lowest", "highest"]})
_Streams = TypedDict("_Streams", {"stream": str, "kept": int, "nearest": int, "says": _Says})
_Contradiction = TypedDict("_Contradiction", {"streams": list[_Streams], "common": int})

# The facts that words are made of; a judge of one's own may say more, and so may a finding.
_Probability = Annotated[Real, Field(ge=0.0, le=1.0)]
_Finding = TypedDict("_Finding", {"part": str, "place": str, "p": _Probability})
_Strengths = TypedDict("_Strengths", {"part": str, "place": str, "p": _Probability, "is_off": bool})
_Unlisted = TypedDict("_Unlisted", {"p": _Probability, "smallest_p": _Probability, "is_excluded": bool})
_Noise = TypedDict("_Noise", {"signal": Real, "replicates": Real, "stated": list[Real] | None})
_Facts = TypedDict("_Facts", {
    "is_withheld": bool, "best": NotRequired[int], "is_best_rejected": NotRequired[bool],
    "level": NotRequired[_Probability], "findings": NotRequired[list[_Finding]],
    "whiteness": NotRequired[_Finding | None], "strengths": NotRequired[_Strengths | None],
    "zero_rows": NotRequired[int], "units": NotRequired[dict[str, Any]],
    "smallest_p": NotRequired[dict[str, _Probability]], "p": NotRequired[dict[str, _Probability]],
    "cannot_exclude": NotRequired[list[str]], "is_complete": NotRequired[bool], "unlisted": NotRequired[_Unlisted],
    "replicate_noise": NotRequired[_Noise],
})  # fmt: skip
for _form in (_Judge, _Facts, _Unlisted, _Noise):
    _extra: Literal["allow", "forbid"] = "allow" if _form in (_Judge, _Facts) else "forbid"
    _form.__pydantic_config__ = ConfigDict(strict=True, extra=_extra)  # type: ignore[union-attr]


def _complete(facts: _Facts) -> _Facts:
    """The facts, if each stands beside those that it needs."""
    ranked = {frozenset(facts[name]) for name in ("units", "smallest_p", "p") if name in facts}
    if len(ranked) > 1 or (facts.get("is_best_rejected") and not facts.get("findings")):
        raise ValueError
    return facts


_Gate = Annotated[
    _Facts, AfterValidator(_complete), in_words("facts of a judge, whether labels are withheld among them")
]
_Trace = TypedDict("_Trace", {"queries": Any, "codes": Any, "lower": Any, "upper": Any})
_Digests = TypedDict("_Digests", {
    "bank": Hash | None, "question": Hash, "protocol": Hash, "data": Hash, "chain": Hash, "document": Hash,
})  # fmt: skip
_Statement = TypedDict("_Statement", {
    "field": str, "label": _Label, "cell": list[str], "group": str | None, "numbers": dict[str, Real],
    "certificate": Literal["universal", "witnesses", "open"], "witnesses": list[int],
})  # fmt: skip
_Step = TypedDict("_Step", {"least": Real, "most": Real, "fields": list[_Statement], "claims": dict[str, str]})
_Staircase = TypedDict("_Staircase", {"scale": Literal["peak", "value", "angle"], "steps": list[_Step]})
Document = TypedDict("Document", {
    "format": str, "version": int, "program": _Program, "fields": list[_Field], "claims": list[_Claim],
    "outcome": _Outcome, "gate": _Gate | None, "contradiction": NotRequired[_Contradiction], "edges": list[_Edge],
    "staircase": NotRequired[_Staircase], "protocol": _Protocol, "data": dict[str, Hash], "trace": _Trace,
    "question": dict[str, Any], "bank": dict[str, Any] | None, "digests": _Digests,
})  # fmt: skip


# By kind of question: the numbers of a field that its sentence tells.
_TOLD: Mapping[str, tuple[str, ...]] = {
    "regional map": (
        "tolerance", "possible_spread", "witnessed_spread", "possible_present", "possible_absent",
        "possible_at_threshold", "witnessed_present", "witnessed_absent",
    ),
    "resolution": ("lower", "upper"),
}  # fmt: skip


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse what is no report, or not a whole one."""
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version != VERSION:
        value = f"{document.get('format')!r}, version {version!r}"
        raise MisuseError("document", f"be a {FORMAT!r}, version {VERSION}", value, "Run the project again.")
    check_form(document, Document)
    check_form(document["question"].get("kind"), str, "document.question.kind")
    for number, entry in enumerate(document["fields"]):
        for name in _TOLD.get(document["question"]["kind"], ()):
            if name not in entry["numbers"]:
                raise MisuseError(f"document.fields[{number}].numbers", f"have {name}", "no such number")


def document_hash(document: Mapping[str, Any]) -> str:
    """The hash of all but itself, whether it stands in there already or not."""
    digests = {name: value for name, value in document["digests"].items() if name != "document"}
    return content_hash({**document, "digests": digests})

"""The form of a document: which names stand where, what kind of value each has, and what it means."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from .._codec import NONE, TWO, Hash, Real, in_words
from ..banks import CoverForm

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


class _Set(TypedDict):
    """The set of what remains of a field."""

    kept: list[_Kept]
    """what explanations have that were asked about and not rejected, each with its `name` (null: nothing there) and the
    `explanation` of the smallest upper bound of the `margin`, by which they are sorted
    """
    not_asked: list[str | None]
    """what only unasked explanations have"""
    extent: Real | None
    """the largest distance between kept names; null without distances, the diagonal of a single cell"""
    box: NotRequired[list[_Ends]]
    """if elements are cells of a [cover](covers.md): the ends of the smallest box around all that is possible, for each
    coordinate
    """


_Label = Literal["FINE", "GROUP", "SUPPORT_AMBIGUOUS", "LOCAL_AMBIGUOUS", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY"]


class _Field(TypedDict):
    """An answer about one field."""

    field: str
    """name of the region or question"""
    label: _Label
    """what the data allow to say"""
    cell: list[str]
    """names still possible"""
    group: str | None
    """the smallest group around them"""
    numbers: dict[str, Real]
    """the numbers of the sentence, with `absence_threshold` if a region has one"""
    certificate: Literal["universal", "witnesses", "open", "withheld"]
    """why the label is safe: `universal`, `witnesses` or `open`; `withheld` if the gate withholds labels"""
    witnesses: list[_Explanation]
    """explanations that contradict each other, or support the label"""
    excluded: _Explanation | None
    """for labels that hold for all that is possible: the rejected explanation of smallest margin that would change the
    label, or the group of a GROUP, if it were possible
    """
    set: _Set | None
    """what remains of the field, below; null if explanations say nothing of it"""


_Sides = Annotated[
    Annotated[list[int], NONE] | Annotated[list[int], TWO],
    in_words("two whole numbers or none"),
]
_Claim = TypedDict("_Claim", {
    "claim": str, "value": Literal["true", "false", "open", "unknown", "withheld", "empty"], "witnesses": _Sides,
})  # fmt: skip


class _Outcome(TypedDict):
    """How the run ended."""

    status: Literal["REPORT", "EMPTY", "ABSTAIN", "WITHHELD"]
    """REPORT, EMPTY, ABSTAIN or WITHHELD"""
    ending: Literal["CERTIFIED", "NO_SURVIVOR", "BUDGET", "NOTHING_LEFT", "STOPPED"]
    """CERTIFIED, NO_SURVIVOR, BUDGET, NOTHING_LEFT or STOPPED"""
    is_certified: bool
    """whether every label has its certificate"""
    queries: int
    """how many explanations were asked about"""
    budget: int
    """how many could have been"""
    witnessed: int
    """how many are admissible"""
    possible: int
    """how many were not rejected"""
    indeterminate: int
    """how many verdicts are undecided"""


_Stream = TypedDict("_Stream", {
    "name": str, "rows": int, "width": int, "fraction": Real, "proposal_rows": Hash, "checkpoints": list[int],
    "law": dict[str, Any], "numerator": dict[str, Any],
})  # fmt: skip
_Judge = TypedDict("_Judge", {"judge": str, "assumes": str})  # and what it fixed beforehand
_Resolution = TypedDict("_Resolution", {"energy": Real, "width": Real, "channel": Real, "assumed": str})  # keV
_Window = TypedDict("_Window", {
    "ends": list[_Ends], "unit": str, "without_lines": list[str], "resolution": NotRequired[_Resolution],
})  # fmt: skip


class _Protocol(TypedDict):
    """The protocol, frozen before held-out rows were read."""

    bank: Hash | None
    """hash of the bank, or null"""
    size: int
    """number of explanations"""
    question: dict[str, Any]
    """its description"""
    level: Real
    """level of the judge"""
    judge: _Judge
    """its kind as `judge`, what it `assumes` in words, and all that it fixed beforehand. `noise` if rows are tested
    against a stated noise: true for rotations, the share of the level for evidence
    """
    seed: int
    """seed of splits and draws"""
    streams: list[_Stream]
    """rows, law, split and numerator of each stream, below"""
    proposals: list[int]
    """explanations, best first"""
    plausibility: Hash | None
    """hash of the scores of proposal rows, or null"""
    policy: dict[str, Any]
    """its description"""
    budget: int
    """largest number of queries"""
    until_witnessed: bool
    """whether a run goes on until an explanation is witnessed"""
    stop: Literal["label", "set"]
    """`label` ends the run with the certificates; `set` then asks about all that they leave possible"""
    cover: NotRequired[CoverForm]
    """with a [cover](covers.md): `asked`, the level that holds anywhere in its boxes, while `level` is that of the
    judge; `eta`, `kappa`, `is_shift`, `snr`, `active`, `unit_kappa` (kappa of a move of 1), `move` (the largest within
    a cell), `tangents`, `coordinates`, `unit`, `regions` (`low`, `high`, `cells`, `half`, `slopes`, `bends` of each),
    `parameters` with `parameter_cells` and `parameter_half`, `fixed`, `response` (null if nobody else could run it),
    `bounds` (`proven` or `given`), `axis`, and `ranges` of strengths and noise (`region`, null for the noise, `low`,
    `high`, `cells`, `size`, `is_shift`, and `most`, elements that have it at once)
    """
    window: NotRequired[_Window]
    """with a [window](project-file.md#windows): `ends` of the parts of the axis, their `unit`, and `without_lines`,
    elements that have no line there; of nuclides and symbols the `resolution`: the full `width` of a line at half
    maximum at `energy`, the width of a `channel` (keV), and the detector `assumed`, empty if one was stated
    """
    at_errors: NotRequired[Literal[False]]
    """false if there are no answers at other errors of the responses"""


_Edge = TypedDict("_Edge", {"of": str, "value": Real, "end": Literal["lowest", "highest"]})
_Streams = TypedDict("_Streams", {"stream": str, "kept": int, "nearest": int, "says": _Says})
_Contradiction = TypedDict("_Contradiction", {"streams": list[_Streams], "common": int})

# The facts that words are made of; a judge of one's own may say more, and so may a finding.
_Probability = Annotated[Real, Field(ge=0.0, le=1.0)]
_Finding = TypedDict("_Finding", {"part": str, "place": str, "p": _Probability})
_Strengths = TypedDict("_Strengths", {"part": str, "place": str, "p": _Probability, "is_off": bool})
_Unlisted = TypedDict("_Unlisted", {"p": _Probability, "smallest_p": _Probability, "is_excluded": bool})
_Noise = TypedDict("_Noise", {"signal": Real, "replicates": Real, "stated": list[Real] | None})
_Left = TypedDict("_Left", {"name": str, "box": list[Real], "left": list[Real] | None})
_Cell = TypedDict("_Cell", {"name": str, "low": list[Real], "high": list[Real]})
_Run = TypedDict("_Run", {"low": list[Real], "high": list[Real], "most_atoms": int, "cells": list[_Cell]})
_ReadAs = TypedDict("_ReadAs", {"atom": int, "place": str, "at": list[Real], "degrees": Real})
_Learnt = TypedDict("_Learnt", {
    "n_rows": int, "rows": Hash, "n_atoms": int, "level": Real, "unit": str, "learnt_on": str,
    "noise_at_most": Real | None, "weakest": Real, "is_resolved": bool, "rows_needed": int | None, "scale": Real,
    "information": Real, "left": list[_Run], "read_as": Annotated[list[_ReadAs], Field(min_length=1)],
})  # fmt: skip


class _Facts(TypedDict):
    """The facts of a judge about the answer as a whole; a user's judge may add more."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    is_withheld: bool
    """true if no field has a label"""
    best: NotRequired[int]
    """the best-fitting explanation"""
    is_best_rejected: NotRequired[bool]
    """whether the gate rejects it at its `level`"""
    level: NotRequired[_Probability]
    """level of the gate"""
    findings: NotRequired[list[_Finding]]
    """what its parts found, with place and p-value. The part `noise` tests the stated noise: `ratio`, the variance of
    the rows over it, and an exact two-sided `p`
    """
    whiteness: NotRequired[_Finding | None]
    """the noise test of the best residual; null if rows allow none"""
    strengths: NotRequired[_Strengths | None]
    """simulation: whether rows are as strong as the remaining explanations predict (`is_off` if p is at most the
    level); null if no law predicts
    """
    zero_rows: NotRequired[int]
    """number of rows that are 0 in all channels"""
    units: NotRequired[dict[str, Any]]
    """replicates: units of every element"""
    smallest_p: NotRequired[dict[str, _Probability]]
    """replicates: the smallest p-value that an element could have"""
    p: NotRequired[dict[str, _Probability]]
    """replicates: its p-value"""
    cannot_exclude: NotRequired[list[str]]
    """elements that no signal could exclude"""
    is_complete: NotRequired[bool]
    """if false nothing is FINE, and no claim is true"""
    unlisted: NotRequired[_Unlisted]
    """replicates: p-value of something that is not in the library, and whether it `is_excluded`"""
    calibration: NotRequired[_Learnt]
    """what the rows leave of a [learnt dictionary](learnt.md)"""
    failure: NotRequired[str]
    """why a judge could not decide"""
    assumes: NotRequired[str]
    """what its answer assumes"""
    replicate_noise: NotRequired[_Noise]
    """measured and stated deviations of the noise of signal and replicates"""
    parameters: NotRequired[list[_Left]]
    """what is left of each parameter that lies anywhere in a range"""
    asked: NotRequired[int]
    """how many explanations were asked about"""


for _form in (_Judge, _Unlisted, _Noise, _Left, _Cell, _Run, _ReadAs, _Learnt):
    _extra: Literal["allow", "forbid"] = "allow" if _form is _Judge else "forbid"
    _form.__pydantic_config__ = ConfigDict(strict=True, extra=_extra)  # type: ignore[union-attr]


def _complete(facts: _Facts) -> _Facts:
    """Return the facts; raise if one lacks another that it requires."""
    ranked = {frozenset(facts[name]) for name in ("units", "smallest_p", "p") if name in facts}
    if len(ranked) > 1 or (facts.get("is_best_rejected") and not facts.get("findings")):
        raise ValueError
    return facts


_Gate = Annotated[
    _Facts, AfterValidator(_complete), in_words("facts of a judge, whether labels are withheld among them")
]
_Trace = TypedDict("_Trace", {"queries": Any, "codes": Any, "lower": Any, "upper": Any})


class _Digests(TypedDict):
    """Hashes."""

    bank: Hash | None
    """of the bank"""
    question: Hash
    """of `protocol.question`"""
    protocol: Hash
    """of the protocol"""
    data: Hash
    """of `data`"""
    chain: Hash
    """the last of the chain of queries, below"""
    document: Hash
    """of all the rest"""


_Statement = TypedDict("_Statement", {
    "field": str, "label": _Label, "cell": list[str], "group": str | None, "numbers": dict[str, Real],
    "certificate": Literal["universal", "witnesses", "open", "withheld"], "witnesses": list[int],
})  # fmt: skip


class _Step(TypedDict):
    """A step of the staircase."""

    least: Real
    """the least error at which its answers were computed"""
    most: Real
    """the largest one"""
    fields: list[_Statement]
    """label, cell, group, numbers, certificate and witnesses of every field"""
    claims: dict[str, str]
    """the value of every claim"""


_Scale = Literal["peak", "value", "angle", "noise", "stated"]


class _Staircase(TypedDict):
    """The answers as a function of the error of the responses."""

    scale: _Scale
    """unit of the errors: `peak`, the largest value of a response; `value`, its value in each channel; `angle`, the
    sine of an angle; `noise`, the [ratio](evidence.md#noise-that-is-neither-white-nor-known) of noise of any
    covariance; `stated`, the errors that the law states
    """
    error: NotRequired[Real]
    """the stated error, at which the report gives its answers"""
    steps: list[_Step]
    """from small errors to large ones: `least` and `most` error, and the `fields` and `claims` there"""


_Cause = TypedDict("_Cause", {"cause": str, "place": str, "value": Real | None, "share": _Probability})
_Diagnosis = TypedDict("_Diagnosis", {
    "is_all": bool, "scale": Literal["peak", "angle"], "error": Real | None, "causes": list[_Cause],
})  # fmt: skip
_Where = TypedDict("_Where", {"unit": str, "intervals": list[list[Real]], "cells": NotRequired[dict[str, list[Real]]]})
_End = Real | Literal["inf", "-inf"] | None
_Amount = TypedDict("_Amount", {
    "element": str, "field": str, "ends": Annotated[list[_End], TWO, in_words("two ends of an amount")],
    "is_certain": bool,
})  # fmt: skip
_Amounts = TypedDict("_Amounts", {
    "kind": Literal["", "counts", "coefficients", "strengths"],
    "reason": Literal[
        "", "judge", "share", "many", "columns", "streams", "rows", "complex", "noise", "error", "mix", "recorded",
        "cover", "withheld",
    ],
    "elements": list[_Amount],
})  # fmt: skip


class Document(TypedDict):
    """A report."""

    format: str
    """`"physupport report"`"""
    version: int
    """`4`"""
    program: _Program
    """versions of `physupport`, `numpy`, `python`; no claim depends on them"""
    fields: list[_Field]
    """one entry for each field, below"""
    claims: list[_Claim]
    """for each claim its name (`claim`), its `value` (true, false, open, unknown, withheld, or empty), and for an open
    one as `witnesses` the first admissible explanation that supports it and the first that does not
    """
    outcome: _Outcome
    """how the run ended, below"""
    gate: _Gate | None
    """findings of the judge on the answer as a whole, below, or null"""
    contradiction: NotRequired[_Contradiction]
    """for streams with no common explanation: for each `stream` how many explanations it keeps alone, the `nearest` of
    them, which the others reject least, and what it `says`; how many are in `common` to all
    """
    edges: list[_Edge]
    """kept explanations at an end of a grid: `of` what, the `value`, and which `end`"""
    complete: NotRequired[list[_Statement]]
    """the answers if nothing unlisted is there"""
    amounts: NotRequired[_Amounts]
    """[how much](amounts.md) is possible. `kind` is `counts`, `coefficients` or `strengths`; `reason` says why there
    are none. `elements` have the `element`, its `field`, the `ends` of the amount if it is there (null if every amount
    is rejected), and `is_certain`
    """
    unlisted: NotRequired[_Where]
    """the place of something unlisted, if that is certain: `intervals`, their `unit`, and `cells` with both ends of
    every element of the region. For counts it has a part in each interval; else it lies in one
    """
    staircase: NotRequired[_Staircase]
    """answers as a function of the [error of the responses](width.md#the-answer-at-every-error), below"""
    diagnosis: NotRequired[_Diagnosis]
    """[what would have to be true](diagnosis.md): up to three `causes`, each with its name, `place`, `value` and the
    `share` of the misfit that it explains; `error`, the smallest error at which something fits, on its `scale`;
    `is_all`, whether all rows were searched. It has no guarantee; `verify` compares it to within 0.01
    """
    protocol: _Protocol
    """what was frozen, below"""
    data: dict[str, Hash]
    """stream -> hash of its held-out rows in their order"""
    trace: _Trace
    """`queries` and `codes` (arrays; 0 ADMISSIBLE, 1 REJECTED, 2 INDETERMINATE), `lower` and `upper` (lists of bounds,
    or an array)
    """
    question: dict[str, Any]
    """what the question's description gives only as hashes, below"""
    bank: dict[str, Any] | None
    """the bank, below, or null"""
    digests: _Digests
    """hashes, below"""

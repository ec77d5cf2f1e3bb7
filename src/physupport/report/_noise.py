"""What is known of the noise, and what rows say of it, in sentences."""

from ._phrases import Entry, gate_of, plain, probability, sentence_of

UNFIT = "not even the best explanation in the bank fits these data"

# Where there is noise alone, whatever explanation is true.
_SCATTER = "the scatter of the rows"


def refuted_noise(gate: Entry) -> Entry | None:
    """The finding by which rows refute the noise that is stated, where the gate says so."""
    is_rejected = gate.get("is_best_rejected", False)
    refuting = [each for each in gate.get("findings", ()) if each["part"] == "noise" and each["p"] <= gate["level"]]
    return min(refuting, key=lambda each: each["p"]) if is_rejected and refuting else None


def withheld_by_noise(document: Entry) -> Entry | None:
    """The same finding where it, and no misfit of the best explanation, is why no label is given."""
    gate = gate_of(document)
    noise, others = refuted_noise(gate), [each for each in gate.get("findings", ()) if each["part"] != "noise"]
    # Where an explanation enters, a misfit that stands out along something is the nearer reason.
    is_nearer = noise and not is_of_scatter(noise) and any(each["p"] <= gate["level"] for each in others)
    return None if is_nearer else noise


def why_withheld(document: Entry, *, is_best: str) -> str:
    """Why no label is given: what the rows refute, or that of the best explanation which is_best says."""
    noise = withheld_by_noise(document)
    return f"the rows refute {refuted_premises(noise)}" if noise else is_best


def withheld_in_short(document: Entry) -> str:
    """The same in a few words; empty where labels are given, or nothing survives."""
    if document["outcome"]["status"] != "WITHHELD":
        return ""
    return "the stated noise is refuted" if withheld_by_noise(document) else "the best fit is rejected"


def is_of_scatter(finding: Entry) -> bool:
    """Whether no explanation enters: whatever mean the rows share, their scatter is the noise."""
    return bool(finding["place"] == _SCATTER)


def refuted_premises(finding: Entry) -> str:
    """What cannot all be true: less energy than that of the noise has no other reason, more of it may have one."""
    if float(finding.get("ratio", 1.0)) < 1.0:
        return "the noise that is stated"
    other = "they share one mean" if is_of_scatter(finding) else "the bank has all that is there"
    return f"the noise that is stated, or that {other}"


def refuted_sentence(finding: Entry) -> str:
    """How far off the stated noise is, and what that may come from."""
    ratio = float(finding.get("ratio", 1.0))
    times = f"{ratio:.3g} times" if "ratio" in finding else "not"
    said = (
        f" {sentence_of(plain(str(finding['place']))).removesuffix('.')} has {times} the variance of the noise that is "
        f"stated ({probability(finding['p'])}):"
    )
    if ratio < 1.0:
        return f"{said} it is stated too large, or the rows were scaled, averaged or smoothed."
    beside = "the rows do not share one mean" if is_of_scatter(finding) else _OUTSIDE
    return f"{said} it is stated too small, or {beside}."


_OUTSIDE = "something is there that the bank does not have"


def strength_sentence(document: Entry) -> str:
    """Whether rows are as strong as what is left says; empty where nobody looked, or nothing is left."""
    gate = gate_of(document)
    looked = gate.get("strengths")
    if not looked or document["outcome"]["status"] == "EMPTY":
        return ""
    if not is_off(gate):
        return f" The rows are as strong as something that is left says ({probability(looked['p'])}{told_at(gate)})."
    how = f"{plain(str(looked['place']))} along one of its elements"
    return f" But the rows are {how} ({probability(looked['p'])}): {_OFF}."


# What a strength is compared with contains the noise.
_OFF = "its strengths, the noise, or that anything is there, may not be right"


def strengths_beside(document: Entry) -> str:
    """Weaker or stronger, where it is said that rows are this along an element of what is left; empty elsewhere."""
    gate = gate_of(document)
    is_said = is_off(gate) and document["outcome"]["status"] != "EMPTY"
    return str(gate["strengths"]["place"]).partition(" ")[0] if is_said else ""


def is_off(gate: Entry) -> bool:
    """Whether rows are said not to have the strengths of what is left."""
    looked = gate.get("strengths")
    # Reports of before version 3 do not say it themselves.
    return bool(looked and looked.get("is_off", looked["p"] <= gate["level"]))


def agreed_sentence(gate: Entry) -> str:
    """That nothing speaks against the noise, of a gate that looks at nothing else."""
    finding = min(gate["findings"], key=lambda each: each["p"])
    return (
        f" The noise that is stated agrees with {plain(str(finding['place']))} "
        f"({probability(finding['p'])}{told_at(gate)})."
    )


def told_at(gate: Entry) -> str:
    """What p-values of a gate are compared with."""
    return f", told at {gate['level']:.2g} or below" if "level" in gate else ""


def _untested(document: Entry) -> str:
    """A remark where the noise was to be tested and the rows leave nothing to test it by; empty elsewhere."""
    judge, findings = document["protocol"].get("judge") or {}, gate_of(document).get("findings")
    # Replicates have noise of another meaning, and no findings.
    if findings is None or not judge.get("noise") or any(finding["part"] == "noise" for finding in findings):
        return ""
    return " Whether the noise is the one that is stated these rows cannot tell: it is taken as it stands."


def estimate_sentence(document: Entry) -> str:
    """What the level is worth where the covariance of the noise is not known but estimated; empty elsewhere."""
    if not is_estimated(document["protocol"]):
        return ""
    return (
        " The covariance of the noise is estimated from rows without a signal: the level holds approximately, the "
        "better the more of these there are."
    )


def is_estimated(protocol: Entry) -> bool:
    """Whether the covariance of the noise of a stream comes from rows."""
    return any(stream["law"].get("is_estimated") for stream in protocol["streams"])


def noise_sentence(document: Entry) -> str:
    """Whether the noise looks white, and whether rows were measured at all; empty where nobody looked."""
    gate = gate_of(document)
    looked, zeros = gate.get("whiteness"), gate.get("zero_rows", 0)
    said = _untested(document)
    if zeros:
        said += f" {'1 row is' if zeros == 1 else f'{zeros} rows are'} 0 in all channels: was anything measured?"
    if not looked:
        return said
    where = f"{_NOISES.get(looked['part'], '')}{plain(str(looked['place']))}, {probability(looked['p'])}"
    if looked["p"] <= (gate.get("level") or document["protocol"]["level"]):
        return f"{said} The noise does not look white ({where}): what is said rests on noise that is."
    return f"{said} The noise looks white ({where})."


_NOISES = {"lags": "largest autocorrelation at "}

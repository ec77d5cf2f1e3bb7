"""The sentences about what a report rests on, and about what it leaves: noise, covers, widths, open queries."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

import numpy as np

from .._codec import real
from ..laws import LAWS
from ._words import Entry, count_of_queries, cut, gate_of, listed, plain, probability, sentence_of


def promised_level(protocol: Entry) -> float:
    """The probability with which the truth may be lost: where there is a cover, wherever in its boxes it lies."""
    return float(protocol["cover"]["asked"] if "cover" in protocol else protocol["level"])


def where_truth_is(protocol: Entry, *, is_there: bool = True) -> str:
    """The condition of a promise; is_there: False for the opposite."""
    if "cover" not in protocol:
        return f"the true explanation is {'' if is_there else 'not '}among those considered"
    cover = protocol["cover"]
    whole = "boxes and ranges of the cover" if "ranges" in cover else "boxes of the cover"
    ratio = f"signal-to-noise ratio of {'at most ' if is_there else ''}{cover['snr']:g}"
    if is_there:
        return f"the truth lies in the {whole}, at a {ratio}, and is otherwise among the explanations considered"
    others = "differs in some other setting from every explanation considered"
    return f"the truth is not in the {whole}, is above its {ratio}, or {others},"


def grid_end(protocol: Entry, edge: Entry) -> float:
    """Where a grid ends that is touched: of cells the end of what they fill, which is half a cell beyond the last."""
    cover = protocol.get("cover", {})
    # Only regions along a line have edges.
    filled = {f"region {part['region']}": (part["low"][0], part["high"][0]) for part in cover.get("regions", ())}
    for part in cover.get("parameters", ()):
        number = f" {part['coordinate']}" if part["coordinate"] else ""
        filled[part["called"] or f"{part['kind']}{number}"] = part["values"]
    for part in cover.get("ranges", ()):
        of = "deployment noise" if part["region"] is None else f"strengths of region {part['region']}"
        filled[of] = part["low"], part["high"]
    low, high = filled.get(edge["of"], (edge["value"], edge["value"]))
    return float(low if edge["end"] == "lowest" else high)


def detector_sentences(protocol: Entry) -> tuple[str, ...]:
    """The detector that is assumed where none was told, and a warning where channels are wider than its lines."""
    facts = protocol.get("window", {}).get("resolution")
    if facts is None:
        return ()
    wide = f"lines {facts['width']:.3g} keV wide at {facts['energy']:g} keV"
    said = [f"Assumed: a detector of {facts['assumed']}, with {wide}."] if facts["assumed"] else []
    if facts["channel"] > facts["width"]:
        remedy = 'state the resolution of the detector, such as detector="NaI" in Python'
        said.append(f"Channels are {facts['channel']:.3g} keV wide, wider than {wide}: {remedy}.")
    return tuple(said)


def window_sentence(protocol: Entry) -> str:
    """The window of channels that were used, and the elements without a line in it; empty if all were used."""
    if "window" not in protocol:
        return ""
    window = protocol["window"]
    ends = " and ".join(f"{low:g} to {high:g}" for low, high in window["ends"])
    words = f"{ends} {window['unit']}".rstrip()
    hidden = window["without_lines"]
    if not hidden:
        return f" Only channels from {words} were used."
    names = " or ".join(filter(None, (", ".join(hidden[:-1]), hidden[-1])))
    about = "it" if len(hidden) == 1 else "them"
    return (
        f" Only channels from {words} were used. No line of {names} lies in the window: the report makes no statement "
        f"about {about}."
    )


def cover_sentence(protocol: Entry) -> str:
    """The boxes that the cells fill, and the level at which the judge ran; empty without a cover."""
    if "cover" not in protocol:
        return ""
    cover = protocol["cover"]
    parts = []
    for region in cover["regions"]:
        box = [*zip(region["low"], region["high"], strict=True)]
        parts.append(f"{plain(region['region'])}: {box_words(protocol, box)}")
    for part in cover["parameters"]:
        low, high = part["values"]
        parts.append(f"{plain(part['called'] or part['kind'])} {low:g} to {high:g}")
    for part in cover.get("ranges", ()):
        what = "noise" if part["region"] is None else f"strength of {plain(part['region'])}"
        # All elements of a region that are active at once share one strength.
        shared = ", the same of all elements there" if part["most"] > 1 else ""
        parts.append(f"{what} {part['low']:g} to {part['high']:g}{shared}")
    proof = "" if cover["bounds"] == "proven" else " The bounds of the responses were given and are not proven here."
    law = f"eta {cover['eta']:.3g}" if cover["is_shift"] else f"kappa {cover['kappa']:.3g}"
    law += " of places alone" if "ranges" in cover else ""
    return (
        f" Elements are cells that fill the boxes ({'; '.join(parts)}). The level alpha = {cover['asked']!r} holds "
        f"anywhere in the boxes, because the judge ran at {protocol['level']:.4g} ({law}).{proof}"
    )


_MOST_PARTS = 3


def cells_words(protocol: Entry, entry: Entry, cells: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[str, str]:
    """Describe where the possible cells of a field lie, with their number; and the box around them as an ending.

    On a line, a few intervals are listed one by one.  cells: from `cells_of`.  Both are empty if elements are no cells.
    """
    box = (entry["set"] or {}).get("box")
    names = entry["cell"]
    if box is None or "cover" not in protocol or not names:
        return "", ""
    parts = [box]
    if len(box) == 1 and all(name in cells for name in names):
        parts = []
        for low, high in sorted(cells[name][0] for name in names):
            if parts and low - parts[-1][0][1] < 1e-6 * (high - low):  # cells of one grid meet but for rounding
                parts[-1] = [(parts[-1][0][0], high)]
            else:
                parts.append([(low, high)])
    gaps = f", with {len(parts) - 1} gaps" if len(parts) > _MOST_PARTS else ""
    said = " or ".join(box_words(protocol, part) for part in ([box] if gaps else parts)) + gaps
    if len(names) == 1:
        return said, ""
    return f"{said} ({len(names)} cells)", f", all within {box_words(protocol, box)}"


def box_words(protocol: Entry, box: Sequence[Sequence[float]]) -> str:
    """Ends of coordinates with their names and unit."""
    cover = protocol["cover"]
    unit = f" {cover['unit']}" if cover["unit"] else ""
    ends = zip(cover["coordinates"], box, strict=True)
    return ", ".join(f"{plain(name)} {low:.6g} to {high:.6g}{unit}" for name, (low, high) in ends)


UNFIT = "not even the best explanation considered fits these data"

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
    noise = refuted_noise(gate)
    if noise is None or noise["place"] == _SCATTER:
        return noise
    # Where an explanation enters, a misfit that stands out along something is the nearer reason.
    is_nearer = any(each["p"] <= gate["level"] for each in gate["findings"] if each["part"] != "noise")
    return None if is_nearer else noise


def why_withheld(document: Entry) -> str:
    """State which premise the rows refute, so that no label is given; empty if the best explanation is rejected."""
    noise = withheld_by_noise(document)
    return rests_on_stuck(document) or (f"the rows refute {refuted_premises(noise)}" if noise else "")


def withheld_in_short(document: Entry) -> str:
    """The same in a few words; empty where labels are given, or nothing survives."""
    if document["outcome"]["status"] != "WITHHELD":
        return ""
    if rests_on_stuck(document):
        return "too few replicates"
    return "the stated noise is refuted" if withheld_by_noise(document) else "the best fit is rejected"


def is_of_scatter(finding: Entry) -> bool:
    """True if no explanation enters: whatever mean the rows share, their scatter is the noise."""
    return bool(finding["place"] == _SCATTER)


def refuted_premises(finding: Entry) -> str:
    """The premises that cannot all be true: too little energy refutes the noise alone."""
    if float(finding.get("ratio", 1.0)) < 1.0:
        return "the stated noise"
    other = "they share one mean" if is_of_scatter(finding) else "the bank contains everything that is present"
    return f"the stated noise, or the assumption that {other}"


def refuted_sentence(finding: Entry) -> str:
    """State the error of the stated noise and its possible reasons."""
    ratio = float(finding.get("ratio", 1.0))
    times = f"{ratio:.3g} times" if "ratio" in finding else "not"
    beside = "the rows do not share one mean" if is_of_scatter(finding) else _OUTSIDE
    why = f"it is stated too small, or {beside}."
    if ratio < 1.0:
        why = "it is stated too large, or the rows were scaled, averaged or smoothed."
    return (
        f" {sentence_of(plain(str(finding['place']))).removesuffix('.')} has {times} the variance of the stated "
        f"noise ({probability(finding['p'])}): {why}"
    )


_OUTSIDE = "something is present that the bank does not contain"


def strength_sentence(document: Entry) -> str:
    """The test of the strengths of what is left; empty if there was no test, or nothing is left."""
    gate = gate_of(document)
    looked = gate.get("strengths")
    if not looked or document["outcome"]["status"] == "EMPTY":
        return ""
    p = probability(looked["p"])
    if not looked["is_off"]:
        return f" The strength of the rows agrees with a remaining explanation ({p}{threshold_words(gate)})."
    # What a strength is compared with contains the noise.
    why = "its strength, its presence or the noise may be wrong"
    return f" But along one of its elements, the rows are {plain(str(looked['place']))} ({p}): {why}."


def strengths_beside(document: Entry) -> str:
    """Weaker or stronger, where it is said that rows are this along an element of what is left; empty elsewhere."""
    looked = gate_of(document).get("strengths") or {"is_off": False}
    is_said = looked["is_off"] and document["outcome"]["status"] != "EMPTY"
    return str(looked["place"]).partition(" ")[0] if is_said else ""


def threshold_words(gate: Entry) -> str:
    """The threshold for the p-values of a gate, to follow one of them."""
    return f", threshold {gate['level']:.2g}" if "level" in gate else ""


# What each kind of noise assumes, as `NoiseShape` has them.
_SHAPES = {
    "low rank": "assumed to be white, plus at most {rank} components of any shape and strength",
    "diagonal": "assumed to be independent between channels, with a variance of its own in each{most}",
    "ar": "assumed to be correlated along the axis, as an autoregression of order 1 with any correlation "
    "from {between[0]:g} to {between[1]:g}",
    "any": (
        "not assumed to be white. Its covariance and the errors of the responses may be any, within one bound: the "
        "variance in any direction beside the active responses is at most {ratio:g} times the least conditional "
        "variance along these responses, given everything beside them"
    ),
}


def noise_sentences(document: Entry) -> str:
    """State how the noise is known, whether rows are zero in all channels, and if the noise looks white."""
    gate = gate_of(document)
    protocol = document["protocol"]
    said = ""
    freedoms = [*filter(None, (stream["law"].get("covariance_freedom") for stream in protocol["streams"]))]
    if freedoms:
        said = (
            f" The covariance of the noise is estimated from rows without a signal ({freedoms[0]} degrees of freedom). "
            f"These rows are assumed to have the same noise; the level accounts for the errors of the estimate."
        )
    for stream in protocol["streams"]:
        shape = stream["law"].get("noise_shape")
        if shape is not None:
            most = f", the largest at most {shape['ratio']:g} times the least" if "ratio" in shape else ""
            said += f" The noise is {_SHAPES[shape['kind']].format(**shape, most=most)}."
    # Replicates have noise of another meaning, and no findings.
    parts = [finding["part"] for finding in gate.get("findings") or ()]
    if gate.get("findings") is not None and (protocol.get("judge") or {}).get("noise") and "noise" not in parts:
        said += " These rows cannot test the stated noise, which is assumed to be right."
    zeros = gate.get("zero_rows", 0)
    if zeros:
        said += (
            f" {'1 row is' if zeros == 1 else f'{zeros} rows are'} 0 in all channels: check that they were measured."
        )
    looked = gate.get("whiteness")
    if looked:
        opening = "largest autocorrelation at " if looked["part"] == "lags" else ""
        where = f"{opening}{plain(str(looked['place']))}, {probability(looked['p'])}"
        is_white = looked["p"] > (gate.get("level") or protocol["level"])
        said += (
            f" The noise looks white ({where})."
            if is_white
            else (f" The noise does not look white ({where}), but all statements here assume that it is.")
        )
    return said


def cell_sentence(document: Entry) -> str:
    """State what the data leave of parameters that may lie anywhere in a box; empty where there are none."""
    gate = gate_of(document)
    left = [
        f"{plain(each['name'])} from {each['left'][0]:.4g} to {each['left'][1]:.4g}"
        for each in gate.get("parameters", ())
        if each["left"]
    ]
    if not left:
        asked = gate.get("asked")
        return "" if asked is None else f" The search tested {asked} cells and points."
    return f" The data allow {listed(left)}. The search tested {gate['asked']} cells and points of the box."


def width_sentence(document: Entry) -> str:
    """The assumption about responses that have a width; empty where they are exact, or not used."""
    protocol = document["protocol"]
    if gate_of(document).get("assumes"):
        return ""  # replicates have a width of their own, and the judge says what it assumes
    laws = [stream["law"] for stream in protocol["streams"]]
    settings = [*_settings(document)]
    told = [*settings, *(part for law in laws for part in _mixed(law, "cover" in protocol, bool(settings)))]
    return f" Assumed about the responses: {'; '.join(told)}." if told else ""


def _settings(document: Entry) -> Iterator[str]:
    """Parameters and variants that make states; a cover tells of its own."""
    states = (document["bank"] or {}).get("states", {})
    if not {"names", "values"} <= {*states} or "cover" in document["protocol"]:
        return
    for name, column in zip(states["names"], real(states["values"], None, None).T, strict=True):
        values = {*column.tolist()}
        if name == "variant":
            yield f"one of {len(values)} variants is right, the same for all elements"
        elif len(values) > 1:
            yield f"{plain(name)} is one of {len(values)} values, {min(values):g} to {max(values):g}"


def _mixed(law: Entry, is_covered: bool, has_values: bool) -> Iterator[str]:
    """The shapes that a law leaves open; a cover describes its own tangents."""
    kind = LAWS.get(str(law.get("kind")))
    if "error" in law and kind is not None:
        yield f"each response differs from the listed one by at most {kind.error_words.format(_error(law['error']))}"
    ranges = law.get("ranges", {})
    if ranges and not is_covered:
        halves = real(ranges["halves"], None, None)
        sides = " x ".join(f"{half:.4g}" for half in halves.max(axis=0).tolist())
        if halves.any():
            yield f"each element lies anywhere in its cell, at most {sides} from its place, and no two in one"
    for parameter in (*law.get("family", {}).get("parameters", ()), *ranges.get("parameters", ())):
        low, high = min(parameter["values"]), max(parameter["values"])
        yield f"{plain(parameter['called'] or parameter['kind'])} lies anywhere from {low:g} to {high:g}"
    if "relative_error" in law:
        yield (
            f"each response differs from the listed one by at most {_error(law['relative_error'])} of its value "
            "in any channel"
        )
    if "counted" in law:
        least, most = min(law["counted"]), max(law["counted"])
        yield f"each response is itself a record of {least:.3g} to {most:.3g} counts, whose noise is allowed for"
    if "unlisted" in law:
        shape = law["unlisted"].get("shape", (0, 0))
        count = int(shape[-1])
        mix = f"is a nonnegative mixture of {count} generic responses"
        if len(shape) > 2:
            columns = f", each a mixture of {1 + int(shape[0])} columns" if shape[0] else ""
            mix = f"has one of {count} generic responses{columns}"
        yield f"something unlisted, if present, {mix}"
    if "half_steps" in law:
        if not is_covered:
            steps = " and ".join(f"{step:g}" for step in law["half_steps"])
            between = f"they may lie between these values, at most {steps} from one, where responses are nearly linear"
            width = (
                f"each response differs from the listed one by at most {steps} of its width, such as by interpolation"
            )
            yield between if has_values else width
    elif law.get("is_between"):
        count = 1 + int(law["variants"].get("shape", (0,))[0])
        yield (
            f"each response lies, in every channel, between the smallest and the largest of {count} variants of "
            "its element"
        )
    elif "variants" in law:
        count = 1 + int(law["variants"].get("shape", (0,))[0])
        # Amounts are never negative.
        is_cone = law.get("is_cone") or (kind is not None and kind.is_counted)
        parts = "nonnegative coefficients" if is_cone else "coefficients of either sign"
        yield f"each response is a mixture of the {count} variants of its element, with {parts}"


def _error(error: float | Entry) -> str:
    """Write one error as a number; describe errors of single elements or channels in words."""
    return f"{error:g}" if isinstance(error, float) else "an error of its own, as a share"


UNLISTED = "something that is not in the library"


def besides(document: Entry) -> str:
    """Everything else that may be there: elements that no signal could exclude, and unlisted ones; empty if none."""
    gate = gate_of(document)
    stuck = gate.get("cannot_exclude", ())
    parts = [f"{listed(stuck)} (cannot be excluded: too few replicates)"] if stuck else []
    is_open = not gate.get("unlisted", {"is_excluded": True})["is_excluded"]
    return " or ".join(parts + [UNLISTED] * is_open)


def rests_on_stuck(document: Entry) -> str:
    """State why no label is given if only elements remain that nothing could exclude; empty elsewhere."""
    gate = gate_of(document)
    if not gate.get("is_withheld") or not gate.get("cannot_exclude"):
        return ""
    return f"nothing remains but {listed(gate['cannot_exclude'])}, which no signal could exclude: too few replicates"


def stuck_sentence(document: Entry) -> str:
    """State how many units those elements have, and how many they need."""
    gate = gate_of(document)
    level = document["protocol"]["level"]
    if not gate.get("cannot_exclude"):
        return ""
    share = float(document["protocol"]["judge"].get("share", 0.0))
    # Of two elements there are the units of each.
    counts = {name: np.atleast_1d(units).tolist() for name, units in gate["units"].items()}
    told = [f"{plain(name)} ({' and '.join(map(str, counts[name]))})" for name in gate["cannot_exclude"]]
    needed = ceil(1.0 / (level * max(share, 1.0 - share)) - 1.0 - 1e-9)
    return (
        f" No signal can exclude {cut(told)}: each has too few replicate units (in brackets), and this level needs "
        f"{needed} or more."
    )


def unlisted_sentence(document: Entry) -> str:
    """The verdict on something that is not in the library, and the number of groups that could exclude it."""
    level = document["protocol"]["level"]
    found = gate_of(document).get("unlisted")
    if not found:
        return ""
    said = f" {sentence_of(UNLISTED)}"
    p = probability(found["p"])
    if found["is_excluded"]:
        return f"{said} is excluded ({p}), if its group is exchangeable with those of the library."
    if found["smallest_p"] > level:
        needed = ceil(2.0 / level - 1.0 - 1e-9)
        needs = f"{needed} groups, and one element in each explanation"
        return f"{said} cannot be excluded: at this level a test of it requires {needs}."
    return f"{said} is not excluded ({p}, threshold {level:g})."


# So many times the deviation of the replicates, with what is stated, a signal may have without a remark.
_MUCH = 1.5


def replicate_noise_sentence(document: Entry) -> str:
    """The noise that was added to replicates before they were ranked, and whether a stated one is too small."""
    noise = gate_of(document).get("replicate_noise")
    if not noise:
        return ""
    signal = float(noise["signal"])
    own = float(noise["replicates"])
    found = (
        f"the noise along the channels has standard deviation {signal:.3g} in the signal and {own:.3g} in the median "
        f"replicate, scaled to the signal"
    )
    if noise["stated"] is None:
        added = "replicates with less noise received more" if signal > own else "replicates received little or no noise"
        return f" {sentence_of(found)}. Because replicate_noise is not stated, {added} before ranking."
    if signal > _MUCH * float((own**2 + max(noise["stated"]) ** 2) ** 0.5):
        return (
            f" But {found}. This is more than replicate_noise adds, so the true element may be excluded for its noise: "
            f"leave replicate_noise out, or write replicate_noise = {signal:.3g}."
        )
    return ""


def left_sentences(outcome: Entry) -> str:
    """The explanations that a certified report leaves without a verdict, and verdicts that are indeterminate."""
    said = ""
    count = outcome["possible"] - outcome["witnessed"] - outcome["indeterminate"]
    if count:
        who = "1 explanation was" if count == 1 else f"{count} explanations were"
        spent = f"the budget of {count_of_queries(outcome['budget'])} is spent"
        reasons = {"BUDGET": spent, "STOPPED": "the run was stopped"}
        why = reasons.get(outcome["ending"], "the run was set to stop once all labels were settled")
        said = f" {who} not tested, because {why}."
    count = outcome["indeterminate"]
    if count:
        who, what = (
            ("1 verdict is", "its explanation") if count == 1 else (f"{count} verdicts are", "their explanations")
        )
        said += f" {who} INDETERMINATE, so {what} cannot be excluded."
    return said


def why_open(outcome: Entry) -> str:
    """State why the report certifies no more, and what would change that."""
    is_unconfirmed = outcome["is_certified"] and not outcome["witnessed"]
    if is_exhausted(outcome):
        return _why_exhausted(outcome, is_unconfirmed)
    if is_unconfirmed:
        return (
            "no explanation has yet been confirmed; raise the budget to find out whether one will be. The "
            "statements hold for every explanation that is still possible."
        )
    match outcome["ending"]:
        case "BUDGET":
            return (
                f"the budget of {count_of_queries(outcome['budget'])} is spent. A larger budget may settle what "
                "is open, "
                f"if the data allow a label that was asked for."
            )
        case "STOPPED":
            return "the run was stopped. Continue it to settle what is open."
    return (
        "the policy has no query left. If the data allow a requested label, another policy may settle "
        "what is open; if not, only more rows or a question that asks for less would."
    )


def _why_exhausted(outcome: Entry, is_unconfirmed: bool) -> str:
    """State why the report is open after every possible explanation was tested."""
    precision = "Arithmetic of higher precision may decide them; more queries would not."
    if is_unconfirmed:
        return (
            f"no explanation could be confirmed: every possible explanation was tested, with indeterminate verdicts. "
            f"The statements hold for every explanation that is still possible. {precision}"
        )
    if outcome["indeterminate"]:
        number = outcome["indeterminate"]
        return f"nothing is left to ask; verdicts that are indeterminate: {number}. {precision}"
    return (
        "every possible explanation was tested, and the remaining ones allow no requested label. More rows or a "
        "question that asks for less may change this; more queries would not."
    )


def is_exhausted(outcome: Entry) -> bool:
    """True if everything that is possible was asked about."""
    return bool(outcome["possible"] == outcome["witnessed"] + outcome["indeterminate"])

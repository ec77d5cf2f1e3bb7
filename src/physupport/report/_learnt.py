"""Sentences on what a calibration with a learnt dictionary leaves."""

from ._words import Entry, gate_of, listed, plain


def learnt_failure(document: Entry) -> str:
    """State why no dictionary of the library can have made the calibration rows; empty if one can."""
    return plain(str(gate_of(document).get("failure", "")))


def learnt_sentences(document: Entry) -> str:
    """Name the places that calibration leaves possible, the atoms read as points, and the effect of more rows."""
    facts = gate_of(document).get("calibration")
    if not facts:
        return ""
    unit = f" {plain(facts['unit'])}" if facts["unit"] else ""
    on = f" (learnt on {plain(facts['learnt_on'])})" if facts["learnt_on"] else ""
    points = listed([f"{plain(each['place'])}" for each in facts["read_as"]])
    angles = max(each["degrees"] for each in facts["read_as"])
    return (
        f" {_left(facts, unit)} Read as points, the learnt atoms{on} would be at {points}{unit}, up to an "
        f"angle of {angles:.2g} degrees from the nearest response; these points carry no guarantee. {_more(facts)}"
    )


def _left(facts: Entry, unit: str) -> str:
    rows = f"{facts['n_rows']:,} calibration rows"
    if not facts["is_resolved"]:
        return (
            f"The {rows} exclude no place: the weakest of the {facts['n_atoms']} atoms is not distinguishable "
            "from noise."
        )
    runs = listed([_run(each) for each in facts["left"]]) if facts["left"] else "no place"
    return f"The {rows} restrict the {facts['n_atoms']} atoms to {runs}{unit}."


def _run(left: Entry) -> str:
    ends = ", ".join(
        f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        for low, high in zip(left["low"], left["high"], strict=True)
    )
    return ends if left["most_atoms"] == 1 else f"{ends} (up to {left['most_atoms']} atoms)"


def _more(facts: Entry) -> str:
    """A sentence on what more calibration rows would do."""
    information = f"information N s^6 = {facts['information']:.2g}"
    scale = f"The two closest learnt atoms are s = {facts['scale']:.2g} apart ({information})"
    if facts["is_resolved"]:
        return f"{scale}; four times as many calibration rows would halve the intervals of the places."
    needed = facts["rows_needed"]
    if needed is None:
        return f"{scale}; no number of such rows would resolve so many atoms in these channels."
    return f"{scale}; about {needed:,} calibration rows would resolve them."

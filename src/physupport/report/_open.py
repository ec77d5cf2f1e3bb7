"""What queries left open, and why, in sentences."""

from ._phrases import Entry, count_of_queries


def unasked(outcome: Entry) -> str:
    """Of a certified report: what it leaves without a verdict."""
    count = outcome["possible"] - outcome["witnessed"] - outcome["indeterminate"]
    if not count:
        return ""
    who = "1 explanation was" if count == 1 else f"{count} explanations were"
    return f" {who} not asked about, because {_reason(outcome)}."


def _reason(outcome: Entry) -> str:
    match outcome["ending"]:
        case "BUDGET":
            return f"the budget of {count_of_queries(outcome['budget'])} is spent"
        case "STOPPED":
            return "the run was stopped"
    return "the run was to stop with the labels"


def undecided(outcome: Entry) -> str:
    """Verdicts that the arithmetic could not give: what they are about is kept."""
    count = outcome["indeterminate"]
    if not count:
        return ""
    who, it = ("1 verdict is", "it is") if count == 1 else (f"{count} verdicts are", "they are")
    return f" {who} INDETERMINATE, so what {it} about is kept."


def why_open(outcome: Entry) -> str:
    """Why there is no more, and what would change that."""
    if is_exhausted(outcome):
        return _why_exhausted(outcome)
    if outcome["is_certified"] and not outcome["witnessed"]:
        return (
            "no explanation has yet been confirmed; raise the budget to find out whether one will be. What is said "
            "holds for everything still possible."
        )
    match outcome["ending"]:
        case "BUDGET":
            return (
                f"the budget of {count_of_queries(outcome['budget'])} is spent. A larger one may settle what is open, "
                f"if the data allow a label that was asked for."
            )
        case "STOPPED":
            return "the run was stopped. Continue it to settle what is open."
    return (
        "the policy has nothing left to ask. If the data allow a label that was asked for, another policy may settle "
        "what is open; if not, only more rows or a question that asks for less would."
    )


def _why_exhausted(outcome: Entry) -> str:
    """Everything possible was asked about, so that no further query can change anything."""
    precision = "Arithmetic of higher precision may decide them; more queries would not."
    if outcome["is_certified"] and not outcome["witnessed"]:
        return (
            f"no explanation could be confirmed: everything possible was asked about, with indeterminate verdicts. "
            f"What is said holds for everything still possible. {precision}"
        )
    if outcome["indeterminate"]:
        number = outcome["indeterminate"]
        return f"nothing is left to ask; verdicts that are indeterminate: {number}. {precision}"
    return (
        "everything possible was asked about, and what survives allows no label that was asked for. More rows or a "
        "question that asks for less may change this; more queries would not."
    )


def is_exhausted(outcome: Entry) -> bool:
    """Whether everything that is possible was asked about."""
    return bool(outcome["possible"] == outcome["witnessed"] + outcome["indeterminate"])

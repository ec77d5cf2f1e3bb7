"""What a protocol refuses to freeze."""

from .._errors import MisuseError
from ..judges import Judge, JudgeSpec
from ..questions import Question, predicates
from ._plans import ProposedStream


def check_thresholds(question: Question, parts: tuple[ProposedStream, ...]) -> None:
    """Refuse to compare the strengths of explanations where rows may have others: ABSENT would be said of those."""
    thresholds = predicates(question).thresholds()
    for part in parts:
        law = part.law
        open_ones = [item for item in thresholds.items() if law.thresholds.get(item[0]) != item[1]]
        if open_ones and not law.has_strengths:
            region, threshold = open_ones[0]
            rule = f"be left out beside {part.law.name} rows, whose coefficients need not be the strengths of the bank"
            raise MisuseError(f"absence_threshold of region {region!r}", rule, repr(threshold))


def check_writes(name: str, judge: Judge | JudgeSpec) -> None:
    """Refuse what cannot write itself into a protocol, such as judges that are asked directly."""
    if not hasattr(judge, "encode"):
        raise MisuseError(name, "write itself into the protocol (encode)", type(judge).__name__, "Ask it directly.")

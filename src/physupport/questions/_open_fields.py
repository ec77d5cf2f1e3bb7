"""Which fields of a question are open."""

from ._labels import Label
from ._question import Progress


def open_fields(progress: Progress) -> tuple[str, ...]:
    """The fields that still need verdicts, also those of which something coarser can be said already.

    A question of one's own that is not certified and names no open field has all of its fields open.
    """
    answers = progress.answers()
    if progress.is_certified or all(answer.label is Label.EMPTY for answer in answers):
        return ()
    is_open = [a.certificate.kind == "open" if a.is_settled is None else not a.is_settled for a in answers]
    return tuple(answer.field for answer, flag in zip(answers, is_open, strict=True) if flag or not any(is_open))

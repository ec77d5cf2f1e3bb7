"""Pictures of the global study: how reports relate to the exhaustive ones, and what is recovered."""

from collections.abc import Iterator, Mapping, Sequence

from ...report.pictures import COLUMN, Picture
from ...report.pictures._model import Axis, Bars, Key, Mark, Panel, Text, Tick
from ...report.pictures._rooms import counting, numbered

Row = Mapping[str, str]

# The number of its fill, what its count is written in there, and its name.
_STATUS = {
    "match": (0, "on-dark", "match"),
    "safe_coarsening": (1, "halo count", "safe coarsening"),
    "abstention": (4, "count", "abstention"),
    "unsafe": (6, "halo count", "unsafe"),
}
_REFERENCES = {"AMBIGUOUS": 2, "FINE": 1}
_SHOWN = (0.50, 0.75)
_BAR, _FITS = 0.76, 3  # width of a bar, and the smallest count whose part of it holds its number
_BUDGET = "query budget, share of the bank"
_SIZE, _MARGINS = (COLUMN.width, 173.0), (50.0, 10.0, 30.0, 50.0)


def status_picture(rows: Sequence[Row]) -> Picture:
    """Traces by how they compare with the exhaustive answer, one bar a budget.

    rows: budget, match, safe_coarsening, abstention, unsafe.
    """
    total, starts = sum(int(rows[0][name]) for name in _STATUS), [0] * len(rows)
    marks: list[Mark] = []
    keys: list[Key] = []
    for name, (part, ink, word) in _STATUS.items():
        counts = [int(row[name]) for row in rows]
        marks.append(Bars(range(len(rows)), counts, f"part-{part}", word, starts, _BAR, is_upright=True))
        marks += _counts(counts, starts, ink)
        keys.append(Key(f"part-{part}", word if any(counts) else f"{word} (never)"))
        starts = [start + count for start, count in zip(starts, counts, strict=True)]
    ticks = [Tick(x, f"{float(row['budget']):.2f}") for x, row in enumerate(rows)]
    horizontal = Axis(-0.6, len(rows) - 0.4, ticks, _BUDGET)
    panel = Panel(horizontal, counting(1.05 * total, 6, name=f"reporting traces, of {total}"), marks)
    said = "; ".join(f"at {row['budget']} {row['match']} match" for row in rows)
    return Picture("Reports and exhaustive answers", f"Of {total}, {said}.", _SIZE, _MARGINS, panel, keys=keys)


def _counts(counts: Sequence[int], starts: Sequence[int], ink: str) -> Iterator[Text]:
    """In their parts, or beside those that are too small; none of nothing."""
    for x, (count, start) in enumerate(zip(counts, starts, strict=True)):
        if count >= _FITS:
            yield Text(x, start + count / 2, str(count), ink, "middle")
        elif count:
            yield Text(x + 0.55 * _BAR, start + count / 2, str(count), "count")


def recovery_picture(rows: Sequence[Row]) -> Picture:
    """Share of the exhaustive ambiguous and fine labels that are reported at budgets 0.50 and 0.75.

    rows: budget, reference, recovered, traces.
    """
    width, marks, said = 0.36, list[Mark](), list[str]()
    for offset, (reference, part) in zip((-0.5, 0.5), _REFERENCES.items(), strict=True):
        chosen = [_row(rows, budget, reference) for budget in _SHOWN]
        counts = [(int(row["recovered"]), int(row["traces"])) for row in chosen]
        places = [x + offset * width for x in range(len(_SHOWN))]
        shares = [recovered / traces if traces else 0.0 for recovered, traces in counts]
        marks.append(Bars(places, shares, f"part-{part}", reference.lower(), thickness=width, is_upright=True))
        texts = [f"{recovered}/{traces}" for recovered, traces in counts]
        marks += [
            Text(x, y, text, "count", "middle", lift=3.0) for x, y, text in zip(places, shares, texts, strict=True)
        ]
        said.append(f"{reference.lower()} {' and '.join(texts)}")
    horizontal = Axis(-0.6, len(_SHOWN) - 0.4, [Tick(x, f"{budget:.2f}") for x, budget in enumerate(_SHOWN)], _BUDGET)
    panel = Panel(horizontal, numbered(0.0, 1.12, 5, name="share of exhaustive labels found"), marks)
    keys = [Key(f"part-{part}", reference.lower()) for reference, part in _REFERENCES.items()]
    return Picture("Labels that are found", f"{'; '.join(said)}.", _SIZE, _MARGINS, panel, keys=keys,
                   heading="exhaustive label")  # fmt: skip


def _row(rows: Sequence[Row], budget: float, reference: str) -> Row:
    return next(row for row in rows if float(row["budget"]) == budget and row["reference"] == reference)

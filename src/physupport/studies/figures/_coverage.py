"""Pictures of a study on fresh seeds: false reports against their level, and how often each label is given."""

from collections.abc import Mapping, Sequence

from ...report.pictures import COLUMN, Picture
from ...report.pictures._model import Axis, Bars, Key, Line, Mark, Panel, Points, Tick
from ...report.pictures._rooms import numbered, padded
from ...report.pictures._words import counted

Row = Mapping[str, str]

_LABELS = ("FINE", "GROUP", "AMBIGUOUS", "ABSENT", "ABSTAIN", "EMPTY")
_EVENTS = {"false report": 1, "true explanation rejected": 0}  # the number of its series
_MARGINS = (150.0, 10.0, 30.0, 50.0)


def coverage_picture(rows: Sequence[Row]) -> Picture:
    """Rates with their exact intervals, and the levels that they may not exceed.

    rows: profile, level, event, count, datasets, rate, lower, upper; one a profile and event.
    """
    marks: list[Mark] = []
    for y, row in enumerate(rows):
        rate, level, lower, upper = (float(row[name]) for name in ("rate", "level", "lower", "upper"))
        series = _EVENTS[row["event"]]
        marks += [
            Line((level, level), (-y - 0.4, 0.4 - y), "level", name="level", depth=1),
            Line((lower, upper), (-y, -y), f"line-{series}", name=row["event"]),
            Points(f"series-{series}", (rate,), (-y,), (f"{row['event']}: {row['count']} of {row['datasets']}",)),
        ]
    ticks = [
        Tick(-y, f"{row['event'].replace('true explanation', 'truth')}\n{row['profile']}") for y, row in enumerate(rows)
    ]
    ends = [float(row[name]) for row in rows for name in ("lower", "upper", "level")]
    low, high = padded([-0.005, *ends])
    name = f"rate over {counted(int(rows[0]['datasets']), 'data set')}, exact 95% interval"
    panel = Panel(numbered(low, high, 5, name=name), Axis(0.4 - len(rows), 0.6, ticks, is_named=True), marks)
    said = "; ".join(f"{row['event']}, {row['profile']}: {row['count']} of {row['datasets']}" for row in rows)
    size = COLUMN.width, 65.0 + 19.5 * len(rows)
    return Picture("Rates and their levels", f"{said}.", size, _MARGINS, panel, keys=[Key("level", "level")])


def label_rates_picture(rows: Sequence[Row]) -> Picture:
    """Share of each label, one bar a field; a diamond marks the share of reports in which nothing was witnessed.

    rows: scene, profile, field, datasets, a column a label, no_witness.
    """
    lanes, starts = [float(-y) for y in range(len(rows))], [0.0] * len(rows)
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, label in enumerate(_LABELS):
        shares = [float(row[label]) for row in rows]
        if any(shares):
            marks.append(Bars(lanes, shares, f"part-{number}", label.lower(), starts))
            keys.append(Key(f"part-{number}", label.lower()))
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    unseen = [(float(row["no_witness"]), lane) for row, lane in zip(rows, lanes, strict=True)]
    if marked := [place for place in unseen if place[0]]:
        marks.append(Points("hollow", [share for share, _ in marked], [lane for _, lane in marked]))
        keys.append(Key("hollow", "no witness"))
    vertical = Axis(0.4 - len(rows), 0.6, [Tick(lane, _name(row)) for row, lane in zip(rows, lanes, strict=True)],
                    is_named=True)  # fmt: skip
    panel = Panel(numbered(0.0, 1.0, 5, name="share of data sets"), vertical, marks)
    said = f"Of {counted(len(rows), 'field')} the share of each label among {', '.join(key.text for key in keys)}."
    return Picture("Labels of the reports", said, (COLUMN.width, 65.0 + 19.5 * len(rows)), _MARGINS, panel, keys=keys)


def _name(row: Row) -> str:
    """A region of a scene, or a profile under a condition."""
    return f"{row['scene']}, {row['profile'] if row['field'] == 'resolution' else row['field']}"

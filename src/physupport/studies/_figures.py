"""The figures of the studies, as pictures of the model that the page and the plots draw."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..report import counted, label_words
from ..report.pictures import (
    COLUMN,
    Area,
    Axis,
    Bars,
    Key,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
    Rule,
    Text,
    Tick,
    coherence_picture,
    counting,
    logarithmic,
    numbered,
    padded,
)
from ..report.plots import fixed

Row = Mapping[str, str]
Columns = Mapping[str, NDArray[Any]]  # the columns of a table, of equal length

_MARGINS = (60.0, 10.0, 30.0, 50.0)
_NAMED_MARGINS = (150.0, 10.0, 30.0, 50.0)  # with room for names at the left
_EVENTS = {"false report": 1, "true explanation rejected": 0}  # the number of its series
# The number of its fill, what its count is written in there, and its name.
_STATUS = {
    "match": (0, "on-dark", "match"),
    "safe_coarsening": (1, "halo count", "safe coarsening"),
    "abstention": (4, "count", "abstention"),
    "unsafe": (6, "halo count", "unsafe"),
}
_REFERENCES = {"AMBIGUOUS": 2, "FINE": 1}
_SHOWN = (0.50, 0.75)
_BAR = 0.76  # width of a bar
_FITS = 3  # the smallest count whose part of a bar holds its number
_BUDGET = "query budget, share of the bank"
_GLOBAL_SIZE = (COLUMN.width, 173.0)
_GLOBAL_MARGINS = (50.0, 10.0, 30.0, 50.0)


def scaling_picture(table: Columns, fit: Mapping[str, float]) -> Picture:
    """Jeffreys divergence over the separation scale, with the power 6 through the middle of the points.

    table: s, jeffreys, jeffreys_low, jeffreys_high, quadrature_14.  fit: slope, low, high, r2 of the fitted power.
    """
    s, mean, low, high = (table[name].tolist() for name in ("s", "jeffreys", "jeffreys_low", "jeffreys_high"))
    guide = np.exp(np.mean(np.log(table["jeffreys"]) - 6.0 * np.log(table["s"]))) * table["s"] ** 6
    within = f"[{fit['low']:.3f}, {fit['high']:.3f}], R² = {fit['r2']:.5f}"
    marks: list[Mark] = [Line(s, guide.tolist(), "guide", name="s⁶", depth=1)]
    marks += [Line((x, x), ends, "line-0") for x, *ends in zip(s, low, high, strict=True)]
    marks += [Points("series-0", s, mean), Points("series-3", s, table["quadrature_14"].tolist())]
    keys = [
        Key("series-0", f"Monte Carlo: slope {fit['slope']:.3f}\n{within}"),
        Key("series-3", "quadrature, order 14"),
        Key("guide", "s⁶"),
    ]
    vertical = logarithmic(min(low), max(high), name="Jeffreys divergence")
    panel = Panel(_named(s, fixed(s), "separation scale s"), vertical, marks)
    said = f"The divergence grows as the separation scale to the power {fit['slope']:.3f}, within {within}."
    return Picture("Scaling of the divergence", said, (COLUMN.width, 216.0), _MARGINS, panel, keys=keys)


def deployment_picture(table: Columns, scale: float) -> Picture:
    """Residual of the deployment mean after a turn, at one scale: points, with the closed form as lines.

    table: s, contrast, angle, residual, closed_form.
    """
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, contrast in enumerate(np.unique(table["contrast"]).tolist()):
        chosen = (table["s"] == scale) & (table["contrast"] == contrast)
        angle, closed, residual = (table[name][chosen].tolist() for name in ("angle", "closed_form", "residual"))
        name = "equal coefficients" if contrast == 0.0 else f"contrast {contrast:g}"
        marks += [Line(angle, closed, f"line-{number}"), Points(f"series-{number}", angle[::2], residual[::2])]
        keys.append(Key(f"series-{number}", name))
    at = table["s"] == scale
    horizontal = numbered(*padded(table["angle"][at].tolist()), 6, name="turn φ")
    _, high = padded(table["residual"][at].tolist())
    panel = Panel(horizontal, numbered(-0.002, high, 5, name=f"residual of the mean, s = {scale:g}"), marks)
    said = f"Residuals at scale {scale:g}: {', '.join(key.text for key in keys)}."
    return Picture("Residual of the mean after a turn", said, (COLUMN.width, 200.0), _MARGINS, panel, keys=keys,
                   heading="points: least squares; lines: closed form")  # fmt: skip


def affinities_picture(table: Columns, symbol: str, heading: str = "", *, has_keys: bool = True) -> Picture:
    """Affinity of two experiments over their information, one curve a separation scale.

    Curves that agree collapse into one, so the picture says how far apart they are.
    table: information, s, affinity.  symbol: the name of the information on the axis.
    """
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, s in enumerate(np.unique(table["s"]).tolist()):
        chosen = table["s"] == s
        xs, ys = (table[name][chosen].tolist() for name in ("information", "affinity"))
        marks.append(Line(xs, ys, f"nested-{number}", name=f"{s:.3f}", has_points=True))
        keys.append(Key(f"nested-{number}", f"s = {s:.3f}"))
    said = _gap_words(table)
    marks.append(Text(0.97, 0.85, said, "count", "end", "xy"))
    vertical = Axis(-0.06, 1.06, [Tick(y, f"{y:g}") for y in (0.0, 0.5, 1.0)], "affinity")
    panel = Panel(_information(np.unique(table["information"]), symbol), vertical, marks)
    return Picture("Affinities over information", said, (COLUMN.width, 130.0), _MARGINS, panel,
                   keys=keys if has_keys else [], heading=heading)  # fmt: skip


def spreads_picture(table: Columns, tolerance: float) -> Picture:
    """Spread of the affinities over the scales at each budget, the transition band, and the tolerance for its median.

    table: information, spread, in_band.
    """
    x = table["information"]
    spread = table["spread"]
    inside = table["in_band"] == 1
    median = float(np.median(spread[inside]))
    low = -0.06 * float(spread.max())  # below 0, so that no point is cut by the edge
    high = 1.12 * float(spread.max())
    ends = float(x[inside].min() / 2**0.5), float(x[inside].max() * 2**0.5)
    marks: list[Mark] = [
        Area(ends, (low, low), (high, high), "zone"),
        Rule(tolerance, "guide"),
        Rule(median, "line-2"),
        Points("series-0", x.tolist(), spread.tolist()),
    ]
    keys = [
        Key("series-0", "spread over s"),
        Key("zone", "transition band"),
        Key("guide", f"tolerance {tolerance:g}"),
        Key("line-2", f"median there {median:.4f}"),
    ]
    panel = Panel(_information(x, "information N s⁶"), numbered(low, high, 4, name="spread of affinity"), marks)
    said = f"In the transition band the median of the spread is {median:.4f}; the tolerance is {tolerance:g}."
    return Picture("Spread of the affinities", said, (COLUMN.width, 144.0), _MARGINS, panel, keys=keys)


def _gap_words(table: Columns) -> str:
    """The number of curves, and their largest distance at equal information."""
    information = table["information"]
    gap = max(float(np.ptp(table["affinity"][information == value])) for value in np.unique(information))
    shown = f"up to {gap:.4f}" if gap >= 5e-5 else "less than 0.0001"
    return f"{len(np.unique(table['s']))} curves,\n{shown} apart"


def _information(values: NDArray[np.float64], name: str) -> Axis:
    return _named(values.tolist(), [f"{value:g}" if i % 2 == 0 else "" for i, value in enumerate(values)], name)


def _named(values: Sequence[float], texts: Sequence[str], name: str) -> Axis:
    """A logarithmic axis with names at its values, but where they are empty, and no others."""
    room = (max(values) / min(values)) ** 0.05
    ticks = [Tick(value, text) for value, text in zip(values, texts, strict=True) if text]
    return Axis(min(values) / room, max(values) * room, ticks, name, is_log=True)


def responses_picture(rows: Sequence[Row]) -> Picture:
    """Response over the sensors; colour is the region, the dashes of a line its place within the region.

    rows: region, place, sensor, response.
    """
    regions = _places(rows)
    marks: list[Mark] = []
    values: list[float] = []
    for number, members in enumerate(regions.values()):
        for dash, (place, response) in enumerate(members.items()):
            sensors = [(t + 0.5) / len(response) for t in range(len(response))]
            marks.append(Line(sensors, response, f"line-{number}", dash, place))
            values += response
    keys = [Key(f"line-{number}", f"{region}: {', '.join(members)}")
            for number, (region, members) in enumerate(regions.items())]  # fmt: skip
    panel = Panel(numbered(0.0, 1.0, 5, name="sensor position"),
                  numbered(*padded(values), 5, name="response, unit norm"), marks)  # fmt: skip
    said = f"Regions {', '.join(key.text for key in keys)}."
    return Picture("Responses of four regions", said, (COLUMN.width, 200.0), _MARGINS, panel, keys=keys,
                   heading="places, in the order of the dashes")  # fmt: skip


def library_coherence_picture(rows: Sequence[Row]) -> Picture:
    """Absolute inner products of all responses, regions framed.  rows: region, place, sensor, response."""
    regions = _places(rows)
    atoms = np.array([response for members in regions.values() for response in members.values()])
    names = [place for members in regions.values() for place in members]
    matrix = {"ids": names, "matrix": np.abs(atoms @ atoms.T).tolist()}
    of = [region for region, members in regions.items() for _ in members]
    return replace(coherence_picture(matrix, "Coherence of the responses", COLUMN, of), notes=["place"])


def regional_map_picture(rows: Sequence[Row], library: Sequence[Row]) -> Picture:
    """Statements of each method about each region: the places that it leaves possible, and the label below them.

    rows: method, region, label, places; of one data set.  library: region, place, sensor, response.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    everywhere = {region: [float(place) for place in members] for region, members in _places(library).items()}
    low = 0.4 - len(methods)
    high = 0.75
    marks: list[Mark] = []
    for region, known in everywhere.items():
        ends = (known[0] - 0.036, known[-1] + 0.036)
        middle = sum(known) / len(known)
        marks += [Area(ends, (low, low), (high, high), "zone"), Text(middle, 0.5, region, "count", "middle")]
    for row in rows:
        y = -float(methods.index(row["method"]))
        known = everywhere[row["region"]]
        left = [float(place) for place in row["places"].split()]
        others = [place for place in known if place not in left]
        marks += [Points(sign, xs, [y] * len(xs)) for sign, xs in (("excluded", others), ("kept", left)) if xs]
        said = label_words(row["label"]).split()[-1]  # both kinds of ambiguity in one word
        marks.append(Text(sum(known) / len(known), y - 0.3, said, "axis-text", "middle"))
    ticks = [Tick(-i, method) for i, method in enumerate(methods)]
    panel = Panel(numbered(0.05, 1.01, 5, name="place"), Axis(low, high, ticks, is_named=True), marks)
    keys = [Key("kept", "possible place"), Key("excluded", "other place")]
    said = "; ".join(f"{row['method']}, {row['region']}: {row['label']} {row['places']}".rstrip() for row in rows)
    return Picture("What methods say", f"{said}.", (COLUMN.width, 180.0), _MARGINS, panel, keys=keys)


def plugin_picture(rows: Sequence[Row]) -> Picture:
    """In how many data sets a method is more certain than all verdicts together.

    rows: region, label, datasets, method, count.
    """
    regions = dict.fromkeys(row["region"] for row in rows)
    lanes = {bar: -float(y) for y, bar in enumerate((r, m) for r in regions for m in ("plug-in", "AEB"))}
    reached = dict.fromkeys(lanes, 0)
    marks: list[Mark] = []
    keys: dict[str, Key] = {}
    for row in rows:
        bar = (row["region"], row["method"])
        count = int(row["count"])
        is_absent = row["label"] == "ABSENT"
        role = "part-1" if is_absent else "part-0"
        word = "said to be absent" if is_absent else "said to be at one place"
        if count:
            marks.append(Bars([lanes[bar]], [count], role, word, [reached[bar]]))
            keys[role] = Key(role, word)
        reached[bar] += count
    n = int(rows[0]["datasets"])
    marks += [Text(reached[bar] + 0.08, lane, f"{reached[bar]}/{n}", "count") for bar, lane in lanes.items()]
    ticks = [Tick(lane, f"{region}: {method}") for (region, method), lane in lanes.items()]
    horizontal = counting(n + 0.8, 6, name="weak-C data sets with unsupported certainty")
    panel = Panel(horizontal, Axis(0.4 - len(lanes), 0.6, ticks, is_named=True), marks)
    said = "; ".join(f"{region}, {method}: {reached[region, method]} of {n}" for region, method in lanes)
    return Picture("Unsupported certainty", f"{said}.", (COLUMN.width, 137.0), _MARGINS, panel, keys=[*keys.values()])


def _places(rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """Region -> place -> response over the sensors."""
    places = list(dict.fromkeys(row["place"] for row in rows))
    names = dict(zip(places, fixed(map(float, places)), strict=True))
    waves: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["sensor"])):
        waves.setdefault(row["region"], {}).setdefault(names[row["place"]], []).append(float(row["response"]))
    return {region: waves[region] for region in sorted(waves)}


def status_picture(rows: Sequence[Row]) -> Picture:
    """Traces by how they compare with the exhaustive answer, one bar a budget.

    rows: budget, match, safe_coarsening, abstention, unsafe.
    """
    total = sum(int(rows[0][name]) for name in _STATUS)
    starts = [0] * len(rows)
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
    return Picture(
        "Reports and exhaustive answers", f"Of {total}, {said}.", _GLOBAL_SIZE, _GLOBAL_MARGINS, panel, keys=keys
    )


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
    width = 0.36
    marks: list[Mark] = []
    said: list[str] = []
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
    return Picture("Labels that are found", f"{'; '.join(said)}.", _GLOBAL_SIZE, _GLOBAL_MARGINS, panel, keys=keys,
                   heading="exhaustive label")  # fmt: skip


def _row(rows: Sequence[Row], budget: float, reference: str) -> Row:
    return next(row for row in rows if float(row["budget"]) == budget and row["reference"] == reference)


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
    return Picture("Rates and their levels", f"{said}.", size, _NAMED_MARGINS, panel, keys=[Key("level", "level")])


def label_rates_picture(rows: Sequence[Row]) -> Picture:
    """Share of each label, one bar a field; a diamond marks the share of reports in which nothing was witnessed.

    rows: scene, profile, field, datasets, a column a label, no_witness.
    """
    lanes = [float(-y) for y in range(len(rows))]
    starts = [0.0] * len(rows)
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, label in enumerate(name for name in rows[0] if name.isupper()):
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
    return Picture(
        "Labels of the reports", said, (COLUMN.width, 65.0 + 19.5 * len(rows)), _NAMED_MARGINS, panel, keys=keys
    )


def _name(row: Row) -> str:
    """A region of a scene, or a profile under a condition."""
    return f"{row['scene']}, {row['profile'] if row['field'] == 'resolution' else row['field']}"

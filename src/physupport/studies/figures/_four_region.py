"""Pictures of the four-region study: its responses, their coherence, its maps, and what a point-valued method adds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...report.pictures import COLUMN, Picture, coherence_picture
from ...report.pictures._model import Area, Axis, Bars, Key, Line, Mark, Panel, Points, Text, Tick
from ...report.pictures._rooms import counting, numbered, padded
from ...report.pictures._words import label_words
from ...report.plots._style import fixed

Row = Mapping[str, str]

_MARGINS = (60.0, 10.0, 30.0, 50.0)


def responses_picture(rows: Sequence[Row]) -> Picture:
    """Response over the sensors; colour is the region, the dashes of a line its place within the region.

    rows: region, place, sensor, response.
    """
    regions, marks, values = _places(rows), list[Mark](), list[float]()
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
    """What each method says of each region: the places that it leaves possible, and the label below them.

    rows: method, region, label, places; of one data set.  library: region, place, sensor, response.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    everywhere = {region: [float(place) for place in members] for region, members in _places(library).items()}
    low, high = 0.4 - len(methods), 0.75
    marks: list[Mark] = []
    for region, known in everywhere.items():
        ends, middle = (known[0] - 0.036, known[-1] + 0.036), sum(known) / len(known)
        marks += [Area(ends, (low, low), (high, high), "zone"), Text(middle, 0.5, region, "count", "middle")]
    for row in rows:
        y, known = -float(methods.index(row["method"])), everywhere[row["region"]]
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
    reached, marks, keys = dict.fromkeys(lanes, 0), list[Mark](), dict[str, Key]()
    for row in rows:
        bar, count = (row["region"], row["method"]), int(row["count"])
        role, word = (
            ("part-1", "said to be absent") if row["label"] == "ABSENT" else ("part-0", "said to be at one place")
        )
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

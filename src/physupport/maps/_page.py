"""A map as one page that needs no network: the image of labels, and of a clicked signal its sentence and its plot."""

import json
import os
from html import escape
from pathlib import Path

import numpy as np

from .._errors import MisuseError
from ._labels import LABELS
from ._protocol import GATES
from ._result import SignalMap
from ._signals import Signals

# Pages beyond are slow to open; the arrays of the map hold everything anyway.
MOST_SIGNALS, _MOST_NUMBERS = 10_000, 4_000_000
_COLOURS = {
    "ABSTAIN": "#bdbdbd", "EMPTY": "#212121", "SUPPORT_AMBIGUOUS": "#ffe0b2", "LOCAL_AMBIGUOUS": "#ffb74d",
    "GROUP": "#90caf9", "FINE": "#1565c0", "ABSENT": "#f5f5f5", "withheld": "#e57373", "no data": "#ffffff",
}  # fmt: skip
_TEMPLATE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>TITLE</title>
<style>
body { font-family: system-ui, sans-serif; margin: 2em; max-width: 70em; color: #212121; background: #fff; }
canvas { image-rendering: pixelated; border: 1px solid #757575; cursor: crosshair; }
canvas, svg { box-sizing: border-box; max-width: 100%; height: auto; }
.key span { display: inline-block; margin: 0 1em .3em 0; } .key i { display: inline-block; width: 1em; height: 1em;
border: 1px solid #757575; margin-right: .3em; vertical-align: -2px; } svg { border: 1px solid #bdbdbd; }
</style>
<h1>TITLE</h1>
LINES
<p>Region: <select id="region" aria-label="Region"></select> <label><input type="checkbox" id="layer"> second layer:
the share of false statements over the map, instead of the level of each signal</label></p>
<canvas id="image" aria-label="Labels; click on a signal"></canvas>
<p class="key" id="key"></p>
<p id="said">Click on a signal.</p>
<svg id="plot" width="640" height="200" viewBox="0 0 640 200" role="img" aria-label="The signal that was clicked"></svg>
<script type="application/json" id="data">DATA</script>
<script>
const data = JSON.parse(document.getElementById("data").textContent);
const [rows, columns] = data.shape, image = document.getElementById("image");
const region = document.getElementById("region");
const layer = document.getElementById("layer"), side = Math.max(2, Math.min(16, Math.floor(900 / columns)));
data.regions.forEach((name, i) => region.add(new Option(name, i)));
layer.disabled = !data.second.length;
image.width = columns * side; image.height = rows * side;
function draw() {
  const canvas = image.getContext("2d"), names = (layer.checked ? data.second : data.first)[region.value];
  names.forEach((number, i) => {
    canvas.fillStyle = data.colours[number];
    canvas.fillRect((i % columns) * side, Math.floor(i / columns) * side, side, side);
  });
}
data.names.forEach((name, i) => {
  const item = document.createElement("span"), box = document.createElement("i");
  box.style.background = data.colours[i]; item.append(box, name); document.getElementById("key").append(item);
});
region.onchange = layer.onchange = draw;
image.onclick = (event) => {
  const box = image.getBoundingClientRect();
  const at = (part, whole, count) => Math.max(0, Math.min(count - 1, Math.floor(part / whole * count)));
  const i = at(event.clientY - box.top, box.height, rows) * columns + at(event.clientX - box.left, box.width, columns);
  document.getElementById("said").textContent = "Signal " + data.places[i] + ". " + data.sentences[i];
  const values = data.signals[i] || [], low = Math.min(...values), high = Math.max(...values);
  const points = values.map((value, k) =>
    (10 + 620 * k / (values.length - 1)) + "," + (190 - 180 * (value - low) / (high - low || 1))).join(" ");
  document.getElementById("plot").innerHTML = '<polyline fill="none" stroke="#1565c0" points="' + points + '"/>';
};
draw();
</script>
</html>
"""


def write_map_page(path: str | os.PathLike[str], found: SignalMap, signals: Signals, title: str = "Map") -> None:
    """The page of a map of at most 10,000 signals, with the signals themselves where there is room for them."""
    if signals.count > MOST_SIGNALS:
        raise MisuseError("map", f"have at most {MOST_SIGNALS:,} signals for a page", f"{signals.count:,}")
    lines = "".join(f"<p>{escape(line)}</p>" for line in found.lines())
    data = json.dumps(_content(found, signals), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    text = _TEMPLATE.replace("TITLE", escape(title)).replace("LINES", lines).replace("DATA", data)
    Path(path).write_text(text, encoding="utf-8", newline="")


def _content(found: SignalMap, signals: Signals) -> dict[str, object]:
    shape, count = signals.shape, signals.count
    columns = shape[-1] if len(shape) > 1 else count
    names = [*map(str, LABELS), "withheld", "no data"]
    gate = found.array("gate").reshape(count)
    # Labels by their numbers; what the gate withholds has numbers of its own.
    codes = {GATES.index("withheld"): len(LABELS), GATES.index("no data"): len(LABELS) + 1}
    has_second = found.about["share"] is not None
    layers = {"first": "label", "second": "share_label"} if has_second else {"first": "label"}
    shown: dict[str, list[list[int]]] = {"first": [], "second": []}
    for layer, name in layers.items():
        for numbers in found.array(name).reshape(count, -1).T:
            told = numbers.astype(np.int64)
            for number, code in codes.items():
                told[gate == number] = code
            shown[layer].append(told.tolist())
    places = [tuple(int(i) for i in place) for place in np.ndindex(*shape)]
    rows = signals.read(0, count) if count * signals.channels <= _MOST_NUMBERS else np.empty((0, 0))
    plotted = [[float(f"{value:.5g}") for value in row] if np.isfinite(row).all() else [] for row in rows]
    return {
        "shape": [count // columns, columns],
        "regions": [*found.regions],
        "names": names,
        "colours": [_COLOURS[name] for name in names],
        **shown,
        "places": [", ".join(map(str, place)) for place in places],
        "sentences": [found.sentence(place) for place in places],
        "signals": plotted,
    }

"""The response library: each region's responses, and how alike all responses are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import final

from ._svg import Scale, Svg, picture, polyline, tag
from ._words import Entry, counted, listed, number, shortened

_WIDTH, _HEIGHT = 236.0, 118.0
_MOST_POINTS = 120  # of one response; more are closer than a pixel
_MOST_KEYS = 6  # responses that dashes can tell apart
_SHADES = 12
_MOST_NUMBERED = 8  # elements whose coherence is written into the cells


@final
@dataclass(frozen=True, slots=True)
class RegionResponses:
    """The picture of a region's responses and the key to its lines: id, state, class."""

    region: str
    picture: Svg
    keys: list[tuple[str, str, str]]
    more: int


def response_pictures(library: Entry, states: Mapping[str, Mapping[str, str]]) -> list[RegionResponses]:
    """One for each region.  states: region -> id -> witnessed, possible or excluded; of others nothing was asked."""
    members: dict[str, list[int]] = {}
    for i, region in enumerate(library["regions"]):
        members.setdefault(region, []).append(i)
    low = min((min(response) for response in library["responses"] if response), default=0.0)
    high = max((max(response) for response in library["responses"] if response), default=1.0)
    return [
        _responses(f"responses-{k}", region, indices, library, states.get(region, {}), (min(0.0, low), high))
        for k, (region, indices) in enumerate(members.items())
    ]


def _responses(
    key: str,
    region: str,
    indices: Sequence[int],
    library: Entry,
    states: Mapping[str, str],
    limits: tuple[float, float],
) -> RegionResponses:
    vertical = Scale(*limits, _HEIGHT - 20, 6)
    parts = [tag("path", d=f"M26 {vertical(0.0):.1f}H{_WIDTH}", class_="grid")]
    parts += [
        tag("text", number(value, 2), x=22, y=vertical(value) + 4, class_="axis-text", text_anchor="end")
        for value in vertical.ticks(3)
    ]
    first, last = str(library["channels"][0]), str(library["channels"][-1])
    parts.append(tag("text", shortened(first, 14), x=28, y=_HEIGHT - 4, class_="axis-text"))
    parts.append(tag("text", shortened(last, 14), x=_WIDTH, y=_HEIGHT - 4, class_="axis-text", text_anchor="end"))
    named = [(library["ids"][i], states.get(library["ids"][i], "not asked about")) for i in indices]
    keys = [
        (*each, f"curve response {each[1].replace(' ', '-')} dash-{k % _MOST_KEYS}") for k, each in enumerate(named)
    ]
    # What survives is drawn on top.
    for k in sorted(range(len(keys)), key=lambda k: keys[k][1] != "excluded"):
        parts.append(_response_line(library["responses"][indices[k]], vertical, keys[k][2]))
    noun = "real part of the response" if library["is_complex"] else "response"
    title = f"{noun.capitalize()} of {counted(len(indices), 'element')} of {region} over the channels"
    drawn = picture(key, (_WIDTH + 4, _HEIGHT), title, f"Elements {listed([name for name, _, _ in keys])}.", parts)
    return RegionResponses(region, drawn, keys[:_MOST_KEYS], max(0, len(keys) - _MOST_KEYS))


def _response_line(values: Sequence[float], vertical: Scale, class_: str) -> Svg:
    every = max(1, -(-len(values) // _MOST_POINTS))
    horizontal = Scale(0.0, float(max(1, len(values) - 1)), 28, _WIDTH)
    return polyline([(horizontal(i), vertical(v)) for i, v in enumerate(values) if i % every == 0], class_)


def coherence_picture(key: str, title: str, coherence: Entry, regions: Sequence[str] = ()) -> Svg:
    """Absolute inner products as shades; few enough cells carry their numbers.  regions: framed, if given."""
    names, matrix = coherence["ids"], coherence["matrix"]
    n = len(names)
    side = 44.0 if n <= _MOST_NUMBERED else max(8.0, min(26.0, 520.0 / n))
    is_named = side >= 11
    letters = max(min(len(name), 16) for name in names)
    left = 12 + 6.4 * letters if is_named else 4.0
    has_numbers = n <= _MOST_NUMBERED
    # Behind numbers the darkest shade stays light enough to read them.
    parts = [*_shades(matrix, side, left, 0.55 if has_numbers else 1.0)]
    if has_numbers:
        parts += _numbers(matrix, side, left)
    if is_named:
        for i, name in enumerate(names):
            y, label = (i + 0.5) * side + 4, shortened(name, 16)
            parts.append(tag("text", tag("title", name), label, x=left - 6, y=y, class_="axis-text", text_anchor="end"))
    parts += _frames(regions, side, left)
    parts.append(tag("rect", x=left, y=0.5, width=n * side, height=n * side, class_="frame"))
    size = left + n * side + 1, n * side + 1
    return picture(key, size, title, _alike(names, matrix), parts)


def _shades(matrix: Sequence[Sequence[float]], side: float, left: float, darkest: float) -> Iterator[Svg]:
    """One path a shade: cells of equal shade in a row are one piece."""
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(matrix):
        start = 0
        for shade, run in groupby(round(_SHADES * min(1.0, abs(v))) for v in row):
            count = len([*run])
            piece = (
                f"M{left + start * side:.1f} {i * side + 0.5:.1f}h{count * side:.1f}v{side:.1f}h{-count * side:.1f}z"
            )
            paths.setdefault(shade, []).append(piece)
            start += count
    for shade, pieces in sorted(paths.items()):
        if shade:
            yield tag("path", d="".join(pieces), class_="shade", fill_opacity=darkest * shade / _SHADES)


def _numbers(matrix: Sequence[Sequence[float]], side: float, left: float) -> Iterator[Svg]:
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            x, y = left + (j + 0.5) * side, (i + 0.5) * side + 4
            yield tag("text", f"{value:.2f}", x=x, y=y, class_="cell-text", text_anchor="middle")


def _frames(regions: Sequence[str], side: float, left: float) -> Iterator[Svg]:
    start = 0
    for _, run in groupby(regions):
        count = len([*run])
        yield tag("rect", x=left + start * side, y=start * side + 0.5, width=count * side, height=count * side,
                  class_="region-frame")  # fmt: skip
        start += count


def _alike(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> str:
    pairs = [(abs(matrix[i][j]), names[j], names[i]) for i in range(len(names)) for j in range(i)]
    if not pairs:
        return "A single response."
    value, one, other = max(pairs)
    return f"The two most alike are {one} and {other}, with an absolute inner product of {value:.4f}."

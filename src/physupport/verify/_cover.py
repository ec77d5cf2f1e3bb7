"""A cover derived again: cells that fill the boxes, how far answers move within them, and the level that follows."""

from collections.abc import Iterator
from math import exp, log, sqrt

import numpy as np
from scipy.special import chdtr, chdtrc, chdtri, gammaincinv, ndtr, ndtri

from .._codec import real
from .._errors import MisuseError
from .._stored import Node, Refusal
from .._typing import Array
from ..banks import Bank, Cover
from ..laws import Law, check_cover, decode_law

# Relative: numbers that a program worked out in the same way may differ by so much.
_ROUNDING = 1e-6


def cover_findings(protocol: Node, bank: Bank) -> Iterator[str]:
    """What speaks against the cover of a protocol, if it has one; bounds that a response proves are proven again."""
    node = protocol.get("cover")
    if node is None:
        return
    cover, laws = Cover.decode(node), [decode_law(stream["law"], stream["name"]) for stream in protocol["streams"]]
    try:
        check_cover(cover, bank, [(law, stream["rows"]) for law, stream in zip(laws, protocol["streams"], strict=True)])
    except MisuseError as error:
        yield f"the cover is not that of the bank and its rows: {error}"
        return
    yield from _number_findings(node, protocol["level"])
    if cover.response is not None:
        yield from _answer_findings(cover, bank, laws[0])
    if cover.response is not None and node["bounds"] == "proven":
        for name, bounds in cover.proven().items():
            told = cover.regions[name].bounds
            if not (_holds(told.slopes, bounds.slopes) and (not cover.tangents or _holds(told.bends, bounds.bends))):
                yield f"the bounds of region {name!r} are below those that its responses have"


def cover_notes(protocol: Node) -> Iterator[str]:
    """What is taken as it stands."""
    node = protocol.get("cover")
    if node is None:
        return
    yield f"that no signal is stronger than the ratio {node['snr']:g} of the cover is taken as it stands"
    if "ranges" in node:
        yield "that strengths and noise lie in the ranges of the cover is taken as it stands"
    if node["bounds"] == "given" or node["response"] is None:
        yield "bounds of the responses between the cells' middles are taken as they stand"


def _number_findings(node: Node, level: float) -> Iterator[str]:
    """Sizes of cells, moves, eta, kappa and the level run, each from what stands before it."""
    extra = _halves([value["values"] for value in node["parameters"]], node["parameter_cells"])
    moves = []
    for region in node["regions"]:
        half = _halves([*zip(region["low"], region["high"], strict=True)], region["cells"])
        if not _alike(half, region["half"]):
            yield f"the cells of region {region['region']!r} have other sizes than fill its box"
        moves.append(_move(np.array([*half, *extra]), region, node["tangents"]))
    if not _alike(extra, node["parameter_half"]):
        yield "the cells of parameters have other sizes than fill their ranges"
    kappa = node["unit_kappa"] * (node["snr"] * max(moves)) ** 2
    if not all(
        abs(told - derived) <= _ROUNDING * derived
        for told, derived in ((node["move"], max(moves)), (node["kappa"], kappa), (node["eta"], sqrt(2.0 * kappa)))
    ):
        yield "the moves within cells are not those that their sizes and bounds give"
    if not 0.0 < node["asked"] < 1.0 or level > node["asked"] or not _is_low_enough(level, node["asked"], kappa, node):
        yield f"at the level {level!r} the cover does not hold the level {node['asked']!r}"


def _alike(derived: list[float], told: list[float]) -> bool:
    return len(derived) == len(told) and np.allclose(derived, told, rtol=_ROUNDING, atol=0.0)


def _holds(told: Array, derived: Array) -> bool:
    """Whether bounds are at least those that are found now."""
    return bool((told >= derived * (1.0 - _ROUNDING)).all())


def _halves(ends: list[tuple[float, float]], counts: list[int]) -> list[float]:
    return [(high - low) / (2.0 * count) for (low, high), count in zip(ends, counts, strict=True)]


def _move(half: Array, region: Node, tangents: bool) -> float:
    """First order, or what tangents leave of it: two thirds of own bends, and mixed ones once for each pair."""
    first = float(np.dot(half, region["slopes"]))
    if not tangents:
        return first
    bends = real(region["bends"], len(half), len(half))
    own = sum(2.0 / 3.0 * bends[k, k] * half[k] ** 2 for k in range(len(half)))
    mixed = sum(bends[k, m] * half[k] * half[m] for k in range(len(half)) for m in range(k))
    return min(first, float(own + mixed))


def _is_low_enough(level: float, wanted: float, kappa: float, node: Node) -> bool:
    """Whether a test of this level before all moves has at most the level asked for after them."""
    level = _after_ranges(level, node)
    if level > wanted:
        return False
    if node["is_shift"]:
        return bool(ndtr(ndtri(level) + sqrt(2.0 * kappa)) <= wanted * (1.0 + _ROUNDING))
    divergence = wanted * log(wanted / level) + (1.0 - wanted) * log((1.0 - wanted) / (1.0 - level))
    return divergence >= kappa * (1.0 - _ROUNDING)


def _after_ranges(level: float, node: Node) -> float:
    """The largest level after noise, and then strengths, are anywhere in their cells."""
    ranges = node.get("ranges", ())
    for is_noise in (True, False):
        kind = [each for each in ranges if (each["region"] is None) == is_noise]
        if not kind:
            continue
        size, moving = max(each["size"] for each in kind), min(node["active"], sum(each["most"] for each in kind))
        if kind[0]["is_shift"]:
            half = max((each["high"] - each["low"]) / (2.0 * each["cells"]) for each in kind)
            level = float(ndtr(ndtri(level) + moving * size * half))
        else:
            half = max((log(each["high"]) - log(each["low"])) / (2.0 * each["cells"]) for each in kind)
            level = max(_rescaled(level, up * size, (moving - up) * size, exp(half)) for up in range(moving + 1))
    return level


def _rescaled(level: float, grown: float, shrunk: float, ratio: float) -> float:
    """The largest level after so many variances shrink by a ratio, and then others grow by it."""
    if shrunk:
        level = float(chdtr(shrunk, 2.0 * float(gammaincinv(0.5 * shrunk, level)) * ratio))
    return float(chdtrc(grown, float(chdtri(grown, level)) / ratio)) if grown else level


def _answer_findings(cover: Cover, bank: Bank, law: Law) -> Iterator[str]:
    """Answers at the middles of cells are those of the response, and so are tangents."""
    columns = cover.settings().responses.transpose(1, 0, 2).reshape(len(bank.states.elements), -1)
    shared = bank.states.elements.shape[1] - columns.shape[1]
    if shared < 0 or not np.allclose(bank.states.elements[:, : columns.shape[1]], columns, rtol=0.0, atol=_ROUNDING):
        raise Refusal("the responses of the bank are not those of the cover")
    if cover.tangents:
        tangents, variants = cover.tangent_columns(), np.asarray(getattr(law, "variants", None))
        scale = np.abs(tangents).max()
        if not np.allclose(variants[:, :, : columns.shape[1]], tangents, rtol=0.0, atol=_ROUNDING * scale):
            yield "the tangents of the law are not those of the cover"

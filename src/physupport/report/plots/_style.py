"""How the roles of a picture look on paper."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

# The colours of the report page. Colour-blind readers tell them apart, and shapes or words say the same.
INK, MUTED, LINE, STRONG_LINE = "#1c1e22", "#5a5e66", "#dedad2", "#8b8880"
BLUE, TEAL, AMBER, RED, GREY = "#0a5f9e", "#0b6e57", "#9a5300", "#b0261c", "#646870"
TINT, RED_TINT = "#0a5f9e1c", "#b0261c0d"
# Of series side by side (Okabe and Ito); shapes and hatches keep them apart in grey as well.
SERIES = "#0072b2", "#d55e00", "#009e73", "#cc79a7"

TINY, SMALL, TEXT = 6, 7, 8  # points

SIGNS: dict[str, dict[str, Any]] = {
    "kept": {"marker": "o", "color": BLUE, "markeredgewidth": 1.3, "zorder": 4.3},
    "not-asked": {"marker": "o", "color": "white", "markeredgecolor": BLUE, "markeredgewidth": 1.3, "zorder": 4.2},
    "excluded": {"marker": "x", "color": STRONG_LINE, "markeredgewidth": 1.1, "zorder": 4.1},
    "plug-in": {"marker": "v", "color": AMBER, "zorder": 5},
    **{f"series-{k}": {"marker": "osD"[k], "color": SERIES[k], "zorder": 3} for k in range(3)},
    "series-3": {"marker": "x", "color": INK, "zorder": 4, "markersize": 7.5},  # around a disc in the same place
    "hollow": {"marker": "D", "color": "white", "markeredgecolor": INK, "zorder": 4, "markersize": 4},
    "series-4": {"marker": "^", "color": "#e69f00", "zorder": 3},
}
LINES: dict[str, dict[str, Any]] = {
    "proposal": {"color": INK, "linestyle": ":", "marker": "s", "markersize": 2.8, "linewidth": 1.2},
    "measured": {"color": "0.55", "linewidth": 0.9},
    "fit": {"color": BLUE, "linewidth": 1.2},
    "witness": {"color": BLUE, "marker": "o", "markersize": 2.8, "linewidth": 1.2},
    "nearest-excluded": {"color": RED, "linestyle": "--", "marker": "^", "markersize": 2.8, "linewidth": 1.2},
    "threshold": {"color": RED, "linewidth": 1.0},
    "bracket-possible": {"color": INK, "linestyle": "--", "linewidth": 1.3},
    "bracket-witnessed": {"color": BLUE, "linewidth": 1.3},
    "open-line": {"color": STRONG_LINE, "linewidth": 0.8},
    "response kept": {"color": BLUE, "linewidth": 1.9},
    "response not-asked": {"color": BLUE, "linewidth": 1.0},
    "response of-no-question": {"color": INK, "linewidth": 0.8},
    "response excluded": {"color": STRONG_LINE, "linewidth": 0.6},
    "region-frame": {"color": INK, "linewidth": 0.9},
    "lane": {"color": LINE, "linewidth": 0.7},
    "head": {"color": STRONG_LINE, "linewidth": 0.8},
    "grid": {"color": LINE, "linewidth": 0.7},
    "cell": {"color": TINT, "solid_capstyle": "round"},
    "guide": {"color": STRONG_LINE, "linestyle": "--", "linewidth": 1.2},
    "level": {"color": INK, "linewidth": 1.5},
    **{f"line-{k}": {"color": color, "linewidth": 1.1} for k, color in enumerate(SERIES)},
    # Hollow, and ever smaller: points in one place are all seen.
    **{
        f"nested-{k}": {
            "color": color,
            "linewidth": 0.8,
            "marker": "osD^vP"[k],
            "markersize": 7.5 - k,
            "markerfacecolor": "none",
        }
        for k, color in enumerate((INK, BLUE, TEAL, AMBER, RED, GREY))
    },
}
DASHES: tuple[Any, ...] = (
    "-", (0, (4, 2)), (0, (1.3, 1.6)), (0, (6, 2, 1.3, 2)), (0, (8, 3)), (0, (3, 1, 1, 1, 1, 1)),
)  # fmt: skip
FILLS: dict[str, dict[str, Any]] = {
    "rejected-zone": {"color": RED_TINT, "linewidth": 0},
    "band": {"color": TINT, "linewidth": 0},
    "open-fields": {"color": LINE, "linewidth": 0},
    "envelope": {"color": LINE, "linewidth": 0},
    "bar-not-asked": {"facecolor": "white", "edgecolor": BLUE, "linewidth": 1.0},
    "bar-kept": {"facecolor": BLUE, "edgecolor": BLUE, "linewidth": 1.0},
    "measured-bar": {"color": "0.8", "linewidth": 0},
    "zone": {"color": f"{LINE}80", "linewidth": 0},
    **{
        f"part-{k}": {"facecolor": color, "hatch": hatch, "edgecolor": "black", "linewidth": 0.7}
        for k, (color, hatch) in enumerate(
            (
                ("#0072b2", ""),
                ("#56b4e9", "///"),
                ("#e69f00", ""),
                ("#009e73", "\\\\\\"),
                ("#e0e0e0", ""),
                ("#ffffff", "xxx"),
                ("#d55e00", "xxx"),
            )
        )
    },
}
# Of texts; the kinds of labels among them.
INKS = {
    "certain": BLUE, "absent": BLUE, "group": TEAL, "ambiguous": AMBER, "empty": RED, "open": GREY, "axis-text": MUTED,
    "muted": MUTED, "count": INK, "on-dark": "white",
}  # fmt: skip
SIZES = {"axis-text": TINY}


def fixed(values: Iterable[float]) -> list[str]:
    """Numbers with as many decimals each as the longest of them needs at six digits.

    >>> fixed([0.1, 0.122])
    ['0.100', '0.122']
    """
    exact = [Decimal(f"{value:g}") for value in values]
    # A finite number has a whole exponent.
    decimals = max((-int(number.as_tuple().exponent) for number in exact), default=0)
    return [f"{number:.{max(decimals, 0)}f}" for number in exact]

"""Pictures of the global study: how reports relate to the exhaustive ones, and what is recovered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._style import SMALL, Row, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that stay apart for colour-blind readers (Okabe and Ito); hatches keep them apart in grey as well.
_STATUS = {
    "match": ("#0072b2", "", "match"),
    "safe_coarsening": ("#56b4e9", "///", "safe coarsening"),
    "abstention": ("#e0e0e0", "", "abstention"),
    "unsafe": ("#d55e00", "xxx", "unsafe"),
}
_REFERENCES = {"AMBIGUOUS": ("#e69f00", ""), "FINE": ("#0072b2", "///")}
_SHOWN = (0.50, 0.75)
_BAR, _FITS = 0.76, 3  # width of a bar, and the smallest count whose part of it holds its number


def plot_status(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Traces by how they compare with the exhaustive answer, one bar a budget.

    rows: budget, match, safe_coarsening, abstention, unsafe.
    """
    total = sum(int(rows[0][name]) for name in _STATUS)
    bottoms = [0] * len(rows)
    for name, (color, hatch, word) in _STATUS.items():
        counts = [int(row[name]) for row in rows]
        label = word if any(counts) else f"{word} (0 at all budgets)"
        ax.bar(range(len(rows)), counts, _BAR, bottom=bottoms, color=color, hatch=hatch, edgecolor="black",
               linewidth=0.7, label=label)  # fmt: skip
        for x, (count, bottom) in enumerate(zip(counts, bottoms, strict=True)):
            y = bottom + count / 2
            if count >= _FITS:
                ink = "white" if name == "match" else "black"
                plate = {"facecolor": color, "edgecolor": "none", "pad": 0.8}
                ax.text(x, y, str(count), ha="center", va="center", fontsize=SMALL, color=ink, bbox=plate)
            elif count:
                ax.text(x + 0.55 * _BAR, y, str(count), ha="left", va="center", fontsize=SMALL)
        bottoms = [bottom + count for bottom, count in zip(bottoms, counts, strict=True)]
    ax.set_xticks(range(len(rows)), [f"{float(row['budget']):.2f}" for row in rows])
    label_axes(ax, "query budget, share of the bank", f"reporting traces, of {total}")
    ax.set_ylim(0, 1.05 * total)
    ax.legend(fontsize=SMALL, ncols=2, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    return ax


def plot_recovery(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Share of the exhaustive ambiguous and fine labels that are reported at budgets 0.50 and 0.75.

    rows: budget, reference, recovered, traces.
    """
    width = 0.36
    for offset, (reference, (color, hatch)) in zip((-0.5, 0.5), _REFERENCES.items(), strict=True):
        for x, budget in enumerate(_SHOWN):
            row = next(row for row in rows if float(row["budget"]) == budget and row["reference"] == reference)
            recovered, traces = int(row["recovered"]), int(row["traces"])
            place, share = x + offset * width, recovered / traces if traces else 0.0
            label = reference.lower() if x == 0 else None
            ax.bar(place, share, width, color=color, hatch=hatch, edgecolor="black", linewidth=0.7, label=label)
            ax.text(place, share + 0.02, f"{recovered}/{traces}", ha="center", fontsize=SMALL)
    ax.set_xticks(range(len(_SHOWN)), [f"{budget:.2f}" for budget in _SHOWN])
    label_axes(ax, "query budget, share of the bank", "share of exhaustive labels found")
    ax.set_ylim(0.0, 1.12)
    ax.legend(title="exhaustive label", title_fontsize=SMALL, fontsize=SMALL, ncols=2, loc="lower center",
              bbox_to_anchor=(0.5, 1.0), frameon=False)  # fmt: skip
    return ax

"""Pictures of a study on fresh seeds: false reports against their level, and how often each label is given."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._style import SMALL, Row, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that stay apart for colour-blind readers (Okabe and Ito); hatches keep them apart in grey as well.
_LABELS = {
    "FINE": ("#0072b2", ""),
    "GROUP": ("#56b4e9", "///"),
    "AMBIGUOUS": ("#e69f00", ""),
    "ABSENT": ("#009e73", "\\\\\\"),
    "ABSTAIN": ("#e0e0e0", ""),
    "EMPTY": ("#ffffff", "xxx"),
}
_EVENTS = {"false report": ("#d55e00", "o"), "true explanation rejected": ("#0072b2", "s")}


def plot_coverage(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Rates with their exact intervals, and the levels that they may not exceed.

    rows: profile, level, event, count, datasets, rate, lower, upper; one a profile and event.
    """
    names = []
    for y, row in enumerate(rows):
        color, marker = _EVENTS[row["event"]]
        rate, level = float(row["rate"]), float(row["level"])
        reach = [[rate - float(row["lower"])], [float(row["upper"]) - rate]]
        ax.errorbar(rate, -y, xerr=reach, fmt=marker, color=color, capsize=3, markersize=5, linewidth=1.3)
        ax.plot([level] * 2, [-y - 0.4, 0.4 - y], color="black", linewidth=1.5, zorder=1, label=None if y else "level")
        names.append(f"{row['event'].replace('true explanation', 'truth')}\n{row['profile']}")
    ax.set_yticks([-y for y in range(len(rows))], names, fontsize=SMALL)
    ax.set(ylim=(0.4 - len(rows), 0.6))
    ax.set_xlim(left=min(-0.005, ax.get_xlim()[0]))
    count = int(rows[0]["datasets"])
    label_axes(ax, f"rate over {count} data set{'' if count == 1 else 's'}, exact 95% interval", ticks="x")
    ax.legend(fontsize=SMALL, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, borderpad=0)
    return ax


def plot_label_rates(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Share of each label, one bar a field; a diamond marks the share of reports in which nothing was witnessed.

    rows: scene, profile, field, datasets, a column a label, no_witness.
    """
    lefts = [0.0] * len(rows)
    places = [-y for y in range(len(rows))]
    for label, (color, hatch) in _LABELS.items():
        shares = [float(row[label]) for row in rows]
        if any(shares):
            ax.barh(places, shares, left=lefts, color=color, hatch=hatch, edgecolor="black", linewidth=0.7,
                    label=label.lower())  # fmt: skip
        lefts = [left + share for left, share in zip(lefts, shares, strict=True)]
    unseen = {place: float(row["no_witness"]) for place, row in zip(places, rows, strict=True)}
    marked = [place for place in places if unseen[place]]
    if marked:
        # A mark of a whole bar lies on the edge of the axis and is not to be cut there.
        ax.plot([unseen[place] for place in marked], marked, "D", color="white", markeredgecolor="black", markersize=4,
                label="no witness", clip_on=False, zorder=3)  # fmt: skip
    ax.set_yticks(places, [_name(row) for row in rows], fontsize=SMALL)
    ax.set(xlim=(0.0, 1.0), ylim=(0.4 - len(rows), 0.6))
    label_axes(ax, "share of data sets", ticks="x")
    ax.legend(fontsize=SMALL, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, borderpad=0.2)
    return ax


def _name(row: Row) -> str:
    """A region of a scene, or a profile under a condition."""
    return f"{row['scene']}, {row['profile'] if row['field'] == 'resolution' else row['field']}"

"""What the gate is to look for, said before the rows are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from ..._checks import check_open
from ..._errors import MisuseError
from ..._stored import check_form
from ..._typing import Field
from ...laws import Design
from ...laws._design import RANK_TOLERANCE
from ._outsiders import LAGS, SHARE, WIDTHS, Outsiders, bumps

ELEMENTS = ("rest", "none")
# Columns that are looked along: more bumps are set farther apart, and of more elements the first are taken.
_MOST_COLUMNS = 6000
_FORM = {"elements": ELEMENTS, "share": float}


def whiteness(design: Design, n_rows: int) -> Outsiders | None:
    """What so many rows say of their noise alone: autocorrelations of one, the leading eigenvalue of three or more.

    None where they say nothing: of two rows, and of several whose covariance was estimated, errors of which are seen.
    """
    lags = tuple(lag for lag in LAGS if lag < len(design.columns))
    if n_rows == 1 and lags and design.rows == "same mean":
        return Outsiders(lags=lags)
    return Outsiders(spectrum=True) if n_rows >= 3 and not design.is_estimated else None


@final
@dataclass(frozen=True, slots=True)
class Scan:
    """Outsiders that are sensible for the rows at hand.

    One row: bumps of 1 to 32 channels everywhere, the other elements, and autocorrelations.  Several: the other
    elements, and from three rows on the leading eigenvalue, unless the covariance of the noise was estimated from rows:
    it sees the errors of that, too.  elements: `rest` looks along all elements of the bank,
    `none` along none.  share: of the level.
    """

    elements: Literal["rest", "none"] = "rest"
    share: float = SHARE

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        if self.elements not in ELEMENTS:
            raise MisuseError("elements", f"be one of {', '.join(map(repr, ELEMENTS))}", repr(self.elements))

    def outsiders(self, design: Design, n_rows: int, n_channels: int) -> Outsiders | None:
        """For so many rows of so many channels; None if they leave nothing to look for."""
        columns, places = [], []
        if n_rows == 1 < n_channels and design.rows == "same mean":
            raw, named = bumps(n_channels, WIDTHS, is_thin=len(WIDTHS) * n_channels > _MOST_COLUMNS)
            seen = design.whitened(raw)
            sizes = np.linalg.norm(seen, axis=0)
            left = np.flatnonzero(sizes > RANK_TOLERANCE * sizes.max())  # not channels without noise
            columns.append(seen[:, left])
            places += [named[i] for i in left.tolist()]
        if self.elements == "rest":
            first = np.unique(np.array(design.names), return_index=True)[1] if design.names else np.empty(0, dtype=int)
            chosen = np.sort(first)[:_MOST_COLUMNS]
            columns.append(design.columns[:, chosen])
            places += [f"element {design.names[i]}" for i in chosen.tolist()]
        kept: Field = np.hstack(columns) if columns else np.empty((0, 0))
        looked = whiteness(design, n_rows)
        has_spectrum = looked is not None and looked.spectrum
        if not kept.size and not has_spectrum:
            return None
        lags = () if looked is None else looked.lags
        return Outsiders(kept if kept.size else None, tuple(places), lags, spectrum=has_spectrum, share=self.share)

    def encode(self) -> dict[str, object]:
        """Both."""
        return {"elements": self.elements, "share": self.share}

    @classmethod
    def decode(cls, node: Mapping[str, object]) -> "Scan":
        """What `encode` made."""
        content = check_form(node, _FORM, "outsiders")
        return cls(content["elements"], content["share"])

"""Outsiders: effects that the bank lacks, and the gate that looks for them in the residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import check_whole, read_only
from ..._checks import check_columns, check_open
from ..._errors import MisuseError
from ..._typing import Array, Field
from ...laws import RANK_TOLERANCE, Design
from ._table import SPECTRA, Draws, check_sizes

WIDTHS = (1, 2, 4, 8, 16, 32)
LAGS = tuple(range(1, 11))
SHARE = 0.2
# Of an outsider of norm 1; one that explanation and background nearly span says nothing beside them.
LEAST_LEFT = 1e-3
# Of parts of unit residuals, which are at most 1: far more than the rounding of their sums.
ROUNDING = 1e-10
# Of an outsider, what an explanation has in common with it to be where the explanation is.
OWN_SHARE = 0.25
# Where noise is looked at.
SCATTER = "the scatter of the rows"
LEFT = "all that the fit leaves"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outsiders:
    """Effects that the gate looks for; its parts divide this share of the level equally.

    columns: largest part of the residual along one of them.  lags: largest autocorrelation of a single row's residual.
    spectrum: leading eigenvalue over the trace, of the scatter of rows with a common mean (it sees coloured noise), or
    of the residual second moments of free rows (it sees a source outside the bank).  noise: where it is stated, whether
    it is that of the rows, two-sided: by their scatter if they have a common mean, else by what an explanation leaves.
    """

    columns: Field | None = None  # (q, k)
    places: tuple[str, ...] = ()  # (k,) names of the columns; their numbers if none are given
    lags: tuple[int, ...] = ()
    spectrum: bool = False
    share: float = SHARE
    noise: bool = False

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        object.__setattr__(
            self,
            "lags",
            tuple(check_whole("lags", np.array(self.lags or [], dtype=None if self.lags else int)).tolist()),
        )
        if any(lag < 1 for lag in self.lags):
            raise MisuseError("lags", "be at least 1", self.lags)
        if self.columns is not None:
            columns = check_columns("outsiders", self.columns, None)
            if not columns.any(axis=0).all() or not columns.size:
                raise MisuseError("outsiders", "be columns other than 0", f"shape {columns.shape}")
            check_sizes("outsiders", np.abs(columns).max(axis=0))
            names = tuple(self.places) or tuple(f"column {i}" for i in range(columns.shape[1]))
            if len(names) != columns.shape[1]:
                raise MisuseError("places", f"name all {columns.shape[1]} outsiders", len(names))
            object.__setattr__(self, "columns", read_only(columns))
            object.__setattr__(self, "places", names)
        if not self.parts:
            raise MisuseError("outsiders", "have columns, lags or the spectrum, or look at the noise", "none of them")

    def check(
        self,
        n_rows: int,
        n_channels: int,
        *,
        has_common_mean: bool = True,
        is_noise_stated: bool = False,
        is_complex: bool = False,
    ) -> None:
        """Raise if so many rows cannot tell: one alone, of no free coefficients, has lags, and only several scatter.

        Rows with coefficients of their own have no order along an axis that survives these.
        """
        if self.columns is not None:
            if not is_complex and np.iscomplexobj(self.columns):
                raise MisuseError("outsiders", "be real, as rows and table are", "complex columns")
            check_columns("outsiders", self.columns, n_channels)
        if self.noise and not is_noise_stated:
            raise MisuseError("noise", "be looked at where sigma is given", "none", "Leave it out.")
        if self.lags and (n_rows > 1 or not has_common_mean):
            several = f"{n_rows} rows" if has_common_mean else "rows with free coefficients"
            raise MisuseError("lags", "be asked for of a single row", several)
        if self.spectrum and n_rows < 3:
            raise MisuseError("spectrum", "be asked for of at least 3 rows", n_rows)

    @property
    def unit(self) -> Field:
        """(q, k) the columns with norm 1."""
        assert self.columns is not None
        return np.asarray(self.columns / np.linalg.norm(self.columns, axis=0))

    @property
    def parts(self) -> tuple[str, ...]:
        """The tests that the share is divided by."""
        kinds = {
            "columns": self.columns is not None,
            "lags": bool(self.lags),
            "spectrum": self.spectrum,
            "noise": self.noise,
        }
        return tuple(kind for kind, is_there in kinds.items() if is_there)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The parts that make draws; the noise has a p-value in closed form."""
        return tuple(part for part in self.parts if part != "noise")


def ordered_axis(q: int, widths: Sequence[int] = WIDTHS, lags: Sequence[int] = LAGS) -> Outsiders:
    """For one row on an ordered axis of q channels: bumps of these widths, everywhere, and autocorrelations."""
    columns, places = bumps(q, widths)
    return Outsiders(columns, tuple(places), tuple(lag for lag in lags if lag < q))


def bumps(q: int, widths: Sequence[int], *, is_thin: bool = False) -> tuple[Array, list[str]]:
    """(q, k) columns of ones over neighbouring channels, and where they stand.

    At every channel, or, if thin, a quarter of their width apart: what lies between two is seen nearly as well.
    """
    columns = []
    places = []
    for width in (width for width in widths if width < q):
        for start in range(0, q - width + 1, max(1, width // 4) if is_thin else 1):
            column = np.zeros(q)
            column[start : start + width] = 1.0
            columns.append(column)
            places.append(f"channel {start}" if width == 1 else f"channels {start} to {start + width - 1}")
    return np.array(columns).T, places


def scanned(columns: ArrayLike, *, spectrum: bool = True) -> Outsiders:
    """For several rows: the rest of a library, or a fine grid of directions (q, k), and the leading eigenvalue."""
    return Outsiders(np.asarray(columns), spectrum=spectrum)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one part of the gate for one explanation."""

    part: str  # columns, lags, spectrum or noise
    place: str  # where the residual is largest
    exceedances: int  # of all draws at least so many
    most: int  # and at most so many: the same unless enough of them stopped the test
    draws: int
    is_own: bool = False  # whether that is where the explanation itself is: its shape, or a close neighbour
    closed: float | None = None  # p-value in closed form, of a part that makes no draws
    ratio: float | None = None  # of the noise: how many times the variance that is stated

    @property
    def p(self) -> float:
        """Valid for this part alone."""
        return (1 + self.exceedances) / (1 + self.draws) if self.closed is None else self.closed

    def encode(self) -> dict[str, object]:
        """Part, place and p-value as facts hold them, with what else there is."""
        said: dict[str, object] = {"part": self.part, "place": self.place, "p": self.p}
        said |= {"is_own": True} if self.is_own else {}
        return said | ({} if self.ratio is None else {"ratio": self.ratio})


def leading_shares(seed: int, draws: int, size: int, n_rows: int, is_complex: bool) -> Array:
    """(B,) leading eigenvalue over the trace of second moments of n_rows white rows in size dimensions.

    Those of a matrix and of its transpose are the same, so the smaller ones are drawn.
    """
    factor = Draws(seed, SPECTRA).wishart_factor(draws, min(size, n_rows), max(size, n_rows), is_complex)
    values = np.linalg.eigvalsh(factor @ factor.conj().swapaxes(1, 2))
    return np.asarray(values[:, -1] / values.sum(axis=1))


def leading_share(residual: Field, rounding: float) -> float:
    """At least this much of a residual (m, T) of which so long a part may be rounding; none of one that all may be."""
    values = np.linalg.svd(residual, compute_uv=False) ** 2
    return float(values[0] / values.sum() - ROUNDING - turned(rounding, values.sum()))


def turned(rounding: float, energy: float) -> float:
    """At most what a part of this length changes of squares and products of unit residuals; no number for none."""
    return float(8.0 * np.float64(rounding) / np.sqrt(energy))


ELEMENTS = ("rest", "none")
# Columns that are looked along: more bumps are set farther apart, and of more elements the first are taken.
_MOST_COLUMNS = 6000


def white_lags(n_rows: int, n_channels: int, has_common_mean: bool) -> tuple[int, ...]:
    """Lags at which a single row is asked for autocorrelations; none of several rows, or of free coefficients."""
    return tuple(lag for lag in LAGS if lag < n_channels) if n_rows == 1 and has_common_mean else ()


@final
@dataclass(frozen=True, slots=True)
class Scan:
    """Outsiders that are sensible for the rows at hand.

    One row: bumps of 1 to 32 channels everywhere, the other elements, and autocorrelations.  Several: the other
    elements, and from three rows on the leading eigenvalue.  elements: `rest` looks along all elements of the bank,
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
        columns = []
        places = []
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
        has_spectrum = n_rows >= 3
        if not kept.size and not has_spectrum:
            return None
        is_white = design.covariance_freedom is None  # errors of an estimate would be seen
        lags = white_lags(n_rows, len(design.columns), design.rows == "same mean") if is_white else ()
        return Outsiders(kept if kept.size else None, tuple(places), lags, spectrum=has_spectrum, share=self.share)

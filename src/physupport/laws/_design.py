"""Rows that are linear in coefficients that nobody knows: what judges of composite explanations need of a law."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_open, check_positive
from .._errors import MisuseError
from .._typing import Array, Field, IntArray
from ..banks import Bank

# Of a column of norm 1, what is left beside the others; less is taken for rounding, and the column for dependent.
RANK_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    r"""Explanations :math:`z = N_e\theta + \sigma\varepsilon` with white noise, by the keys of a law.

    Key k stands for row k // s of the supports and for noise setting k % s, s of them.  Columns are those of whitened
    rows.  An active coefficient lies between low and high of its column and has at least the absolute value least, or
    one of those together with it has.
    """

    columns: Field  # (p, E) that may be active
    names: tuple[str, ...]  # (E,)
    supports: IntArray  # (K, r) active columns, padded with -1
    background: Field  # (p, b) always there
    rows: str  # "same mean", or "free": every row has coefficients of its own
    deviations: tuple[float | None, ...]  # (s,) sigma, of complex noise E|eps|^2 = 1; None where it is not known
    whitener: Field | None  # (p, q), by which measured rows are multiplied; None leaves them as they are
    low: Array  # (E,)
    high: Array  # (E,)
    least: Array  # (E,)
    cells: tuple[IntArray, Array] | None = (
        None  # (E,) of which a column is a derivative, and its half step, inf if none
    )
    exposure: Array | None = None  # (T,) of every row of counts; the same for all unless given
    is_estimated: bool = False  # whether the whitener comes from rows, so that white noise is not quite white
    is_cone: bool = False  # active coefficients are not negative, which evidence holds them to
    radii: Array | None = None  # (E,) how far a column may be off, as a vector of this length
    is_random: bool = False  # of free rows, whether coefficients are Gaussian about 0, with one covariance that is open
    together: IntArray | None = None  # (E,) numbers: of active columns with the same one reaches its least; else each

    def whitened(self, columns: Field) -> Field:
        """Columns (q, k), or rows as columns, as the whitened channels see them."""
        return columns if self.whitener is None else np.asarray(self.whitener @ columns)


def with_variants(columns: Field, supports: IntArray, variants: Field | None) -> tuple[Field, IntArray]:
    """Columns (q, E) and then all their variants (V, q, E); whatever has an active column has its variants, too."""
    if variants is None:
        return columns, supports
    count = columns.shape[1]
    more = [np.where(supports >= 0, supports + count * v, -1) for v in range(1, len(variants) + 1)]
    return np.hstack([columns, *variants]), np.hstack([supports, *more])


def tangent_cells(half_steps: Array, count: int) -> tuple[IntArray, Array]:
    r"""Owners and half steps of columns (count) and then all their derivatives (V times count).

    With :math:`a(p + \delta) = a(p) + \delta a'(p)` to first order, the coefficient of the derivative is
    :math:`\tau = \delta\theta`: where :math:`|\tau| \le h|\theta|`, the parameter lies within h of its value.
    """
    size = (1 + len(half_steps)) * count
    return np.arange(size) % count, np.repeat(np.append(np.inf, half_steps), count)


def ball_radii(error: float, columns: Field, whitener: Field | None) -> Array:
    """(E,) how far responses may be off; whitening makes an ellipsoid of a ball, within one of its longest axis."""
    longest = 1.0 if whitener is None else float(np.linalg.norm(whitener, 2))
    return np.asarray(error * longest * np.linalg.norm(columns, axis=0) * (1.0 + 1e-12))


def by_element(bank: Bank, values: Mapping[str, float], otherwise: float) -> Array:
    """(E,) what is said of the region of each element of the states; shared columns have none."""
    library = bank.states.library
    if library is None or not values:
        return np.full(bank.states.elements.shape[1], otherwise)
    by_library = np.array([*(values.get(region, otherwise) for region in library.regions), otherwise])
    return np.asarray(by_library[bank.states.library_index])


def check_variants(variants: ArrayLike | None, n_channels: int, n_columns: int) -> Array | None:
    """(V, q, E) further responses of every column, where there are some."""
    return None if variants is None else check_array("variants", variants, (None, n_channels, n_columns))


def check_half_steps(half_steps: ArrayLike | None, variants: ArrayLike | None, rows: str) -> None:
    """(V,) of derivatives, 0 or more; coefficients that are others in every row are held to nothing."""
    if half_steps is None:
        return
    steps = check_array("half_steps", half_steps, (0 if variants is None else len(np.asarray(variants)),))
    if rows != "same mean" or steps.min(initial=0.0) < 0.0:
        raise MisuseError("half_steps", "be 0 or more, of tangents in rows of the same mean", f"{rows} rows")


def check_error(error: float | None, variants: ArrayLike | None) -> None:
    """A sine, if any, of responses that have no other width."""
    if error is None:
        return
    check_open("error", error, 0.0, 1.0)
    if variants is not None:
        remedy = "Leave error out, or take variants as states without tangents."
        raise MisuseError(
            "error", "be left out where responses have columns to mix, which are their width", error, remedy
        )


def check_cone(is_cone: bool, has_mean: bool) -> None:
    """Mixtures without negative parts are of real rows that share a mean, and of variants."""
    if is_cone and not has_mean:
        remedy = "Take variants as states or as a span."
        raise MisuseError("is_cone", "go with real rows of the same mean, and no tangents", "others", remedy)


def check_one_response(bank: Bank, background: ArrayLike | None) -> None:
    """Refuse what is more than one response up to an angle, where every row has coefficients of its own."""
    most = bank.deployment_parts(np.arange(bank.n_deployment_keys)).elements
    if background is not None or int((most >= 0).sum(axis=1).max(initial=0)) > 1:
        rule = "go with one element and no background where every row has coefficients of its own"
        remedy = "Leave error out, have one element at a time, or rows of the same mean."
        raise MisuseError("error", rule, "several elements" if background is None else "a background", remedy)


def check_regions(name: str, regions: Iterable[str], bank: Bank) -> None:
    """Refuse names of regions that the bank does not have."""
    known = bank.states.regions if bank.states.library is not None else ()
    for region in regions:
        if region not in known:
            raise MisuseError(name, f"name regions of the bank ({', '.join(known)})", repr(region))


def check_bounds(
    coefficients: Mapping[str, tuple[float, float]], thresholds: Mapping[str, float], rows: str, is_complex: bool
) -> None:
    """Of the coefficients of regions, which have none where every row has its own, and no sign where complex."""
    for region, (low, high) in coefficients.items():
        if not low < high:
            raise MisuseError(f"coefficients of {region!r}", "have low below high", (low, high))
    for region, threshold in thresholds.items():
        check_positive(f"threshold of {region!r}", threshold)
    if rows != "same mean" and (coefficients or thresholds):
        remedy = "Leave bounds and thresholds out, or have rows of the same mean."
        raise MisuseError("coefficients", "be left open where every row has its own", "bounds", remedy)
    if is_complex and coefficients:
        remedy = "Leave the bounds out; an absence threshold bounds their modulus."
        raise MisuseError("coefficients", "be free where they are complex, as they have no sign", "bounds", remedy)


def check_background(bank: Bank, columns: Field, background: Field) -> None:
    """Refuse a background (p, b) that spans an element of the bank, columns (p, E): nothing could tell it."""
    kept = background[:, background.any(axis=0)]
    left, values, _ = np.linalg.svd(kept / np.linalg.norm(kept, axis=0), full_matrices=False)
    basis, norms = left[:, values > RANK_TOLERANCE], np.linalg.norm(columns, axis=0)
    beside = np.linalg.norm(columns - basis @ (basis.conj().T @ columns), axis=0)
    spanned = np.flatnonzero((beside <= RANK_TOLERANCE * norms) & (norms > 0.0))
    if spanned.size:
        (name,), rule = bank.states.names(spanned[:1]), "leave something of every element"
        remedy = "Take columns out of the background, or the element out of the bank."
        raise MisuseError("background", rule, f"one that spans '{name}'", remedy)


def check_marks(thresholds: Mapping[str, float], bank: Bank) -> None:
    """Refuse a bank that has a mark below a threshold alone: ABSENT would be certain whatever the rows say."""
    for region, threshold in thresholds.items():
        own = bank.states.blocks[bank.states.regions.index(region)]
        marks, others = bank.strengths[:, own[0]], np.delete(bank.strengths, own, axis=1)
        strong = {row.tobytes() for row in others[marks >= threshold]}
        if not all(row.tobytes() in strong for row in others[(marks > 0.0) & (marks < threshold)]):
            rule = f"be reached by a strength of region {region!r} wherever the bank has one below it"
            raise MisuseError("thresholds", rule, threshold, "Give the region both strengths, as marks.")

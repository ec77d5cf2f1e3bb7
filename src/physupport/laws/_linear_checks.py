"""The options that a law of rows that are linear in open coefficients refuses, alone, together, or beside a bank."""

from typing import TYPE_CHECKING

import numpy as np

from .._checks import check_array, check_count, check_open, check_positive
from .._errors import Clause, MisuseError
from ..banks import UNLISTED, Bank
from ._design import (
    RANK_TOLERANCE,
    check_covariance,
    check_rank,
    native_covariance,
)

if TYPE_CHECKING:
    from ._linear import Linear


def check_estimate(law: "Linear", freedom: int) -> None:
    """Refuse an estimate of which there is no matrix, or beside a noise level of its own."""
    check_count("covariance_freedom", freedom)
    if law.covariance is None or np.ndim(law.covariance) != 2 or law.noises is not None:
        rule = "go with a covariance matrix that was estimated from rows, and no noises"
        raise MisuseError("covariance_freedom", rule, freedom, "Leave it out where the noise is known.")


def check_bounds(law: "Linear") -> None:
    """Check bounds of the coefficients of regions: there are none where every row has its own, or where complex."""
    for region, (low, high) in law.coefficients.items():
        if not low < high:
            raise MisuseError(f"coefficients of {region!r}", "have low below high", (low, high))
    for region, threshold in law.thresholds.items():
        check_positive(f"threshold of {region!r}", threshold)
    if law.rows != "same mean" and (law.coefficients or law.thresholds):
        remedy = "Leave bounds and thresholds out, or have rows of the same mean."
        raise MisuseError(
            "coefficients", "be left open where every row has its own", Clause("bounds are given"), remedy
        )
    if law.is_complex and law.coefficients:
        remedy = "Leave the bounds out; an absence threshold bounds their modulus."
        raise MisuseError(
            "coefficients", "be free where they are complex, as they have no sign", Clause("bounds are given"), remedy
        )


def check_width(law: "Linear") -> None:
    """Tangents are held to steps in rows that share coefficients; a sine or a cone is the only width there is."""
    if law.half_steps is not None:
        steps = check_array(
            "half_steps", law.half_steps, (0 if law.variants is None else len(np.asarray(law.variants)),)
        )
        if law.rows != "same mean" or steps.min(initial=0.0) < 0.0:
            raise MisuseError("half_steps", "be 0 or more, of tangents in rows of the same mean", f"{law.rows} rows")
    if law.error is not None:
        check_open("error", law.error, 0.0, 1.0)
        if law.variants is not None or law.is_cone:
            rule = "be left out where responses have columns to mix, which are their width"
            raise MisuseError("error", rule, law.error, "Leave error out, or take variants as states without tangents.")
    if law.is_cone and (law.half_steps is not None or law.rows != "same mean" or law.is_complex):
        remedy = "Take variants as states or as a span."
        raise MisuseError(
            "is_cone", "go with real rows of the same mean, and no tangents", Clause("the rows are others"), remedy
        )


def check_ranges(law: "Linear") -> None:
    """Refuse other widths beside cells, and noise or channels of which no bound holds all over a cell."""
    for name in ("error", "variants", "unlisted", "noise_shape"):
        if getattr(law, name) is not None:
            remedy = "Take exact places, and several values of the parameters."
            raise MisuseError(
                name, "be left out beside elements or parameters anywhere in cells", Clause("it is given"), remedy
            )
    if law.bands > 1:
        raise MisuseError("bands", "be 1 where elements or parameters lie anywhere in cells", law.bands)


def check_shape(law: "Linear") -> None:
    """Refuse a family of covariances of the noise beside another noise, a ball, or rows that are not random."""
    is_ar = law.is_correlated
    if is_ar and (law.rows != "same mean" or law.is_complex):
        remedy = 'Write rows = "same mean", or take another kind.'
        raise MisuseError("noise.kind", "be 'ar' with real rows about one mean", f"{law.rows!r} rows", remedy)
    if is_ar and (law.coefficients or law.thresholds or law.is_cone or law.half_steps is not None):
        remedy = "Leave bounds and thresholds out, and take variants as a span."
        raise MisuseError("noise.kind", "be 'ar' where coefficients are free", Clause("bounds are given"), remedy)
    if not is_ar and law.rows != "random":
        remedy = 'Write rows = "random", or law = "covariance" with strength = "unknown"; or leave `kind` out.'
        raise MisuseError("noise.kind", "go with rows whose coefficients are random", repr(law.rows), remedy)
    if law.noises is not None or law.covariance is not None:
        raise MisuseError(
            "noise.kind", "be the only noise that is stated", Clause("another one is given"), "Leave the other out."
        )
    if law.error is not None:
        remedy = 'Leave the error out: kind = "any" has the errors of responses within.'
        raise MisuseError("error", "be left out where the noise has a kind", law.error, remedy)


def check_bands(law: "Linear") -> None:
    """Refuse blocks of channels beside rows of the same mean, or beside a noise that is stated for all of them."""
    if law.rows == "same mean":
        rule = "be 1 with rows of the same mean: several frequencies have waves, of which every row has its own"
        raise MisuseError("bands", rule, law.bands, 'Write rows = "random".')
    if law.noises is not None or law.covariance is not None:
        remedy = "Leave noise out, which is then unknown at every frequency, or give one of a kind."
        raise MisuseError(
            "noise", "be left out with several frequencies, each of which has its own", Clause("some is given"), remedy
        )


def check_own_covariance(law: "Linear", bank: Bank) -> None:
    assert law.covariance is not None
    check_covariance(native_covariance(law.covariance, law.is_complex), law.width(bank) // (2 if law.is_complex else 1))
    beside = 0 if law.background is None else np.asarray(law.background).shape[1]
    assert law.whitener is not None
    check_rank(law.whitener, int((bank.strengths > 0.0).sum(axis=1).max()) * (1 + len(law.native_variants)) + beside)


def check_background(law: "Linear", bank: Bank) -> None:
    """Refuse a background that spans an element of the bank: nothing could tell it."""
    both = map(law.native, (bank.states.elements, np.asarray(law.background)))
    columns, background = (part if law.whitener is None else law.whitener @ part for part in both)
    kept = background[:, background.any(axis=0)]
    left, values, _ = np.linalg.svd(kept / np.linalg.norm(kept, axis=0), full_matrices=False)
    basis = left[:, values > RANK_TOLERANCE]
    norms = np.linalg.norm(columns, axis=0)
    beside = np.linalg.norm(columns - basis @ (basis.conj().T @ columns), axis=0)
    spanned = np.flatnonzero((beside <= RANK_TOLERANCE * norms) & (norms > 0.0))
    if spanned.size:
        (name,) = bank.states.names(spanned[:1])
        rule = "leave something of every element"
        remedy = "Take columns out of the background, or the element out of the bank."
        raise MisuseError("background", rule, Clause(f"it spans '{name}'"), remedy)


def check_regions(law: "Linear", bank: Bank) -> None:
    """Refuse regions that the bank does not have, and banks with a mark below a threshold alone.

    Of these ABSENT would be certain whatever the rows say.
    """
    states = bank.states
    known = states.regions if states.library is not None else ()
    for name, regions in (("coefficients", law.coefficients), ("thresholds", law.thresholds)):
        for region in regions:
            if region not in known:
                raise MisuseError(name, f"name regions of the bank ({', '.join(known)})", repr(region))
    for region, threshold in law.thresholds.items():
        block = states.blocks[states.regions.index(region)]
        marks = bank.strengths[:, block[0]]
        strengths_beside = np.delete(bank.strengths, block, axis=1)
        strong = {row.tobytes() for row in strengths_beside[marks >= threshold]}
        if not all(row.tobytes() in strong for row in strengths_beside[(marks > 0.0) & (marks < threshold)]):
            rule = f"be reached by a strength of region {region!r} wherever the bank has one below it"
            raise MisuseError("thresholds", rule, threshold, "Give the region both strengths, as marks.")


def check_unlisted(law: "Linear", bank: Bank) -> None:
    """Refuse further columns that are not those of the region of the unlisted, or beside other mixtures."""
    if law.unlisted is None:
        return
    columns = check_array("unlisted", law.unlisted, (None, law.width(bank), None))
    library = bank.states.library
    known = () if library is None else library.regions
    count = sum(region == UNLISTED for region in known)
    if columns.shape[2] != count or not count:
        rule = f"have a column for each of the {count} elements of the bank's region '{UNLISTED}'"
        remedy = "Make the library and its supports by with_unlisted, of the same GenericFamily."
        raise MisuseError("unlisted", rule, f"{columns.shape[2]}", remedy)
    if law.unlisted_places is not None:
        check_array("unlisted_places", law.unlisted_places, (2, count))
    if law.is_cone or law.half_steps is not None:
        remedy = "Take variants as states, and no tangents."
        raise MisuseError("unlisted", "be left out beside cones and tangents", Clause("both are given"), remedy)

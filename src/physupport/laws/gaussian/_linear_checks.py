"""What a law of rows that are linear in open coefficients refuses."""

from typing import TYPE_CHECKING

import numpy as np

from ..._checks import check_array, check_open, check_positive
from ..._errors import MisuseError
from ...banks import Bank
from .._design import RANK_TOLERANCE, check_variants
from .._whitening import check_covariance, check_rank, native_covariance

if TYPE_CHECKING:
    from ._linear import Linear

ROWS = ("same mean", "free", "random")


def check_options(law: "Linear") -> None:
    """Options that do not go together."""
    if law.rows not in ROWS:
        raise MisuseError("rows", f"be one of {', '.join(map(repr, ROWS))}", repr(law.rows))
    if law.variants is not None and (law.thresholds or (law.coefficients and law.half_steps is None)):
        remedy = "Take variants as states, or leave coefficients free."
        raise MisuseError("variants", "not mix where coefficients are bounded, or have a threshold", "some", remedy)
    _check_bounds(law)
    _check_width(law)


def check_against(law: "Linear", bank: Bank) -> None:
    """A bank that the law cannot be about; the whitener is worked out here."""
    if law.background is not None:
        check_array("background", law.background, (law.width(bank), None))
    noises = bank.deployment.column("noise") if "noise" in bank.deployment.names else law.noises
    if noises is not None and not np.array_equal(np.asarray(law.noises), noises):
        raise MisuseError("noises", "be those of the bank", law.noises)
    if law.noises is not None:
        for noise in check_array("noises", law.noises, (len(bank.deployment),)).tolist():
            check_positive("noises", noise)
    if law.covariance is not None:
        _check_covariance(law, bank)
    if law.background is not None:
        _check_background(law, bank)
    check_variants(law.variants, *bank.states.elements.shape)
    _check_regions(law, bank)
    if law.error is not None and law.rows != "same mean":
        _check_one_response(law, bank)


def _check_bounds(law: "Linear") -> None:
    """Of the coefficients of regions, which have none where every row has its own, and no sign where complex."""
    for region, (low, high) in law.coefficients.items():
        if not low < high:
            raise MisuseError(f"coefficients of {region!r}", "have low below high", (low, high))
    for region, threshold in law.thresholds.items():
        check_positive(f"threshold of {region!r}", threshold)
    if law.rows != "same mean" and (law.coefficients or law.thresholds):
        remedy = "Leave bounds and thresholds out, or have rows of the same mean."
        raise MisuseError("coefficients", "be left open where every row has its own", "bounds", remedy)
    if law.is_complex and law.coefficients:
        remedy = "Leave the bounds out; an absence threshold bounds their modulus."
        raise MisuseError("coefficients", "be free where they are complex, as they have no sign", "bounds", remedy)


def _check_width(law: "Linear") -> None:
    """Tangents are held to steps in rows that share coefficients; a sine or a cone is the only width there is."""
    if law.half_steps is not None:
        steps = check_array(
            "half_steps", law.half_steps, (0 if law.variants is None else len(np.asarray(law.variants)),)
        )
        if law.rows != "same mean" or steps.min(initial=0.0) < 0.0:
            raise MisuseError("half_steps", "be 0 or more, of tangents in rows of the same mean", f"{law.rows} rows")
    if law.error is not None:
        check_open("error", law.error, 0.0, 1.0)
        if law.variants is not None:
            rule = "be left out where responses have columns to mix, which are their width"
            raise MisuseError("error", rule, law.error, "Leave error out, or take variants as states without tangents.")
    if law.is_cone and (law.half_steps is not None or law.rows != "same mean" or law.is_complex):
        remedy = "Take variants as states or as a span."
        raise MisuseError("is_cone", "go with real rows of the same mean, and no tangents", "others", remedy)


def _check_covariance(law: "Linear", bank: Bank) -> None:
    assert law.covariance is not None
    check_covariance(native_covariance(law.covariance, law.is_complex), law.width(bank) // (2 if law.is_complex else 1))
    n_variants = 0 if law.variants is None else len(np.asarray(law.variants))
    beside = 0 if law.background is None else np.asarray(law.background).shape[1]
    assert law.whitener is not None
    check_rank(law.whitener, int((bank.strengths > 0.0).sum(axis=1).max()) * (1 + n_variants) + beside)


def _check_background(law: "Linear", bank: Bank) -> None:
    """Refuse a background that spans an element of the bank: nothing could tell it."""
    both = map(law.native, (bank.states.elements, np.asarray(law.background)))
    columns, background = (part if law.whitener is None else law.whitener @ part for part in both)
    kept = background[:, background.any(axis=0)]
    left, values, _ = np.linalg.svd(kept / np.linalg.norm(kept, axis=0), full_matrices=False)
    basis, norms = left[:, values > RANK_TOLERANCE], np.linalg.norm(columns, axis=0)
    beside = np.linalg.norm(columns - basis @ (basis.conj().T @ columns), axis=0)
    spanned = np.flatnonzero((beside <= RANK_TOLERANCE * norms) & (norms > 0.0))
    if spanned.size:
        (name,), rule = bank.states.names(spanned[:1]), "leave something of every element"
        remedy = "Take columns out of the background, or the element out of the bank."
        raise MisuseError("background", rule, f"one that spans '{name}'", remedy)


def _check_regions(law: "Linear", bank: Bank) -> None:
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
        marks, strengths_beside = bank.strengths[:, block[0]], np.delete(bank.strengths, block, axis=1)
        strong = {row.tobytes() for row in strengths_beside[marks >= threshold]}
        if not all(row.tobytes() in strong for row in strengths_beside[(marks > 0.0) & (marks < threshold)]):
            rule = f"be reached by a strength of region {region!r} wherever the bank has one below it"
            raise MisuseError("thresholds", rule, threshold, "Give the region both strengths, as marks.")


def _check_one_response(law: "Linear", bank: Bank) -> None:
    """Refuse what is more than one response up to an angle, where every row has coefficients of its own."""
    most = bank.deployment_parts(np.arange(bank.n_deployment_keys)).elements
    if law.background is not None or int((most >= 0).sum(axis=1).max(initial=0)) > 1:
        rule = "go with one element and no background where every row has coefficients of its own"
        remedy = "Leave error out, have one element at a time, or rows of the same mean."
        raise MisuseError("error", rule, "several elements" if law.background is None else "a background", remedy)

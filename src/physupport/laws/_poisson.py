"""Deployment rows that count: Poisson around nonnegative amounts of responses and background."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, read_only
from .._codec import array_json, real
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..banks import UNLISTED, Bank
from ..io import RowSource, mean_row
from ..responses import Family
from ._design import (
    Design,
    check_variants,
    generic_interval,
    keep_names,
    options_in_order,
    response_band,
    with_variants,
)
from ._law import CoverSizes, Law, Part, register
from ._stream import Stream

# Of a fit that is only shown.
_STEPS = 500
_LEAST = 1e-300
# Recorded counts are whole numbers up to this, after responses were scaled.
_NOT_WHOLE = 1e-3


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Poisson(Law):
    r"""Counts :math:`y_{ti} \sim \mathrm{Poisson}(s_t\,(A_ex + Bb)_i)`, x >= 0 and b >= 0 free, in rows of exposure s.

    Strengths of the bank are marks that say which atoms are active.
    background: (q, b) columns.  exposure: (T,) of every row, such as live times; the same for all unless given.
    variants: (V, q, E) further responses of every element of the bank's states; an active one is any nonnegative mix of
    its own, a cone.  is_between: True if it lies between its own in every channel instead, after all were scaled to the
    norm 1.
    error: responses are right to within this share of their largest value in every channel; relative_error: to within
    this share of their value there.  Each is one number, (E,) for the elements of the library, or (q, E).
    counted: (E,) total counts of the elements of the library, whose responses were counted themselves, in any live
    time: the judge allows for their counting noise.  An error beside it is relative, one number or one an element.
    unlisted: (q, G) generic responses: the element `unlisted` of the bank, where it is active, is any nonnegative mix
    of them, whatever its own response (see `banks.with_unlisted`).  They are exact: errors are those of the library.
    unlisted_places: (2, G) between which each of them says that something lies, in unlisted_unit; their numbers, if
    left out.
    family: the responses for all values of parameters that may lie anywhere in a box, the same for all elements (see
    `physupport.responses.Family`); those of the bank are its middle.
    """

    name: ClassVar[str] = "poisson"
    part: ClassVar[Part] = "deployment"
    why_real: ClassVar[str] = "Counts are whole numbers."
    has_strengths: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    is_counted: ClassVar[bool] = True
    file_keys: ClassVar[Mapping[str, bool]] = {
        "split": False, "splits": False, "exposure": False, "background": False, "elements.error": False,
        "elements.counted": False, "unlisted": False, "unlisted.peaks": False, "parameters.between": False,
    }  # fmt: skip
    usual_judge: ClassVar[str] = "counts"
    mixes: ClassVar[tuple[str, ...]] = ("cone", "between")
    error_words: ClassVar[str] = "{} of its largest value in any channel"

    background: ArrayLike | None = None
    exposure: ArrayLike | None = None
    variants: ArrayLike | None = None
    error: ArrayLike | None = None
    relative_error: ArrayLike | None = None
    counted: ArrayLike | None = None
    is_between: bool = False
    unlisted: ArrayLike | None = None
    unlisted_places: ArrayLike | None = None
    unlisted_unit: str = ""
    family: Family | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        if self.is_complex:
            raise MisuseError("is_complex", "be False for counts", "True", self.why_real)
        keep_names(self)
        for name in ("background", "exposure", "variants", "counted", "unlisted", "unlisted_places"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name), np.float64))
        if self.exposure is not None and not (check_array("exposure", self.exposure, (None,)) > 0.0).all():
            raise MisuseError("exposure", "be above 0", "another", "Leave out rows that were not exposed.")
        for name in ("error", "relative_error"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check_share(name, getattr(self, name)))
        if self.counted is not None:
            self._check_counted(self.counted)
        if self.is_between and self.variants is None:
            raise MisuseError("is_between", "be False without variants of elements", "True", "Give variants.")
        if self.family is not None:
            self._check_alone()

    def _check_alone(self) -> None:
        """Refuse other widths beside parameters that may lie anywhere in a box."""
        for name in ("variants", "error", "relative_error", "counted", "unlisted"):
            if getattr(self, name) is not None:
                remedy = "Give several values of the parameters instead of a range."
                raise MisuseError(
                    name, "be left out beside parameters between two values", Clause("it is given"), remedy
                )

    def _check_counted(self, counted: ArrayLike) -> None:
        """Refuse widths of responses that were not counted."""
        check_array("counted", counted, (None,))
        if self.variants is not None:
            raise MisuseError(
                "counted",
                "be left out beside variants",
                Clause("counts are given"),
                "Add the counts of all recordings.",
            )
        if self.error is not None:
            remedy = "Give relative_error: rates near 0 are not known to within a share of the largest one."
            raise MisuseError(
                "error", "be left out where responses were counted", Clause("a share of the peak is given"), remedy
            )
        if self.relative_error is not None and np.ndim(self.relative_error) > 1:
            remedy = "Give one for each element."
            raise MisuseError("relative_error", "have one axis where responses were counted", "two", remedy)

    @property
    def has_error(self) -> bool:
        """True if responses have a width that other streams do not know."""
        stated = (self.error, self.relative_error, self.counted, self.family)
        return self.is_between or any(width is not None for width in stated)

    @property
    def has_unlisted(self) -> bool:
        """True if an explanation may have a source of an unlisted kind."""
        return self.unlisted is not None

    def unlisted_interval(self, first: int, last: int) -> tuple[float, float]:
        """The interval that generic responses of these numbers, both included, stand for."""
        return generic_interval(self.unlisted_places, first, last)

    def completed(self, bank: Bank) -> Self:
        """With named options in the order of the bank."""
        law = replace(self, **options_in_order(self, bank))
        law.check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse columns with negative entries."""
        elements = bank.states.elements
        variants = check_variants(self.variants, *elements.shape)
        generic = self._generic(bank)
        self._recorded(bank)
        self._check_family(bank)
        parts = {"responses": elements, "background": self._background(bank), "variants": variants, "unlisted": generic}
        for name, columns in parts.items():
            if columns is not None and columns.size and columns.min() < 0.0:
                remedy = "Means of counts are sums of nonnegative parts."
                raise MisuseError(
                    name, "not be negative with the law poisson", Clause(f"the least is {columns.min():g}"), remedy
                )

    def _check_family(self, bank: Bank) -> None:
        """Refuse a bank of other elements than those of the family."""
        if self.family is None:
            return
        count = len(self.family.places)
        if not np.array_equal(bank.states.library_index, np.arange(count)):
            rule = f"have the {count} elements of the parameters between two values, and one state"
            raise MisuseError("bank", rule, f"{len(bank.states.library_index)} columns")

    def design(self, bank: Bank) -> Design:
        """Atoms and background of every key."""
        step = len(bank.deployment)
        states = bank.states
        single = bank.deployment_parts(np.arange(0, bank.n_deployment_keys, step)).elements
        further = [] if self.variants is None else [*np.asarray(self.variants)]
        variants = [] if self.is_between else further
        is_generic = np.isin(single, bank.states.unlisted) & (single >= 0) & self.has_unlisted
        listed, supports = with_variants(states.elements, np.where(is_generic, -1, single), variants)
        n_elements = states.elements.shape[1]
        generic = self._generic(bank)
        columns = np.hstack([listed, generic])
        count = columns.shape[1]
        if generic.size:
            chosen = is_generic.any(axis=1, keepdims=True)
            numbers = np.where(chosen, listed.shape[1] + np.arange(generic.shape[1]), -1)
            supports = np.hstack([supports, numbers])
        between = None
        largest = listed
        if self.is_between:
            low, largest = (end(np.array([listed, *further]), axis=0) for end in (np.min, np.max))
            between = (np.hstack([low, generic]), np.hstack([largest, generic]))
        half = self._half_widths(bank, largest)
        error, error_scale, error_size = self._error_scale(largest, half)
        half = None if half is None else np.hstack([half, np.zeros(generic.shape)])
        if error_size is not None:
            error_size = np.concatenate([error_size, np.zeros(generic.shape[-error_size.ndim :])], axis=-1)
        return Design(
            columns=columns,
            names=(*states.names(np.arange(listed.shape[1]) % n_elements), *[UNLISTED] * generic.shape[1]),
            supports=supports,
            background=self._background(bank),
            rows="same mean",
            deviations=(None,) * step,
            whitener=None,
            low=np.zeros(count),
            high=np.full(count, np.inf),
            least=np.zeros(count),
            exposure=None if self.exposure is None else np.asarray(self.exposure),
            band=between if half is None else response_band(columns, half, between),
            between=between,
            recorded=self._recorded(bank),
            error=error,
            error_scale=error_scale,
            error_size=error_size if self.family is None else None,
            n_generic=generic.shape[1],
            family=self.family,
        )

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) counts around the strengths, without background."""
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        active = parts.elements[0] >= 0
        means = bank.states.elements[:, parts.elements[0, active]] @ parts.strengths[0, active]
        return rng.poisson(means, (n_rows, len(means))).astype(np.float64)

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array:
        """(q,) the mean of a row after some steps of expectation maximisation, near enough for a picture."""
        key = int(bank.deployment_keys(explanation)[0]) // len(bank.deployment)
        design = self.design(bank)
        active = design.supports[key][design.supports[key] >= 0]
        columns = np.hstack([design.columns[:, active], design.background])
        counts = mean_row(rows)
        amounts = np.full(columns.shape[1], counts.sum() / max(columns.sum(), _LEAST))
        for _ in range(_STEPS):
            means = np.maximum(columns @ amounts, _LEAST)
            amounts = amounts * (columns.T @ (counts / means)) / columns.sum(axis=0)
        return np.asarray(columns @ amounts)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:  # noqa: ARG002
        """None: rows are split by another judge, as amounts are free."""
        raise MisuseError("judge", "be 'counts' for rows of the law poisson", "evidence", "Leave judge out.")

    @property
    def cover_sizes(self) -> CoverSizes:
        r"""At most the distance of chi-square, :math:`\sum_i\Delta\mu_i^2/\mu_i`; :math:`\sigma^2` the least mean."""
        return CoverSizes(1.0, 2, is_shift=False)

    def encode(self) -> dict[str, object]:
        """Write the whole object as JSON."""
        background = np.zeros((0, 0)) if self.background is None else np.asarray(self.background)
        exposure = None if self.exposure is None else np.asarray(self.exposure).tolist()
        content: dict[str, object] = {"kind": self.name, "background": array_json(background), "exposure": exposure}
        for name in ("error", "relative_error"):
            if getattr(self, name) is not None:
                share = np.asarray(getattr(self, name))
                content[name] = float(share) if share.ndim == 0 else array_json(share)
        if self.is_between:
            content["is_between"] = True
        if self.counted is not None:
            content["counted"] = np.asarray(self.counted).tolist()
        if self.unlisted_unit:
            content["unlisted_unit"] = self.unlisted_unit
        for name in ("variants", "unlisted", "unlisted_places"):
            if getattr(self, name) is not None:
                content[name] = array_json(np.asarray(getattr(self, name)))
        if self.family is not None:
            content["family"] = self.family.encode()
        return content

    @classmethod
    def decode(cls, node: Mapping[str, Any], stream: str = "the stream") -> Self:  # noqa: ARG003
        """Read what `encode` made."""
        background = real(node["background"], None, None)
        variants = real(node["variants"], None, None, None) if "variants" in node else None
        return cls(
            background=background if background.size else None,
            exposure=node["exposure"],
            variants=variants,
            error=_decode_share(node.get("error")),
            relative_error=_decode_share(node.get("relative_error")),
            counted=node.get("counted"),
            is_between=bool(node.get("is_between", False)),
            unlisted=real(node["unlisted"], None, None) if "unlisted" in node else None,
            unlisted_places=real(node["unlisted_places"], 2, None) if "unlisted_places" in node else None,
            unlisted_unit=str(node.get("unlisted_unit", "")),
            family=Family.decode(node["family"]) if "family" in node else None,
        )

    def _half_widths(self, bank: Bank, columns: Array) -> Array | None:
        """(q, E) half widths of the band of columns (q, E), which are the elements and then their variants."""
        if self.error is None and self.relative_error is None:
            return None
        owners = bank.states.library_index
        half = np.zeros(columns.shape)
        for stated, size in ((self.error, columns.max(axis=0)), (self.relative_error, columns)):
            share = np.asarray(0.0 if stated is None else stated)
            try:
                np.broadcast_to(share, (len(columns), owners.max() + 1 if share.ndim else 1))
            except ValueError:
                rule = f"be one number, one for each of {owners.max() + 1} elements, or {len(columns)} rows of these"
                raise MisuseError("error", rule, f"shape {share.shape}") from None
            if share.ndim and share.shape[-1] > 1:  # one of each element of the library; shared columns are exact
                share = np.tile(np.where(owners < 0, 0.0, share[..., owners]), columns.shape[1] // len(owners))
            half += share * size
        return half

    def _error_scale(self, columns: Array, half: Array | None) -> tuple[float, str, Array | None]:
        """The error, its scale, and half widths for an error of 1.

        Exact responses have the error 0 of their largest value.  If the error is not one number of one kind, the scale
        is that of multiples of the stated half widths.
        """
        peak, relative = (np.asarray(0.0 if share is None else share) for share in (self.error, self.relative_error))
        if self.relative_error is None and peak.ndim == 0 and self.counted is None:
            return float(peak), "peak", columns.max(axis=0)
        if self.error is None and relative.ndim == 0:
            return float(relative), "value", columns
        return 1.0, "stated", half

    def _recorded(self, bank: Bank) -> IntArray | None:
        """(q, C) the counts of the recorded responses, which are the first columns of the bank."""
        if self.counted is None:
            return None
        totals = np.asarray(self.counted, dtype=np.float64)
        states = bank.states
        n_elements = int(states.library_index.max()) + 1 - self.has_unlisted
        owners = states.library_index[: len(totals)]
        if len(totals) != n_elements:
            rule = f"have one number for each of {n_elements} elements"
            raise MisuseError("counted", rule, f"{len(totals)}", "Give the counts of each response in all channels.")
        if not np.array_equal(owners, np.arange(n_elements)) or (states.library_index == 0).sum() > 1:
            remedy = "A parameter that moves counted responses, or several of an element, leaves no counts."
            raise MisuseError("counted", "go with one response for each element", "several", remedy)
        shapes = states.elements[:, : len(totals)]
        counts = shapes * (totals / np.maximum(shapes.sum(axis=0), np.finfo(np.float64).tiny))
        if not (totals > 0).all() or np.abs(counts - np.rint(counts)).max() > _NOT_WHOLE:
            rule = "make every entry of the responses a whole number of counts"
            remedy = "Give the counts as they were recorded: rates, smoothed or subtracted spectra are none."
            raise MisuseError("counted", rule, f"{totals.min():g} to {totals.max():g} counts in all", remedy)
        return np.asarray(np.rint(counts), dtype=np.int64)

    def _generic(self, bank: Bank) -> Array:
        """(q, G) the generic responses; none unless given."""
        width = self.width(bank)
        if self.unlisted is None:
            return np.zeros((width, 0))
        columns = check_array("unlisted", self.unlisted, (width, None))
        if not len(bank.states.unlisted):
            remedy = "Make the library and its supports by with_unlisted."
            raise MisuseError("unlisted", "go with a bank that has a region 'unlisted'", Clause("it has none"), remedy)
        sums = columns.sum(axis=0)
        if not columns.shape[1] or not (sums > 0.0).all():
            raise MisuseError("unlisted", "have columns whose sums are above 0", f"shape {columns.shape}")
        if self.unlisted_places is not None:
            check_array("unlisted_places", self.unlisted_places, (2, columns.shape[1]))
        return columns

    def _background(self, bank: Bank) -> Array:
        columns = np.zeros((self.width(bank), 0)) if self.background is None else self.background
        return check_array("background", columns, (self.width(bank), None))


def _check_share(name: str, share: ArrayLike) -> Array:
    """Raise unless the errors, as shares of responses, are at least 0 and below 1."""
    try:
        array = read_only(share, np.float64)
    except (TypeError, ValueError):
        remedy = "Give a share of the value in each channel as relative_error." if isinstance(share, Mapping) else ""
        raise MisuseError(name, "be a number or an array of numbers", repr(share), remedy) from None
    if array.ndim > 2 or not ((array >= 0.0) & (array < 1.0)).all():
        raise MisuseError(name, "be at least 0 and below 1", f"{array.min():g} to {array.max():g}")
    return array


def _decode_share(node: float | Mapping[str, Any] | None) -> ArrayLike | None:
    """Read an error: one number, or an array of one or two axes."""
    if node is None or isinstance(node, float):
        return node
    return real(node, *(None,) * len(list(node.get("shape", ()))))

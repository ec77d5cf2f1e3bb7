"""Deployment rows that count: Poisson around nonnegative amounts of responses and background."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, read_only
from .._codec import array_json, real
from .._errors import MisuseError
from .._typing import Array
from ..banks import Bank
from ..io import RowSource, mean_row
from ._design import Design, check_variants, keep_names, options_in_order, response_band, with_variants
from ._law import CoverSizes, Law, Part, register
from ._stream import Stream

# Of a fit that is only shown.
_STEPS = 500
_LEAST = 1e-300


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Poisson(Law):
    r"""Counts :math:`y_{ti} \sim \mathrm{Poisson}(s_t\,(A_ex + Bb)_i)`, x >= 0 and b >= 0 free, in rows of exposure s.

    Strengths of the bank are marks that say which atoms are active.
    background: (q, b) columns.  exposure: (T,) of every row, such as live times; the same for all unless given.
    variants: (V, q, E) further responses of every element of the bank's states; an active one is any nonnegative mix of
    its own, a cone.  half_steps: (V,) of parameters, where they are the responses at the corners of its cell: between
    these lies the one of any value there, up to what straight lines leave.
    error: responses are right to within this share of their largest value in every channel; relative_error: to within
    this share of their value there.  Each is one number, (E,) for the elements of the library, or (q, E).
    """

    name: ClassVar[str] = "poisson"
    part: ClassVar[Part] = "deployment"
    why_real: ClassVar[str] = "Counts are whole numbers."
    has_strengths: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    is_counted: ClassVar[bool] = True
    file_keys: ClassVar[Mapping[str, bool]] = {
        "split": False, "splits": False, "exposure": False, "background": False, "elements.tangents": False,
        "elements.error": False,
    }  # fmt: skip
    usual_judge: ClassVar[str] = "counts"
    mixes: ClassVar[tuple[str, ...]] = ("cone",)
    error_words: ClassVar[str] = "{} of its largest value in any channel"

    background: ArrayLike | None = None
    exposure: ArrayLike | None = None
    variants: ArrayLike | None = None
    half_steps: ArrayLike | None = None
    error: ArrayLike | None = None
    relative_error: ArrayLike | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        if self.is_complex:
            raise MisuseError("is_complex", "be False for counts", "True", self.why_real)
        keep_names(self)
        for name in ("background", "exposure", "variants", "half_steps"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name), np.float64))
        if self.exposure is not None and not (check_array("exposure", self.exposure, (None,)) > 0.0).all():
            raise MisuseError("exposure", "be above 0", "another", "Leave out rows that were not exposed.")
        for name in ("error", "relative_error"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check_share(name, getattr(self, name)))

    @property
    def has_error(self) -> bool:
        """True if responses lie in a band."""
        return self.error is not None or self.relative_error is not None

    def completed(self, bank: Bank) -> Self:
        """With named options in the order of the bank."""
        law = replace(self, **options_in_order(self, bank))
        law.check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse columns with negative entries."""
        elements = bank.states.elements
        variants = check_variants(self.variants, *elements.shape)
        parts = {"responses": elements, "background": self._background(bank), "variants": variants}
        for name, columns in parts.items():
            if columns is not None and columns.size and columns.min() < 0.0:
                remedy = "Means of counts are sums of nonnegative parts."
                raise MisuseError(name, "not be negative with the law poisson", f"{columns.min():g}", remedy)

    def design(self, bank: Bank) -> Design:
        """Atoms and background of every key."""
        step = len(bank.deployment)
        states = bank.states
        single = bank.deployment_parts(np.arange(0, bank.n_deployment_keys, step)).elements
        variants = [] if self.variants is None else [*np.asarray(self.variants)]
        columns, supports = with_variants(states.elements, single, variants)
        count = columns.shape[1]
        n_elements = states.elements.shape[1]
        half = self._half_widths(bank, columns)
        error, error_scale, error_size = self._error_scale(columns)
        return Design(
            columns=columns,
            names=states.names(np.arange(count) % n_elements),
            supports=supports,
            background=self._background(bank),
            rows="same mean",
            deviations=(None,) * step,
            whitener=None,
            low=np.zeros(count),
            high=np.full(count, np.inf),
            least=np.zeros(count),
            exposure=None if self.exposure is None else np.asarray(self.exposure),
            band=None if half is None else response_band(columns, half),
            error=error,
            error_scale=error_scale,
            error_size=error_size,
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
        """All of it."""
        background = np.zeros((0, 0)) if self.background is None else np.asarray(self.background)
        exposure = None if self.exposure is None else np.asarray(self.exposure).tolist()
        content: dict[str, object] = {"kind": self.name, "background": array_json(background), "exposure": exposure}
        if self.half_steps is not None:
            content["half_steps"] = np.asarray(self.half_steps).tolist()
        for name in ("error", "relative_error"):
            if getattr(self, name) is not None:
                share = np.asarray(getattr(self, name))
                content[name] = float(share) if share.ndim == 0 else array_json(share)
        return content if self.variants is None else content | {"variants": array_json(np.asarray(self.variants))}

    @classmethod
    def decode(cls, node: Mapping[str, Any], stream: str = "the stream") -> Self:  # noqa: ARG003
        """Read what `encode` made."""
        background = real(node["background"], None, None)
        variants = real(node["variants"], None, None, None) if "variants" in node else None
        return cls(
            background=background if background.size else None,
            exposure=node["exposure"],
            variants=variants,
            half_steps=node.get("half_steps"),
            error=_decode_share(node.get("error")),
            relative_error=_decode_share(node.get("relative_error")),
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

    def _error_scale(self, columns: Array) -> tuple[float, str, Array | None]:
        """The error, its scale, and half widths for an error of 1; no scale unless the error is one number of one kind.

        Exact responses have the error 0 of their largest value.
        """
        peak, relative = (np.asarray(0.0 if share is None else share) for share in (self.error, self.relative_error))
        if self.relative_error is None and peak.ndim == 0:
            return float(peak), "peak", columns.max(axis=0)
        if self.error is None and relative.ndim == 0:
            return float(relative), "value", columns
        return 0.0, "", None

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

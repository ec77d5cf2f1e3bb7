"""Deployment as people have it: rows are a linear mix of responses and background, in Gaussian noise."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import read_only
from ..._codec import array_json, bound, bound_json, real
from ..._stored import Maybe, Refusal, check_form
from ..._typing import Array, Field
from ...banks import Bank, Moved
from ...io import RowSource, as_pairs, mean_row
from ...io._rows import as_complex
from .._base import Proposal, check_checkpoints
from .._design import Design, ball_radii, by_element, tangent_cells, with_variants
from .._law import Law, Part, register
from .._mixture import Mixture, kinds_with
from .._noise import NoiseLook, NoiseSeen
from .._whitening import WhitenedRows, decoded_covariance, native_covariance, whitener_of
from ._covariance_point import CovariancePoint
from ._linear_checks import ROWS, check_against, check_options
from ._mean_point import MeanPoint

if TYPE_CHECKING:
    from ._linear_stream import LinearStream

_FORM = {
    "kind": str, "rows": ROWS, "background": dict, "covariance": (dict, None), "is_estimated": bool,
    "noises": ([float], None), "coefficients": [list], "thresholds": [list], "is_complex": bool,
    "variants": Maybe(dict), "half_steps": Maybe([float]), "error": Maybe(float), "is_cone": Maybe(bool),
}  # fmt: skip


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Linear(Law):
    r"""Rows :math:`z_t = A_e\theta_t + B\beta_t + \sigma C^{1/2}\varepsilon_t`: active atoms, background, noise.

    Coefficients are free: strengths of the bank are marks that say which atoms are active.  With a threshold b for a
    region its marks below b say nothing, and those from b on that one of its coefficients is of this size or more.

    rows: `same mean` has one theta and beta for all rows, `free` others in every row, and in `random` ones these are
    Gaussian about 0 with one covariance that nobody knows, so that sources may be correlated.
    background: (q, b) columns, of complex rows pairs (Re, Im).  covariance: C as (q, q), or as (q,) the variance of
    every channel; the identity unless given, of complex rows as pairs of its rows.  is_estimated: whether C was
    estimated from rows, which is said in reports.  noises: sigma^2 in every nuisance setting, that of the bank unless
    given; without either it is unknown.
    coefficients: region -> (low, high) of its active coefficients.  thresholds: region -> b.  variants: (V, q, E)
    further responses of every element of the bank's states, pairs if complex; an active one has the span of its own, or
    with is_cone any mixture without negative parts.
    half_steps: (V,) h if they are derivatives along parameters, held to :math:`|\tau| \le h|\theta|` (`tangent_cells`).
    error: sine of the largest angle between a response and the truth, whichever it is (`Ball`), in measured channels.
    """

    name: ClassVar[str] = "gaussian"
    part: ClassVar[Part] = "deployment"
    has_strengths: ClassVar[bool] = False
    has_sign: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    opponents = kinds_with(mean_point=MeanPoint.decode, covariance_point=CovariancePoint.decode)
    file_keys: ClassVar[Mapping[str, bool]] = {
        "noise": False, "noise.open": False, "rows": False, "regions.coefficient": False, "background": False,
        "elements.tangents": False, "cover.tangents": False, "elements.error": False,
        "proposal": False, "split": False, "splits": False,
    }  # fmt: skip
    usual_judge: ClassVar[str] = "rotation"
    mixes: ClassVar[tuple[str, ...]] = ("span", "cone")

    rows: str = "same mean"
    background: ArrayLike | None = None
    covariance: ArrayLike | None = None
    is_estimated: bool = False
    noises: ArrayLike | None = None
    coefficients: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    variants: ArrayLike | None = None
    is_cone: bool = False
    half_steps: ArrayLike | None = None
    error: float | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        for name in ("background", "covariance", "noises", "variants", "half_steps"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
        check_options(self)
        object.__setattr__(self, "coefficients", dict(self.coefficients))
        object.__setattr__(self, "thresholds", dict(self.thresholds))

    @property
    def has_spans(self) -> bool:
        """Unless there is a ball or a cone."""
        return self.error is None and not self.is_cone

    def completed(self, bank: Bank) -> Self:
        """With the noises of the bank, where it has some."""
        noises = self.noises
        if noises is None and "noise" in bank.deployment.names:
            noises = bank.deployment.column("noise")
        (law := replace(self, noises=noises)).check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse a bank that this cannot be about; here all of the law is put together once."""
        check_against(self, bank)

    def design(self, bank: Bank) -> Design:
        """Atoms and background of every key, whitened."""
        step, states = len(bank.deployment), bank.states
        parts = bank.deployment_parts(np.arange(0, bank.n_deployment_keys, step))
        count, whitener = states.elements.shape[1], self.whitener
        columns, names = self.native(states.elements), states.names(np.arange(count))
        least, supports = by_element(bank, self.thresholds, np.inf), parts.elements
        if self.thresholds:
            # An atom twice: with any coefficient, and with one that reaches the threshold.
            is_strong = (supports >= 0) & (parts.strengths >= np.append(least, np.inf)[supports])
            supports = np.where(is_strong, supports + count, supports)
            columns, names = np.hstack([columns, columns]), (*names, *names)
        if self.variants is not None:
            variants = [self.native(variant) for variant in np.asarray(self.variants)]
            columns, supports = with_variants(columns, supports, np.array(variants))
            names = names * (1 + len(variants))
        lows, highs = ({region: box[end] for region, box in self.coefficients.items()} for end in (0, 1))
        places = {region: float(i) for i, region in enumerate(self.thresholds)}
        further = 0 if self.variants is None else len(np.asarray(self.variants)) * count
        copies = (columns.shape[1] - further) // count
        background = np.zeros((len(states.elements), 0)) if self.background is None else np.asarray(self.background)
        beside = self.native(background)
        return Design(
            columns=columns if whitener is None else np.asarray(whitener @ columns),
            names=names,
            supports=supports,
            background=beside if whitener is None else np.asarray(whitener @ beside),
            rows="same mean" if self.rows == "same mean" else "free",
            is_random=self.rows == "random",
            deviations=(None,) * step if self.noises is None else tuple(np.sqrt(np.asarray(self.noises)).tolist()),
            whitener=whitener,
            is_estimated=self.is_estimated,
            low=np.append(np.tile(by_element(bank, lows, -np.inf), copies), np.full(further, -np.inf)),
            high=np.append(np.tile(by_element(bank, highs, np.inf), copies), np.full(further, np.inf)),
            least=np.pad(np.where(np.isfinite(least), least, 0.0), (count * (copies - 1), further)),
            cells=None if self.half_steps is None else tangent_cells(np.asarray(self.half_steps), count),
            is_cone=self.is_cone,
            radii=None if self.error is None else np.tile(ball_radii(self.error, columns[:, :count], whitener), copies),
            together=np.tile(by_element(bank, places, -1.0), copies).astype(np.int64) if places else None,
        )

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) rows without background; strengths are coefficients or variances.

        Noise of an unknown level is a tenth, or as strong as a covariance that was estimated.
        """
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        active = parts.elements[0] >= 0
        atoms, strengths = bank.states.elements[:, parts.elements[0, active]], parts.strengths[0, active]
        signal = atoms @ strengths
        if self.rows == "random":
            units = np.array([1.0, 1.0j]) / np.sqrt(2.0) if self.is_complex else np.ones(1)
            drawn = rng.standard_normal((len(strengths), n_rows, len(units))) @ units
            native = (self.native(atoms) * np.sqrt(strengths)) @ drawn
            signal = (as_pairs(native, axis=0) if self.is_complex else native).T
        unknown = 0.1 if self.whitener is None else 1.0
        scale = unknown if self.noises is None else float(np.sqrt(np.asarray(self.noises)[parts.nuisance[0]]))
        normals = rng.standard_normal((n_rows, len(atoms))) * (scale / np.sqrt(2.0 if self.is_complex else 1.0))
        if self.whitener is not None:
            native = self.native(normals.T)
            coloured = np.linalg.pinv(self.whitener) @ native[: len(self.whitener)]
            normals = (as_pairs(coloured, axis=0) if self.is_complex else coloured).T
        return np.asarray(signal + normals)

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array | None:
        """(width,) atoms and background with the coefficients of least squares, after whitening."""
        if self.rows != "same mean":
            return None
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        active = parts.elements[0][parts.elements[0] >= 0]
        variants = [] if self.variants is None else [variant[:, active] for variant in np.asarray(self.variants)]
        columns = np.hstack([self.native(part) for part in (bank.states.elements[:, active], *variants)])
        if self.background is not None:
            columns = np.hstack([columns, self.native(np.asarray(self.background))])
        native = self.native(mean_row(rows)[:, None])
        root = np.eye(len(columns)) if self.whitener is None else self.whitener
        fit = columns @ np.linalg.lstsq(root @ columns, root @ native, rcond=None)[0]
        return np.asarray(as_pairs(fit, axis=0) if self.is_complex else fit)[:, 0]

    def states_noise(self, bank: Bank) -> bool:
        """A number, or a covariance that was not estimated."""
        return not self.is_estimated and (self.noises is not None or "noise" in bank.deployment.names)

    def noise_seen(self, bank: Bank, rows: RowSource) -> NoiseSeen | None:
        """By their scatter, or by what they have beside all elements and the background (`NoiseLook`)."""
        design = self.design(bank)
        look = NoiseLook.of(design, rows.n_rows)
        known = tuple(sigma for sigma in design.deviations if sigma is not None)
        return None if look is None else look.seen(design.whitened_rows(rows, self.is_complex), known)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "LinearStream":
        """Every key at its best coefficients, of rows that are whitened where a covariance is given."""
        from ._linear_stream import LinearStream

        stops = check_checkpoints(checkpoints, rows.n_rows)
        return LinearStream(self.design(bank), self.scored_rows(bank, rows), stops, self.is_complex)

    def scored_rows(self, bank: Bank, rows: RowSource) -> RowSource:  # noqa: ARG002
        """Whitened."""
        return rows if self.whitener is None else WhitenedRows(rows, self.whitener, self.is_complex)

    def proposed(self, bank: Bank, rows: RowSource) -> Proposal:
        """By a stream that keeps its fits, as opponents have the same ones."""
        stream = replace(self.stream(bank, rows, [rows.n_rows]), fits={})
        return Proposal.of(rows, stream, self.keys(bank)(np.arange(bank.size)))

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> Mixture:  # noqa: ARG002
        """What these rows make likely, see `LinearStream.opponent`."""
        return cast("LinearStream", proposal.stream).opponent(proposal.keys)

    def moved(self, active: int) -> Moved:
        """The mean of all rows together moves by the sum of all; of coloured noise the least deviation counts.

        Random sources, which may be correlated, have this divergence where they are seen, and no more where not.
        """
        return Moved(0.5 * active**2, is_shift=self.rows != "random")

    def encode(self) -> dict[str, object]:
        """All of it; infinite bounds as texts."""
        background = np.zeros((0, 0)) if self.background is None else np.asarray(self.background, dtype=np.float64)
        covariance = None if self.covariance is None else array_json(np.asarray(self.covariance, dtype=np.float64))
        return {
            "kind": self.name,
            "rows": self.rows,
            "background": array_json(background),
            "covariance": covariance,
            "is_estimated": self.is_estimated,
            "noises": None if self.noises is None else np.asarray(self.noises, dtype=np.float64).tolist(),
            "coefficients": [[name, bound_json(a), bound_json(b)] for name, (a, b) in self.coefficients.items()],
            "thresholds": [[name, float(b)] for name, b in self.thresholds.items()],
            "is_complex": self.is_complex,
            **({} if self.variants is None else {"variants": array_json(np.asarray(self.variants, dtype=np.float64))}),
            **({} if self.half_steps is None else {"half_steps": np.asarray(self.half_steps).tolist()}),
            **({} if self.error is None else {"error": float(self.error)}),
            **({"is_cone": True} if self.is_cone else {}),
        }

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """What `encode` made."""
        content = check_form(node, _FORM, f"the law of {stream}")
        background = real(content["background"], None, None)
        try:
            covariance = None if content["covariance"] is None else decoded_covariance(content["covariance"])
            boxes = {str(name): (bound(a), bound(b)) for name, a, b in content["coefficients"]}
            thresholds = {str(name): float(b) for name, b in content["thresholds"]}
        except (ValueError, TypeError) as error:
            raise Refusal(f"the law of {stream} has malformed bounds") from error
        return cls(
            rows=content["rows"],
            background=background if background.size else None,
            covariance=covariance,
            is_estimated=content["is_estimated"],
            noises=content["noises"],
            coefficients=boxes,
            thresholds=thresholds,
            is_complex=content["is_complex"],
            variants=real(content["variants"], None, None, None) if "variants" in content else None,
            half_steps=content.get("half_steps"),
            error=content.get("error"),
            is_cone=content.get("is_cone", False),
        )

    def native(self, columns: Field) -> Field:
        """Columns (width, k) as numbers of the instrument: pairs (Re, Im) become complex again."""
        return as_complex(columns) if self.is_complex else np.asarray(columns, dtype=np.float64)

    @cached_property
    def whitener(self) -> Field | None:
        """(p, q), worked out once; `check_bank` has seen that it fits the bank."""
        return None if self.covariance is None else whitener_of(native_covariance(self.covariance, self.is_complex))

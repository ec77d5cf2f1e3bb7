"""Deployment as people have it: rows are a linear mix of responses and background, in Gaussian noise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_positive, read_only
from .._codec import Refusal, array_json, bound, bound_json, real
from .._errors import Clause, MisuseError
from .._typing import Array, Field, IntArray
from ..banks import UNLISTED, Bank
from ..io import RowSource, as_complex, as_pairs, mean_row
from ..responses import Ranges
from . import streams
from ._design import (
    Design,
    NoiseLook,
    NoiseSeen,
    by_element,
    check_variants,
    decoded_covariance,
    generic_interval,
    keep_names,
    native_covariance,
    options_in_order,
    tangent_cells,
    unit_radii,
    whitened_rows,
    whitener_of,
    with_variants,
)
from ._law import CoverSizes, Law, Part, register
from ._linear_checks import (
    check_background,
    check_bands,
    check_bounds,
    check_estimate,
    check_own_covariance,
    check_ranges,
    check_regions,
    check_shape,
    check_unlisted,
    check_width,
)
from ._noise_shape import NoiseShape
from ._opponents import Opponent, Proposal
from ._stream import check_checkpoints

ROWS = ("same mean", "free", "random")


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
    every channel; the identity unless given, of complex rows as pairs of its rows.  covariance_freedom: the degrees of
    freedom of C if it was estimated from rows without a signal, whose noise is that of these; None if C is known.
    noises: sigma^2 in every nuisance setting, that of the bank unless
    given; without either it is unknown.
    coefficients: region -> (low, high) of its active coefficients.  thresholds: region -> b.  variants: (V, q, E)
    further responses of every element of the bank's states, pairs if complex, those of its library unless given; an
    active one has the span of its own, or with is_cone any mixture without negative parts.
    half_steps: (V,) h if they are derivatives along parameters, held to :math:`|\tau| \le h|\theta|` (`tangent_cells`).
    error: sine of the largest angle between a response and the truth, whichever it is (`Ball`), in measured channels.
    noise_shape: options of a `NoiseShape`: a family of covariances instead of white noise, `ar` with rows of the same
    mean, the others with random rows.
    bands: equal blocks of channels, such as frequencies, that are independent given the explanation.  All have the same
    active elements; every block has coefficients and a noise of its own.  The log evidence is the sum over blocks.
    unlisted: (V, q, G) further columns, pairs if complex, of the elements of the region `unlisted` of the bank (see
    `banks.with_unlisted`), of which a source that the library lacks has one, whatever mix of its columns.
    unlisted_places: (2, G) between which each of them lies, in unlisted_unit; their numbers, if left out.
    ranges: the elements of the bank, each anywhere in a cell, and parameters anywhere in a box (see
    `physupport.responses.Ranges`); responses of the bank are those of the middles.  Evidence judges them.
    """

    name: ClassVar[str] = "gaussian"
    part: ClassVar[Part] = "deployment"
    has_strengths: ClassVar[bool] = False
    has_sign: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    opponents: ClassVar[tuple[str, ...]] = ()
    mixed: ClassVar[tuple[str, ...]] = ("mean_point", "covariance_point", "correlated_point")
    file_keys: ClassVar[Mapping[str, bool]] = {
        "noise": False, "noise.open": False, "noise.kind": False, "rows": False,
        "regions.coefficient": False, "background": False,
        "elements.tangents": False, "cover.tangents": False, "elements.error": False,
        "proposal": False, "split": False, "splits": False,
        "unlisted": False, "unlisted.bumps": False, "unlisted.directions": False,
        "parameters.between": False, "elements.exact": False, "regions.box": False,
    }  # fmt: skip
    usual_judge: ClassVar[str] = "rotation"
    mixes: ClassVar[tuple[str, ...]] = ("span", "cone")
    error_words: ClassVar[str] = "an angle whose sine is {}, in any direction"

    rows: str = "same mean"
    background: ArrayLike | None = None
    covariance: ArrayLike | None = None
    covariance_freedom: int | None = None
    noises: ArrayLike | None = None
    coefficients: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    variants: ArrayLike | None = None
    is_cone: bool = False
    half_steps: ArrayLike | None = None
    error: float | None = None
    noise_shape: Mapping[str, Any] | None = None
    bands: int = 1
    unlisted: ArrayLike | None = None
    unlisted_places: ArrayLike | None = None
    unlisted_unit: str = ""
    ranges: Ranges | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        keep_names(self)
        for name in ("background", "covariance", "noises", "variants", "half_steps", "unlisted", "unlisted_places"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.rows not in ROWS:
            raise MisuseError("rows", f"be one of {', '.join(map(repr, ROWS))}", repr(self.rows))
        if self.variants is not None and (self.thresholds or (self.coefficients and self.half_steps is None)):
            remedy = "Take variants as states, or leave coefficients free."
            raise MisuseError(
                "variants", "not mix where coefficients are bounded, or have a threshold", Clause("they do"), remedy
            )
        if self.covariance_freedom is not None:
            check_estimate(self, self.covariance_freedom)
        check_bounds(self)
        check_width(self)
        if self.ranges is not None:
            check_ranges(self)
        if self.noise_shape is not None:
            object.__setattr__(self, "noise_shape", NoiseShape.of(self.noise_shape).encode())
            check_shape(self)
        if check_count("bands", self.bands) > 1:
            check_bands(self)
        object.__setattr__(self, "coefficients", dict(self.coefficients))
        object.__setattr__(self, "thresholds", dict(self.thresholds))

    @property
    def has_error(self) -> bool:
        """True if responses are known up to an angle, or elements up to their cells."""
        return self.error is not None or self.ranges is not None

    @property
    def has_cells(self) -> bool:
        """True if elements or parameters lie anywhere in cells."""
        return self.ranges is not None

    @property
    def has_unlisted(self) -> bool:
        """True if an explanation may have a source of an unlisted kind."""
        return self.unlisted is not None

    def unlisted_interval(self, first: int, last: int) -> tuple[float, float]:
        """The interval that generic responses of these numbers, both included, stand for."""
        return generic_interval(self.unlisted_places, first, last)

    @property
    def is_correlated(self) -> bool:
        """True with the noise of kind `ar`."""
        return self.noise_shape is not None and self.noise_shape["kind"] == "ar"

    @property
    def has_spans(self) -> bool:
        """Unless there is a ball, a cone, noise that is not white, or blocks of channels with a noise of their own."""
        is_exact = self.error is None and self.ranges is None
        return is_exact and not self.is_cone and self.noise_shape is None and self.bands == 1

    def completed(self, bank: Bank) -> Self:
        """With the noises of the bank, and the further columns of its elements, where it has some."""
        noises = self.noises
        if noises is None and self.noise_shape is None and "noise" in bank.deployment.names:
            noises = bank.deployment.column("noise")
        variants = bank.variants if self.variants is None else self.variants
        law = replace(self, **{"noises": noises, "variants": variants, **options_in_order(self, bank)})
        law.check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse a bank that this cannot be about; the whitener is worked out here."""
        if self.background is not None:
            check_array("background", self.background, (self.width(bank), None))
        is_of_bank = self.noise_shape is None and "noise" in bank.deployment.names
        noises = bank.deployment.column("noise") if is_of_bank else self.noises
        if noises is not None and not np.array_equal(np.asarray(self.noises), noises):
            raise MisuseError("noises", "be those of the bank", self.noises)
        if self.noises is not None:
            for noise in check_array("noises", self.noises, (len(bank.deployment),)).tolist():
                check_positive("noises", noise)
        if self.covariance is not None:
            check_own_covariance(self, bank)
        if self.background is not None:
            check_background(self, bank)
        check_variants(self.variants, *bank.states.elements.shape)
        if self.width(bank) % (self.bands * (2 if self.is_complex else 1)):
            raise MisuseError("bands", "divide the number of channels", f"{self.bands} of {self.width(bank)} entries")
        check_regions(self, bank)
        check_unlisted(self, bank)
        if self.ranges is not None and not np.array_equal(
            bank.states.library_index, np.arange(len(self.ranges.places))
        ):
            rule = f"have the {len(self.ranges.places)} elements of the ranges, and one state"
            raise MisuseError("bank", rule, f"{len(bank.states.library_index)} columns")

    def design(self, bank: Bank) -> Design:
        """Atoms and background of every key, whitened."""
        step = len(bank.deployment)
        states = bank.states
        parts = bank.deployment_parts(np.arange(0, bank.n_deployment_keys, step))
        count = states.elements.shape[1]
        whitener = self.whitener
        columns = self.native(states.elements)
        names = states.names(np.arange(count))
        least = by_element(bank, self.thresholds, np.inf)
        supports = parts.elements
        if self.thresholds:
            # An atom twice: with any coefficient, and with one that reaches the threshold.
            is_strong = (supports >= 0) & (parts.strengths >= np.append(least, np.inf)[supports])
            supports = np.where(is_strong, supports + count, supports)
            columns = np.hstack([columns, columns])
            names = (*names, *names)
        variants = self.native_variants
        columns, supports = with_variants(columns, supports, variants)
        names = names * (1 + len(variants))
        lows, highs = ({region: box[end] for region, box in self.coefficients.items()} for end in (0, 1))
        further = len(variants) * count
        copies = (columns.shape[1] - further) // count
        background = np.zeros((len(states.elements), 0)) if self.background is None else np.asarray(self.background)
        beside = self.native(background)
        shape = None if self.noise_shape is None else NoiseShape.of(self.noise_shape)
        columns, supports = self._with_generic(bank, columns, supports)
        n_generic = columns.shape[1] - len(names)
        names = (*names, *[UNLISTED] * n_generic)
        further += n_generic
        radii = np.tile(unit_radii(columns[:, :count], whitener), copies)
        radii = np.append(radii, np.zeros(n_generic))
        design = Design(
            columns=columns if whitener is None else np.asarray(whitener @ columns),
            names=names,
            supports=supports,
            background=beside if whitener is None else np.asarray(whitener @ beside),
            rows="same mean" if self.rows == "same mean" else "free",
            is_random=self.rows == "random",
            deviations=(None,) * step if self.noises is None else tuple(np.sqrt(np.asarray(self.noises)).tolist()),
            whitener=whitener,
            covariance_freedom=self.covariance_freedom,
            low=np.append(np.tile(by_element(bank, lows, -np.inf), copies), np.full(further, -np.inf)),
            high=np.append(np.tile(by_element(bank, highs, np.inf), copies), np.full(further, np.inf)),
            least=np.pad(np.where(np.isfinite(least), least, 0.0), (count * (copies - 1), further)),
            cells=None if self.half_steps is None else tangent_cells(np.asarray(self.half_steps), count),
            is_cone=self.is_cone,
            radii=None if self.error is None else self.error * radii,
            together=self._together(bank, copies, n_generic),
            noise_shape=shape,
            bands=self.bands,
            ranges=self.ranges,
        )
        if shape is not None:
            is_any = shape.kind == "any"
            size = np.ones(len(names))
            return replace(design, error=shape.ratio, error_scale="noise", error_size=size) if is_any else design
        # Beside mixtures of columns no error would lead to the exact responses.
        is_open = self.variants is None and not self.is_cone and self.ranges is None
        if not is_open:
            return design
        return replace(design, error=self.error or 0.0, error_scale="angle", error_size=radii)

    def _together(self, bank: Bank, copies: int, n_generic: int) -> IntArray | None:
        """(E,) numbers of regions with a threshold, of each column; None without thresholds."""
        if not self.thresholds:
            return None
        places = {region: float(i) for i, region in enumerate(self.thresholds)}
        numbers = np.append(np.tile(by_element(bank, places, -1.0), copies), np.full(n_generic, -1.0))
        return numbers.astype(np.int64)

    def _with_generic(self, bank: Bank, columns: Field, supports: IntArray) -> tuple[Field, IntArray]:
        """Columns (q, E) followed by those that unlisted elements have further, active where their element is."""
        if self.unlisted is None:
            return columns, supports
        further = [*map(self.native, np.asarray(self.unlisted))]
        owners = bank.states.unlisted
        place = np.full(columns.shape[1] + 1, -1)  # of an element the number of its generic response; -1 pads supports
        place[owners] = np.arange(owners.size) % np.asarray(self.unlisted).shape[2]
        number = place[supports].max(axis=1, keepdims=True, initial=-1)
        for beside in further:
            supports = np.hstack([supports, np.where(number >= 0, columns.shape[1] + number, -1)])
            columns = np.hstack([columns, beside])
        return columns, supports

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) rows without background; strengths are coefficients or variances.

        Noise of an unknown level is a tenth, or as strong as a covariance that was estimated.
        """
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        active = parts.elements[0] >= 0
        atoms = bank.states.elements[:, parts.elements[0, active]]
        strengths = parts.strengths[0, active]
        signal = atoms @ strengths
        if self.rows == "random":
            units = np.array([1.0, 1.0j]) / np.sqrt(2.0) if self.is_complex else np.ones(1)
            blocks = np.split(self.native(atoms) * np.sqrt(strengths), self.bands)
            drawn = rng.standard_normal((self.bands, len(strengths), n_rows, len(units))) @ units
            native = np.concatenate([block @ amplitudes for block, amplitudes in zip(blocks, drawn, strict=True)])
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
        chosen = parts.elements[:1]
        active = chosen[0][chosen[0] >= 0]
        atoms = [part[:, active] for part in (self.native(bank.states.elements), *self.native_variants)]
        if self.unlisted is not None:
            every, used = self._with_generic(bank, self.native(bank.states.elements), chosen)
            further = used[0, chosen.shape[1] :]
            atoms.append(every[:, further[further >= 0]])
        beside = [] if self.background is None else [self.native(np.asarray(self.background))]
        columns = np.hstack([*atoms, *beside])
        native = self.native(mean_row(rows)[:, None])
        root = np.eye(len(columns)) if self.whitener is None else self.whitener
        fit = columns @ np.linalg.lstsq(root @ columns, root @ native, rcond=None)[0]
        return np.asarray(as_pairs(fit, axis=0) if self.is_complex else fit)[:, 0]

    def noise_test(self, bank: Bank) -> Callable[[RowSource], NoiseSeen | None] | None:
        """Test by the scatter of rows, or by their part orthogonal to all elements and background (`NoiseLook`)."""
        is_stated = self.covariance_freedom is not None or self.noises is not None or "noise" in bank.deployment.names
        return partial(self._noise_seen, bank) if is_stated else None

    def _noise_seen(self, bank: Bank, rows: RowSource) -> NoiseSeen | None:
        design = self.design(bank)
        look = NoiseLook.of(design, rows.n_rows)
        known = tuple(sigma for sigma in design.deviations if sigma is not None)
        return None if look is None else look.seen(design.whitened_rows(rows, self.is_complex), known)

    def stream(
        self, bank: Bank, rows: RowSource, checkpoints: ArrayLike, *, keeps_fits: bool = False
    ) -> "streams.LinearStream | streams.BandedStream":
        """Every key at its best coefficients, of rows that are whitened where a covariance is given."""
        stops = check_checkpoints(checkpoints, rows.n_rows)
        scored = self.scored_rows(bank, rows)
        return streams.linear_stream(
            self.design(bank), scored, stops, is_complex=self.is_complex, keeps_fits=keeps_fits
        )

    def scored_rows(self, bank: Bank, rows: RowSource) -> RowSource:  # noqa: ARG002
        """Whitened."""
        return rows if self.whitener is None else whitened_rows(rows, self.whitener, self.is_complex)

    def proposed(self, bank: Bank, rows: RowSource) -> Proposal:
        """By a stream that keeps its fits, as opponents have the same ones."""
        stream = self.stream(bank, rows, [rows.n_rows], keeps_fits=True)
        return Proposal.of(rows, stream, self.keys(bank)(np.arange(bank.size)))

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> Opponent:  # noqa: ARG002
        """The mixture that these rows make likely, see `LinearStream.opponent`; one for each block of channels."""
        return cast("streams.LinearStream | streams.BandedStream", proposal.stream).opponent(proposal.keys)

    @property
    def cover_sizes(self) -> CoverSizes | None:
        """Bound the change of the joint mean by the sum over rows, with the least standard deviation of coloured noise.

        Random sources, which may be correlated, have this divergence where they are seen, and no more where not.
        """
        return CoverSizes(0.5, 2, is_shift=self.rows != "random") if self.bands == 1 else None

    def encode(self) -> dict[str, object]:
        """All of it; infinite bounds as texts."""
        background = np.zeros((0, 0)) if self.background is None else np.asarray(self.background, dtype=np.float64)
        covariance = None if self.covariance is None else array_json(np.asarray(self.covariance, dtype=np.float64))
        return {
            "kind": self.name,
            "rows": self.rows,
            "background": array_json(background),
            "covariance": covariance,
            "covariance_freedom": self.covariance_freedom,
            "noises": None if self.noises is None else np.asarray(self.noises, dtype=np.float64).tolist(),
            "coefficients": [[name, bound_json(a), bound_json(b)] for name, (a, b) in self.coefficients.items()],
            "thresholds": [[name, float(b)] for name, b in self.thresholds.items()],
            "is_complex": self.is_complex,
            **({} if self.variants is None else {"variants": array_json(np.asarray(self.variants, dtype=np.float64))}),
            **({} if self.half_steps is None else {"half_steps": np.asarray(self.half_steps).tolist()}),
            **({} if self.error is None else {"error": float(self.error)}),
            **({"is_cone": True} if self.is_cone else {}),
            **({} if self.noise_shape is None else {"noise_shape": dict(self.noise_shape)}),
            **({} if self.bands == 1 else {"bands": self.bands}),
            **({"unlisted_unit": self.unlisted_unit} if self.unlisted_unit else {}),
            **({} if self.ranges is None else {"ranges": self.ranges.encode()}),
            **{
                name: array_json(np.asarray(getattr(self, name), dtype=np.float64))
                for name in ("unlisted", "unlisted_places")
                if getattr(self, name) is not None
            },
        }

    @classmethod
    def decode(cls, node: Mapping[str, Any], stream: str = "the stream") -> Self:
        """Read what `encode` made."""
        background = real(node["background"], None, None)
        try:
            covariance = None if node["covariance"] is None else decoded_covariance(node["covariance"])
            boxes = {str(name): (bound(a), bound(b)) for name, a, b in node["coefficients"]}
            thresholds = {str(name): float(b) for name, b in node["thresholds"]}
        except (ValueError, TypeError) as error:
            raise Refusal(f"the law of {stream} has malformed bounds") from error
        return cls(
            rows=node["rows"],
            background=background if background.size else None,
            covariance=covariance,
            covariance_freedom=node["covariance_freedom"],
            noises=node["noises"],
            coefficients=boxes,
            thresholds=thresholds,
            is_complex=node["is_complex"],
            variants=real(node["variants"], None, None, None) if "variants" in node else None,
            half_steps=node.get("half_steps"),
            error=node.get("error"),
            is_cone=node.get("is_cone", False),
            noise_shape=node.get("noise_shape"),
            bands=node.get("bands", 1),
            unlisted=real(node["unlisted"], None, None, None) if "unlisted" in node else None,
            unlisted_places=real(node["unlisted_places"], 2, None) if "unlisted_places" in node else None,
            unlisted_unit=str(node.get("unlisted_unit", "")),
            ranges=Ranges.decode(node["ranges"]) if "ranges" in node else None,
        )

    def native(self, columns: Field) -> Field:
        """Columns (width, k) as numbers of the instrument: pairs (Re, Im) become complex again."""
        return as_complex(columns) if self.is_complex else np.asarray(columns, dtype=np.float64)

    @property
    def native_variants(self) -> list[Field]:
        """The variants, (q, E) each, as real or complex numbers of the instrument."""
        return [] if self.variants is None else [*map(self.native, np.asarray(self.variants))]

    @cached_property
    def whitener(self) -> Field | None:
        """(p, q), worked out once; `check_bank` has seen that it fits the bank."""
        return None if self.covariance is None else whitener_of(native_covariance(self.covariance, self.is_complex))

"""Deployment as people have it: rows are a linear mix of responses and background, in Gaussian noise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_open, check_positive, read_only
from .._codec import Refusal, array_json, bound, bound_json, real
from .._errors import MisuseError
from .._typing import Array, Field
from ..banks import Bank
from ..io import RowSource, as_complex, as_pairs, mean_row
from . import streams
from ._design import (
    RANK_TOLERANCE,
    Design,
    NoiseLook,
    NoiseSeen,
    by_element,
    check_covariance,
    check_rank,
    check_variants,
    decoded_covariance,
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
from ._opponents import Mixture, Proposal
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
    """

    name: ClassVar[str] = "gaussian"
    part: ClassVar[Part] = "deployment"
    has_strengths: ClassVar[bool] = False
    has_sign: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    opponents: ClassVar[tuple[str, ...]] = ()
    mixed: ClassVar[tuple[str, ...]] = ("mean_point", "covariance_point")
    file_keys: ClassVar[Mapping[str, bool]] = {
        "noise": False, "noise.open": False, "rows": False, "regions.coefficient": False, "background": False,
        "elements.tangents": False, "cover.tangents": False, "elements.error": False,
        "proposal": False, "split": False, "splits": False,
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
    is_complex: bool = False

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        keep_names(self)
        for name in ("background", "covariance", "noises", "variants", "half_steps"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.rows not in ROWS:
            raise MisuseError("rows", f"be one of {', '.join(map(repr, ROWS))}", repr(self.rows))
        if self.variants is not None and (self.thresholds or (self.coefficients and self.half_steps is None)):
            remedy = "Take variants as states, or leave coefficients free."
            raise MisuseError("variants", "not mix where coefficients are bounded, or have a threshold", "some", remedy)
        if self.covariance_freedom is not None:
            _check_estimate(self, self.covariance_freedom)
        _check_bounds(self)
        _check_width(self)
        object.__setattr__(self, "coefficients", dict(self.coefficients))
        object.__setattr__(self, "thresholds", dict(self.thresholds))

    @property
    def has_error(self) -> bool:
        """True if responses are known up to an angle."""
        return self.error is not None

    @property
    def has_spans(self) -> bool:
        """Unless there is a ball or a cone."""
        return self.error is None and not self.is_cone

    def completed(self, bank: Bank) -> Self:
        """With the noises of the bank, and the further columns of its elements, where it has some."""
        noises = self.noises
        if noises is None and "noise" in bank.deployment.names:
            noises = bank.deployment.column("noise")
        variants = bank.variants if self.variants is None else self.variants
        law = replace(self, **{"noises": noises, "variants": variants, **options_in_order(self, bank)})
        law.check_bank(bank)
        return law

    def check_bank(self, bank: Bank) -> None:
        """Refuse a bank that this cannot be about; the whitener is worked out here."""
        if self.background is not None:
            check_array("background", self.background, (self.width(bank), None))
        noises = bank.deployment.column("noise") if "noise" in bank.deployment.names else self.noises
        if noises is not None and not np.array_equal(np.asarray(self.noises), noises):
            raise MisuseError("noises", "be those of the bank", self.noises)
        if self.noises is not None:
            for noise in check_array("noises", self.noises, (len(bank.deployment),)).tolist():
                check_positive("noises", noise)
        if self.covariance is not None:
            _check_covariance(self, bank)
        if self.background is not None:
            _check_background(self, bank)
        check_variants(self.variants, *bank.states.elements.shape)
        _check_regions(self, bank)
        if self.error is not None and self.rows != "same mean":
            _check_one_response(self, bank)

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
        places = {region: float(i) for i, region in enumerate(self.thresholds)}
        further = len(variants) * count
        copies = (columns.shape[1] - further) // count
        background = np.zeros((len(states.elements), 0)) if self.background is None else np.asarray(self.background)
        beside = self.native(background)
        radii = np.tile(unit_radii(columns[:, :count], whitener), copies)
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
            together=np.tile(by_element(bank, places, -1.0), copies).astype(np.int64) if places else None,
        )
        # A ball leaves bounds of coefficients open, so that no error would lead to the exact responses.
        is_open = self.variants is None and not self.is_cone and not design.is_bounded
        if not is_open or not (self.rows == "same mean" or _has_one_response(self, bank)):
            return design
        return replace(design, error=self.error or 0.0, error_scale="angle", error_size=radii)

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
        atoms = [part[:, active] for part in (self.native(bank.states.elements), *self.native_variants)]
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

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "streams.LinearStream":
        """Every key at its best coefficients, of rows that are whitened where a covariance is given."""
        stops = check_checkpoints(checkpoints, rows.n_rows)
        return streams.LinearStream(self.design(bank), self.scored_rows(bank, rows), stops, self.is_complex)

    def scored_rows(self, bank: Bank, rows: RowSource) -> RowSource:  # noqa: ARG002
        """Whitened."""
        return rows if self.whitener is None else whitened_rows(rows, self.whitener, self.is_complex)

    def proposed(self, bank: Bank, rows: RowSource) -> Proposal:
        """By a stream that keeps its fits, as opponents have the same ones."""
        stream = replace(self.stream(bank, rows, [rows.n_rows]), fits={})
        return Proposal.of(rows, stream, self.keys(bank)(np.arange(bank.size)))

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> Mixture:  # noqa: ARG002
        """The mixture that these rows make likely, see `LinearStream.opponent`."""
        return cast("streams.LinearStream", proposal.stream).opponent(proposal.keys)

    @property
    def cover_sizes(self) -> CoverSizes:
        """The mean of all rows together moves by the sum of all; of coloured noise the least deviation counts.

        Random sources, which may be correlated, have this divergence where they are seen, and no more where not.
        """
        return CoverSizes(0.5, 2, is_shift=self.rows != "random")

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


# What a law of rows that are linear in open coefficients refuses.


def _check_estimate(law: "Linear", freedom: int) -> None:
    """Refuse an estimate of which there is no matrix, or beside a noise level of its own."""
    check_count("covariance_freedom", freedom)
    if law.covariance is None or np.ndim(law.covariance) != 2 or law.noises is not None:
        rule = "go with a covariance matrix that was estimated from rows, and no noises"
        raise MisuseError("covariance_freedom", rule, freedom, "Leave it out where the noise is known.")


def _check_bounds(law: "Linear") -> None:
    """Check bounds of the coefficients of regions: there are none where every row has its own, or where complex."""
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
        if law.variants is not None or law.is_cone:
            rule = "be left out where responses have columns to mix, which are their width"
            raise MisuseError("error", rule, law.error, "Leave error out, or take variants as states without tangents.")
    if law.is_cone and (law.half_steps is not None or law.rows != "same mean" or law.is_complex):
        remedy = "Take variants as states or as a span."
        raise MisuseError("is_cone", "go with real rows of the same mean, and no tangents", "others", remedy)


def _check_covariance(law: "Linear", bank: Bank) -> None:
    assert law.covariance is not None
    check_covariance(native_covariance(law.covariance, law.is_complex), law.width(bank) // (2 if law.is_complex else 1))
    beside = 0 if law.background is None else np.asarray(law.background).shape[1]
    assert law.whitener is not None
    check_rank(law.whitener, int((bank.strengths > 0.0).sum(axis=1).max()) * (1 + len(law.native_variants)) + beside)


def _check_background(law: "Linear", bank: Bank) -> None:
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
        marks = bank.strengths[:, block[0]]
        strengths_beside = np.delete(bank.strengths, block, axis=1)
        strong = {row.tobytes() for row in strengths_beside[marks >= threshold]}
        if not all(row.tobytes() in strong for row in strengths_beside[(marks > 0.0) & (marks < threshold)]):
            rule = f"be reached by a strength of region {region!r} wherever the bank has one below it"
            raise MisuseError("thresholds", rule, threshold, "Give the region both strengths, as marks.")


def _has_one_response(law: "Linear", bank: Bank) -> bool:
    """True if explanations have one element at most, and no background."""
    most = bank.deployment_parts(np.arange(bank.n_deployment_keys)).elements
    return law.background is None and int((most >= 0).sum(axis=1).max(initial=0)) <= 1


def _check_one_response(law: "Linear", bank: Bank) -> None:
    """Refuse what is more than one response up to an angle, where every row has coefficients of its own."""
    if not _has_one_response(law, bank):
        rule = "go with one element and no background where every row has coefficients of its own"
        remedy = "Leave error out, have one element at a time, or rows of the same mean."
        raise MisuseError("error", rule, "several elements" if law.background is None else "a background", remedy)

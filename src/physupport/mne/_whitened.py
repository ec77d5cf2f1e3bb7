r"""Data and lead field in the same white coordinates: channels matched, projections and references out, noise white.

A projection, or another reference, changes data by something in the span of known topographies B: those of the
projectors, and for EEG the constant one.  With K an orthonormal basis of all that is orthogonal to B,
:math:`K^Hy` is the same before and after; so are :math:`K^HL` and :math:`K^HCK`, whose eigenvectors of the largest r
eigenvalues whiten all of them.  r is the rank that mne finds, which is smaller after Maxwell filtering.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from .._errors import Clause, MisuseError, NotFiniteError
from .._typing import Array

KINDS: Final = ("eeg", "mag", "grad")
_LEAST_CHANNELS = 10
_NO_NOISE = 1e-9  # of the largest eigenvalue
_NO_DIRECTION = 1e-6  # of the largest singular value of topographies with norm 1
# A covariance of so many degrees of freedom for each dimension is taken as known up to its scale.
KNOWN_FROM: Final = 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class White:
    """Rows and lead field of the same channels in white coordinates."""

    channels: tuple[str, ...]
    kinds: tuple[str, ...]  # of each channel
    left_out: tuple[str, ...]  # channels of the data that are bad somewhere, or not in the forward solution
    whitener: Array  # (r, q)
    projector: Array  # (q, q) onto all that no projection and no reference changes
    gains: Array  # (q, s) as given
    rows: Array  # (T, q) as judged: those given, or times a factor where the covariance is that of single epochs
    measured: Array  # (q,) their mean as given
    freedom: int | None  # degrees of freedom of an estimated covariance, if it is pooled with the rows
    noise: str  # the assumption about the noise, in words

    @property
    def white_rows(self) -> Array:
        """(T, r)."""
        return np.asarray(self.rows @ self.whitener.T)

    @property
    def white_gains(self) -> Array:
        """(r, s)."""
        return np.asarray(self.whitener @ self.gains)


def whitened(data: Any, rows: Array, forward: Any, noise_cov: Any, *, is_one_time: bool) -> White:  # noqa: ANN401
    """Rows (T, channels of the data) and the forward solution, whitened; mne carries no types."""
    import mne

    info = data.info
    kinds_of = dict(zip(info["ch_names"], info.get_channel_types(), strict=True))
    channels, left_out = _channels(info, kinds_of, forward, noise_cov)
    kinds = tuple(kinds_of[name] for name in channels)
    _check_reference(mne, info, channels, kinds)
    picked = rows[:, [info["ch_names"].index(name) for name in channels]]
    _check_finite(picked, channels)
    known = [*forward["sol"]["row_names"]]
    gains = np.asarray(forward["sol"]["data"], dtype=np.float64)[[known.index(name) for name in channels]]
    complement = _complement(_topographies(info, noise_cov, channels, kinds))
    nave = int(getattr(data, "nave", 1) or 1)
    covariance, freedom, noise = _noise(picked, channels, kinds, noise_cov)
    measured = picked.mean(axis=0)
    rank = min(complement.shape[1], _rank(mne, info, channels, noise_cov))
    whitener = _whitener(covariance, complement, np.array(kinds), rank)
    if noise_cov is None and freedom is not None:  # the scatter of the epochs themselves
        picked = np.sqrt(len(picked)) * picked.mean(axis=0, keepdims=True)
    elif freedom is not None and (freedom >= KNOWN_FROM * len(whitener) or not is_one_time or len(picked) > 1):
        noise += f", though it was estimated with {freedom} degrees of freedom, whose errors are not accounted for"
        freedom = None
    elif freedom is not None:
        picked = np.sqrt(nave) * picked
        estimated = f"its covariance was estimated with {freedom} independent degrees of freedom"
        noise = f"{estimated}, whose errors are accounted for"
    projector = complement @ complement.T
    return White(channels, kinds, left_out, whitener, projector, gains, picked, measured, freedom, noise)


def _check_finite(rows: Array, channels: Sequence[str]) -> None:
    """Refuse channels without a number, by their names."""
    is_number = np.asarray(np.isfinite(rows).all(axis=0))
    found = [channels[i] for i in np.flatnonzero(~is_number).tolist()]
    if found:
        remedy = f"Leave them out: evoked.info['bads'] += {found!r}."
        raise NotFiniteError(
            "data", "be finite in every channel", Clause(f"there is no number in {', '.join(found)}"), remedy
        )


def _channels(
    info: Any,  # noqa: ANN401
    kinds: dict[str, str],
    forward: Any,  # noqa: ANN401
    noise_cov: Any,  # noqa: ANN401
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Good channels that all have, in the order of the data, and those of the data that are left out."""
    measured = [name for name in info["ch_names"] if kinds[name] in KINDS]
    solved = {*forward["sol"]["row_names"]}
    bad = {*info["bads"], *forward["info"]["bads"]}
    estimated = {*measured}
    if noise_cov is not None:
        bad |= {*noise_cov["bads"]}
        estimated = {*noise_cov["names"]}
    chosen = tuple(name for name in measured if name in solved & estimated and name not in bad)
    if len(chosen) < _LEAST_CHANNELS:
        rule = f"share at least {_LEAST_CHANNELS} good EEG or MEG channels"
        found = f"{len(chosen)} of {len(measured)} ({', '.join(measured[:3])}, ...)"
        remedy = (
            "Compare evoked.ch_names, forward['sol']['row_names'] and noise_cov.ch_names; "
            "evoked.rename_channels(str.upper) renames, for example, 'Fp1' to 'FP1'."
        )
        raise MisuseError("evoked, forward and noise_cov", rule, found, remedy)
    return chosen, tuple(name for name in measured if name not in chosen)


def _check_reference(mne: Any, info: Any, channels: Sequence[str], kinds: Sequence[str]) -> None:  # noqa: ANN401
    """Refuse bipolar channels, which a common constant does not describe."""
    bipolar = mne._fiff.constants.FIFF.FIFFV_COIL_EEG_BIPOLAR
    coils = {channel["ch_name"]: int(channel["coil_type"]) for channel in info["chs"]}
    found = [name for name, kind in zip(channels, kinds, strict=True) if kind == "eeg" and coils[name] == bipolar]
    if found:
        remedy = f"Leave them out: evoked.drop_channels({found!r})."
        raise MisuseError("evoked", "have no bipolar channels, as the forward solution has none", found[0], remedy)


def _topographies(info: Any, noise_cov: Any, channels: Sequence[str], kinds: Sequence[str]) -> Array:  # noqa: ANN401
    """(q, b) what projections and references may have changed: of applied ones and of others alike."""
    projections = [*info["projs"], *(() if noise_cov is None else noise_cov["projs"])]
    columns = [np.array([float(kind == "eeg") for kind in kinds])] if "eeg" in kinds else []
    for projection in projections:
        names = list(projection["data"]["col_names"])
        vectors = np.asarray(projection["data"]["data"], dtype=np.float64)
        where = [names.index(name) if name in names else -1 for name in channels]
        columns += [np.where(np.array(where) >= 0, vector[where], 0.0) for vector in vectors]
    return np.array(columns).reshape(-1, len(channels)).T


def _complement(topographies: Array) -> Array:
    """(q, k) orthonormal basis of all that is orthogonal to topographies."""
    sizes = np.linalg.norm(topographies, axis=0)
    unit = topographies[:, sizes > 0.0] / sizes[sizes > 0.0]
    left, values, _ = np.linalg.svd(unit, full_matrices=True)
    return np.asarray(left[:, int((values > _NO_DIRECTION).sum()) :])


def _noise(
    rows: Array,
    channels: Sequence[str],
    kinds: Sequence[str],
    noise_cov: Any,  # noqa: ANN401
) -> tuple[Array, int | None, str]:
    """The covariance (q, q), its degrees of freedom if it may be pooled with the rows, and the assumption in words."""
    if noise_cov is not None:
        names = list(noise_cov["names"])
        where = [names.index(name) for name in channels]
        data = np.asarray(noise_cov["data"], dtype=np.float64)
        covariance = np.diag(data[where]) if data.ndim == 1 else data[np.ix_(where, where)]
        is_estimate = (
            not noise_cov["diag"] and noise_cov.get("method") in (None, "empirical") and int(noise_cov["nfree"]) > 1
        )
        words = "its covariance is that of `noise_cov` up to a factor, which is unknown"
        return covariance, int(noise_cov["nfree"]) if is_estimate else None, words
    if len(rows) > len(channels) + KNOWN_FROM:
        words = f"its covariance is unknown; the {len(rows)} epochs themselves show it"
        return np.cov(rows.T), len(rows) - 1, words
    if len({*kinds}) > 1:
        remedy = (
            "Give the covariance of a baseline, noise_cov=mne.compute_covariance(epochs, tmax=0.0), or one of assumed "
            "noise levels, noise_cov=mne.make_ad_hoc_cov(evoked.info), or one kind of channels: "
            "evoked.copy().pick('eeg')."
        )
        raise MisuseError(
            "noise_cov",
            f"be given for channels of several kinds ({', '.join(dict.fromkeys(kinds))})",
            Clause("it is not given"),
            remedy,
        )
    return np.eye(len(channels)), None, "it is white, alike in all channels, and its strength is unknown"


def _rank(mne: Any, info: Any, channels: Sequence[str], noise_cov: Any) -> int:  # noqa: ANN401
    """The rank that mne finds for these channels: after Maxwell filtering that of the filter."""
    picked = mne.pick_info(info, [info["ch_names"].index(name) for name in channels], verbose="ERROR")
    covariance = mne.make_ad_hoc_cov(picked, verbose="ERROR") if noise_cov is None else noise_cov
    ways = ("info",) if covariance["diag"] else ("info", None)  # of filters, and of the numbers
    ranks = [mne.compute_rank(covariance, rank=way, info=picked, verbose="ERROR") for way in ways]
    # Of EEG the projection to an average reference counts there or not; it is taken off here in any case.
    return int(min(sum(each.values()) for each in ranks))


def _whitener(covariance: Array, complement: Array, kinds: Array, rank: int) -> Array:
    """(r, q): scaled so that all kinds of channels count alike, projected, and white."""
    sizes = np.ones(len(kinds))
    for kind in np.unique(kinds):
        sizes[kinds == kind] = 1.0 / np.sqrt(np.diag(covariance)[kinds == kind].mean())
    balance = complement.T @ (sizes[:, None] * complement)  # (k, k)
    beside = balance @ complement.T @ covariance @ complement @ balance
    values, vectors = np.linalg.eigh(0.5 * (beside + beside.T))
    kept = np.arange(len(values)) >= len(values) - rank
    kept &= values > _NO_NOISE * values[-1]
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ balance @ complement.T)

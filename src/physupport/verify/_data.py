"""Every verdict of a trace scored again from the rows."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._codec import real
from .._hashes import rows_hash
from .._typing import Array, IntArray
from ..banks import ArrayStates, Bank
from ..io import ArrayRows, SplitRows, split_rows, split_streams
from ..judges import Factor, Sealed, SealedStream, Verdicts, best_key
from ..laws import (
    BernoulliGaussian,
    CodeLaw,
    ExchangeableGaussian,
    ProfiledMeanStream,
    Stream,
    covariance_stream,
    known_code_stream,
    latent_stream,
    mean_stream,
    point_stream,
    profiled_mean_stream,
)
from ._document import Node, Refusal
from ._protocol import judge_of
from ._trace import ReadTrace

# Both bounds of a margin are proven, so they need not agree to the last digit between machines; where they differ by
# more than their usual width of about 1e-9, they are not those of the same rows.
MARGIN_TOLERANCE = 1e-6

Tables = Mapping[str, NDArray[np.generic]]


def data_findings(protocol: Node, data: Node, bank: Bank, trace: ReadTrace, tables: Tables) -> Iterator[str]:
    """Hashes of the rows, the proposals, and every verdict."""
    streams = protocol["streams"]
    names = [stream["name"] for stream in streams]
    if {*names} != {*tables} or {*names} != {*data} or len({*names}) < len(names):
        raise Refusal(f"the streams are {names}, those of the data {sorted(tables)}")
    for stream in streams:
        shape = tables[stream["name"]].shape
        if shape != (stream["rows"], stream["width"]):
            raise Refusal(f"the {stream['name']} rows have shape {shape}, not {(stream['rows'], stream['width'])}")
    splits = _splits(protocol)
    for stream, split in zip(streams, splits, strict=True):
        table, name = tables[stream["name"]], stream["name"]
        if _rows_hash(table, split.proposal) != stream["proposal_rows"]:
            yield f"the proposal rows of {name} do not match their hash"
        if _rows_hash(table, split.held_out) != data[name]:
            yield f"the held-out rows of {name} do not match their hash"
        yield from _proposal_findings(stream, table, split, bank)
    judge = judge_of(protocol)
    if judge is not None and len(trace):
        held_out = [_sealed(s, tables[s["name"]], split, bank) for s, split in zip(streams, splits, strict=True)]
        opened = judge.open(Sealed(bank.size, protocol["level"], tuple(held_out)))
        yield from _verdict_findings(opened.verdicts(trace.queries), trace)


def _verdict_findings(scored: Verdicts, trace: ReadTrace) -> Iterator[str]:
    wrong = np.flatnonzero(scored.codes != trace.codes)
    for query in wrong[:10].tolist():
        yield f"the verdict on explanation {trace.queries[query]} is not what the rows give"
    if len(wrong) > 10:
        yield f"{len(wrong) - 10} more verdicts are not what the rows give"
    off = _differs(trace.margins[:, 0], scored.lower) | _differs(trace.margins[:, 1], scored.upper)
    if off.any():
        yield f"{int(off.sum())} margins are not what the rows give, that of explanation {trace.queries[off][0]} first"


def _differs(given: Array, found: Array) -> NDArray[np.bool_]:
    is_finite = np.isfinite(given) & np.isfinite(found)  # an infinite bound is near to nothing but itself
    apart = np.abs(np.where(is_finite, given, 0.0) - np.where(is_finite, found, 0.0))
    is_near = is_finite & (apart <= MARGIN_TOLERANCE * (1.0 + np.abs(np.where(is_finite, found, 0.0))))
    return ~np.asarray((given == found) | is_near, dtype=np.bool_)


def _splits(protocol: Node) -> tuple[SplitRows, ...]:
    streams, seed = protocol["streams"], protocol["seed"]
    counts, fractions = [s["rows"] for s in streams], [s["fraction"] for s in streams]
    if len(streams) == 1:
        return (split_rows(counts[0], fractions[0], seed),)
    return split_streams(counts, fractions, seed)


def _rows_hash(table: NDArray[np.generic], order: IntArray) -> str:
    rows = ArrayRows(table, order)
    return rows_hash(rows.blocks(), (rows.n_rows, rows.width))


def _proposal_findings(stream: Node, table: NDArray[np.generic], split: SplitRows, bank: Bank) -> Iterator[str]:
    """A numerator in the bank must be the best of the bank on the proposal rows, a mean the one that fits them best."""
    numerator = stream["numerator"]
    if "point" in numerator:
        return
    proposal = _stream(stream["law"], table, split.proposal, [len(split.proposal)], bank)
    keys = np.unique(_keys(stream, bank)(np.arange(bank.size)))
    tied = best_key(proposal, keys).tied.tolist()
    if isinstance(proposal, ProfiledMeanStream):
        about = numerator["mean_point"]
        is_best = any(_is_fit(about, *proposal.best_point(key)) for key in tied)
    else:
        is_best = numerator["key"] in tied
    if not is_best:
        yield f"the numerator of {stream['name']} is not the best of the bank on the proposal rows"


def _is_fit(about: Node, mean: Array, noise: float) -> bool:
    """The same fit on another machine differs by rounding."""
    given = real(about["mean"], len(mean))
    return bool(about["noise"] == noise and np.allclose(given, mean, rtol=1e-9, atol=1e-9 * np.abs(mean).max()))


def _sealed(stream: Node, table: NDArray[np.generic], split: SplitRows, bank: Bank) -> SealedStream:
    rows, factor = ArrayRows(table, split.held_out), partial(_factor, stream, table, split, bank)
    return SealedStream(stream["name"], rows, _keys(stream, bank), factor)


def _factor(stream: Node, table: NDArray[np.generic], split: SplitRows, bank: Bank) -> Factor:
    checkpoints, numerator = stream["checkpoints"], stream["numerator"]
    denominator = _stream(stream["law"], table, split.held_out, checkpoints, bank)
    if "key" in numerator:
        above: tuple[Stream, int] = (denominator, numerator["key"])
    else:
        above = _point(numerator, ArrayRows(table, split.held_out), checkpoints), 0
    return Factor(stream["name"], denominator, _keys(stream, bank), above)


def _point(numerator: Node, rows: ArrayRows, checkpoints: list[int]) -> Stream:
    """A law off the bank."""
    if "mean_point" in numerator:
        about = numerator["mean_point"]
        return point_stream(rows, real(about["mean"], rows.width), about["noise"], checkpoints)
    point = numerator["point"]
    states, laws = ArrayStates(real(point["atoms"], None, None)[None]), [BernoulliGaussian(point["p"])]
    return latent_stream(rows, states, laws, [point["noise"]], checkpoints)


def _keys(stream: Node, bank: Bank) -> Any:  # noqa: ANN401
    return bank.calibration_keys if stream["law"]["kind"] in ("latent", "known codes") else bank.deployment_keys


def _stream(law: Node, table: NDArray[np.generic], order: IntArray, checkpoints: list[int], bank: Bank) -> Stream:
    noises, is_complex = np.array(law["noises"], dtype=np.float64), law["is_complex"]
    rows, q = ArrayRows(table, order), len(bank.states.elements)
    match law["kind"]:
        case "latent":
            return latent_stream(rows, bank.states, [_law(node) for node in law["laws"]], noises, checkpoints)
        case "known codes":
            measured, codes = ArrayRows(table[:, :q], order), ArrayRows(table[:, q:], order)
            return known_code_stream(measured, codes, bank.states, noises, checkpoints, is_complex=is_complex)
        case "covariance":
            return covariance_stream(rows, bank, noises, checkpoints, is_complex=is_complex)
        case "mean":
            return mean_stream(rows, bank, noises, checkpoints, is_complex=is_complex)
        case "profiled mean":
            ends = real(law["box"], 2, bank.states.n_atoms, 2 if law["box"]["shape"][-1:] == [2] else 1)
            lower, upper = ends @ [1.0, 1.0j] if ends.shape[2] == 2 else ends[:, :, 0]
            return profiled_mean_stream(rows, bank, noises, lower, upper, checkpoints, is_complex=is_complex)
    raise Refusal(f"rows of the unknown kind {law['kind']!r}")


def _law(node: Node) -> CodeLaw:
    if {*node} == {"law", "p"} and node["law"] == "bernoulli gaussian":
        return BernoulliGaussian(node["p"])
    if {*node} == {"law", "size_probabilities", "variances"} and node["law"] == "exchangeable gaussian":
        sizes, variances = (np.array(node[name], dtype=np.float64) for name in ("size_probabilities", "variances"))
        return ExchangeableGaussian(sizes, variances)
    raise Refusal("a coefficient law is malformed")

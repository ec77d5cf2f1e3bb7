"""Check that a cover fits a bank and the laws of its rows; add ranges of strengths and noise."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._checks import check_count, check_positive
from .._errors import Clause, MisuseError
from .._typing import Array
from ..banks import Bank, Cover, Range, RangeSizes, checked_ends, with_counts
from ._law import Law

# Relative: numbers that were worked out alike.
_ROUNDING = 1e-9


def cover_ranges(
    cover: Cover,
    law: Law,
    n_rows: int,
    width: int,
    *,
    noise: Sequence[float] | None = None,
    strengths: Mapping[str, Sequence[float]] | None = None,
    etas: tuple[float, float] = (0.25, 0.25),
    most: Mapping[str, int] | None = None,
) -> Cover:
    """The same cover with ranges of strengths and noise, in as few cells as move rows by at most these etas.

    n_rows: all of them, also those that propose.  width: real numbers of a row.  noise: (low, high) of the variance; if
    it is known, the law has it.  strengths: region -> (low, high).  etas: of all strengths together, and of the noise;
    a shift of the mean, or one of equal divergence.  most: elements of a region that are active at once, 1 unless
    given.  The bank has the values `noises` and `strengths` of the cover, in every combination.
    """
    ends = None if noise is None else checked_ends("noise", noise)
    rows = check_count("n_rows", n_rows)
    entries = check_count("width", width)
    sizes = _sizes(law, rows, entries, None if ends is None else ends[0])
    wanted = strengths or {}
    counts = most or {}
    if not {*wanted} <= {*cover.regions}:
        raise MisuseError("strengths", f"be of the regions {', '.join(cover.regions)}", ", ".join(wanted))
    own = [
        Range(
            name, *checked_ends(f"strength of {name!r}", both), 1, sizes.strength, sizes.is_shift, counts.get(name, 1)
        )
        for name, both in wanted.items()
    ]
    others = [] if ends is None else [Range(None, *ends, 1, sizes.noise, is_shift=False)]
    kinds = [kind for kind in ((own, etas[0]), (others, etas[1])) if kind[0]]
    ranges = [each for kind, eta in kinds for each in with_counts(kind, cover.active, check_positive("etas", eta))]
    return replace(cover, ranges=tuple(ranges))


def check_cover(cover: Cover, bank: Bank | None, streams: Sequence[tuple[Law, int]]) -> None:
    """Refuse a cover of other elements than the bank has, of other laws, or of weaker signals than theirs.

    streams: law and number of rows of each.
    """
    if bank is None or len(streams) != 1:
        raise MisuseError("cover", "go with one stream, and with the bank that it made", f"{len(streams)} streams")
    ((law, n_rows),) = streams
    active = max(map(len, bank.positions))
    sizes = law.cover_sizes
    if sizes is None:
        raise MisuseError("cover", "go with a law that says how far its rows move", repr(law.name))
    unit = sizes.moved(active)
    if cover.active != active or not _alike(np.array(cover.unit), np.array(unit)):
        raise MisuseError(
            "cover", f"be of {active} active elements of {law.name} rows", f"{cover.active}, {cover.unit}"
        )
    if cover.is_complex not in (None, law.is_complex):  # noise and amplitudes of complex rows are shared by two numbers
        kinds = {True: "complex", False: "real"}
        raise MisuseError(
            "cover", f"have {kinds[law.is_complex]} answers, as rows of the law", kinds[not law.is_complex]
        )
    least = _largest_snr(cover, bank, law, n_rows)
    if least is not None and cover.snr < least * (1.0 - _ROUNDING):
        raise MisuseError("snr", f"be at least {least:.6g}, which the strengths of the bank have", cover.snr)
    _check_cells(cover, bank)
    _check_ranges(cover, bank, law, n_rows)
    if cover.tangents != (law.half_steps is not None):
        raise MisuseError("tangents", "be of the cover and of the law alike", f"{cover.tangents} of the cover")
    if law.half_steps is not None and not (np.asarray(law.half_steps) >= cover.half_steps * (1.0 - _ROUNDING)).all():
        raise MisuseError("half_steps", "be as wide as the cells of the cover", np.asarray(law.half_steps).tolist())


def _check_cells(cover: Cover, bank: Bank) -> None:
    """The elements are the cells, and parameters stand at the middles of theirs."""
    library = bank.states.library
    cells = {} if library is None else {"places": library.coordinates, "extents": library.extents}
    if library is None or not (_alike(cells["places"], cover.places) and _alike(cells["extents"], cover.extents)):
        raise MisuseError("bank", "have the cells of the cover as its elements", "other ones")
    regions = tuple(name for name, own in cover.regions.items() for _ in own.places)
    if library.regions != regions or library.unit != cover.measure:
        raise MisuseError(
            "cover", "have the regions and the unit of the bank", f"{[*cover.regions]}, {cover.measure!r}"
        )
    for parameter in cover.grid():
        values = np.unique(bank.states.parameter_values.get(parameter.label, ()))
        if not _alike(values, np.sort(parameter.values)):
            rule = "have the middles of the cover's cells as values"
            raise MisuseError(f"parameter {parameter.label!r} of the bank", rule, values.tolist())


def _check_ranges(cover: Cover, bank: Bank, law: Law, n_rows: int) -> None:
    """Values stand at the middles of the cells of their ranges, in every combination, and move rows as is said."""
    if not cover.ranges:
        return
    low = next((each.low for each in cover.ranges if each.region is None), None)
    sizes = _sizes(law, n_rows, law.width(bank), low)
    names = [each.region for each in cover.ranges]
    if len({*names}) < len(names) or not {*names} <= {*cover.regions, None}:
        raise MisuseError("ranges", "be of the noise and of regions of the cover, one of each", names)
    for each in cover.ranges:
        _check_range(each, sizes)
        if each.region is not None:
            _check_strengths(each, each.region, bank)
        elif not _alike(np.sort(np.asarray(getattr(law, "variances", ()))), each.values):
            raise MisuseError(
                "noise of the bank", "have the middles of the cover's cells as values", Clause("it has others")
            )


def _sizes(law: Law, n_rows: int, width: int, quietest: float | None) -> RangeSizes:
    """The sizes of ranges, in the least noise of a range or of the law."""
    sizes = law.cover_sizes
    if sizes is None or sizes.ranges is None:
        raise MisuseError("ranges", "go with a law that says what strengths and noise do to its rows", repr(law.name))
    return sizes.ranges(n_rows, width, _least_noise(law) if quietest is None else quietest)


def _least_noise(law: Law) -> float:
    return float(np.min(getattr(law, "variances", np.inf)))


def _check_range(each: Range, sizes: RangeSizes) -> None:
    """Raise unless the range moves rows as the law allows."""
    size, is_shift = (sizes.noise, False) if each.region is None else (sizes.strength, sizes.is_shift)
    if each.is_shift != is_shift or not _alike(np.array(each.size), np.array(size)):
        raise MisuseError(each.title, f"have the size {size:.6g}, as rows of the law", each.size)


def _check_strengths(each: Range, region: str, bank: Bank) -> None:
    """The bank has every middle, with all else that it has."""
    block = [*bank.states.blocks[bank.states.regions.index(region)]]
    if each.most < len(block):
        raise MisuseError(each.title, f"be of {len(block)} elements at once", each.most)
    active = bank.strengths[bank.strengths[:, block[0]] > 0.0]
    _, counts = np.unique(np.delete(active, block, axis=1), axis=0, return_counts=True)
    if not _alike(np.unique(active[:, block[0]]), each.values) or (counts != each.count).any():
        rule = "have the middles of the cover's cells as values, with all else in the bank"
        raise MisuseError(f"strength of {region!r} in the bank", rule, np.unique(active[:, block[0]]).tolist())


def _largest_snr(cover: Cover, bank: Bank, law: Law, n_rows: int) -> float | None:
    """The largest signal-to-noise ratio of the bank, or of the strongest and the quietest of its ranges."""
    if law.cover_sizes is None or law.cover_sizes.snr is None:
        return None
    strongest = max([float(bank.strengths.max()), *(each.high for each in cover.ranges if each.region is not None)])
    quietest = min([_least_noise(law), *(each.low for each in cover.ranges if each.region is None)])
    return law.cover_sizes.snr(strongest, quietest, n_rows)


def _alike(some: Array | None, others: Array) -> bool:
    return (
        some is not None and np.shape(some) == others.shape and np.allclose(some, others, rtol=_ROUNDING, atol=1e-300)
    )

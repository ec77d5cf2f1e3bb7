"""A table of rows by channels, where it came from, and tables of arrays in memory with or without labels."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import is_whole, read_only_view
from .._codec import rows_hash
from .._errors import Clause, MisuseError, shown
from .._typing import Array, IntArray
from ._names import Axis, is_numbering, matches, order_of, place_of, same_unit
from ._rows import part_of

# Entries that a digest holds in memory at a time.
BLOCK_ENTRIES: Final = 2**20


@final
@dataclass(frozen=True, slots=True)
class Source:
    """The array as its file or its owner holds it, before its axes were put in order."""

    label: str  # what the table is for, such as "calibration"
    path: str | None  # the file name as given; None for arrays
    member: str | None  # the array within a container
    shape: tuple[int, ...]
    dtype: str
    unit: str = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows by channels, real or complex, in the number type and the byte order of its source.

    Entries that are not finite are met block by block where the rows are used, not here: a table may be larger than
    memory.

    >>> Table(np.array([[1.0, 2.0]]), ("left", "right"), Source("calibration", None, None, (1, 2), "float64")).channels
    ('left', 'right')
    """

    values: NDArray[np.generic] = field(repr=False)  # (n, q), read-only, a memory map where the file allows one
    channels: tuple[str, ...]  # (q,) distinct
    source: Source

    def __post_init__(self) -> None:
        name = self.source.label
        values = check_numbers(name, self.values)
        if values.ndim != 2 or 0 in values.shape:
            rule = "have two axes, rows and channels, with at least one of each"
            raise MisuseError(name, rule, f"shape {values.shape}")
        if len(self.channels) != values.shape[1]:
            rule = f"name each of its {values.shape[1]} channels"
            raise MisuseError(name, rule, f"{len(self.channels)} names")
        check_names(name, "channels", self.channels)
        object.__setattr__(self, "values", read_only_view(values))
        object.__setattr__(self, "channels", tuple(self.channels))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the channels; None where they are only numbered."""
        return None if is_numbering(self.channels) else self.channels

    def digest(self) -> str:
        """SHA-256 of the content, read block by block.

        The numbers of rows and channels, then the entries row by row; all as little-endian 8-byte numbers, a complex
        entry as its real and its imaginary part.  Number type, byte order and layout of the source do not matter.
        """
        return rows_hash(self._blocks(), self.values.shape)

    def _blocks(self) -> Iterator[NDArray[np.generic]]:
        step = max(1, BLOCK_ENTRIES // self.values.shape[1])
        for start in range(0, len(self.values), step):
            yield part_of(self.values, slice(start, start + step))


def check_numbers(name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Real or complex numbers; masks, truth values, texts, dates, records and objects are refused."""
    if np.ma.isMaskedArray(values):
        raise MisuseError(
            name, "have no mask", Clause("it is a masked array"), "Leave rows out, or fill them in, beforehand."
        )
    if values.dtype.kind not in "iufc":
        raise MisuseError(name, "hold real or complex numbers", f"dtype {values.dtype}")
    return values


def check_counted(name: str, values: NDArray[np.generic], channels: Sequence[str] | None) -> None:
    """Refuse entries (T, q) that are no counts, by the first channel that has one."""
    held = np.asarray(values, dtype=np.float64)
    wrong = ~(np.isfinite(held) & (held >= 0.0) & (held == np.floor(held)))
    if wrong.any():
        row, channel = np.argwhere(wrong)[0].tolist()
        place = f"channel {channel}" if channels is None else f"channel {channel} ({channels[channel]})"
        found = f"{held[row, channel]:g} in {place}" + (f" of row {row}" if len(held) > 1 else "")
        remedy = "Rates, backgrounds subtracted and dead times corrected are no counts."
        raise MisuseError(name, "hold counts: whole numbers, none negative", found, remedy)


def check_names(name: str, what: str, names: tuple[str, ...]) -> None:
    """Distinct texts, none of them empty."""
    if "" in names:
        raise MisuseError(name, f"name all of its {what}", Clause(f"number {names.index('') + 1} has no name"))
    if len(set(names)) < len(names):
        twice = next(each for i, each in enumerate(names) if each in names[:i])
        raise MisuseError(name, f"have {what} of distinct names", Clause(f"{twice!r} appears more than once"))


Coordinate: TypeAlias = tuple[NDArray[Any], str]  # where along an axis entries lie, numbers or texts; and the unit
MATRIX_AXES: Final = (("rows",), ("columns",))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReaderOutput:
    """Numbers with what their holder says about them."""

    values: NDArray[np.generic]  # or what gives parts of an array, as files do that are only opened
    member: str | None = None
    axes: tuple[tuple[str, ...], ...] = ()  # the names that each axis goes by
    headings: tuple[tuple[str, ...] | None, ...] = (None, None)  # for each axis, what its entries are called
    unit: str = ""
    channel_axis: int | None = None  # where data of this kind have their channels; None where that is to be said
    coordinates: dict[str, Coordinate] = field(default_factory=dict)  # of axes by name, of arrays that are only opened


def table_of(held: ReaderOutput, *, channels: int | str | None, label: str, path: str | None, unit: str) -> Table:
    """The table in which rows are rows and the given axis runs over channels; unit: where its holder states none."""
    name = label if path is None else f"{label} {path}"
    shape = held.values.shape
    held = pixel_rows(name, held, channels)
    values = held.values
    axis = channel_axis(name, held, channels)
    if not same_unit(unit, held.unit):
        remedy = "Leave one of the two out, or correct it: numbers are never converted."
        raise MisuseError(name, f"have the unit {held.unit}, which it states itself", repr(unit), remedy)
    names = held.headings[axis]
    if names is None:
        names = tuple(map(str, range(values.shape[axis])))
    source = Source(label, path, held.member, shape, values.dtype.name, unit or held.unit)
    return Table(values if axis == 1 else values.T, names, source)


def pixel_rows(name: str, held: ReaderOutput, channels: int | str | None) -> ReaderOutput:
    """An image of any number of axes as a table with a row for each pixel, in their order; a table as it is.

    Unless channels are said to lie along another axis, they are the last, as in maps.
    """
    count = held.values.ndim
    if count < 3:
        return held
    axes = [*held.axes, *[()] * count][:count]
    headings = [*held.headings, *[None] * count][:count]
    named = [k for k, own in enumerate(axes) if channels in own]
    is_number = is_whole(channels) and -count <= channels < count
    axis = named[0] if named else int(channels) % count if is_number else count - 1  # type: ignore[arg-type]
    if channels is not None and not named and not is_number:
        rule = f"be read with channels one of its axes, 0 to {count - 1}"
        raise MisuseError(name, rule, shown(channels), "Leave it out where channels are the last.")
    values = np.moveaxis(check_numbers(name, held.values), axis, -1)
    given: list[Any] = [] if channels is None else [channels]
    own_names = ("columns", "channels", *axes[axis], *given)
    return replace(
        held,
        values=values.reshape(-1, values.shape[-1]),
        axes=(("rows", "pixels"), own_names),
        headings=(None, headings[axis]),
        channel_axis=1,
    )


def channel_axis(name: str, held: ReaderOutput, channels: int | str | None) -> int:
    """Which of the two axes of a table runs over channels."""
    values = check_numbers(name, held.values)
    if values.ndim != 2:
        remedy = ""
        if values.ndim == 1:
            remedy = f"One spectrum is a table of one row, (1, {values.size}); one channel one of a column."
        raise MisuseError(name, "have two axes, rows and channels", f"shape {values.shape}", remedy)
    if values.size == 0:
        raise MisuseError(name, "hold at least one number", f"shape {values.shape}")
    if held.channel_axis is None:  # a format that calls an axis channels has them there
        return _axis(name, "channels" if channels is None else channels, held.axes)
    if channels not in (None, held.channel_axis, *held.axes[held.channel_axis]) or type(channels) is bool:
        rule = "have its channels in columns, as frames and recordings do"
        raise MisuseError(name, rule, f"channels={channels!r}", "Leave channels out, or transpose it.")
    return held.channel_axis


def _axis(name: str, channels: int | str | None, axes: Sequence[Sequence[str]]) -> int:
    """The axis meant; none is ever chosen because of its length."""
    if is_whole(channels) and channels in (0, 1):
        return int(channels)
    matches = [axis for axis, names in enumerate(axes) if channels in names]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise MisuseError(
            name,
            "have axes of different names",
            Clause(f"{shown(channels)} names two of them"),
            "Give the axis by number.",
        )
    known = [repr(each) for names in axes for each in names]
    rule = f"be read with channels one of its axes, {', '.join(['0', *known])} or 1"
    given = "no axis" if channels in (None, "channels") else shown(channels)
    raise MisuseError(name, rule, given, "Name the axis that runs over channels.")


def distinct_or_none(names: Sequence[str]) -> tuple[str, ...] | None:
    """Coordinates along an axis as names of its entries; equal places name nothing, and equal names are for others."""
    are_places = all(place_of(each) is not None for each in names)
    return None if are_places and len({*names}) < len(names) else tuple(names)


def chosen_member(name: str, member: str | None, known: Sequence[str]) -> str:
    """The array that is meant: the one named, or the only one there is."""
    listed = ", ".join(map(repr, known)) or "none"
    if member is None and len(known) == 1:
        return known[0]
    if member is None:
        raise MisuseError(
            name, "hold one array of numbers, or be read with a member", Clause(f"it has the members {listed}")
        )
    if member not in known:
        raise MisuseError(
            name, f"hold the member {member!r} as an array of numbers", Clause(f"it has the members {listed}")
        )
    return member


# What text arrays beside an array of numbers are called that name the entries of its axes.
_PLACES: Final = {"rows": 0, "columns": 1}
TITLES: Final = (*_PLACES, "channels", "elements", "id", "ids")


def titled(name: str, held: ReaderOutput, titles: Mapping[str, tuple[str, ...]], is_alone: bool) -> ReaderOutput:
    """The array with the names that text arrays beside it give: `rows` and `columns`, others by their length.

    is_alone: whether there is no other array that the names could be of.
    """
    shape = held.values.shape
    axes = [list(each) for each in (*held.axes, *[()] * len(shape))[: len(shape)]]
    headings: list[tuple[str, ...] | None] = [*held.headings, *[None] * len(shape)][: len(shape)]
    for title, names in titles.items():
        fits = [k for k, length in enumerate(shape) if length == len(names) and _PLACES.get(title, k) == k]
        if not fits and is_alone:
            raise MisuseError(name, f"have as many names in {title!r} as entries along an axis", f"{len(names)} names")
        for k in fits:
            if headings[k] not in (None, names):
                remedy = "Call the names of its first axis rows, and those of its second columns."
                raise MisuseError(name, "tell which names are of which axis", Clause(f"its shape is {shape}"), remedy)
            headings[k] = names
            axes[k].append(title)
    return replace(held, axes=tuple(map(tuple, axes)), headings=tuple(headings))


def from_fields(name: str, values: NDArray[Any]) -> ReaderOutput:
    """A record array, whose fields are columns and have names, as a table; others as they are."""
    fields = values.dtype.names
    if fields is None or values.ndim != 1 or any(values.dtype[each].kind not in "iufc" for each in fields):
        return ReaderOutput(values)
    check_names(name, "columns", fields)
    columns = [part_of(values)[each] for each in fields]
    return ReaderOutput(np.stack(columns, axis=1), axes=MATRIX_AXES, headings=(None, fields))


def check_no_member(name: str, member: str | None) -> None:
    """Raise if a member is named for a file that holds one array."""
    if member is not None:
        raise MisuseError(name, "be read without a member, as it holds one array", repr(member))


Order = Callable[[str, Axis, Sequence[str] | None], IntArray | None]


def in_order(name: str, held: ReaderOutput, axes: Sequence[Axis], order: Order = order_of) -> NDArray[np.generic]:
    """The numbers with every named axis in the order that is wanted; a table whose names say so is turned first.

    order: gives the order of an axis, or refuses its names, as `order_of` does.
    """
    values = held.values
    headings = (*held.headings, *[None] * len(axes))[: len(axes)]
    if len(axes) == values.ndim == 2:
        own, other = ([matches(axis, names) for axis in axes] for names in headings)
        if own == [False, True] or other == [True, False]:  # names stand along one axis that are those of the other
            values = values.T
            headings = headings[::-1]
    for number, (axis, names) in enumerate(zip(axes, headings, strict=True)):
        places = order(name, axis, names)
        if places is not None and not np.array_equal(places, np.arange(len(places))):
            values = np.take(values, places, axis=number)
    return values


Time: TypeAlias = float | tuple[float, float] | None

# Units by the numbers that FIFF files give them.
_UNITS: Final = {107: "V", 112: "T", 201: "T/m"}
_AXES: Final = (("rows",), ("channels",))


def kind_of(value: object) -> str:
    """The kind of an array: its class of pandas or xarray, `Covariance` or `Recording` of mne, or `Table`; else empty.

    If a value is of a package that may not be installed, the package was imported.
    """
    if isinstance(value, Table):
        return "Table"
    for package, kind in (("pandas", "DataFrame"), ("pandas", "Series"), ("xarray", "DataArray")):
        module = sys.modules.get(package)
        if module is not None and isinstance(value, getattr(module, kind)):
            return kind
    if getattr(value, "ch_names", None) is None:
        return ""
    if isinstance(value, dict) and {"data", "names"} <= {*value}:
        return "Covariance"
    return "" if getattr(value, "times", None) is None else "Recording"


def _recording(label: str, value: Any, time: Time = None) -> ReaderOutput:  # noqa: ANN401  mne carries no types
    """One row of an `Evoked` or a `Raw`, or a row for each epoch.

    time: one time in seconds, or (first, last) of a window, over which each channel is averaged.
    """
    names = tuple(map(str, value.ch_names))
    samples = np.asarray(value.get_data())  # (channels, times) or (epochs, channels, times)
    rows = np.atleast_2d(at_time(label, samples, np.asarray(value.times), time))
    unit = _unit(label, value.info)
    return ReaderOutput(rows, axes=_AXES, headings=(None, names), unit=unit, channel_axis=1)


def _covariance(value: Any) -> ReaderOutput:  # noqa: ANN401  mne carries no types
    """The channels of a covariance by themselves."""
    names = tuple(map(str, value.ch_names))
    data = np.asarray(value["data"])
    values = np.diag(data) if data.ndim == 1 else data
    return ReaderOutput(values, axes=_AXES, headings=(names, names), channel_axis=1)


def at_time(label: str, samples: Array, times: Array, time: Time) -> Array:
    """Return (..., channels) at one time or averaged over a window: times are neither repeats nor independent."""
    if time is None and len(times) > 1:
        remedy = (
            f"Choose one: as_table(..., time={times[len(times) // 2]:.4g}) takes one time, "
            f"time=({times[0]:.4g}, {times[-1]:.4g}) the mean over a window. Times are not independent rows."
        )
        raise MisuseError(label, "have one time", f"{len(times)} times", remedy)
    first, last = time if isinstance(time, tuple) else (time, time)
    if first is None or last is None:
        return samples[..., 0]
    half = 0.5 * float(times[1] - times[0]) if len(times) > 1 else 1e-6
    if not times[0] - half <= first <= last <= times[-1] + half:
        raise MisuseError("time", f"lie from {times[0]:.4g} to {times[-1]:.4g} seconds", repr(time))
    is_meant = (times >= first) & (times <= last)
    is_meant[np.argmin(np.abs(times - 0.5 * (first + last)))] = True  # a window between two samples has the nearest
    return np.asarray(samples[..., is_meant].mean(axis=-1))


def _unit(label: str, info: Any) -> str:  # noqa: ANN401
    """The unit of all channels; volts and teslas in one row have no common noise."""
    bad = [*info["bads"]]
    if bad:
        remedy = "Drop them, or interpolate them, beforehand."
        raise MisuseError(label, "have no channels that are marked as bad", ", ".join(map(str, bad)), remedy)
    units = {_UNITS.get(int(channel["unit"]), "") for channel in info["chs"]}
    if len(units) > 1:
        remedy = "Pick channels of one kind."
        raise MisuseError(label, "have channels of one unit", ", ".join(sorted(units)), remedy)
    return units.pop() if units else ""


def as_table(value: ArrayLike, *, channels: int | str | None, label: str, unit: str = "", time: Time = None) -> Table:
    """The table in an array; nothing is copied where a view will do.

    A plain array needs the number of the axis that runs over channels.  Of a pandas DataFrame the columns are the
    channels, and their names are kept.  An xarray DataArray needs the name of the dimension that runs over channels;
    its coordinates there become the names of the channels, and `attrs["units"]` the unit.  Of mne, an Evoked is one row
    at a time, Epochs are a row each, and a Covariance is taken as it is.
    unit: where the array states none.  time: of a recording, one time in seconds, or (first, last) of a window, over
    which each channel is averaged; needed where a recording has several times.

    >>> as_table([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], channels=0, label="calibration").values.shape
    (2, 3)
    """
    held = as_reader_output(label, value, time)
    # A number would be a guess about the order of dimensions.
    if kind_of(value) == "DataArray" and (channels,) not in held.axes:
        rule = f"be read with channels one of its dimensions, {', '.join(repr(name) for (name,) in held.axes)}"
        raise MisuseError(label, rule, Clause("no axis is named") if channels is None else repr(channels))
    shape = np.shape(held.values)
    if len(shape) > 2:  # pixels are signals of their own, not rows of one
        rule = "have two axes, rows and channels"
        raise MisuseError(label, rule, f"shape {shape}", "An image goes to physupport.maps, or is one pixel of it.")
    return table_of(held, channels=channels, label=label, path=None, unit=unit)


def as_reader_output(label: str, value: Any, time: Time = None) -> ReaderOutput:  # noqa: ANN401  some carry no types
    """An array with the names along its axes, where it has some: of pandas, xarray, mne, or a table of this package."""
    kind = kind_of(value)
    if time is not None and kind not in ("Recording", "Covariance"):
        raise MisuseError("time", f"be left out, as {label} is no recording", repr(time))
    match kind:
        case "Table":
            return ReaderOutput(value.values, headings=(None, value.names), unit=value.source.unit)
        case "DataFrame":
            return _frame(label, value)
        case "Series":
            return ReaderOutput(np.asarray(value), headings=(_texts(value.index),))
        case "DataArray":
            return _data_array(value)
        case "Recording":
            return _recording(label, value, time)
        case "Covariance":
            return _covariance(value)
    if isinstance(value, np.memmap | np.ma.MaskedArray):
        return ReaderOutput(value)
    try:
        return ReaderOutput(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise MisuseError(label, "be an array", type(value).__name__) from error


def _texts(index: Any) -> tuple[str, ...] | None:  # noqa: ANN401  pandas carries no types
    """The names along an axis of a frame; None of one that only counts, which may be long."""
    return None if type(index).__name__ == "RangeIndex" else tuple(map(str, index))


def _frame(label: str, frame: Any) -> ReaderOutput:  # noqa: ANN401  pandas carries no types
    """Columns are checked one by one, so that a text among numbers is named."""
    for column, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "iufc":
            raise MisuseError(label, "hold real or complex numbers", f"{dtype} in column {column!r}")
    values = frame.to_numpy()
    if values.dtype == object:  # types of pandas' own, in which a gap is not a number
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    headings = (_texts(frame.index), _texts(frame.columns))
    return ReaderOutput(values, axes=MATRIX_AXES, headings=headings, channel_axis=1)


def _data_array(value: Any) -> ReaderOutput:  # noqa: ANN401  xarray carries no types
    axes = tuple((str(dimension),) for dimension in value.dims)
    headings = tuple(
        _coordinate(value.coords[dimension]) if dimension in value.coords else None for dimension in value.dims
    )
    return ReaderOutput(np.asarray(value.values), axes=axes, headings=headings, unit=str(value.attrs.get("units", "")))


def _coordinate(along: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    unit = str(along.attrs.get("units", "")) if along.dtype.kind in "iuf" else ""
    return distinct_or_none([f"{each} {unit}".rstrip() for each in along.values])

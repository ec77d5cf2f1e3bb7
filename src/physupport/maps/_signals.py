"""Arrays of signals: any leading axes, repeated rows and channels last, read in parts and never as a whole."""

from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from .._checks import as_float64, is_path, is_whole
from .._errors import Clause, MisuseError
from .._typing import BoolArray, Field, IntArray
from ..io import Axis as NamedAxis, Coordinate, ReaderOutput, is_labelled, open_array, open_labelled, order_of, part_of

Axis: TypeAlias = str | int | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals along any number of axes, with the names that their holder gives to these."""

    values: Any  # (..., T, q), or (..., q) of single rows; has a shape and gives parts
    axes: tuple[str, ...]  # names of the leading axes
    coordinates: dict[str, Coordinate]  # of those axes that have some
    unit: str
    bands: tuple[str, ...] = ()  # names of the channels, where they have some
    has_repeats: bool = False
    order: IntArray | None = None  # (q,) places in the array, where channels are left out or in another order

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the leading axes."""
        return tuple(int(length) for length in self.values.shape[: -2 if self.has_repeats else -1])

    @property
    def count(self) -> int:
        """The number of signals."""
        return prod(self.shape)

    @property
    def repeats(self) -> int:
        """Rows of each."""
        return int(self.values.shape[-2]) if self.has_repeats else 1

    @property
    def channels(self) -> int:
        """Entries of a row."""
        return int(self.values.shape[-1]) if self.order is None else len(self.order)

    @property
    def is_complex(self) -> bool:
        """True if these are complex."""
        return bool(np.dtype(self.values.dtype).kind == "c")

    def at(self, index: tuple[int, ...]) -> Field:
        """(T, q) one signal."""
        return np.asarray(self.read(tuple(slice(i, i + 1) for i in index))[0])

    def read(self, part: tuple[slice, ...] = ()) -> Field:
        """(S, T, q) the signals of a part of the axes, the last fastest, and no other; all unless a part is given."""
        rows = self._part(part or (slice(None),))
        if np.ma.isMaskedArray(rows):  # what is masked is missing
            rows = np.ma.filled(rows.astype(np.complex128 if self.is_complex else np.float64), np.nan)
        block = np.asarray(rows).reshape(-1, self.repeats, int(self.values.shape[-1]))
        block = block if self.order is None else block[:, :, self.order]
        if self.is_complex:
            return np.ascontiguousarray(block, dtype=np.complex128)
        return np.ascontiguousarray(as_float64("signals", block))

    def in_order(self, channels: tuple[str, ...] | None) -> "Signals":
        """The same signals with the channels that a library names in its order, where these have names, too."""
        order = order_of("signals", NamedAxis("channels", channels, "the library"), self.bands or None)
        if order is None or np.array_equal(order, np.arange(len(order))):
            return self
        return replace(self, order=order, bands=tuple(self.bands[i] for i in order.tolist()))

    def within(self, inside: BoolArray) -> "Signals":
        """The same signals in some of their channels."""
        order = np.arange(self.channels) if self.order is None else self.order
        bands = tuple(band for band, is_inside in zip(self.bands, inside.tolist(), strict=False) if is_inside)
        return replace(self, order=order[inside], bands=bands)

    def _part(self, part: tuple[slice, ...]) -> Any:  # noqa: ANN401
        """A file may be damaged where nobody has looked yet, or become shorter."""
        held = self.values
        try:
            return part_of(held, part) if isinstance(held, np.ndarray) else held[part]
        except MisuseError:
            raise
        except Exception as error:  # those of decoders have no common base
            raise MisuseError(
                "signals", "be readable throughout", Clause(f"reading them fails ({type(error).__name__}: {error})")
            ) from None


def as_signals(value: Any, *, channels: Axis = None, repeats: Axis = None, member: str | None = None) -> Signals:  # noqa: ANN401
    """Signals in an array, a labelled array, or a file.

    value: a NumPy array or memory map, a Dask or Zarr array, an HDF5 dataset, an xarray DataArray; or the name of a
    file of any type that tables come in, of an ENVI image, or of a Zarr array.  Those of type .npy, .hdr, .h5 and .zarr
    are read in blocks.
    channels: the axis that runs over channels, by name or number; the last unless given.
    repeats: the axis that runs over repeated rows of a signal, where there is one.
    member: which array of a container.
    """
    if isinstance(value, Signals):
        return value
    if is_path(value):
        return _ordered(open_array(Path(value), member, "signals"), channels, repeats)
    if is_labelled(value):
        return _ordered(open_labelled(value), channels, repeats)
    is_array = getattr(value, "shape", None) is not None  # arrays of other packages are not copied
    return _ordered(ReaderOutput(value if is_array else np.asarray(value)), channels, repeats)


def _ordered(opened: ReaderOutput, channels: Axis, repeats: Axis) -> Signals:
    values: Any = opened.values
    count = len(values.shape)
    least = 2 if repeats is None else 3
    if count < least or 0 in values.shape:
        rule = f"have at least {least} axes, signals and channels among them, with at least one of each"
        raise MisuseError("signals", rule, f"shape {tuple(values.shape)}")
    if np.dtype(values.dtype).kind not in "iufc":
        raise MisuseError("signals", "hold numbers", f"dtype {values.dtype}")
    known = tuple(each for each, *_ in opened.axes)
    last = [_axis("channels", channels if channels is not None else count - 1, known, count)]
    if repeats is not None:
        last.insert(0, _axis("repeats", repeats, known, count))
    order = [*(i for i in range(count) if i not in last), *last]
    if len(order) != count:
        raise MisuseError("repeats", "be another axis than the channels", repr(repeats))
    if order != [*range(count)]:
        transpose = getattr(values, "transpose", None)
        if transpose is None:
            rule = "have repeated rows and channels last, in such a file"
            remedy = "Give the array itself, transposed."
            raise MisuseError("signals", rule, "another order", remedy)
        values = transpose(*(values.dims[i] for i in order)) if is_labelled(values) else transpose(order)
    names = [known[i] if known else f"axis {i}" for i in order]
    leading = names[: -len(last)]
    bands = opened.coordinates.get(names[-1])
    return Signals(
        values,
        tuple(leading),
        {axis: opened.coordinates[axis] for axis in leading if axis in opened.coordinates},
        opened.unit,
        () if bands is None else tuple(f"{each} {bands[1]}".rstrip() for each in bands[0].tolist()),
        repeats is not None,
    )


def _axis(argument: str, axis: str | int, names: tuple[str, ...], count: int) -> int:
    if axis in names:
        return names.index(str(axis))
    number = int(axis) if is_whole(axis) or axis.lstrip("-").isdigit() else count
    if not -count <= number < count:
        known = f"{names} or " if names else ""
        raise MisuseError(argument, f"be one of the axes {known}0 to {count - 1}", repr(axis))
    return number % count

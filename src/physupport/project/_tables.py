"""The data files of a project as tables, and the record of all other files that a run reads."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._codec import file_hash
from .._errors import Clause, MisuseError, misuse_named
from .._typing import Array, IntArray
from ..io import (
    Axis,
    Frames,
    ReaderOutput,
    Table,
    check_counted,
    in_order,
    is_unit,
    matches,
    order_of,
    part_of,
    place_of,
    read_file,
    read_names,
    read_shape,
    read_table,
    same_unit,
    wav_rate,
)
from ..laws import law_named, laws_of_files
from ..responses import in_window
from ._line_elements import binned, binned_names, channel_bins, energies_of, project_pieces, resolution_facts
from ._load import CHANNELS, Entry, Project, named_by_key
from ._sections import File
from ._streams import Calibration, Deployment, may_propose

if TYPE_CHECKING:
    from ._elements import Physical


def begin_channels(project: Project) -> None:
    """Take the order of the channels from the deployment rows, where these name them; no entry is read."""
    project.channels.begin()
    for name, spec in reversed(project.settings.data.streams.items()):
        key = f"data.{name}.file"
        with named_by_key(project, key):
            names, rows = read_names(
                project.file(key, spec.file),
                channels=spec.channels,
                label=name,
                member=spec.member,
                header=spec.header,
            )
        if rows is not None:
            project.channels.rows[name] = rows
        if spec.frequencies is not None and names is not None:
            project.channels.sensors = names
            names = recording_frames(project).channels(names)
        if name == "deployment":
            if project.settings.elements.has_lines:
                project.channels.bins = channel_bins(project, names)
                project.channels.resolution = resolution_facts(project, names)
                names = binned_names(names, project.channels.bins)
            project.channels.order(project.name(key), key, names)
    _begin_window(project)


Numbers: TypeAlias = NDArray[np.generic]


@contextmanager
def recorded(project: Project, key: str, name: str, path: Path) -> Iterator[Entry]:
    """Read a file inside: it is entered into what the project has read, as the streams are, once it is read.

    The entry is for the reader to complete.  sha256: of the file itself, as other programs give it; a file that
    changes meanwhile is refused, so that the hash is of what was used.  name: as in the project file.
    """
    digest = _digest(path)
    entry: Entry = {
        "stream": key,
        "path": name,
        "member": None,
        "shape": [],
        "dtype": "text",
        "unit": "",
        "channels": [],
        "sha256": digest,
        "proposal_rows": None,
        "held_out_rows": None,
    }
    yield entry
    if _digest(path) != digest:
        remedy = "Run again when nothing writes to it."
        raise project.misuse(key, "stay as it is while it is read", Clause(f"{name} changed"), remedy)
    project.read[key] = entry


def read_recorded(project: Project, key: str, spec: File) -> ReaderOutput:
    """The numbers of a file, in memory: what changes in the file afterwards does not matter."""
    path = project.file(key, spec.file)
    with recorded(project, key, spec.file, path) as entry:
        with named_by_key(project, key):
            held = read_file(path, spec.member, header=spec.header)
            values = np.array(part_of(held.values))
        entry |= {"member": spec.member, "shape": list(values.shape), "dtype": values.dtype.name, "unit": held.unit}
    return replace(held, values=values)


def ordered(project: Project, key: str, held: ReaderOutput, axes: Sequence[Axis]) -> Numbers:
    """The numbers with the channels of the project, and whatever else is named, in their order."""

    def order(name: str, axis: Axis, given: Sequence[str] | None) -> IntArray | None:
        return project.channels.order(name, key, given) if axis.what == CHANNELS else order_of(name, axis, given)

    return in_order(project.name(key), held, axes, order)


def finite(project: Project, key: str, spec: File, values: Numbers) -> Numbers:
    """Refuse a number that is not, by its place in the table."""
    if not np.isfinite(values).all():
        where = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise project.misuse(key, "be finite", Clause(f"{values[where]} is at index {where} of {spec.file}"))
    return values


def read_axis(project: Project) -> Array | None:
    """The axis of the channels; None if the project has none."""
    spec = project.settings.elements.axis
    unit = project.settings.elements.axis_unit
    key = "elements.axis"
    if spec is None:
        return None
    held = read_recorded(project, key, spec)
    # The unit may stand above the column, or with the array.
    above = held.headings[-1] or ()
    stated = above[0] if len(above) == 1 else held.unit
    if is_unit(stated) and not same_unit(stated, unit):
        raise project.misuse("elements.axis_unit", f"be {stated}, as {spec.file} states", repr(unit))
    axis = finite(project, key, spec, held.values).astype(np.float64).reshape(-1)
    if not project.channels.are_places:
        return axis
    unit = unit or (stated if is_unit(stated) else "")
    order = project.channels.order(project.name(key), key, [f"{place!r} {unit}".rstrip() for place in axis.tolist()])
    return axis if order is None else axis[order]


def outside_counts(project: Project, physical: "Physical") -> Array:
    """(q,) the sum of the deployment rows on the whole axis, with 0 in the window, whose counts judge."""
    key = "data.deployment.file"
    table = _read(project, "deployment", project.settings.data.deployment, physical)
    order = project.channels.order(project.name(key), key, table.names)
    sums = part_of(table.values).astype(np.float64).sum(axis=0)
    counts = np.array(sums if order is None else sums[order])
    counts[project.channels.window] = 0.0
    return counts


def _begin_window(project: Project) -> None:
    """Find the channels in the window, on the axis of the elements, of the names of channels, or of the response."""
    spec = project.settings.data.deployment
    background = project.settings.background
    elements = project.settings.elements
    key = "data.deployment.window"
    if elements.has_lines and spec.window is None:
        project.channels.places = energies_of(project, project.channels.names)
        ends = project_pieces(project)
        with named_by_key(project, key):
            project.channels.window = in_window(project.channels.places, ends)
        project.channels.ends = ends
        project.channels.window_unit = "keV"
        return
    if spec.window is None and (background is None or not background.needs_axis):
        return
    places = [place for place in map(place_of, project.channels.names or ()) if place is not None]
    own = getattr(elements.response, "axis", None)
    unit = elements.axis_unit
    axis = read_axis(project)
    if axis is None and project.channels.are_places:
        axis = np.array([number for number, _ in places])
        unit = places[0][1]
    elif axis is None and own is not None:
        file = read_recorded(project, "elements.response.axis", own).values if isinstance(own, File) else own
        axis = np.asarray(file, dtype=np.float64).reshape(-1)
        unit = elements.unit
    if axis is None:
        remedy = "Name the file with the place of every channel: [elements] axis = ..."
        key = "background" if spec.window is None else key
        raise project.misuse(key, "go with an axis", Clause("there is none"), remedy)
    project.channels.places = axis
    if spec.window is None:
        return
    with named_by_key(project, key):
        project.channels.window = in_window(axis, spec.window)
    project.channels.ends = spec.window
    project.channels.window_unit = unit


def _digest(path: Path) -> str | None:
    """None for a file that cannot be read, or that may never end: whoever reads it says why."""
    if not path.is_file():
        return None
    try:
        return file_hash(path)
    except OSError:
        return None


def planned_opponents(project: Project) -> dict[str, str]:
    """The opponent of each stream: `bank` unless the project says `free`."""
    return {name: spec.opponent or "bank" for name, spec in project.settings.data.streams.items()}


def read_tables(project: Project, physical: "Physical | None" = None) -> dict[str, Table]:
    """A table for each stream, memory-mapped where its file allows.

    physical: elements whose responses have as many channels and the same kind of numbers; left out, nobody checks that.
    """
    if physical is None:
        begin_channels(project)
    else:
        _check_files_differ(project)
    specs = project.settings.data.streams
    read = {name: _read(project, name, spec, physical) for name, spec in specs.items()}
    count = read["deployment"].values.shape[1] if physical is None else project.channels.total(physical.n_channels)
    n_atoms = None if physical is None else len(project.regions) + physical.shared.shape[1]
    tables = {
        name: _with_codes(project, _in_order(project, name, table, count), specs[name], n_atoms)
        for name, table in read.items()
    }
    project.channels.unit = tables["deployment"].source.unit
    return tables


def _read(project: Project, name: str, spec: Calibration | Deployment, physical: "Physical | None") -> Table:
    """Read the rows of a stream, once the shape that the file announces is checked: a small file may unpack to more."""
    key = f"data.{name}.file"
    path = project.file(key, spec.file)
    law = law_named(spec.law)
    n_codes = 0
    if physical is not None:
        n_atoms = len(project.regions) + physical.shared.shape[1]
        n_codes = n_atoms if law.has_codes and spec.codes is None else 0
        with named_by_key(project, key):
            shape = read_shape(path, channels=spec.channels, label=name, member=spec.member)
        shape = shape and (shape[0], shape[1] // project.channels.bins)
        if spec.frequencies is None:
            _check_width(project, name, shape, physical, n_codes)
    with named_by_key(project, key):
        table = read_table(
            path, channels=spec.channels, label=name, member=spec.member, unit=spec.unit, header=spec.header
        )
    # As the project names it: where its folder lies is nobody's business.
    table = replace(table, source=replace(table.source, path=spec.file))
    if spec.frequencies is not None:
        table = _snapshots(project, table)
    if project.settings.elements.has_lines and law.is_counted and not np.iscomplexobj(table.values):
        check_counted(project.name(key), np.asarray(part_of(table.values)), table.channels)
    if project.channels.bins > 1:
        table = _binned(table, project.channels.bins)
    if physical is None:
        return table
    _check_numbers(project, name, table, physical)
    _check_width(project, name, table.values.shape, physical, n_codes)
    is_divided = spec.proposal is not None and may_propose(project.settings.judge, spec.law)
    if is_divided and not int(Fraction(repr(spec.proposal)) * len(table.values)):
        rule = f"leave at least one of the {len(table.values)} rows of {spec.file} to the proposal"
        remedy = 'Leave it out, or take judge = "rotation".' if law.is_linear else ""
        raise project.misuse(f"data.{name}.proposal", rule, spec.proposal, remedy)
    return table


def recording_frames(project: Project) -> Frames:
    """How the recording of the deployment becomes snapshots; its rate is that of the file where this states one."""
    key = "data.deployment"
    spec = project.settings.data.deployment
    path = project.file(f"{key}.file", spec.file)
    with named_by_key(project, f"{key}.file"):
        stated = wav_rate(path)
    rate = stated if spec.sampling_rate is None else spec.sampling_rate
    if rate is None or (stated is not None and rate != stated):
        rule = f"be {stated:g}, as {spec.file} states" if stated is not None else "be given"
        remedy = "Write sampling_rate = 16000." if stated is None else "Leave it out."
        raise project.misuse(f"{key}.sampling_rate", rule, rate, remedy)
    with misuse_named(lambda name: project.name(f"{key}.{name}")):
        return Frames.of(rate, spec.frequencies or (), spec.frame, spec.gap, spec.segment)


def _snapshots(project: Project, table: Table) -> Table:
    """The rows of a recording: a frame each, of all frequencies one after the other."""
    frames = recording_frames(project)
    if np.iscomplexobj(table.values):
        rule = "hold real samples where frequencies are given"
        remedy = "Leave frequencies out: complex rows are snapshots already."
        raise project.misuse("data.deployment.file", rule, Clause(f"{table.source.path} has complex numbers"), remedy)
    with misuse_named(lambda name: project.name(f"data.deployment.{'file' if name == 'recording' else name}")):
        values = frames.rows(table.values)
    q = table.values.shape[1]
    least = 2 * q + 2
    if len(values) < least:
        rule = (
            f"leave {least} frames or more, twice as many as channels and two, so that noise can be told from sources"
        )
        remedy = frames.as_many(len(table.values), least)
        raise project.misuse("data.deployment.frame", rule, f"{len(values)} of {frames.frame} samples", remedy)
    source = replace(table.source, shape=values.shape, dtype=values.dtype.name)
    return Table(values, frames.channels(table.channels), source)


def _binned(table: Table, bins: int) -> Table:
    """A table whose channels are sums of so many of its own."""
    values = binned(np.asarray(part_of(table.values)), bins)
    names = binned_names(table.channels, bins)
    assert names is not None  # every table has names, or numbers in their place
    return Table(values, names, replace(table.source, shape=values.shape, dtype=values.dtype.name))


def _check_files_differ(project: Project) -> None:
    """Refuse rows that calibrate and are asked about as well, by the names of their files."""
    places = {
        f"data.{name}.file": (os.path.realpath(project.file(f"data.{name}.file", spec.file)), spec.member)
        for name, spec in project.settings.data.streams.items()
    }
    noise = project.settings.data.deployment.noise
    if noise is not None and noise.rows is not None:
        key = "data.deployment.noise.rows"
        places[key] = os.path.realpath(project.file(key, noise.rows.file)), noise.rows.member
    for key, place in places.items():
        if key != "data.deployment.file" and place == places["data.deployment.file"]:
            remedy = "Record others, or split them into two files beforehand."
            raise project.misuse(key, "have other rows than data.deployment", Clause("it is the same file"), remedy)


def _in_order(project: Project, name: str, table: Table, count: int) -> Table:
    """The table with the channels of the window in the order of the project, and codes as regions and shared atoms."""
    key = f"data.{name}.file"
    channels = project.channels
    path = project.name(key)
    if table.names is None and channels.names is not None and matches(channels.axis, channels.rows.get(name)):
        rule = f"be the axis along which the channels of {channels.source} are named"
        raise project.misuse(f"data.{name}.channels", rule, Clause("it is the other one"))
    order = channels.order(path, key, None if table.names is None else table.names[:count])
    codes = order_of(path, Axis("codes", code_names(project), "the project"), (table.names or ())[count:] or None)
    columns = np.arange(table.values.shape[1])
    if order is not None:
        columns[:count] = order
    if codes is not None:
        columns[count:] = count + codes
    columns = np.concatenate([channels.cut(columns[:count], 0), columns[count:]])
    if len(columns) == table.values.shape[1] and np.array_equal(columns, np.arange(len(columns))):
        return table
    return replace(
        table, values=part_of(table.values)[:, columns], channels=tuple(table.channels[i] for i in columns.tolist())
    )


def code_names(project: Project) -> tuple[str, ...]:
    """The names of the codes: the regions, then the shared atoms by the names in their file or by numbers."""
    shared = project.settings.elements.shared
    regions = tuple(project.regions)
    if shared is None:
        return regions
    with named_by_key(project, "elements.shared"):
        held = read_file(project.file("elements.shared", shared.file), shared.member, header=shared.header)
    count = held.values.shape[1] if held.values.ndim == 2 else 1
    named = held.headings[-1] if held.values.ndim == 2 else None
    return (*regions, *(named or (f"shared {i}" for i in range(count))))


def _with_codes(project: Project, table: Table, spec: Calibration | Deployment, n_atoms: int | None) -> Table:
    """Codes from a file of their own follow the channels; the two are brought together in memory.

    Whether codes are finite is seen where rows are used, as for all rows: held-out ones are not looked at here.
    """
    file = spec.codes
    if file is None:
        return table
    key = "data.calibration.codes"
    held = read_recorded(project, key, file)
    of = Axis("codes", code_names(project), "the project")
    codes = ordered(project, key, held, (Axis("rows"), of))
    wanted = (len(table.values), codes.shape[-1] if n_atoms is None else n_atoms)
    if codes.shape != wanted:
        rule = f"have a row for each of the {wanted[0]} rows of {spec.file}, with {wanted[1]} codes"
        raise project.misuse(key, rule, f"shape {codes.shape}")
    if codes.dtype.kind == "c" and table.values.dtype.kind != "c":
        raise project.misuse(key, f"be real as the rows of {spec.file} are", "complex numbers")
    values = np.hstack([part_of(table.values), codes])
    names = (*table.channels, *(f"code {j}" for j in range(wanted[1])))
    path = f"{spec.file} with codes {file.file}"
    return Table(values, names, replace(table.source, path=path, shape=values.shape, dtype=values.dtype.name))


def _check_numbers(project: Project, name: str, table: Table, physical: "Physical") -> None:
    """Complex rows go with complex responses, real rows with real ones."""
    is_complex = np.iscomplexobj(table.values)
    key = project.name(f"data.{name}")
    kinds = {True: "complex", False: "real"}
    if is_complex != physical.is_complex:
        rule = f"hold {kinds[physical.is_complex]} numbers, as the responses are"
        remedy = ""
        if physical.is_complex:
            remedy = "A recording becomes snapshots with frequencies = [...], in hertz, in [data.deployment]."
        raise MisuseError(f"{key}.file", rule, f"{kinds[is_complex]} numbers in {table.source.path}", remedy)
    spec = project.settings.data.streams[name]
    if is_complex and law_named(spec.law).why_real:
        others = " or ".join(law for law in laws_of_files(law_named(spec.law).part) if not law_named(law).why_real)
        raise MisuseError(
            f"{key}.law", f"be {others} for complex responses", repr(spec.law), law_named(spec.law).why_real
        )


def _check_width(
    project: Project, name: str, shape: tuple[int, ...] | None, physical: "Physical", n_codes: int
) -> None:
    channels = project.channels.total(physical.n_channels)
    if shape is None or shape[1] == channels + n_codes:
        return
    wanted = f"{channels} channels" + (f" and {n_codes} codes" if n_codes else "")
    remedy = ""
    if shape[0] == channels + n_codes:
        remedy = f"Its other axis has that many: look at data.{name}.channels."
    raise project.misuse(
        f"data.{name}.file",
        f"have {wanted}, as the responses have",
        Clause(f"{project.settings.data.streams[name].file} has {shape[1]}"),
        remedy,
    )

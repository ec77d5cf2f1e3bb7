"""The data files of a project as tables, checked against the instrument."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from .._errors import MisuseError
from ..io import Table, part_of, read_shape, read_table
from ..laws import law_named, laws_of_files, make_law
from ._elements import Physical
from ._inputs import read_recorded
from ._load import Project, named_by_key
from ._sections import File
from ._streams import Calibration, Deployment, may_propose


def stream_specs(project: Project) -> dict[str, Calibration | Deployment]:
    """The streams that the project has, calibration first."""
    data = project.settings.data
    specs = {"calibration": data.calibration, "deployment": data.deployment}
    return {name: spec for name, spec in specs.items() if spec is not None}


def planned_opponents(project: Project) -> dict[str, str]:
    """What the explanations of each stream are measured against: `bank` unless the project says `free`."""
    return {name: spec.opponent or "bank" for name, spec in stream_specs(project).items()}


def read_tables(project: Project) -> dict[str, Table]:
    """A table for each stream, memory-mapped where its file allows; nothing is checked against the elements."""
    return {
        name: _with_codes(project, _read(project, name, spec), spec) for name, spec in stream_specs(project).items()
    }


def checked_tables(project: Project, physical: Physical, n_atoms: int) -> dict[str, Table]:
    """The tables, with as many channels and the same kind of numbers as the responses."""
    tables = {}
    for name, spec in stream_specs(project).items():
        n_codes = make_law(spec.law, {}).n_codes(n_atoms) if _codes(spec) is None else 0
        _check_width(project, name, _shape(project, name, spec), physical, n_codes)
        table = _read(project, name, spec)
        _check_numbers(project, name, table, physical)
        _check_width(project, name, table.values.shape, physical, n_codes)
        is_divided = spec.proposal is not None and may_propose(project.settings.judge, spec.law)
        if is_divided and not int(Fraction(repr(spec.proposal)) * len(table.values)):
            rule = f"leave at least one of the {len(table.values)} rows of {spec.file} to the proposal"
            remedy = 'Leave it out, or take judge = "rotation".' if law_named(spec.law).is_linear else ""
            raise MisuseError(project.name(f"data.{name}.proposal"), rule, spec.proposal, remedy)
        tables[name] = _with_codes(project, table, spec, n_atoms)
    return tables


def _codes(spec: Calibration | Deployment) -> File | None:
    return spec.codes if isinstance(spec, Calibration) else None


def _read(project: Project, name: str, spec: Calibration | Deployment) -> Table:
    with named_by_key(project, f"data.{name}.file"):
        table = read_table(
            project.file(f"data.{name}.file", spec.file),
            channels=spec.channels,
            label=name,
            member=spec.member,
            unit=spec.unit,
            header=spec.header,
        )
    # As the project names it: where its folder lies is nobody's business.
    return replace(table, source=replace(table.source, path=spec.file))


def _shape(project: Project, name: str, spec: Calibration | Deployment) -> tuple[int, ...] | None:
    """Rows and channels as the file announces them, if it does: a small one may hold far more than memory."""
    with named_by_key(project, f"data.{name}.file"):
        path = project.file(f"data.{name}.file", spec.file)
        return read_shape(path, channels=spec.channels, label=name, member=spec.member)


def _with_codes(project: Project, table: Table, spec: Calibration | Deployment, n_atoms: int | None = None) -> Table:
    """Codes from a file of their own follow the channels; the two are brought together in memory.

    Whether codes are finite is seen where rows are used, as for all rows: held-out ones are not looked at here.
    """
    file = _codes(spec)
    if file is None:
        return table
    key = "data.calibration.codes"
    codes = read_recorded(project, key, file)
    wanted = (len(table.values), codes.shape[-1] if n_atoms is None else n_atoms)
    if codes.shape != wanted:
        rule = f"have a row for each of the {wanted[0]} rows of {spec.file}, with {wanted[1]} codes"
        raise MisuseError(project.name(key), rule, f"shape {codes.shape}")
    if codes.dtype.kind == "c" and table.values.dtype.kind != "c":
        raise MisuseError(project.name(key), f"be real as the rows of {spec.file} are", "complex numbers")
    values = np.hstack([part_of(table.values), codes])
    names = (*table.channels, *(f"code {j}" for j in range(wanted[1])))
    path = f"{spec.file} with codes {file.file}"
    return Table(values, names, replace(table.source, path=path, shape=values.shape, dtype=values.dtype.name))


def _check_numbers(project: Project, name: str, table: Table, physical: Physical) -> None:
    """Complex rows go with complex responses, real rows with real ones."""
    is_complex, key = np.iscomplexobj(table.values), project.name(f"data.{name}")
    kinds = {True: "complex", False: "real"}
    if is_complex != physical.is_complex:
        rule = f"hold {kinds[physical.is_complex]} numbers, as the responses are"
        raise MisuseError(f"{key}.file", rule, f"{kinds[is_complex]} numbers in {table.source.path}")
    spec = stream_specs(project)[name]
    if is_complex and law_named(spec.law).why_real:
        others = " or ".join(law for law in laws_of_files(law_named(spec.law).part) if not law_named(law).why_real)
        raise MisuseError(
            f"{key}.law", f"be {others} for complex responses", repr(spec.law), law_named(spec.law).why_real
        )


def _check_width(project: Project, name: str, shape: tuple[int, ...] | None, physical: Physical, n_codes: int) -> None:
    channels = physical.n_channels
    if shape is None or shape[1] == channels + n_codes:
        return
    wanted = f"{channels} channels" + (f" and {n_codes} codes" if n_codes else "")
    remedy = ""
    if shape[0] == channels + n_codes:
        remedy = f"Its other axis has that many: look at data.{name}.channels."
    raise MisuseError(
        project.name(f"data.{name}.file"),
        f"have {wanted}, as the responses have",
        f"{shape[1]} in {stream_specs(project)[name].file}",
        remedy,
    )

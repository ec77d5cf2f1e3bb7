"""The data files of a project as tables, checked against the instrument."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from .._errors import MisuseError
from ..io import Table, read_table
from ._elements import Physical
from ._load import Project
from ._named import named_by_key
from ._responses import read_numbers
from ._schema import Calibration, Deployment


def stream_specs(project: Project) -> dict[str, Calibration | Deployment]:
    """The streams that the project has, calibration first."""
    data = project.settings.data
    given = {"calibration": data.calibration, "deployment": data.deployment}
    return {name: spec for name, spec in given.items() if spec is not None}


def read_tables(project: Project) -> dict[str, Table]:
    """A table for each stream, memory-mapped where its file allows; nothing is checked against the elements."""
    return {name: _read(project, name, spec) for name, spec in stream_specs(project).items()}


def checked_tables(project: Project, physical: Physical, n_atoms: int) -> dict[str, Table]:
    """The tables, with as many channels and the same kind of numbers as the responses."""
    tables = read_tables(project)
    for name, spec in stream_specs(project).items():
        _check_numbers(project, name, tables[name], physical)
        _check_width(project, name, tables[name], physical, n_atoms if spec.law == "known codes" else 0)
        if not int(Fraction(repr(spec.proposal)) * len(tables[name].values)):
            rule = f"leave at least one of the {len(tables[name].values)} rows of {spec.file} to the proposal"
            raise MisuseError(project.name(f"data.{name}.proposal"), rule, spec.proposal)
    return tables


def _read(project: Project, name: str, spec: Calibration | Deployment) -> Table:
    with named_by_key(project, f"data.{name}.file"):
        table = read_table(
            project.file(spec.file), channels=spec.channels, label=name, member=spec.member, unit=spec.unit
        )
    if isinstance(spec, Calibration) and spec.codes is not None:
        return _with_codes(project, table, spec)
    return table


def _with_codes(project: Project, table: Table, spec: Calibration) -> Table:
    """Codes from a file of their own follow the channels; the two are brought together in memory."""
    if spec.codes is None:
        return table
    codes = read_numbers(project, "data.calibration.codes", spec.codes)
    if codes.ndim != 2 or len(codes) != len(table.values):
        rule = f"have a row of codes for each of the {len(table.values)} rows of {spec.file}"
        raise MisuseError(project.name("data.calibration.codes"), rule, f"shape {codes.shape}")
    names = (*table.channels, *(f"code {j}" for j in range(codes.shape[1])))
    return replace(table, values=np.hstack([table.values, codes]), channels=names)


def _check_numbers(project: Project, name: str, table: Table, physical: Physical) -> None:
    """Complex rows go with complex responses, real rows with real ones."""
    is_complex, key = np.iscomplexobj(table.values), project.name(f"data.{name}")
    kinds = {True: "complex", False: "real"}
    if is_complex != physical.is_complex:
        rule = f"hold {kinds[physical.is_complex]} numbers, as the responses are"
        raise MisuseError(f"{key}.file", rule, f"{kinds[is_complex]} numbers in {table.source.path}")
    spec = stream_specs(project)[name]
    if is_complex and spec.law == "latent":
        remedy = "Calibrate with known codes, or leave the calibration out."
        raise MisuseError(f"{key}.law", "be known codes for complex responses", repr(spec.law), remedy)


def _check_width(project: Project, name: str, table: Table, physical: Physical, n_codes: int) -> None:
    found, channels = table.values.shape[1], physical.n_channels
    if found == channels + n_codes:
        return
    wanted = f"{channels} channels" + (f" and {n_codes} codes" if n_codes else "")
    remedy = ""
    if len(table.values) == channels + n_codes:
        remedy = f"Its other axis has that many: look at data.{name}.channels."
    file = Path(str(table.source.path)).name
    raise MisuseError(
        project.name(f"data.{name}.file"), f"have {wanted}, as the responses have", f"{found} in {file}", remedy
    )

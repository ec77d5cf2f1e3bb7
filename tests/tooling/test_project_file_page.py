"""The page on project files has every key, with its default, and every part of what a run writes."""

import re
from pathlib import Path
from signal import SIGINT, SIGTERM

import numpy as np
import pytest

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library, library_bank
from physupport.cli._app import DIFFERS, DIFFERS_AS_KNOWN, MISUSE, REFUSED, exit_code
from physupport.project import FILES
from physupport.project._line_elements import DetectorSpec
from physupport.project._schema import Output
from physupport.project._sections import FunctionResponse, response_section
from physupport.responses import KINDS as PARAMETERS, RESPONSES as REGISTERED

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "project-file.md").read_text()
# Tables of the file, which have sections of their own.
SECTIONS = {
    "Top level": "ProjectFile",
    "`[output]`": "Output",
    "`[data.calibration]`": "Calibration",
    "`[data.calibration]` of a learnt dictionary": "LearntCalibration",
    "`[data.deployment]`": "Deployment",
    "`[elements]`": "Elements",
    "`[parameters.NAME]`": "Parameter",
    "`[cover]`": "CoverSpec",
    "`[regions.NAME]`": "Region",
    "`[supports]`": "Supports",
    "`[claims.NAME]`": "ClaimSpec",
    "`[background]`": "Background",
    "`[unlisted]`": "Unlisted",
    "`[outsiders]`": "OutsiderSpec",
    "`[[next]]`": "NextSpec",
    "`[resolution]`": "AskedResolution",
}
TABLES = {re.search(r"\w+", heading)[0] for heading in SECTIONS} - {"Top"}
KINDS = (
    "peak",
    "lines",
    "uniform linear array",
    "circular array",
    "near field array",
    "plane waves",
    "spherical waves",
    "spherical head",
    "formula",
)
RESPONSES = {kind: response_section(kind) for kind in KINDS} | {"a function": FunctionResponse}


def section(heading):
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def table(text, head):
    """The rows of the table with this first line, as lists of cells."""
    lines = text.split(f"{head}\n")[1].splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:end]]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_of_a_table_of_the_file_has_its_line(heading, reference):
    (mark,) = reference.MARK.finditer(section(heading))
    assert mark[2] == SECTIONS[heading]
    lines = table(reference.table(*mark.groups()), "| key | type | default | meaning |")
    fields = reference.model_named(mark[2]).model_fields
    known = {field.alias or name for name, field in fields.items()}
    assert {line[0].strip("`") for line in lines} == (known - TABLES if heading == "Top level" else known)
    assert all(len(line) == 4 and all(line) for line in lines)


def test_a_key_without_a_description_stops_the_pages(reference):
    class Undescribed(Output):
        colour: str = "red"

    with pytest.raises(KeyError, match=r"Undescribed\.colour has no string below it"):
        reference.key_rows(Undescribed)


def test_every_response_is_shown_with_its_keys():
    rows = table(section("`[elements]`"), "| response | keys | places are |")
    assert [row[0].strip("`") for row in rows] == [*RESPONSES]
    assert {*RESPONSES} == {*REGISTERED, "a function"}
    for kind, row in zip(RESPONSES.values(), rows, strict=True):
        keys = {key for key in kind.model_fields if key != "kind"}
        assert keys <= {code.split()[0] for code in codes(row[1])}


def test_every_parameter_command_and_key_of_a_detector_is_shown(reference):
    for name in ("parameters", "commands", "detectors"):
        assert f"<!-- table of {name} -->" in PAGE
    assert [*re.findall(r"^\| `(\w+)`", reference.parameters(), re.MULTILINE)] == [*PARAMETERS]
    assert {*re.findall(r"^\| `(\w+)`", reference.detectors(), re.MULTILINE)} == {*DetectorSpec.model_fields}
    shown = re.findall(r"^\| `physupport ([\w-]+)` \| (?=\w)", reference.commands(), re.MULTILINE)
    assert {"init", "run", "map", "verify", "show", "watch", "next", "rid"} <= {*shown}


def test_the_files_are_those_of_a_run():
    rows = table(section("The files of a report"), "| file | content |")
    assert tuple(row[0].strip("`") for row in rows) == FILES


def test_the_exit_codes_are_those_of_the_program():
    rows = table(section("Commands and exit codes"), "| exit code | meaning |")
    codes = [0, DIFFERS, MISUSE, REFUSED, DIFFERS_AS_KNOWN, exit_code(SIGINT), exit_code(SIGTERM)]
    assert [int(row[0]) for row in rows] == codes


def test_the_keys_of_the_details_are_those_of_a_document():
    library = Library(["a", "b"], ["A", "A"], [[0.0], [1.0]], np.eye(2))
    bank = library_bank(library, [["A"]], {"A": 1.0})
    plan = StreamPlan("covariance", 0.5, noises=[1.0])
    model = PhysicalSupport(bank, calibration=None, deployment=plan).fit(None)
    model.report(np.random.default_rng(0).normal(size=(8, 2)))
    document = diagnose(model.result_).document
    text = section("The files of a report")
    shown = [key for row in table(text, "| key | content |") for key in codes(row[0])]
    assert shown == [*document, "sha256"]
    fields = [key for row in table(text, "| key of a field | content |") for key in codes(row[0])]
    assert {*fields} == {*document["fields"][0]}

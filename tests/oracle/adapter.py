"""The doors through which the oracle reaches the program, and the one reader of what the program writes.

A change of formats or of names rewrites this module; the answers that are stored stay.  Everything that it returns is
made of dictionaries with texts as keys, lists, texts, numbers, true, false and None.
"""

import csv
import hashlib
import json
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

from physupport import MisuseError
from physupport.cli import main
from physupport.project import EXAMPLES, load_project, run_project
from physupport.questions import RegionalMap, Resolution
from physupport.responses import KINDS, RESPONSES

EXAMPLE_NAMES = tuple(name for name in EXAMPLES if name != "gamma")  # its lines come from another package
STUDY_NAMES = ("mechanism", "four-region", "global")
REFUSED = {"refused": True}
_MISUSE = 2  # the exit code
_WORDS = ("assumes", "lacks")  # of a gate


def project_answer(path: Path) -> dict:
    """The answer of a project file; which rule refuses one is not an answer that stays."""
    try:
        run_project(load_project(path))
    except MisuseError:
        return REFUSED
    folder = path.parent / "report"
    report = json.loads((folder / "report.json").read_text())
    details = json.loads((folder / "details.json").read_text())
    with (folder / "queries.csv").open(newline="") as file:
        header, *queries = csv.reader(file)
    outcome = report["outcome"]
    judge = report["protocol"]["judge"]
    return {
        "judge": _judge_name(judge),
        "is_drawn": _judge_name(judge) != "evidence" and (judge["judge"] != "conformal" or judge["noise"] != [0.0]),
        "level": report["protocol"]["level"],  # that of the judge, which is lower than the one asked for with a cover
        "outcome": {key: outcome[key] for key in sorted(outcome)},
        "asked": [int(line[1]) for line in queries],
        "codes": "".join(line[2][0] for line in queries),  # A, R or I
        "margins": [[float(line[3]), float(line[4])] for line in queries],
        "says": hashlib.sha256(repr([line[5:] for line in queries]).encode()).hexdigest()[:16],
        "regions": header[5:],
        "fields": {field["field"]: _field(field) for field in report["fields"]},
        "gate": {key: value for key, value in (report["gate"] or {}).items() if key not in _WORDS},
        "edges": report["edges"],
        "claims": {claim["claim"]: _claim(claim) for claim in report["claims"]},
        "misfit": [[part[key] for key in ("stream", "explanation", "statistic", "expected", "deviation", "is_misfit")]
                   for part in details["misfit"]],
        "plug_in": {field["field"]: field["plug_in"] for field in details["fields"]},
        "levels": {field["field"]: [[part["level"], part["label"], part["cell"]] for part in field["levels"]]
                   for field in details["fields"]},
        "rows_needed": {field["field"]: [{key: value for key, value in part.items() if key != "says"}
                                         for part in field["refine"]] for field in details["fields"]},
    }  # fmt: skip


def _judge_name(judge: dict) -> str:
    """The name that the stored answers have for a judge: an average over splits has one of its own there."""
    return "evidence of splits" if judge["judge"] == "evidence" and "split" in judge else judge["judge"]


def _field(field: dict) -> dict:
    kept = field["set"]
    excluded = field["excluded"]
    return {
        "label": field["label"],
        "cell": field["cell"],
        "group": field["group"],
        "numbers": field["numbers"],
        "certificate": field["certificate"],
        "witnesses": [witness["explanation"] for witness in field["witnesses"]],
        "excluded": None if excluded is None else excluded["explanation"],
        "kept": None if kept is None else [[entry["name"], entry["explanation"]] for entry in kept["kept"]],
        "not_asked": None if kept is None else kept["not_asked"],
        "extent": None if kept is None else kept["extent"],
        "box": None if kept is None else kept.get("box"),
    }


def _claim(claim: dict) -> list:
    return [claim["value"], claim["witnesses"]]


def map_answer(path: Path, options: list[str]) -> dict:
    """The statements of a map about every signal."""
    with chdir(path.parent):
        code = _command("map", path.name, "--workers", "1", "--quiet", "--out", "map", *options)
    if code == _MISUSE:
        return REFUSED
    with np.load(path.parent / "map" / "map.npz") as stored:
        arrays = {name: stored[name] for name in stored.files if name != "about"}
    about = json.loads((path.parent / "map" / "map.json").read_text())
    names = {
        "label": about["labels"],
        "share_label": about["labels"],
        "gate": about["gates"],
        "outsider": [*about["outsiders"], None],  # the number -1 stands for none
    }
    judge = _judge_name(about["protocol"])
    answer = {"judge": judge, "is_drawn": judge != "evidence", "share": about["share"]}
    for name, values in arrays.items():
        if name in ("kept", "share_kept"):
            answer[name] = [bytes(bits).hex() for bits in values.reshape(-1, values.shape[-1])]
        elif name in names:
            answer[name] = [names[name][number] for number in values.reshape(-1).tolist()]
        else:
            answer[name] = values.reshape(-1).tolist()
    return answer


def write_example(folder: Path, name: str) -> Path:
    """Write an example that is shipped, and return its project file."""
    assert _command("init", str(folder), "--example", name) == 0
    return folder / "project.toml"


def study_answer(folder: Path, name: str) -> dict:
    """Every table of a study, by its name and column."""
    _command("reproduce", name, "--out", str(folder))  # its exit code tells what the tables tell
    tables = {}
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="") as file:
            header, *lines = csv.reader(file)
        columns = zip(*lines, strict=True)
        tables[path.stem] = {
            key: [_number(cell) for cell in column] for key, column in zip(header, columns, strict=True)
        }
    return tables


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _command(*arguments: str) -> int:
    """The exit code of the command line, run in this process and silently."""
    before = sys.argv
    sys.argv = ["physupport", *arguments]
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
    return 0


def known_names() -> dict[str, set[str]]:
    """The names that a project file may use, by key."""
    return {
        # Laws and judges of the last freezing; a new one is held by its own tests until it has an answer here.
        "law": {"covariance", "gaussian", "known codes", "latent", "mean", "poisson"},
        "judge": {"conformal", "counts", "evidence", "invariant", "rotation", "simulation"},
        "policy": {*RegionalMap.policies, *Resolution.policies},
        # Drafted projects have arrays beside them; lines and waves come from tables with elements or sensors.
        "kind": {*RESPONSES, *KINDS} - {"lines", "plane waves", "spherical waves"},
    }

"""Mutated projects, data files and reports: each ends in an answer or in one message, never in a fault or a warning.

`make fuzz` tries 3000 of them, the tests a slice.  What a number fails with, `PHYSUPPORT_FUZZ=17-18` repeats.
"""

import copy
import json
import os
import signal
import sys
import warnings
from contextlib import suppress

import h5py
import numpy as np
import pytest

from physupport.cli import main
from physupport.project import load_project, run_project
from physupport.report import document_hash

FIRST, LAST = map(int, os.environ.get("PHYSUPPORT_FUZZ", "0-30").split("-"))
LARGEST_BANK = 3000  # explanations: a larger bank is described and not run
SECONDS = 120  # what is not over then hangs

WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 6)[:, None] - np.array([0.2, 0.35, 0.7, 0.9])) / 0.15) ** 2)
REGIONS = {
    "A": {"strength": 2.0, "tolerance": 0.01},
    "B": {"strength": [1.0, 2.0], "presence": "optional", "groups": {"b": {"all": ["b1", "b2"]}}},
}
PEAK = {"kind": "peak", "axis": {"from": 0, "to": 1, "count": 6}, "width": 0.15}
ARRAY = {"kind": "uniform linear array", "n_sensors": 6, "spacing": 0.5}


def stream(file, **keys):
    return {"file": file, "channels": 1, "noise": 0.5, "proposal": 0.4, "first_checkpoint": 8} | keys


def project(elements, regions=REGIONS, **more):
    listed = {"file": "elements.csv", "coordinates": ["x"]}
    return {"level": 0.1, "seed": 3, "elements": listed | elements, "regions": regions} | more


PROJECTS = {
    "covariance": project({"response": PEAK}, data={"deployment": stream("rows.npy", law="covariance")}, budget=1.0),
    "latent": project(
        {"responses": {"file": "waves.npz", "member": "waves"}},
        data={
            "calibration": stream("rows.h5", law="latent", activity=[0.3, 0.4], member="rows"),
            "deployment": stream("rows.csv", law="covariance", unit="V"),
        },
        supports={"max_active": 2},
        title="Two streams",
    ),
    "codes": project(
        {"responses": "waves.csv"},
        data={
            "calibration": stream("rows.npy", law="known codes", codes="codes.npy"),
            "deployment": stream("rows.csv", law="covariance", channels="columns"),
        },
        policy="farthest",
    ),
    "complex": project(
        {"response": ARRAY, "file": "elements.npz"},
        data={"deployment": stream("complex.npz", law="covariance", noise=[0.5, 1.0])},
        parameters={"phase": {"values": [-0.3, 0.3]}, "gain": {"values": [0.9, 1.1]}},
        output={"folder": "out"},
    ),
    "resolution": project(
        {"response": PEAK, "shared": "shared.npy"},
        {"A": {"strength": [1.0, 2.0]}},
        data={"deployment": stream("rows.mat", law="mean", member="rows")},
        resolution={"fine": 0.05, "group": 0.4},
        parameters={"width": {"values": [0.15, 0.2]}, "position": {"values": [0.0, 0.01], "coordinate": "x"}},
    ),
    "linear": project(
        {"responses": "lines.npy"},
        {"A": {"coefficient": ">= 0"}, "B": {"presence": "optional"}},
        data={"deployment": {"file": "row.npy", "channels": 1, "law": "gaussian"}},
        background={"polynomial": 1},
    ),
    "counts": project(
        {"responses": "lines.npy"},
        {"A": {"presence": "optional"}, "B": {"presence": "optional"}},
        data={"deployment": {"file": "counts.npy", "channels": 1, "law": "poisson"}},
        background={"polynomial": 1},
    ),
    "replicates": project(
        {"responses": "lines.npy", "replicates": "replicates.csv", "replicate_unit": "unit", "replicate_noise": 0.1},
        {"A": {"presence": "optional", "groups": {"a": ["a1", "a2"]}}, "B": {"presence": "optional"}},
        data={"deployment": {"file": "row.npy", "channels": 1, "law": "gaussian"}},
        judge="conformal",
        supports={"list": [["A"], ["B"]]},
        background={"splines": 4, "atoms": "pile.npy", "reference": True},
    ),
    "cover": project(
        {"file": None, "response": {"kind": "formula", "formula": "exp(-((t-x)/width)**2)", "axis": PEAK["axis"],
                                    "width": 0.2}, "unit": "mm"},
        {"A": {"tolerance": 0.2}},
        data={"deployment": {"file": "rows.mca", "channels": "channels", "law": "gaussian", "noise": 0.5}},
        cover={"snr": 5.0, "eta": 0.9, "tangents": False, "box": {"A": {"x": [0.2, 0.8]}}},
        parameters={"gain": {"between": [0.0, 0.05]}},
    ),
    "tangents": project(
        {"responses": "lines.npy", "tangents": ["shift"], "axis": "axis.npy", "axis_unit": "nm"},
        {"A": {"coefficient": [0.0, 9.0]}, "B": {"presence": "optional", "count": [1, 2]}},
        data={"deployment": {"file": "row.msa", "channels": "channels", "law": "gaussian",
                             "noise": {"variance": "variance.npy"}}},
        parameters={"shift": {"values": [-0.5, 0.0, 0.5]}},
        claims={"one": {"any": ["a1", "b1"]}, "both": {"all": ["a1", "b1"]}, "only": {"exactly_one": ["a2", "b2"]}},
        outsiders={"elements": "rest", "share": 0.2},
    ),
    "wide": project(
        {"responses": "lines.npy", "error": 0.1},
        {"A": {"presence": "optional", "coefficient": ">= 0"}, "B": {"presence": "optional"}},
        data={"deployment": {"file": "row.hdr", "channels": "bands", "law": "gaussian", "noise": 1.0,
                             "split": "fission", "splits": 2}},
        judge="evidence",
        supports={"list": [["A"], ["B"]]},
        stop="label",
    ),
    "variants": project(
        {"responses": ["lines.npy", "other.npy"], "variants": "cone"},
        {"A": {"presence": "optional"}, "B": {"presence": "optional"}},
        data={"deployment": {"file": "counts.spe", "channels": "channels", "law": "poisson", "split": "thin",
                             "splits": 2, "exposure": 2.0}},
        background={"polynomial": 0},
    ),
    "empty rows": project(
        {"response": PEAK},
        {"A": {"presence": "optional"}, "B": {}},
        data={"deployment": {"file": "rows.wav", "channels": "channels", "law": "gaussian", "rows": "free",
                             "noise": {"rows": "rows.npy"}}},
    ),
    "simulation": project(
        {"response": PEAK},
        data={"deployment": stream("rows.npy", law="mean", noise=[0.5, 1.0])},
        judge="simulation",
    ),
    "ranges": project(
        {"file": None, "response": PEAK, "unit": "mm"},
        {"A": {"strength": {"between": [1.9, 2.1]}, "tolerance": 0.2}},
        data={"deployment": stream("rows.npy", law="mean", noise={"between": [0.48, 0.53]})},
        judge="simulation",
        cover={"snr": 25.0, "eta": 1.8, "box": {"A": {"x": [0.45, 0.55]}}},
    ),
}  # fmt: skip


def write_files(folder, name):
    """Every file that a project of this name may read."""
    from scipy.io import savemat

    rng = np.random.default_rng(0)
    atoms = WAVES / np.linalg.norm(WAVES, axis=0)
    codes = rng.normal(size=(60, 2)) * np.sqrt(2.0)
    rows = codes @ atoms[:, [0, 2]].T + np.sqrt(0.5) * rng.normal(size=(60, 6))
    regions = "AAAA" if name == "resolution" else "AABB"
    table = [["id", "region", "x"], *zip(["a1", "a2", "b1", "b2"], regions, ["0.2", "0.35", "0.7", "0.9"], strict=True)]
    (folder / "elements.csv").write_text("".join(",".join(line) + "\n" for line in table))
    columns = [np.array([line[i] for line in table[1:]]) for i in range(3)]
    np.savez(folder / "elements.npz", id=columns[0], region=columns[1], x=columns[2].astype(float) * 40.0)
    np.save(folder / "rows.npy", rows)
    others = rng.normal(size=(60, 2)) @ atoms[:, [0, 2]].T + np.sqrt(0.5) * rng.normal(size=(60, 6))
    np.savetxt(folder / "rows.csv", others, delimiter=",")  # not those that calibrate
    savemat(folder / "rows.mat", {"rows": rows})
    np.save(folder / "codes.npy", codes)
    np.save(folder / "shared.npy", np.linspace(0.0, 1.0, 6)[:, None])
    np.savez_compressed(folder / "waves.npz", waves=WAVES)
    lines = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 24)[:, None] - np.array([0.2, 0.35, 0.7, 0.9])) / 0.05) ** 2)
    np.save(folder / "lines.npy", lines)
    np.save(folder / "row.npy", (lines[:, [0]] * 5.0 + rng.normal(size=(24, 1))).T)
    np.save(folder / "counts.npy", rng.poisson(lines[:, [0]] * 30.0 + 3.0).T)
    np.save(folder / "other.npy", np.roll(lines, 1, axis=0))
    np.save(folder / "pile.npy", np.linspace(1.0, 2.0, 24)[:, None] ** 2)
    np.save(folder / "axis.npy", 400.0 + 2.0 * np.arange(24))
    np.save(folder / "variance.npy", np.full(24, 1.0))
    write_instruments(folder, np.load(folder / "row.npy"), np.load(folder / "counts.npy"), rows)
    spectra = [["element", "unit", *(f"ch {c}" for c in range(24))]]
    spectra += [[f"{of}{k}", f"u{u}", *map(repr, (lines[:, j] * 9.0 + rng.normal(size=24)).tolist())]
                for j, (of, k) in enumerate([("a", 1), ("a", 2), ("b", 1), ("b", 2)]) for u in range(3)]  # fmt: skip
    for table in ("replicates.csv", "sources.csv"):
        kept = [line if table[0] == "r" else [line[0], *line[2:]] for line in spectra]
        (folder / table).write_text("".join(",".join(line) + "\n" for line in kept))
    np.savetxt(folder / "waves.csv", WAVES, delimiter=",")
    np.savez(folder / "complex.npz", rows=rows + 1j * rng.normal(size=rows.shape))
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("rows", data=rows).attrs["units"] = "V"


def write_instruments(folder, row, counts, rows):
    """The same numbers as instruments write them."""
    from scipy.io import wavfile

    numbers = "\n".join(map(repr, row[0].tolist()))
    header = "#FORMAT : EMSA/MAS Spectral Data File\n#NPOINTS : 24\n#DATATYPE : Y\n#XPERCHAN : 2\n#OFFSET : 400\n"
    (folder / "row.msa").write_text(f"{header}#XUNITS : nm\n#YUNITS : V\n#SPECTRUM :\n{numbers}\n#ENDOFDATA :\n")
    keys = "samples = 1\nlines = 1\nbands = 24\ndata type = 5\ninterleave = bip\nbyte order = 0\n"
    (folder / "row.hdr").write_text(f"ENVI\n{keys}wavelength = {{{', '.join(map(str, range(24)))}}}\n")
    (folder / "row.img").write_bytes(row.astype("<f8").tobytes())
    listed = "\n".join(map(str, counts[0].tolist()))
    (folder / "counts.spe").write_text(f"$SPEC_ID:\nx\n$DATA:\n0 23\n{listed}\n$ENER_FIT:\n0.1 0.5\n")
    six = "\n".join(map(repr, np.abs(rows[0]).tolist()))
    (folder / "rows.mca").write_text(f"<<CALIBRATION>>\nLABEL - keV\n0 1\n5 6\n<<DATA>>\n{six}\n<<END>>\n")
    wavfile.write(folder / "rows.wav", 8000, rows[:40].astype(np.float32))


# ------------------------------------------------------------------------------------------------------- mutations

NASTY = [
    0, 1, -1, 2, 3, 10**6, 10**9, 2**31, 2**63, 2**64, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.0, 1e-320, 1e-160, 1e160,
    1e308, -1e308, float("inf"), float("nan"), 0.1 + 0.2, True, False, "", " ", "A", "B", "x", "a1", "rows.npy", "..",
    "rows.csv", "waves.npz", "rows.h5", "covariance", "mean", "latent", ".", "../rows.npy", "/dev/zero", "/etc/passwd",
    "no.npy", "a\x1b[2Jb", "\u202e", "=1+1", "x" * 300, "x" * 5000, "peak", "optional", "always", [], [[]], {}, [1, 1],
    [0.1, 0.2], ["A"], ["A", "A"], [["A"], []], {"from": 0, "to": 1, "count": 3}, {"from": 1, "to": 0, "count": 10_000},
    "gaussian", "poisson", "rotation", "conformal", "evidence", "simulation", {"file": "rows.npy"},
    {"function": "os:abort"}, {"a": {"b": {"c": ["a1"]}}}, list(range(50)), None,
]  # fmt: skip


def places(value, path=()):
    """Every node below the top."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def mutate(rng, document):
    """A copy with one to three nodes taken out, replaced, moved, repeated or renamed."""
    changed = copy.deepcopy(document)
    for _ in range(rng.integers(1, 4)):
        found = list(places(changed))
        if not found:
            break
        *path, key = found[rng.integers(len(found))]
        inside = changed
        for step in path:
            inside = inside[step]
        match rng.integers(7):
            case 0:
                del inside[key]
            case 1 if isinstance(inside, dict):
                inside[f"{key}x" if rng.random() < 0.5 else str(NASTY[rng.integers(len(NASTY))])[:300]] = inside.pop(
                    key
                )
            case 2:
                *other, _ = found[rng.integers(len(found))]
                source = changed
                for step in other:
                    source = source[step] if isinstance(source, list | dict) else source
                inside[key] = copy.deepcopy(source)
            case 3 if isinstance(inside[key], int | float) and not isinstance(inside[key], bool):
                inside[key] = inside[key] * float(rng.choice([-1.0, 0.5, 2.0, 1e3, 1e-3, 1e12]))
            case 4 if isinstance(inside, list):
                inside.append(copy.deepcopy(inside[key]))
            case _:
                inside[key] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
    return changed


def toml(value, path=()):
    """A document as TOML: tables inline, so that anything may stand anywhere; None is left out."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(toml(each) for each in value if each is not None)}]"
        case dict():
            entries = [f"{json.dumps(key)} = {toml(each)}" for key, each in value.items() if each is not None]
            return f"{{ {', '.join(entries)} }}"


def mutate_bytes(rng, content):
    """A few bytes changed, taken out, put in, repeated, or all after some point gone."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 9)):
        if not data:
            break
        # Half of the changes hit the beginning, where headers are.
        at = int(rng.integers(min(len(data), 256) if rng.random() < 0.5 else len(data)))
        match rng.integers(6):
            case 0:
                data[at] = rng.integers(256)
            case 1:
                del data[at : at + int(rng.integers(1, 20))]
            case 2:
                data[at:at] = bytes(rng.integers(256, size=rng.integers(1, 9), dtype=np.uint8))
            case 3:
                data[at:at] = data[at : at + 40]
            case 4:
                cell = rng.choice(
                    ["nan", "inf", "-1e308", "1e999", ",", "\n", "\r", '"', "=", "x", "1j", "9" * 40, "\x00"]
                )
                data[at : at + int(rng.integers(5))] = cell.encode()
            case _ if rng.random() < 0.2:
                del data[at:]
    return bytes(data)


TYPES = ["<f8", ">f8", "f4", "f2", "i8", "u1", "i4", "?", "c16", "c8", "U3", "S4", "M8[s]", "g"]


def mutate_array(rng, values):
    """Other numbers, another type, another shape."""
    changed = np.array(values)
    for _ in range(rng.integers(1, 3)):
        match rng.integers(4):
            case 0:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    changed = changed.astype(rng.choice(TYPES)) if changed.dtype.kind in "iufcb" else changed
            case 1:
                shapes = [(-1,), (1, -1), (-1, 1), (1, 1, -1), changed.shape[::-1]]
                changed = changed.reshape(shapes[rng.integers(len(shapes))])
            case 2:
                changed = changed[
                    tuple(slice(rng.choice([None, 0, 1, -1]), rng.choice([None, 2, -1])) for _ in changed.shape)
                ]
            case _ if changed.size and changed.dtype.kind in "fc":
                with np.errstate(all="ignore"):
                    if rng.random() < 0.5:
                        changed = changed * rng.choice([0.0, 1e-300, 1e-160, 1e160, 1e300, 1e-8, 1e8])
                    else:
                        changed.flat[rng.integers(changed.size)] = rng.choice(
                            [np.nan, np.inf, 1e308, -1e200, 1e-320, 0.0]
                        )
    return changed


def rewrite(rng, path):
    """A file of its kind with other arrays in it; what is text is changed byte by byte."""
    from scipy.io import savemat

    match path.suffix:
        case ".npy":
            np.save(path, mutate_array(rng, np.load(path)))
        case ".npz":
            with np.load(path) as archive:
                arrays = {name: mutate_array(rng, archive[name]) for name in archive.files}
            np.savez(path, **arrays)
        case ".csv":
            cells = [line.split(",") for line in path.read_text().splitlines()]
            line = cells[rng.integers(len(cells))]
            line[rng.integers(len(line))] = str(NASTY[rng.integers(len(NASTY))])
            path.write_text("\n".join(map(",".join, cells)))
        case ".mat":
            values = mutate_array(rng, np.linspace(-1.0, 1.0, 360).reshape(60, 6))
            savemat(path, {"rows": values if values.dtype.kind in "iufcU" and values.dtype != "g" else np.eye(3)})
        case ".h5":
            values = mutate_array(rng, np.linspace(-1.0, 1.0, 360).reshape(60, 6))
            with h5py.File(path, "w") as file:
                file["rows"] = values if values.dtype.kind in "iufcb" else np.void(b"x")
                file["rows"].attrs["units"] = str(rng.choice(["V", "\x1b[2J"]))


# ------------------------------------------------------------------------------------------------------- the program


class Hangs(BaseException):
    pass


def program(capfd, *arguments):
    """The exit code, and what was printed on either side; as the command does it, in this process."""

    def over(number, frame):
        raise Hangs

    before = sys.argv, signal.signal(signal.SIGALRM, over)
    sys.argv = ["physupport", *map(str, arguments)]
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for hidden in (DeprecationWarning, ResourceWarning):  # as Python itself does
                warnings.simplefilter("ignore", hidden)
            with pytest.raises(SystemExit) as ended:
                main()
    finally:
        signal.alarm(0)
        sys.argv, _ = before
        signal.signal(signal.SIGALRM, before[1])
    printed = capfd.readouterr()
    code = ended.value.code or 0
    assert "Traceback" not in printed.err
    assert [str(warning) for warning in told] == []
    for text in (printed.out, printed.err):
        assert not {*text} & {*map(chr, [*range(9), *range(11, 32), 127])}, "control characters"
    if code == 2:
        assert len(printed.err) < 4000
    return code, printed.out


OTHERS = (
    ("map", "--workers", 1, "--rate", 0.1, "--out", "map", "--project"),
    ("map", "--workers", 1, "--signal", "0", "--out", "map", "--project"),
    ("watch", "stream.txt", "--look", 20, "--project"),
    ("response-error", "--project"),
    ("plan", "--json", "--project"),
)  # fmt: skip


def other(rng, capfd, folder):
    """Another command on the same project; rows that arrive are damaged as well, every other time."""
    name, *options, last = OTHERS[rng.integers(len(OTHERS))]
    if name == "watch":
        text = b"".join(b",".join(b"%r" % x for x in row) + b"\n" for row in rng.normal(size=(50, 6)).tolist())
        (folder / "stream.txt").write_bytes(mutate_bytes(rng, text) if rng.random() < 0.5 else text)
    inside = [folder / each if each in ("map", "stream.txt") else each for each in options]
    given = (last, folder / "project.toml") if name in ("watch", "plan") else (folder / "project.toml",)
    code, _ = program(capfd, name, *inside, *given)
    assert code in (0, 2)


def run(rng, capfd, folder):
    """Described, run if it is not too large, verified and shown; and now and then another command on it."""
    path = folder / "project.toml"
    code, told = program(capfd, "run", path, "--dry-run", "--json")
    assert code in (0, 2)
    if code == 0 and json.loads(told)["explanations"] > LARGEST_BANK:
        return
    if rng.random() < 0.3:
        other(rng, capfd, folder)
    if code:
        return
    code, _ = program(capfd, "run", path, "--out", folder / "found", "--workers", 1)
    assert code in (0, 2)
    if code == 0:
        # The data say what they say in either reading.
        assert program(capfd, "verify", folder / "found", "--project", path)[0] == 0
        assert program(capfd, "show", folder / "found")[0] == 0


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A finished run of each project."""
    folders = {}
    for name, document in PROJECTS.items():
        folders[name] = tmp_path_factory.mktemp(name)
        write_files(folders[name], name)
        (folders[name] / "project.toml").write_text(lines(document))
        run_project(load_project(folders[name] / "project.toml", {"output.folder": str(folders[name] / "found")}))
    return folders


def lines(document):
    return "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items() if value is not None)


@pytest.mark.parametrize("number", range(FIRST, LAST))
def test_whatever_comes_is_answered(sound, tmp_path, capfd, number):
    rng = np.random.default_rng([20, number])
    name = [*PROJECTS][rng.integers(len(PROJECTS))]
    write_files(tmp_path, name)
    text = lines(PROJECTS[name])
    used = [path for path in sorted(tmp_path.iterdir()) if path.name in text or path.with_suffix(".hdr").name in text]
    path = used[rng.integers(len(used))]
    match rng.choice(["structure", "bytes", "file", "array", "report"], p=[0.4, 0.1, 0.2, 0.2, 0.1]):
        case "structure":
            text = lines(mutate(rng, PROJECTS[name]))
        case "bytes":
            text = mutate_bytes(rng, text.encode())
        case "file":
            path.write_bytes(mutate_bytes(rng, path.read_bytes()))
        case "array":
            rewrite(rng, path)
        case "report":
            return damaged_report(rng, capfd, sound[name], tmp_path)
    (tmp_path / "project.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return run(rng, capfd, tmp_path)


def damaged_report(rng, capfd, folder, tmp_path):
    """A report, or what lies beside it, changed in its structure or in its bytes."""
    for path in (folder / "found").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / rng.choice(
        ["report.json", "details.json", "report.html", "fields.csv", "queries.csv"], p=[0.5, 0.2, 0.1, 0.1, 0.1]
    )
    if path.suffix == ".json" and rng.random() < 0.7:
        changed = mutate(rng, json.loads(path.read_text()))
        if path.name == "report.json" and rng.random() < 0.5:
            with suppress(Exception):  # a forger makes its hash fit, where it still has one
                changed["digests"]["document"] = document_hash(changed)
        path.write_text(json.dumps(changed))
    else:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    assert program(capfd, "show", tmp_path)[0] in (0, 2, 3)
    assert program(capfd, "show", tmp_path, "--html", tmp_path / "again.html")[0] in (0, 2, 3)
    assert program(capfd, "verify", tmp_path, "--project", folder)[0] in (0, 2, 3)

"""Problems that users had with project files: each is refused, or gives the right answer."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.cli import app
from physupport.judges import TableJudge
from physupport.project import load_project, run_project
from physupport.questions import RegionalMap
from physupport.responses import Parameter, settings_grid

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
OWN = (RESPONSE, 'response = { function = "mine:peaks" }')


def program(*arguments, **options):
    return CliRunner().invoke(app, [*map(str, arguments)], **options)


@pytest.mark.parametrize("parameters", [[], [Parameter("position", [0.0, 0.1])]], ids=["nominal", "moved"])
def test_a_response_cannot_move_the_elements(parameters):
    places = np.array([[0.1], [0.4]])

    def shifts(given):
        given += 1.0
        return np.exp(-((np.linspace(0, 1, 5)[:, None] - given.T) ** 2))

    with pytest.raises(ValueError, match="read-only"):
        settings_grid(shifts, places, parameters)
    assert places.tolist() == [[0.1], [0.4]]


def test_answers_are_kept_as_they_were_when_given():
    kept = np.ones((3, 2))

    def response(places):
        return kept

    found = settings_grid(response, [[0.0], [1.0]])
    kept[:] = 5.0
    np.testing.assert_allclose(found.responses[0], np.full((3, 2), 3.0**-0.5), rtol=1e-15)  # a rounding error


def test_a_file_that_comes_into_the_folder_during_the_run_stays(write):
    path = write()
    folder = run_project(load_project(path)).folder

    def leave_a_note(tick):
        (folder / "notes.txt").write_text("mine")

    run_project(load_project(path, {"level": 0.2}), callback=leave_a_note)
    assert (folder / "notes.txt").read_text() == "mine"
    assert json.loads((folder / "report.json").read_text())["protocol"]["level"] == 0.2
    with pytest.raises(MisuseError, match=r"must hold nothing but an earlier report, but .* also holds notes.txt"):
        run_project(load_project(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('tolerance = 0.01\n', 'tolerance = 0.01\nask = ["absence"]\n'),
         "project.toml: regions.A.ask must hold more than absence, which no data can show"),
        (('presence = "optional"\n', 'presence = "optional"\nabsence_threshold = 2.5\n'),
         "project.toml: regions.B.absence_threshold must be at most the largest strength of region B"),
        (('tolerance = 0.01\n', 'tolerance = 0.01\nask = ["fine", "fine"]\n'),
         "project.toml: regions.A.ask must hold each entry once"),
        (('tolerance = 0.01\n', 'tolerance = 0.01\ngroups = { g = ["a1", "a1"] }\n'),
         "project.toml: regions.A.groups must hold each element of a group once, not g = ['a1', 'a1']"),
        (('["x"]', '["x", "x"]'), "project.toml: elements.coordinates must hold each name once"),
        (("from = 0,", "from = [0, 1],"), "project.toml: elements.response.axis must have a number as from"),
        (('"deployment.npy"', '"a\\u0000.npy"'), "data.deployment.file must be the name of a file, without the char"),
        (("seed = 3\n", f'seed = 3\noutput = {{ folder = "{"x" * 300}" }}\n'),
         "project.toml: output.folder must have at most 255 bytes in each part of the path, not xxx"),
        (("seed = 3\n", f'seed = 3\noutput = {{ folder = "{"y/" * 2500}x" }}\n'),
         "project.toml: output.folder must be a folder that can be made"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_key(write, change, message):
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(write(change)))
    assert message in str(caught.value)
    assert ".." not in str(caught.value).removesuffix(".").replace("...", "")


def test_a_threshold_that_some_strength_reaches_is_a_question(write):
    reached = ('presence = "optional"\n', 'presence = "optional"\nabsence_threshold = 2.0\n')
    assert run_project(load_project(write(reached))).result.report.document["fields"][1]["numbers"][
        "absence_threshold"
    ] == 2.0  # fmt: skip


def test_absence_of_a_region_below_the_threshold_may_be_asked_for_alone(write):
    weak = ("strength = 2.0\n", "strength = [0.5, 2.0]\n")
    alone = ("tolerance = 0.01\n", 'tolerance = 0.01\nask = ["absence"]\nabsence_threshold = 1.0\n')
    assert run_project(load_project(write(weak, alone))).result.report.fields[0].label == "ABSTAIN"  # the truth is 2


def test_a_name_of_no_file_is_one_message():
    with pytest.raises(
        MisuseError, match=r"project must be a readable file, but 'a\\x00b' is not \(embedded null byte\)"
    ):
        load_project("a\0b")
    assert "must be a readable file, not File name too long" in str(program("run", "x" * 300).exception)
    assert "must be a readable text file" in str(program("show", "x" * 300).exception)


def test_a_long_line_is_not_echoed(write):
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(write(elements="1,2," + "3" * 5000)))
    assert "333..." in str(caught.value)
    assert "3" * 81 not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "def peaks(places):\n    return [[1.0, 2.0], [1.0]]\n",
            "must answer for 4 places of 1 coordinates, not Value",
        ),
        ("def peaks(places):\n    raise SystemExit(3)\n", "SystemExit: 3"),
        ("def peaks(places)\n", "SyntaxError"),
    ],
    ids=["ragged", "exit", "syntax"],
)
def test_a_function_that_fails_is_one_message(write, source, words):
    path = write(OWN)
    (path.parent / "mine.py").write_text(source)
    answer = program("run", path, "--trust")
    assert isinstance(answer.exception, MisuseError)
    assert words in str(answer.exception)


def test_what_a_function_prints_does_not_mix_with_the_report(write):
    path = write(OWN)
    (path.parent / "mine.py").write_text(
        "import numpy as np\nprint('imported')\n"
        "def peaks(places):\n    print('called')\n"
        "    return np.exp(-((np.linspace(0, 1, 8)[:, None] - places.T) ** 2) / 0.045)\n"
    )
    answer = program("run", path, "--trust", "--json")
    assert answer.exit_code == 0, answer.exception
    assert json.loads(answer.stdout)["format"] == "physupport answer"
    assert "imported" in answer.stderr
    assert "called" in answer.stderr


def test_no_survivor_is_not_absence_in_the_table(tmp_path):
    question = RegionalMap(table_regions({"A": ["a", None]}))
    seal = AnalysisProtocol(question, FixedOrder(), 0.05, 1.0).freeze(TableJudge(np.array([1, 1], dtype=np.uint8)))
    report(seal, seal.run()).save(tmp_path / "report.json")
    lines = program("show", tmp_path).stdout.splitlines()
    assert ["A", "EMPTY", "nothing fits  no explanation survives"] in [line.split(maxsplit=2) for line in lines]


def test_show_takes_a_folder_and_refuses_what_was_changed(write):
    path = write()
    folder = run_project(load_project(path)).folder
    assert program("show", folder).stdout == program("show", folder / "report.json").stdout
    assert program("verify", folder, "--project", path.parent).exit_code == 0
    text = (folder / "report.json").read_text()
    (folder / "report.json").write_text(text.replace('"a1"', '"a2"'))
    changed = program("show", folder)
    assert (changed.exit_code, changed.stdout) == (3, "")
    assert "this report was changed after it was written; physupport verify says where." in changed.stderr
    assert program("verify", folder).exit_code == 3
    (folder / "report.json").write_text("{}")
    assert f"report {folder / 'report.json'}: document must be" in str(program("show", folder).exception)


def test_verify_refuses_a_project_that_says_otherwise(write):
    path = write()
    folder = run_project(load_project(path)).folder
    same = json.loads(program("verify", folder, "--project", path, "--json").stdout)
    assert same["verified"]
    assert not any("project" in note for note in same["notes"])
    for change in (("proposal = 0.4", "proposal = 0.4\nfirst_checkpoint = 8"), ("noise = 0.5", "noise = 0.4")):
        assert program("verify", folder, "--project", write(change)).exit_code == 3
    short = program("verify", folder, "--project", write(("budget = 1.0", "budget = 3")))
    assert (short.exit_code, "with other budget; labels are safe at any" in short.stderr) == (0, True)
    changes = ("level = 0.1", "level = 0.2"), ("strength = 2.0", "strength = 1.0"), ("proposal = 0.4", "proposal = 0.3")
    answer = program("verify", folder, "--project", write(*changes), "--json")
    found = json.loads(answer.stdout)
    assert (answer.exit_code, found["verified"]) == (3, False)
    assert found["findings"] == [
        "the project file has the level 0.2, the report 0.1",
        "the project file describes another protocol than the report has, with other bank, question, streams",
    ]


def test_verify_with_rows_of_some_streams_only_is_misuse(write, small):
    path = write(more=small.calibration)
    folder = run_project(load_project(path)).folder
    answer = program("verify", folder, "--data", f"deployment={path.parent / 'deployment.npy'}")
    assert isinstance(answer.exception, MisuseError)
    assert "--data must give the rows of every stream of the report, also of calibration" in str(answer.exception)

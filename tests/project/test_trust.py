"""A project stays in its folder, and what it names can be read but not obeyed."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import FILES, load_project, read_tables, run_project

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
CHANGES = {
    "data.deployment.file": ("deployment.npy", 'file = "deployment.npy"', "file = NAME"),
    "elements.file": ("elements.csv", 'file = "elements.csv"', "file = NAME"),
    "elements.responses": ("responses.npy", RESPONSE, "responses = NAME"),
    "elements.response.axis": ("axis.npy", "axis = { from = 0, to = 1, count = 8 }", "axis = NAME"),
    "elements.shared": ("shared.npy", RESPONSE, RESPONSE + "\nshared = NAME"),
    "output.folder": ("report", 'title = "Small"', "output.folder = NAME"),
}


@pytest.fixture
def inside(write, tmp_path, small):
    """A project that names something outside its folder, or a link in it that leads there."""

    def made(key, how):
        name, old, new = CHANGES[key]
        folder, outside = tmp_path / "project", tmp_path / "outside"
        named = {"absolute": outside / name, "up": f"../outside/{name}", "link": name}[how]
        path = write((old, new.replace("NAME", f'"{named}"')))
        np.save(tmp_path / "responses.npy", small.columns([0.2, 0.35, 0.7, 0.9]))
        np.save(tmp_path / "axis.npy", np.linspace(0.0, 1.0, 8))
        np.save(tmp_path / "shared.npy", np.linspace(0.0, 1.0, 8)[:, None])
        for target in (folder, outside):
            target.mkdir()
            for file in tmp_path.iterdir():
                if file.is_file():
                    (target / file.name).write_bytes(file.read_bytes())
        if how == "link":
            (folder / name).unlink(missing_ok=True)
            os.symlink(outside / name, folder / name)
        return folder / path.name

    return made


@pytest.mark.parametrize("how", ["absolute", "up", "link"])
@pytest.mark.parametrize("key", CHANGES)
def test_reaching_outside_its_folder_needs_trust(inside, key, how, tmp_path):
    path = inside(key, how)
    with pytest.raises(
        MisuseError, match=rf"^project.toml: {key}.* must stay in the folder of the project, not .*--trust"
    ):
        run_project(load_project(path))
    assert not (tmp_path / "outside" / "report").exists()
    found = run_project(load_project(path, trust=True))
    assert {file.name for file in found.folder.iterdir()} == {*FILES}


def test_the_same_for_verify_which_reads_rows(inside):
    path = inside("data.deployment.file", "up")
    with pytest.raises(MisuseError, match="must stay in the folder of the project"):
        read_tables(load_project(path))
    run_project(load_project(path, trust=True))
    command = ["verify", str(path.parent / "report"), "--project", str(path)]
    assert isinstance(CliRunner().invoke(app, command).exception, MisuseError)
    assert "every verdict from the rows" in CliRunner().invoke(app, [*command, "--trust"]).stdout


def test_what_is_named_on_the_command_line_is_the_users_own(inside, tmp_path):
    path = inside("output.folder", "up")
    answer = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "elsewhere")])
    assert answer.exit_code == 0, answer.exception
    assert {file.name for file in (tmp_path / "elsewhere").iterdir()} == {*FILES}


def test_the_numbers_of_an_image_outside_of_the_folder_need_trust(write, tmp_path, small):
    """The header lies in the folder, and what it stands for is a link."""
    folder, outside = tmp_path / "project", tmp_path / "secret"
    path = write(('file = "deployment.npy"', 'file = "rows.hdr"'))
    folder.mkdir()
    for name in ("project.toml", "elements.csv"):
        (path.parent / name).rename(folder / name)
    outside.write_bytes(small.make_rows(small.columns([0.2, 0.7]), 400).tobytes())
    (folder / "rows.hdr").write_text("ENVI\nsamples = 1\nlines = 400\nbands = 8\ndata type = 5\ninterleave = bip\n")
    os.symlink(outside, folder / "rows.img")
    with pytest.raises(MisuseError, match=r"data.deployment.file.* must stay in the folder of the project"):
        read_tables(load_project(folder / "project.toml"))
    assert read_tables(load_project(folder / "project.toml", trust=True))["deployment"].values.shape == (400, 8)


def test_a_map_that_was_begun_leads_nowhere_else(write, tmp_path):
    path = write()
    (tmp_path / "map").mkdir()
    assert load_project(path).map_folder == tmp_path / "map"
    os.symlink("/tmp", tmp_path / "map" / "map.zarr")
    with pytest.raises(MisuseError, match=r"output.map must stay in the folder of the project"):
        _ = load_project(path).map_folder
    assert load_project(path, trust=True).map_folder == tmp_path / "map"


def test_a_report_to_go_on_from_is_that_of_the_folder(write, tmp_path):
    path = write()
    run_project(load_project(path, {"budget": 1}))
    (tmp_path / "report" / "report.json").rename(tmp_path.parent / "elsewhere.json")
    os.symlink(tmp_path.parent / "elsewhere.json", tmp_path / "report" / "report.json")
    with pytest.raises(MisuseError, match=r"output.folder must stay in the folder of the project"):
        run_project(load_project(path), resume=True)


def test_links_that_go_in_circles(write, tmp_path):
    path = write(('file = "elements.csv"', 'file = "circle"'), ('title = "Small"', 'output.folder = "circle"'))
    os.symlink("circle", tmp_path / "circle")
    for trust in (False, True):
        with pytest.raises(MisuseError):
            run_project(load_project(path, trust=trust))


def test_control_characters_reach_no_file_and_no_terminal(write):
    """A name that would clear the screen, turn the text around, ring the bell, or end the line of a table."""
    odd = "a\x1b[2J\u202e\x07\u2028\x9b"
    elements = f'id,region,x\n{odd},A,0.2\na2,A,0.35\n"b\n1",B,0.7\nb2,B,0.9\n'
    path = write(
        ('title = "Small"', 'title = "T\\u001b[2J\\u0007"'),
        ("noise = 0.5", 'noise = 0.5\nunit = "\\u001b"'),
        elements=elements,
    )
    answer = CliRunner().invoke(app, ["run", str(path)])
    assert answer.exit_code == 0, answer.exception
    shown = CliRunner().invoke(app, ["show", str(path.parent / "report")])
    texts = {name: (path.parent / "report" / name).read_bytes().decode() for name in FILES}
    for text in (answer.stdout, answer.stderr, shown.stdout, *texts.values()):
        assert not [each for each in text if not each.isprintable() and each not in "\n\xa0"]
    assert r"a\x1b[2J\u202e\x07\u2028\x9b" in texts["queries.csv"]
    assert texts["queries.csv"].count("\n") == len(texts["queries.csv"].splitlines())
    assert r"T\x1b[2J\x07" in texts["report.html"]

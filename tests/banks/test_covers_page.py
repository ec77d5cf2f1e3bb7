"""The examples on the page about covers run, and the cell of their truth is kept."""

import tomllib
from pathlib import Path

import numpy as np

from physupport.project import assemble, load_project

PAGE = (Path(__file__).parents[2] / "docs" / "covers.md").read_text()


def blocks(kind):
    return [block.removeprefix(f"{kind}\n") for block in PAGE.split("```")[1::2] if block.startswith(f"{kind}\n")]


def run(text):
    names = {}
    exec(compile(text, "docs/covers.md", "exec"), names)
    return names


def test_the_project_keeps_the_place_of_its_truth_and_prints_what_the_page_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project, _ = blocks("toml")
    (tmp_path / "project.toml").write_text(project)
    names = run(blocks("python")[0])
    low, high = names["field"].box[0]
    assert low <= 0.4142 <= high
    assert capsys.readouterr().out == blocks("text")[0]


def test_the_ranges_that_the_page_shows_have_cells(tmp_path):
    project, ranges = map(tomllib.loads, blocks("toml"))
    (tmp_path / "project.toml").write_text(blocks("toml")[0])
    np.save(tmp_path / "rows.npy", np.zeros((50, 40)))
    shown = {f"data.deployment.{key}": value for key, value in ranges["data"]["deployment"].items()}
    shown |= {"regions.line.strength": ranges["regions"]["line"]["strength"], "data.deployment.proposal": 0.5}
    # As the law mean has no tangents, cells would be many; longer ones show the same.
    longer = {"cover.tangents": False, "cover.eta": 4.0, "cover.box.line.x": [0.4, 0.5]}
    cover = assemble(load_project(tmp_path / "project.toml", shown | longer)).protocol.cover
    assert [(each.region, each.low, each.high) for each in cover.ranges] == [("line", 0.8, 1.2), (None, 0.2, 0.3)]
    assert project["cover"]["snr"] == cover.snr  # the strongest signal in the least noise is not above it

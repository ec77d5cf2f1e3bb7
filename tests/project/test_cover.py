"""A project that declares a cover: its cells, its level, its words, and what does not go with it."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from physupport import MisuseError
from physupport._codec import content_hash
from physupport.analysis._analyse import begin_running
from physupport.maps import MapProtocol
from physupport.project import assemble, forecast, load_project, run_project
from physupport.report import document_hash
from physupport.report._assumptions import grid_end
from physupport.report.page import write_page
from physupport.responses import settings_grid
from physupport.verify import verify

RUNS, UNLUCKY = 2000, 1e-6
FREE = (
    ('judge = "simulation"\n', ""),
    ('law = "mean"', 'law = "gaussian"'),
    ("proposal = 0.5\n", ""),
    ("strength = 1.0\n", ""),
)
AXIS = np.linspace(0.0, 1.0, 20)


def wave(x, width=0.1):
    made = np.exp(-0.5 * ((AXIS - x) / width) ** 2)
    return made / np.linalg.norm(made)


def noisy(seed):
    return wave(0.5123) + 0.5 * np.random.default_rng(seed).standard_normal((16, 20))


@pytest.fixture
def write(tmp_path, write_cover):
    return lambda *changes, rows=None: write_cover(tmp_path, noisy(5) if rows is None else rows, *changes)


def test_a_report_speaks_of_cells_with_their_extent_and_promises_the_level_asked_for(write, tmp_path):
    result = run_project(load_project(write())).result
    report, document = result.report, result.report.document
    cover = document["protocol"]["cover"]
    assert report.level == cover["asked"] == 0.1
    assert document["protocol"]["level"] == pytest.approx(norm.cdf(norm.ppf(0.1) - cover["eta"]), rel=1e-6)
    assert 0.4 < cover["eta"] <= 0.8
    (field,) = report.fields
    (low, high), half = field.box[0], cover["regions"][0]["half"][0]
    assert low <= 0.5123 <= high
    assert high - low == pytest.approx(field.extent)
    assert field.extent == pytest.approx(2.0 * half * len(field.cell))
    assert all(name.endswith(" mm") for name in field.cell)
    for words in (report.text(), report.csv(), report.fields[0].answer):
        assert f"{low:.6g} to" in words
    assert "the judge ran at" in report.sentence
    promise = (
        "If the truth lies in the boxes of the cover, at a signal-to-noise ratio of at most 8.1, and is otherwise "
        "among the explanations considered"
    )
    assert promise in report.sentence  # strengths and noise of this law have no cells
    assert f"all within x {low:.6g} to {high:.6g} mm" in field.sentence
    checked = verify(report.json(), {"deployment": np.load(tmp_path / "rows.npy")})
    assert checked.is_verified, checked.findings
    assert any("ratio 8.1" in note for note in checked.notes)


def test_one_cell_that_is_left_is_as_wide_as_it_is(write):
    clear = np.tile(wave(0.5), (16, 1)) + 1e-3 * np.random.default_rng(0).standard_normal((16, 20))
    changes = (("noise = 0.25", "noise = 1e-6"), ("snr = 8.1", "snr = 4000.1"), ("eta = 0.8", "eta = 1.0"))
    project = load_project(write(*changes, ("x = [0.3, 0.7]", "x = [0.4996, 0.5004]"), rows=clear))
    (field,) = run_project(project).result.report.fields
    assert field.label == "FINE"
    assert field.extent > 0.0
    assert field.box[0][0] <= 0.5 <= field.box[0][1]


def test_the_end_of_a_grid_of_cells_is_that_of_its_box(write):
    rows = wave(0.302) + 0.5 * np.random.default_rng(5).standard_normal((16, 20))
    report = run_project(load_project(write(rows=rows))).result.report
    (edge,) = report.document["edges"]
    assert (edge["of"], edge["end"]) == ("region line", "lowest")
    assert edge["value"] == pytest.approx(0.3 + report.document["protocol"]["cover"]["regions"][0]["half"][0])
    assert "touches the end of the grid of region line (0.3): values beyond it were not tried" in report.sentence


def test_the_end_of_a_grid_of_cells_of_a_parameter_is_that_of_its_range(write):
    tables = (
        "[parameters.width]\nbetween = [0.9, 1.1]\n\n[parameters.left]\nkind = 'position'\nbetween = [-0.02, 0.01]\n\n"
    )
    assembled = assemble(load_project(write(("[cover]\n", f"{tables}[cover]\n"))))
    cover, bank = assembled.protocol.cover, assembled.bank
    protocol = {"cover": cover.encode()}
    ends = {"width": (0.9, 1.1), "left": (-0.02, 0.01), "region line": (0.3, 0.7)}
    assert {*bank.states.parameter_values} == {"width", "left"}
    for name, both in ends.items():
        for end, wanted in zip(("lowest", "highest"), both, strict=True):
            assert grid_end(protocol, {"of": name, "end": end, "value": 0.5}) == wanted
    other = {"of": "deployment noise", "end": "lowest", "value": 0.25}
    assert grid_end(protocol, other) == grid_end({}, other) == 0.25  # without cells the last value is the end


PEAK = '{ kind = "peak", axis = { from = 0, to = 1, count = 20 }, width = 0.1 }'
ARRAY = '{ kind = "uniform linear array", n_sensors = 10, spacing = 0.5 }'
FLAT = '{ kind = "formula", formula = "1 / (1 + ((t - x) / 0.1)**4)", axis = { from = 0, to = 1, count = 20 } }'
TOMLS = {
    "a peak": (),
    "a peak of uncertain width": (("[cover]\n", "[parameters.width]\nbetween = [0.9, 1.1]\n\n[cover]\n"),),
    "a peak over an uncertain offset": (
        ("[cover]\n", "[parameters.offset]\nbetween = [-0.03, 0.02]\n\n[cover]\n"),
        ("eta = 0.8", "eta = 1.6"),  # bounds of several moves are added up: smaller ones would not show without a cover
    ),
    "an array": ((PEAK, ARRAY), ("x = [0.3, 0.7]", "x = [-20.0, 30.0]"), ("snr = 8.1", "snr = 11.4")),
    "a formula": ((PEAK, FLAT),),
    "tangents": (*FREE, ("eta = 0.8", "eta = 1.6\ntangents = true"), ("snr = 8.1", "snr = 30.0")),
}


@pytest.mark.parametrize("name", TOMLS)
def test_truths_anywhere_in_the_box_lose_their_cell_in_at_most_the_level(write, name):
    """By the best test there is of the cell of the truth against the truth, at the level that the protocol runs at."""
    complex_rows = np.zeros((16, 10), dtype=complex)
    project = load_project(write(*TOMLS[name], rows=complex_rows if name == "an array" else None))
    protocol, bank = (assembled := assemble(project)).protocol, assembled.bank
    cover, rng = protocol.cover, np.random.default_rng(7)
    (cells,) = cover.regions.values()
    truth = rng.uniform(cells.low, cells.high, (RUNS, 1))
    ends = cover.parameters[0].values if cover.parameters else (1.0, 1.0)
    value = rng.uniform(*ends, RUNS)
    values = cover.grid()[0].values if cover.parameters else np.ones(1)
    setting = np.abs(values - value[:, None]).argmin(axis=1)
    at = np.array([cells.cell_of(place) for place in truth])
    own = np.column_stack([
        settings_grid(cover.response, [place], _parameters(cover, v)).responses[0, :, 0]
        for place, v in zip(truth, value, strict=True)
    ])  # fmt: skip
    gap = own - bank.states.elements[:, setting * len(cells.places) + at]
    if cover.tangents:
        slopes = np.asarray(protocol.streams["deployment"].law.variants)[0][:, at]
        gap -= slopes * (truth - cells.places[at])[:, 0]
    along = cover.snr * np.linalg.norm(gap, axis=0) + rng.standard_normal(RUNS)
    assert binom.sf(np.sum(along > norm.isf(protocol.run_level)) - 1, RUNS, protocol.level) > UNLUCKY
    # Negative control: the same bank at the level itself, as if the truth always lay on the grid.
    assert binom.sf(np.sum(along > norm.isf(protocol.level)) - 1, RUNS, protocol.level) < UNLUCKY


def _parameters(cover, value):
    return [replace(each, values=np.array([value])) for each in cover.parameters]


def test_tables_of_responses_need_a_bound_and_places_in_the_middles_of_cells(write, tmp_path):
    places = 0.3 + 0.4 * (np.arange(40) + 0.5) / 40
    np.save(tmp_path / "columns.npy", np.column_stack([wave(x) for x in places])[:, ::-1])
    lines = [f"e{i},line,{float(x)!r}" for i, x in enumerate(places)][::-1]
    (tmp_path / "elements.csv").write_text("\n".join(["id,region,x", *lines]))
    response = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 20 }, width = 0.1 }'
    table = (response, 'file = "elements.csv"\nresponses = "columns.npy"')
    bound = ("eta = 0.8", "eta = 0.8\nslopes = [7.3]")  # 1 / (width sqrt 2), and more near the ends
    with pytest.raises(MisuseError, match=r"cover.slopes must be given with a table.*differences of samples"):
        assemble(load_project(write(table)))
    result = run_project(load_project(write(table, bound))).result
    assert result.report.fields[0].cell[0].startswith("e")
    checked = verify(result.report.json(), {"deployment": np.load(tmp_path / "rows.npy")})
    assert checked.is_verified, checked.findings
    assert any("bounds of the responses" in note for note in checked.notes)
    assert "The bounds of the responses were given" in result.report.sentence
    with pytest.raises(MisuseError, match="small enough to move an answer"):
        assemble(load_project(write(table, ("eta = 0.8", "eta = 0.8\nslopes = [70.0]"))))
    with pytest.raises(MisuseError, match="middles of 40 equal cells"):
        assemble(load_project(write(table, bound, ("x = [0.3, 0.7]", "x = [0.3, 0.71]"))))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("snr = 8.1", "snr = 7.9", "snr must be at least 8, which the strengths of the bank have"),
        ("snr = 8.1\n", "", "cover.snr is required"),
        ("x = [0.3, 0.7]", "x = [0.7, 0.3]", "cover.box.line.x must be .low, high. with low below high"),
        ("x = [0.3, 0.7]", "y = [0.3, 0.7]", "cover.box.line must be of the coordinates x"),
        ("[cover.box.line]", "[cover.box.other]", "cover.box must be of the regions line"),
        ("eta = 0.8", "eta = 0.8\ntangents = true", "cover.tangents must be left out with the law mean"),
        ('coordinates = ["x"]', 'coordinates = ["x"]\nfile = "e.csv"', "elements.file must be left out beside a cover"),
        ("[cover]", "[parameters.width]\nvalues = [1.0]\nbetween = [0.9, 1.1]\n[cover]", "one of the keys values and"),
        ("[cover]", "[parameters.shift]\nbetween = [0.0, 1.0]\n[cover]", "to have a proven slope"),
        ("[regions.line]", "[resolution]\nfine = 0.1\ngroup = 0.2\n[regions.line]", "resolution must be left out"),
        ("snr = 8.1", "snr = 1e9", "need at most 1048576 cells"),
        (
            "snr = 8.1\neta = 0.8",
            "snr = 1e3\neta = 1e3",
            "^project.toml: cover.eta: level must leave some.*but it is 0.1. ",
        ),
    ],
)
def test_what_does_not_go_with_a_cover_is_refused_by_its_key(write, old, new, words):
    with pytest.raises(MisuseError, match=words):
        run_project(load_project(write((old, new))))


def test_without_a_cover_there_is_a_list_and_no_range(write):
    cover = "[cover]\nsnr = 8.1\neta = 0.8\n\n[cover.box.line]\nx = [0.3, 0.7]\n\n"
    with pytest.raises(MisuseError, match=r"elements.file is required"):
        load_project(write((cover, "")))
    ranged = (cover, "[parameters.width]\nbetween = [0.9, 1.1]\n")
    listed = ('coordinates = ["x"]', 'coordinates = ["x"]\nfile = "e.csv"')
    with pytest.raises(MisuseError, match=r"parameters.width.between must go with a table cover"):
        load_project(write(ranged, listed))


def test_a_forecast_counts_cells_before_a_row_is_read(write):
    assembled = assemble(load_project(write()))
    assert forecast(assembled.project).explanations == assembled.bank.size > 10


FORGERIES = {
    "a level that the cells do not allow": (lambda p: p.update(level=0.09), "as its cover says"),
    "a larger level asked for": (lambda p: p["cover"].update(asked=0.01), "as its cover says"),
    "smaller slopes": (lambda p: p["cover"]["regions"][0].update(slopes=[0.1]), "below those that its responses have"),
    "a smaller eta": (lambda p: p["cover"].update(eta=0.01), "protocol.cover.eta: the report says 0.01"),
    "other sizes": (lambda p: p["cover"]["regions"][0].update(half=[0.001]), "protocol.cover.regions[0].half"),
    "a wider box": (lambda p: p["cover"]["regions"][0].update(high=[0.9]), "the cells of the cover"),
    "a weaker signal": (lambda p: p["cover"].update(snr=1.0), "which the strengths of the bank have"),
    "more active": (lambda p: p["cover"].update(active=2), "be of 1 active elements"),
    "another response": (lambda p: p["cover"]["response"].update(width=0.3), "not those of the cover"),
    "an unknown response": (lambda p: p["cover"]["response"].update(kind="table"), "unknown kind 'table'"),
    "no sizes": (lambda p: p["cover"]["regions"][0].update(half=[]), "protocol.cover.regions[0].half"),
    "another region": (lambda p: p["cover"]["regions"][0].update(region="B"), "the regions and the unit of the bank"),
    "another unit": (lambda p: p["cover"].update(unit="km"), "the regions and the unit of the bank"),
    "no cells": (lambda p: p["cover"]["regions"][0].update(cells=[0]), "do not fill a box"),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory, write_cover):
    return run_project(load_project(write_cover(tmp_path_factory.mktemp("cover"), noisy(4))))


def test_the_level_of_the_run_is_low_enough_by_other_formulas(honest, holds_level):
    protocol = honest.result.report.document["protocol"]
    assert holds_level(protocol)
    assert not holds_level(protocol | {"level": 0.999 * protocol["cover"]["asked"]})


@pytest.mark.parametrize("name", FORGERIES)
def test_a_cover_that_does_not_hold_is_found_without_rows(honest, name):
    document, (change, words) = copy.deepcopy(honest.result.report.document), FORGERIES[name]
    change(document["protocol"])
    document["digests"]["protocol"] = content_hash(document["protocol"])
    document["digests"]["document"] = document_hash(document)
    assert words in " / ".join(verify(json.loads(json.dumps(document))).findings)


def test_a_cover_of_no_bank_is_found(honest):
    document = copy.deepcopy(honest.result.report.document)
    document["protocol"].update(bank=None, streams=[])
    document.update(bank=None, data={})
    assert "no bank that it could be of" in " / ".join(verify(json.loads(json.dumps(document))).findings)


def test_a_box_that_is_not_that_of_the_cells_is_found(honest):
    document = copy.deepcopy(honest.result.report.document)
    document["fields"][0]["set"]["box"] = [[0.51, 0.52]]
    document["digests"]["document"] = document_hash(document)
    assert "fields[0].set.box[0][0]: the report says 0.51" in " / ".join(verify(document).findings)


def test_the_page_tells_the_level_asked_for_and_that_of_the_run(honest, tmp_path):
    path = tmp_path / "page.html"
    write_page(path, honest.result.report, honest.details)
    text = path.read_text()
    assert "Level run" in text
    assert "0.1<small>if the truth lies in the boxes of the cover" in text


def test_rows_that_keep_arriving_outgrow_the_cells_of_a_cover(write):
    protocol = assemble(load_project(write(('judge = "simulation"\n', "")))).protocol
    with pytest.raises(MisuseError, match=r"cover must be left out for rows that keep arriving.*more rows see more"):
        begin_running(protocol)


def test_many_signals_are_not_asked_about_with_a_cover(write):
    with pytest.raises(MisuseError, match="cover must be left out where many signals"):
        MapProtocol.of(assemble(load_project(write())).protocol)


COUNTS = np.random.default_rng(2).poisson(300.0 * wave(0.5123) + 50.0, (1, 20))
SOURCES = np.random.default_rng(3).standard_normal((40, 21))
LAWS = {
    "random sources": (
        (('judge = "simulation"\n', ""), ('"mean"', '"covariance"')),
        2.0 * SOURCES[:, :1] * wave(0.5123) + 0.5 * SOURCES[:, 1:],
    ),
    "sources of unknown power": (
        (('judge = "simulation"\n', ""), ('"mean"', '"covariance"'), ("strength = 1.0", 'strength = "unknown"')),
        2.0 * SOURCES[:, :1] * wave(0.5123) + 0.5 * SOURCES[:, 1:],
    ),
    "counts": (
        (
            *FREE,
            ('"gaussian"', '"poisson"'),
            ("noise = 0.25\n", ""),
            ("[cover]\n", "[background]\npolynomial = 0\n\n[cover]\n"),
        ),
        COUNTS.astype(float),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_that_move_by_a_divergence_run_lower_and_verify(write, name):
    changes, rows = LAWS[name]
    more = ("snr = 8.1", "snr = 50.0"), ("eta = 0.8", "eta = 0.4"), ("x = [0.3, 0.7]", "x = [0.49, 0.54]")
    report = run_project(load_project(write(*changes, *more, rows=rows))).result.report
    cover, level = report.document["protocol"]["cover"], report.document["protocol"]["level"]
    assert not cover["is_shift"]
    assert 0.1 * np.log(0.1 / level) + 0.9 * np.log(0.9 / (1.0 - level)) == pytest.approx(cover["kappa"], rel=1e-5)
    assert "kappa" in report.sentence
    assert report.fields[0].box[0][0] <= 0.5123 <= report.fields[0].box[0][1]
    checked = verify(report.json(), {"deployment": rows})
    assert checked.is_verified, checked.findings

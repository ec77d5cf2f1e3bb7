"""A project whose strengths and noise lie anywhere in ranges: the level, the words, and what does not go with it."""

import copy
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport._codec import content_hash
from physupport.analysis import StreamPlan
from physupport.judges import Verdict
from physupport.project import assemble, forecast, load_project, run_project
from physupport.report import document_hash
from physupport.report._assumptions import cover_sentence, grid_end
from physupport.report._outcome import outcome_sentence
from physupport.report.page import write_page
from physupport.verify import verify

UNLUCKY = 1e-6
# The project of a cover with ranges, fewer channels and a smaller box.
RANGED = (
    ("noise = 0.25", "noise = { between = [0.9, 1.19] }"),
    ("count = 20 }, width = 0.1", "count = 6 }, width = 0.2"),
    ("snr = 8.1", "snr = 12.5"),
    ("eta = 0.8", "eta = 1.5"),
    ("x = [0.3, 0.7]", "x = [0.47, 0.53]"),
    ("strength = 1.0\ntolerance = 0.2\n", "strength = { between = [2.5, 2.95] }\n"),
)
SOURCES = (
    ('"mean"', '"covariance"'),
    ("between = [2.5, 2.95]", "between = [6.0, 9.0]"),
    ("snr = 12.5", "snr = 13.0"),
    ("eta = 1.5", "eta = 1.2"),
)
AXIS = np.linspace(0.0, 1.0, 6)


def wave(x):
    made = np.exp(-0.5 * ((AXIS - x) / 0.2) ** 2)
    return made / np.linalg.norm(made)


def rows_of(x, strength, noise, rng, is_random):
    amplitudes = strength**0.5 * rng.standard_normal((16, 1)) if is_random else np.full((16, 1), strength)
    return amplitudes * wave(x) + noise**0.5 * rng.standard_normal((16, 6))


ROWS = rows_of(0.5123, 2.7, 1.0, np.random.default_rng(5), is_random=False)


@pytest.fixture
def write(tmp_path, write_cover):
    return lambda *changes: write_cover(tmp_path, ROWS, *RANGED, *changes)


def corner(values, number, half, is_log=False):
    """Nearly the end of a cell that is next to others, where a truth is hardest to keep."""
    off = 0.999 * half * (1.0 if 2 * number < len(values) - 1 else -1.0)
    return values[number] * np.exp(off) if is_log else values[number] + off


def lost(protocol, cover, runs):
    """How many explanations of the cells of truths are rejected, by the judge of the project."""
    (cells,), (strengths, noises), count = cover.regions.values(), cover.ranges, 0
    for run in range(runs):
        rng = np.random.default_rng([2031, run])
        k, s, v = (rng.integers(n) for n in (len(cells.places), strengths.count, noises.count))
        x, strength = corner(cells.places[:, 0], k, cells.half[0]), corner(strengths.values, s, strengths.half)
        noise = corner(noises.values, v, noises.half, is_log=True)
        seal = replace(protocol, seed=run).read(deployment=rows_of(x, strength, noise, rng, is_random=False))
        (explanation,) = protocol.bank.index(k, s, deployment=v)
        count += seal.judge.verdicts(np.array([explanation])).codes[0] == Verdict.REJECTED
    return count


@pytest.mark.slow
def test_truths_in_the_corners_of_cells_are_lost_in_at_most_the_level(write):
    protocol = assemble(load_project(write())).protocol
    assert binom.sf(lost(protocol, protocol.cover, 200) - 1, 200, 0.1) > UNLUCKY
    # Negative control: the same cells at the level itself, as if strengths, noise and places were those of the bank.
    assert binom.sf(lost(replace(protocol, cover=None), protocol.cover, 400) - 1, 400, 0.1) < UNLUCKY


def mean_ratios(truth, middle, rng, count):
    """(count,) log ratios of 16 rows of 6 numbers, under the middle and under the truth; means part along one line."""
    (own, noise), (other, variance) = truth, middle
    gap, beside = 4.0 * np.linalg.norm(own - other), rng.chisquare(95, count)
    normal = rng.standard_normal(count)

    def ratios(along, scatter):
        squares = (along**2 + scatter) / variance - ((along - gap) ** 2 + scatter) / noise
        return 0.5 * (squares + 96 * np.log(variance / noise))

    at_middle = ratios(variance**0.5 * normal, variance * beside)
    return at_middle, ratios(gap + noise**0.5 * normal, noise * beside)


def source_ratios(truth, middle, rng, count):
    """The same of covariances: independent squares, each with the ratio of its variances."""
    own, other = truth, middle
    root = np.linalg.inv(np.linalg.cholesky(other))
    ratios = np.linalg.eigvalsh(root @ own @ root.T)
    squares = rng.chisquare(16, (count, 6))
    weights = 0.5 * (1.0 - 1.0 / ratios)
    return squares @ weights, squares @ (weights * ratios)


LAWS = {
    "mean": ((), lambda x, strength, noise: (strength * wave(x), noise), mean_ratios),
    "random sources": (
        SOURCES,
        lambda x, strength, noise: strength * np.outer(wave(x), wave(x)) + noise * np.eye(6),
        source_ratios,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_best_test_of_a_cell_against_a_truth_in_its_corner_has_at_most_the_level(write, name):
    changes, law, ratios = LAWS[name]
    protocol = assemble(load_project(write(*changes))).protocol
    (cells,), (strengths, noises) = protocol.cover.regions.values(), protocol.cover.ranges
    runs, is_log, beyond, rng = 2000, name != "mean", 0, np.random.default_rng(8)
    corners = [(a, b, c) for a in (0, -1) for b in (0, -1) for c in (0, -1)]
    for a, b, c in corners:
        values = cells.places[:, 0], strengths.values, noises.values
        halves = cells.half[0], strengths.half, noises.half
        signs = [1.0 if each == 0 else -1.0 for each in (a, b, c)]
        logs = False, is_log, True
        ends = [
            v[k] * np.exp(sign * h) if log else v[k] + sign * h
            for v, k, h, sign, log in zip(values, (a, b, c), halves, signs, logs, strict=True)
        ]
        middle = [v[k] for v, k in zip(values, (a, b, c), strict=True)]
        at_middle, _ = ratios(law(*ends), law(*middle), rng, 10**6)  # quantiles to a few percent of the run level
        _, at_truth = ratios(law(*ends), law(*middle), rng, runs)
        kept, control = (np.sum(at_truth > np.quantile(at_middle, 1.0 - level)) for level in (protocol.run_level, 0.1))
        assert binom.sf(kept - 1, runs, 0.1) > UNLUCKY
        beyond += binom.sf(control - 1, runs, 0.1) < UNLUCKY
    # Negative control: at the level itself the truth is lost too often in every corner.
    assert beyond == len(corners)


def test_a_report_speaks_of_the_ranges_and_verifies(write, tmp_path):
    finished = run_project(load_project(write()))
    report = finished.result.report
    assert report.level == 0.1
    cover = report.document["protocol"]["cover"]
    assert [each["region"] for each in cover["ranges"]] == ["line", None]
    assert "strength of line 2.5 to 2.95; noise 0.9 to 1.19" in report.sentence
    assert "the truth lies in the boxes and ranges of the cover" in report.sentence
    assert "the strength of line (2, 2.5 to 2.95) and the noise (2, 0.9 to 1.19)" in finished.assembled.notes[0]
    assert report.fields[0].box[0][0] <= 0.5123 <= report.fields[0].box[0][1]
    checked = verify(report.json(), {"deployment": ROWS})
    assert checked.is_verified, checked.findings
    assert "that strengths and noise lie in the ranges of the cover is taken as it stands" in checked.notes
    path = tmp_path / "page.html"
    write_page(path, report, finished.details)
    page = path.read_text()
    assert re.search(r"anywhere in the boxes and ranges of the cover, eta 0\.4\d+ of places alone", page)
    told = (
        "and is otherwise among the explanations considered, the explanation of its cell is rejected with probability"
    )
    assert f"{told} at most 10" in page
    # Ranks among draws are no evidence, and hold for the rows at hand alone.
    assert "Margin: how near the judge is to rejecting. An explanation" in page
    assert "log evidence minus threshold" not in page
    assert "at all checkpoints together" not in page


def test_the_end_of_a_grid_of_noise_is_that_of_its_range(honest):
    for end, wanted in (("lowest", 0.9), ("highest", 1.19)):
        edge = {"of": "deployment noise", "end": end, "value": 1.0}
        assert grid_end(honest["protocol"], edge) == wanted


def test_where_nothing_is_left_beside_a_cover_the_truth_may_be_anywhere_that_it_does_not_reach(honest):
    outcome = {**honest["outcome"], "status": "EMPTY"}
    said = outcome_sentence({**honest, "outcome": outcome})
    assert "the truth is not in the boxes and ranges of the cover, is above its signal-to-noise ratio of 12.5" in said
    assert "the true explanation is not among those considered or" not in said


ARRAY = """\
level = 0.2

[data.deployment]
file = "rows.npy"
channels = 1
law = "covariance"
noise = { between = [0.95, 1.1] }
proposal = 0.5

[elements]
coordinates = ["angle"]
response = { kind = "uniform linear array", n_sensors = 4, spacing = 0.5 }

[cover]
snr = 9.0
eta = 2.0
box = { A = { angle = [-18.0, -14.0] }, B = { angle = [10.0, 14.0] } }

[regions.A]
strength = { between = [2.0, 2.6] }

[regions.B]
strength = { between = [1.5, 2.5] }
count = 2
presence = "optional"
"""


def refuse_as_real(protocol, document):
    """Rows of a real law with half as many numbers of each amplitude would run at more than twice the level."""
    ranges = tuple(replace(each, size=each.size / 2.0) if each.region else each for each in protocol.cover.ranges)
    forged = replace(protocol, streams={"deployment": StreamPlan("covariance", 0.5)})
    cover = replace(protocol.cover, ranges=ranges)
    assert cover.level(0.2) > 2.0 * protocol.run_level
    with pytest.raises(MisuseError, match="cover must have real answers, as rows of the law, not complex"):
        replace(forged, cover=cover).read(deployment=np.zeros((14, 8)))
    changed = copy.deepcopy(document)
    changed["protocol"]["streams"][0]["law"]["is_complex"] = False
    changed["protocol"]["cover"]["ranges"] = cover.encode()["ranges"]
    changed["protocol"]["level"] = cover.level(0.2)
    assert "cover must have real answers" in " / ".join(verify(changed).findings)


def test_fewer_rows_than_there_are_make_smaller_sizes_and_are_found_by_the_rows(honest):
    document = copy.deepcopy(honest)
    protocol, (strength, noise) = document["protocol"], document["protocol"]["cover"]["ranges"]
    protocol["streams"][0].update(rows=4, checkpoints=[4])
    strength["size"], noise["size"] = strength["size"] / 2.0, noise["size"] / 4.0
    assert "rows have shape (16, 6), not (4, 6)" in " / ".join(verify(document, {"deployment": ROWS}).findings)


def test_several_complex_sources_have_ranges_of_their_own(tmp_path):
    (tmp_path / "project.toml").write_text(ARRAY)
    parts = np.random.default_rng(3).standard_normal((2, 14, 6)) * 0.5**0.5
    numbers, phases = parts[0] + 1j * parts[1], 1j * np.pi * np.arange(4)
    atoms = [np.exp(phases * np.sin(np.radians(angle))) / 2.0 for angle in (-15.0, 13.0)]
    rows = numbers[:, :4] + 2.2**0.5 * numbers[:, 4:5] * atoms[0] + 2.0**0.5 * numbers[:, 5:] * atoms[1]
    np.save(tmp_path / "rows.npy", rows)
    finished = run_project(load_project(tmp_path / "project.toml"))
    cover, bank = finished.assembled.protocol.cover, finished.assembled.bank
    _, strengths, noise = cover.steps
    assert (strengths.numbers, strengths.groups) == (28.0, 3)  # 14 rows of two real numbers, one of A and two of B
    assert (noise.numbers, noise.groups) == (112.0, 1)
    a, b, v = cover.ranges
    assert bank.n_supports == a.count * (1 + b.count)  # A alone, and both
    assert len(bank.deployment) == v.count
    report = finished.result.report
    checked = verify(report.json(), {"deployment": np.stack([rows.real, rows.imag], axis=2).reshape(14, 8)})
    assert checked.is_verified, checked.findings
    # Two sources of B have one strength: of others nothing is promised.
    told = "strength of A 2 to 2.6; strength of B 1.5 to 2.5, the same of all elements there; noise"
    assert told in cover_sentence(report.document["protocol"])
    assert f"the strength of B ({b.count}, 1.5 to 2.5, the same of all elements there)" in finished.assembled.notes[0]
    write_page(tmp_path / "page.html", report, finished.details)
    page = (tmp_path / "page.html").read_text()
    assert "Margin: log evidence minus threshold" in page  # judged by evidence
    assert "at all checkpoints together" in page
    refuse_as_real(finished.assembled.protocol, report.document)
    few = copy.deepcopy(report.document)
    few["protocol"]["cover"]["ranges"][1]["most"] = 1
    assert "be of 2 elements at once" in " / ".join(verify(few).findings)


def test_ranges_are_counted_before_a_row_is_read_and_share_eta(write):
    assembled = assemble(load_project(write()))
    cover = assembled.protocol.cover
    assert forecast(assembled.project).explanations == assembled.bank.size == len(cover.places) * 4
    assert all(0.25 < step.eta <= 0.5 * (1.0 + 1e-8) for step in cover.steps)  # a third of eta each
    plain = assemble(load_project(write(("{ between = [0.9, 1.19] }", "1.0"), ("{ between = [2.5, 2.95] }", "2.7"))))
    assert plain.protocol.cover.ranges == ()
    assert plain.protocol.cover.eta > 1.0  # all of it
    assert "ranges" not in plain.protocol.cover.encode()
    only = assemble(load_project(write(("{ between = [0.9, 1.19] }", "[0.9, 1.1]"))))
    assert [each.region for each in only.protocol.cover.ranges] == ["line"]
    assert only.bank.deployment.column("noise").tolist() == [0.9, 1.1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((("snr = 12.5", "snr = 12.3"),), "snr must be at least 12.4383"),
        ((("[0.9, 1.19]", "[1.19, 0.9]"),), r"data.deployment.noise.between must be .low, high. with low below high"),
        ((("[2.5, 2.95]", "[-2.5, 2.95]"),), "regions.line.strength.between must be above 0"),
        ((('"mean"', '"gaussian"'),), "data.deployment.noise.between must be left out with the law gaussian"),
        (
            (("{ between = [2.5, 2.95] }", '"unknown"'),),
            "noise.between must be left out with the law gaussian.*goes with the law 'covariance' or 'mean'",
        ),
        (
            (("{ between = [0.9, 1.19] }", '"unknown"'), ('"mean"', '"covariance"')),
            "data.deployment.noise must be numbers with the law covariance",
        ),
        (
            (("{ between = [0.9, 1.19] }", "1.0"), ('"mean"', '"gaussian"'), ("proposal = 0.5\n", "")),
            "regions.line.strength must be left out with the law gaussian",
        ),
        ((("2.95] }", "2.95] }\nabsence_threshold = 2.6"),), "absence_threshold must be at most 2.5, where the range"),
        ((("[0.9, 1.19]", "[0.9, 1e9]"), ("eta = 1.5", "eta = 1e-4")), "need at most 1048576 cells"),
    ],
)
def test_what_does_not_go_with_ranges_is_refused_by_its_key(write, changes, words):
    with pytest.raises(MisuseError, match=words):
        run_project(load_project(write(*changes)))


def test_a_range_goes_with_a_cover(write):
    cover = "[cover]\nsnr = 12.5\neta = 1.5\n\n[cover.box.line]\nx = [0.47, 0.53]\n\n"
    listed = ('coordinates = ["x"]', 'coordinates = ["x"]\nfile = "e.csv"')
    with pytest.raises(MisuseError, match=r"data.deployment.noise.between must go with a table cover"):
        load_project(write((cover, ""), listed))
    with pytest.raises(MisuseError, match=r"regions.line.strength.between must go with a table cover"):
        load_project(write((cover, ""), listed, ("{ between = [0.9, 1.19] }", "1.0")))


def test_a_threshold_where_the_range_begins_is_taken(write):
    optional = ("2.95] }", '2.95] }\npresence = "optional"\nabsence_threshold = 2.5')
    report = run_project(load_project(write(optional))).result.report
    assert report.fields[0].label != "ABSENT"
    assert verify(report.json(), {"deployment": ROWS}).is_verified


def ranged(change):
    return lambda p: p["cover"]["ranges"][change[0]].update(change[1])


FORGERIES = {
    "a level that the cells do not allow": (lambda p: p.update(level=0.02), "as its cover says"),
    "a wider range": (ranged((1, {"high": 1.3})), "have the middles of the cover's cells as values"),
    "a wider range of strengths": (ranged((0, {"high": 3.9, "low": 1.5})), "which the strengths of the bank have"),
    "more cells": (ranged((0, {"cells": 3})), "have the middles of the cover's cells as values"),
    "a smaller size": (ranged((0, {"size": 0.1})), "have the size"),
    "a smaller size of the noise": (ranged((1, {"size": 1.0})), "have the size"),
    "a variance": (ranged((0, {"is_shift": False})), "have the size"),
    "no cells": (ranged((0, {"cells": 0})), "has sizes that no range has"),
    "more cells than a range may have": (ranged((0, {"cells": 10**12})), "has sizes that no range has"),
    "another region": (ranged((0, {"region": "other"})), "one of each"),
    "twice the same": (lambda p: p["cover"]["ranges"].append(p["cover"]["ranges"][0]), "one of each"),
    "a weaker signal": (lambda p: p["cover"].update(snr=12.4), "which the strengths of the bank have"),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory, write_cover):
    path = write_cover(tmp_path_factory.mktemp("ranges"), ROWS, *RANGED)
    return run_project(load_project(path)).result.report.document


def test_the_level_of_the_run_is_low_enough_by_other_formulas(honest, holds_level):
    protocol = honest["protocol"]
    assert holds_level(protocol)
    assert not holds_level(protocol | {"level": 0.999 * protocol["cover"]["asked"]})


@pytest.mark.parametrize("name", FORGERIES)
def test_ranges_that_do_not_hold_are_found_without_rows(honest, name):
    document, (change, words) = copy.deepcopy(honest), FORGERIES[name]
    change(document["protocol"])
    document["digests"]["protocol"] = content_hash(document["protocol"])
    document["digests"]["document"] = document_hash(document)
    assert words in " / ".join(verify(json.loads(json.dumps(document))).findings)

"""A dry run counts what a run will do, and reads no held-out row for it."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import split_rows, split_streams
from physupport.project import forecast, load_project, run_project

GRID = "\n[parameters.width]\nvalues = [0.9, 1.0, 1.1]\n"


def test_the_counts_are_those_of_the_run(write, small):
    path = write(("noise = 0.5", "noise = [0.5, 0.6]"), ("budget = 1.0", "budget = 0.5"), more=small.calibration + GRID)
    found, run = forecast(load_project(path)), run_project(load_project(path)).result
    protocol = run.report.document["protocol"]
    assert (found.states, found.settings, found.supports, found.nuisances) == (12, 3, 2, 2)
    assert found.explanations == 12 * 2 * 2 == protocol["size"]
    assert found.queries == 24 == protocol["budget"]
    for stream, part, told in zip(found.streams, run.seal.parts, protocol["streams"], strict=True):
        assert (stream.name, list(stream.checkpoints)) == (part.name, told["checkpoints"])
        assert (stream.proposal_rows, stream.held_out_rows) == (len(part.split.proposal), len(part.split.held_out))
    calibration, deployment = found.streams
    assert calibration.n_laws == 12  # a law for each state
    assert deployment.n_laws == 2 * 3 * (2 + 4)  # noises, settings, places of A alone and of A and B
    assert found.seconds > 0.0


def test_the_sentences_name_what_matters(write, small):
    text = " ".join(forecast(load_project(write(more=small.calibration + GRID))).sentences())
    assert "24 explanations: 12 dictionary states in 3 settings of the parameters, times 2 supports" in text
    assert "law latent, 12 distinct laws; 120 rows propose and 180 judge, looked at after 128, 180." in text
    assert "measured with a few explanations on rows that the laws make" in text
    assert "No number of a held-out row was used, and nothing was written." in text


def test_held_out_rows_are_not_read(write, small):
    rows = {
        "calibration": small.make_rows(small.columns([0.2, 0.7]), 300, seed=1),
        "deployment": small.make_rows(small.columns([0.2, 0.7]), 400),
    }
    parts = split_streams([300, 400], [0.4, 0.4], 3)
    for table, part in zip(rows.values(), parts, strict=True):
        table[part.held_out] = np.nan
    path = write(more=small.calibration, **rows)
    assert forecast(load_project(path)).explanations == 8
    with pytest.raises(MisuseError, match="must be finite"):  # negative control: a run reads them
        run_project(load_project(path))


def test_a_proposal_row_that_is_not_finite_is_told_by_its_place(write, small):
    rows = small.make_rows(small.columns([0.2, 0.7]), 400)
    row = split_rows(400, 0.4, 3).proposal[7]
    rows[row, 2] = np.nan
    message = rf"deployment \(.*deployment.npy\) must be finite, not nan in row {row}, column 2"
    with pytest.raises(MisuseError, match=message):
        forecast(load_project(write(deployment=rows)))


def test_nothing_is_written_and_copies_of_complex_rows_are_told(write, small):
    path = write()
    before = small.contents(path.parent)
    plain = forecast(load_project(path))
    assert small.contents(path.parent) == before
    assert [stream.copied_bytes for stream in plain.streams] == [0]
    own = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
    turned = {"responses": small.columns([0.2, 0.35, 0.7, 0.9]) * 1j}
    narrow = np.ones((400, 8), dtype=np.complex64)
    path = write((own, 'responses = "responses.npy"'), deployment=narrow, **turned)
    found = forecast(load_project(path))
    assert found.streams[0].copied_bytes == 400 * 16 * 8
    assert "Its numbers are copied once, 51.2 kB." in " ".join(found.sentences())


def doubts(path):
    (stream,) = forecast(load_project(path)).streams
    return " ".join(stream.doubts)


def test_rows_that_the_law_cannot_have_made_are_doubted(write, small):
    """Rows of one fixed sum of two atoms, and what may have become of them."""
    mean = ('law = "covariance"', 'law = "mean"')
    rng, signal = np.random.default_rng(5), 2.0 * small.columns([0.2, 0.7]).sum(axis=1)
    noise = np.sqrt(0.5) * rng.standard_normal((400, len(signal)))
    assert doubts(write(mean, deployment=signal + noise)) == ""
    assert "rows average to zero" in doubts(write(mean, deployment=rng.choice([-1.0, 1.0], (400, 1)) * signal + noise))
    assert "point the other way" in doubts(write(mean, deployment=noise - signal))
    assert "times the energy" in doubts(write(mean, deployment=signal + 3.0 * noise))
    assert "too large, or the rows were scaled" in doubts(write(mean, deployment=signal + 0.1 * noise))


def test_rows_of_the_law_are_not_doubted(write, small):
    """None of twenty records is doubted: each is doubted with a probability of about one in a million."""
    for seed in range(20):
        rows = small.make_rows(small.columns([0.2, 0.7]), 400, seed=seed)
        assert doubts(write(deployment=rows)) == ""

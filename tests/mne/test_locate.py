"""From objects of mne to places: what does not change the answer, and what it equals."""

import numpy as np
import pytest

mne = pytest.importorskip("mne", reason="only environments with the extra have it")

from physupport import MisuseError  # noqa: E402
from physupport.analysis import PhysicalSupport  # noqa: E402
from physupport.banks import forward_library  # noqa: E402
from physupport.mne import locate  # noqa: E402
from physupport.mne._locate import grid_errors  # noqa: E402
from physupport.mne._whitened import whitened  # noqa: E402
from physupport.verify import verify, verify_beside  # noqa: E402

from . import heads  # noqa: E402

TRUTH = 100


@pytest.fixture(scope="module")
def located():
    return locate(heads.measured(TRUTH), heads.forward(), heads.covariance())


def fits(evoked, forward, noise_cov):
    """How much of the row each place fits: unchanged by any turn of white coordinates."""
    white = whitened(evoked, evoked.data.T, forward, noise_cov, is_one_time=True)
    columns = white.white_gains.reshape(len(white.whitener), -1, 3).transpose(1, 0, 2)
    bases = np.linalg.svd(columns, full_matrices=False)[0]
    return ((white.white_rows[0] @ bases) ** 2).sum(axis=1), len(white.whitener)


def test_the_answer_names_places_in_millimetres_and_keeps_the_true_one(located):
    assert TRUTH in [place.source for place in located.places]
    truth = 1000.0 * heads.forward()["source_rr"][TRUTH]
    assert np.linalg.norm(located.positions - truth, axis=1).min() < 1e-3
    assert str(located).startswith("The source is ")
    assert "mm" in located.sentence
    assert "95 %" in located.sentence
    assert "64 EEG channels, 63 dimensions" in located.assumptions
    best = located.dipoles()[0]
    assert best.gof[0] > 80.0  # of 400 + 63 in squared deviations of the noise 400 are signal
    # 20 deviations of 1 microvolt, over the field of 1 nAm.
    seen = heads.field(TRUTH, np.array([0.6, 0.0, 0.8]))
    expected = 1e-9 * 20e-6 / np.linalg.norm(seen - seen.mean())
    own = next(d for d in located.dipoles() if np.allclose(1000.0 * d.pos[0], truth, atol=1e-3))
    assert own.amplitude[0] == pytest.approx(expected, rel=0.35)  # noise of 1 in 20, in three directions


def test_a_channel_without_a_number_is_named():
    evoked = heads.measured(TRUTH)
    evoked.data[3] = np.nan
    with pytest.raises(MisuseError, match=f"no number in {evoked.ch_names[3]}"):
        locate(evoked, heads.forward(), heads.covariance())


def test_a_saved_folder_can_be_verified_and_the_estimate_marks_exactly_what_is_kept(located, tmp_path):
    folder = located.save(tmp_path / "answer")
    assert {each.name for each in folder.iterdir()} >= {"answer.txt", "places.csv", "report.json", "location.png"}
    assert verify(folder / "report.json", {"deployment": located.setting.white.white_rows}).is_verified
    beside = verify_beside((folder / "report.json").read_text(), folder)
    assert beside.findings == ()
    estimate = located.to_source_estimate()
    assert isinstance(estimate, mne.VolSourceEstimate)
    above = np.flatnonzero(estimate.data[:, 0] >= located.report.level)
    assert above.tolist() == sorted(place.source for place in located.places)
    fields = located.topographies()
    np.testing.assert_allclose(fields["measured"], fields["fitted"] + fields["residual"], rtol=1e-12)
    assert (folder / "places.csv").read_text().count("\n") == 1 + len(located.places)


@pytest.mark.parametrize("way", ["reference", "average", "linked", "projection", "applied", "single precision"])
def test_references_projections_and_single_precision_do_not_change_the_fits(way):
    plain, forward, noise_cov = heads.measured(TRUTH), heads.forward(), heads.covariance()
    rng = np.random.default_rng(1)
    artefact = mne.Projection(
        active=False,
        data={
            "col_names": plain.ch_names, "row_names": None, "nrow": 1, "ncol": 64,
            "data": rng.standard_normal((1, 64)) / 8.0,
        },
        desc="artefact",
        kind=1,
    )  # fmt: skip
    changed, dimensions, rtol = plain.copy(), 63, 1e-6
    if way == "reference":
        changed.data += 3e-5
    elif way == "average":
        changed.set_eeg_reference("average", projection=True).apply_proj()
    elif way == "linked":
        changed.set_eeg_reference(["T7", "T8"])
    elif way == "single precision":
        forward = forward.copy()
        forward["sol"]["data"] = forward["sol"]["data"].astype(np.float32)
        rtol = 1e-4
    else:
        plain.add_proj(artefact)
        changed.add_proj(artefact)
        changed.data += 1e-4 * artefact["data"]["data"].T  # the artefact itself
        dimensions = 62
        if way == "applied":
            changed.apply_proj()
    expected, _ = fits(plain, heads.forward(), noise_cov)
    found, size = fits(changed, forward, noise_cov)
    assert size == dimensions
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_bad_channels_are_left_out_alike_wherever_they_are_named():
    plain, noise_cov = heads.measured(TRUTH), heads.covariance()
    marked = plain.copy()
    marked.info["bads"] = ["Cz", "O1"]
    marked.data[[plain.ch_names.index("Cz"), plain.ch_names.index("O1")]] = 1.0
    dropped = plain.copy().drop_channels(["Cz", "O1"])
    of_noise = heads.covariance()
    of_noise["bads"] = ["Cz", "O1"]
    expected, size = fits(dropped, heads.forward(), noise_cov)
    assert size == 61
    np.testing.assert_allclose(fits(marked, heads.forward(), noise_cov)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(fits(plain, heads.forward(), of_noise)[0], expected, rtol=1e-6)
    assert not np.allclose(fits(plain, heads.forward(), noise_cov)[0], expected, rtol=1e-3)  # the control


def test_epochs_leave_out_bad_channels_as_their_average_does():
    rows = np.concatenate([heads.measured(TRUTH, seed=seed).data.T for seed in range(5)])
    epochs = mne.EpochsArray(rows[:, :, None], heads.electrodes().copy())
    epochs.info["bads"] = ["Cz"]
    options = {"between": False, "spacing": 50.0, "draws": 199}
    found, expected = (
        locate(each, heads.forward(), heads.covariance(), **options) for each in (epochs, epochs.average())
    )
    assert "left out as bad or missing: Cz" in found.assumptions
    np.testing.assert_allclose(found.topographies()["measured"], expected.topographies()["measured"], rtol=1e-6)


def test_places_have_the_names_that_the_subject_has_for_them(tmp_path, monkeypatch):
    """Two triangles are the hemispheres of a subject with a parcellation, beside them a volume."""
    monkeypatch.setenv("SUBJECTS_DIR", str(tmp_path))
    (tmp_path / "sam" / "label").mkdir(parents=True)
    for hemisphere in ("lh", "rh"):
        (tmp_path / "sam" / "label" / f"{hemisphere}.aparc.annot").touch()
    asked = []

    def labels(subject, parcellation, **options):
        asked.append((subject, parcellation))
        return [mne.Label([7], hemi="rh", name="front-rh")]

    monkeypatch.setattr(mne, "read_labels_from_annot", labels)
    forward = heads.forward().copy()
    spaces = [dict(forward["src"][0]) for _ in range(3)]
    for space, kind, vertices in zip(
        spaces, ("surf", "surf", "vol"), ([7], [7, 8], range(len(forward["source_rr"]) - 3)), strict=True
    ):
        space |= {"type": kind, "vertno": np.array(vertices), "subject_his_id": "sam"}
    solved = {**forward, "src": spaces}
    found = locate(heads.measured(TRUTH), solved, heads.covariance(), between=False, draws=199)
    assert asked == [("sam", "aparc")]
    told = [(place.name, place.side, place.label) for place in map(found._place, (0, 1, 2))]
    assert told == [("lh 7", "left", ""), ("rh 7", "right", "front-rh"), ("rh 8", "right", "")]
    assert found._place(TRUTH).name == f"source {TRUTH - 3}"


def test_the_same_places_are_kept_as_by_hand_on_rows_whitened_by_another_root():
    """No thinning at 600 places or fewer; draws differ with the coordinates, so p-values at the edge may."""
    evoked = heads.measured(TRUTH, rho=15.0)
    rng = np.random.default_rng(5)
    mixing = np.eye(64) + 0.2 * rng.standard_normal((64, 64)) / 8.0
    made = mne.Covariance(1e-12 * mixing @ mixing.T, evoked.ch_names, [], [], nfree=10**6)
    ours = locate(evoked, heads.forward(), made, between=False)
    basis = np.linalg.svd(np.eye(64) - 1.0 / 64.0)[0][:, :63]
    root = np.linalg.inv(np.linalg.cholesky(basis.T @ made["data"] @ basis)) @ basis.T
    forward = heads.forward()
    white = {"data": root @ forward["sol"]["data"], "row_names": [f"w{i}" for i in range(63)]}
    library = forward_library({**forward, "sol": white})
    model = PhysicalSupport(library, calibration=None, deployment="gaussian", random_state=9).fit()
    cell = {*model.report((root @ evoked.data).T).fields[0].cell}
    mine = {*ours.report.fields[0].cell}
    assert mine
    assert len(mine ^ cell) <= max(2, len(mine) // 5)


def test_electrodes_and_magnetometers_have_noise_of_their_own():
    info = heads.both()
    noise_cov = mne.make_ad_hoc_cov(info, {"eeg": 1e-6, "mag": 2e-14})
    solved = heads.forward("both")
    names = solved["sol"]["row_names"]
    order = [names.index(name) for name in info["ch_names"]]
    seen = heads.field(TRUTH, np.array([0.0, 50.0, 20.0]), "both")[order]
    sizes = np.array([1e-6] * 64 + [2e-14] * 40)
    row = seen + sizes * np.random.default_rng(2).standard_normal(104)
    evoked = mne.EvokedArray(row[:, None], info)
    together = locate(evoked, solved, noise_cov, between=False)
    assert TRUTH in [place.source for place in together.places]
    assert "64 EEG, 40 MAG channels, 103 dimensions" in together.assumptions
    scaled = mne.EvokedArray(1e3 * row[:, None], info)  # units do not matter
    one, _ = fits(evoked, solved, noise_cov)
    np.testing.assert_allclose(fits(scaled, solved, noise_cov)[0], 1e6 * one, rtol=1e-6)
    with pytest.raises(
        MisuseError, match=r"noise_cov must be given for channels of several kinds \(eeg, mag\)"
    ) as told:
        locate(evoked, solved)
    assert "mne.make_ad_hoc_cov(evoked.info)" in str(told.value)
    assert locate(evoked, solved, mne.make_ad_hoc_cov(evoked.info), between=False, draws=199).report.status


def test_epochs_show_the_covariance_of_their_noise_themselves():
    info = heads.electrodes()
    rng = np.random.default_rng(3)
    mixing = np.eye(64) + 0.5 * rng.standard_normal((64, 64)) / 8.0
    noise = 1e-6 * rng.standard_normal((150, 64)) @ mixing.T
    seen = heads.field(TRUTH, np.array([0.6, 0.0, 0.8]))
    rows = noise + 3e-6 * seen / np.linalg.norm(seen)
    epochs = mne.EpochsArray(rows[:, :, None], info)
    found = locate(epochs, heads.forward())
    assert TRUTH in [place.source for place in found.places]
    assert len(found.places) < 100
    assert "the 150 epochs themselves show it" in found.assumptions


def test_two_sources_at_once_are_pairs_of_places():
    seen = [heads.field(number, np.array([0.0, 0.6, 0.8])) for number in (60, 200)]
    row = sum(each / np.linalg.norm(each - each.mean()) for each in seen)
    row = 1e-6 * (40.0 * row + np.random.default_rng(4).standard_normal(64))
    evoked = mne.EvokedArray(row[:, None], heads.electrodes())
    options = {"count": 2, "spacing": 45.0, "between": False, "draws": 199}
    found = locate(evoked, heads.forward(), heads.covariance(), **options)
    assert "2 sources at once" in found.sentence
    assert len(found.setting.chosen) < 60
    if found.sets:
        assert all(len(each) == 2 for each in found.sets)
        assert len(found.dipoles()[0].amplitude) == 2


def test_where_nothing_fits_the_answer_says_what_would_have_to_be_true():
    row = np.random.default_rng(5).standard_normal(64) * 1e-6
    topographies = [heads.field(n, m) for n, m in ((60, [0, 1, 0]), (200, [1, 0, 0]), (150, [0, 0, 1]))]
    row += 1e-6 * 80.0 * sum(each / np.linalg.norm(each) for each in topographies)
    evoked = mne.EvokedArray(row[:, None], heads.electrodes())
    found = locate(evoked, heads.forward(), heads.covariance(), between=False)
    assert found.report.status == "EMPTY"
    assert "Nothing fits: no place explains the response by one source" in str(found)
    error = found.smallest_error
    assert error is not None
    assert f"error={error:g}" in str(found)
    assert locate(evoked, heads.forward(), heads.covariance(), between=False, error=error).places  # the remedy
    assert found.topographies()["residual"].any()


def test_the_error_of_the_grid_covers_dipoles_between_its_places():
    """95 of 100 in the mean: 150 dipoles anywhere in the cubes around places, their lead fields computed."""
    forward = heads.forward()
    rng = np.random.default_rng(6)
    evoked = heads.measured(TRUTH)
    white = whitened(evoked, evoked.data.T, forward, heads.covariance(), is_one_time=True)
    places = forward["source_rr"]
    errors = grid_errors(white.white_gains, 1000.0 * places, np.arange(len(places)))
    deep = np.flatnonzero(np.linalg.norm(places - heads.sphere()["r0"], axis=1) < 0.055)
    near = rng.choice(deep, 150)
    spots = places[near] + rng.uniform(-0.01, 0.01, (150, 3))
    spaces = mne.setup_volume_source_space(pos={"rr": spots, "nn": np.tile([0.0, 0.0, 1.0], (150, 1))})
    solved = mne.make_forward_solution(heads.electrodes(), None, spaces, heads.sphere(), meg=False, mindist=0.0)
    seen = white.whitener @ np.asarray(solved["sol"]["data"])
    columns = white.white_gains.reshape(63, -1, 3)
    covered = 0
    for i, place in enumerate(near):
        response = seen[:, 3 * i : 3 * i + 3] @ rng.standard_normal(3)
        basis = np.linalg.qr(columns[:, place])[0]
        left = response - basis @ (basis.T @ response)
        covered += np.linalg.norm(left) <= errors[place] * np.linalg.norm(response)
    assert covered >= 120  # of 150; binomial noise of .95 would leave 134, corners of cubes are further than faces

"""A map of labels: the same bytes whoever does the work, whatever stops it, and whatever holds the signals."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.maps import GATES, LABELS, MapProtocol, SignalMap, as_signals, map_signals
from physupport.maps._store import Blocks

NAMES = ("label", "group", "kept", "best", "amplitude", "noise", "outsider", "gate", "evidence")
SHARED = ("share_label", "share_group", "share_kept")


@pytest.fixture(scope="module")
def protocol(bank):
    return MapProtocol(bank.judge, bank.question, level=0.1, rate=0.2)


@pytest.fixture(scope="module")
def image(bank):
    """(10, 13, q): half of it without a line, one pixel without data, one with a line that the bank lacks."""
    rows, truth = bank.signals(np.repeat([0.0, 12.0], 65), seed=21)
    rows[3, 5] = np.nan
    rows[100] += 15.0 * np.exp(-0.5 * ((np.arange(rows.shape[1]) - 20.3) / 0.7) ** 2)
    return rows.reshape(10, 13, -1), truth.reshape(10, 13)


@pytest.fixture(scope="module")
def mapped(protocol, image, tmp_path_factory):
    return map_signals(image[0], protocol, tmp_path_factory.mktemp("map") / "out", block=32, threads=1)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_arrays_keep_the_axes_and_say_what_the_judge_says(bank, protocol, image, mapped):
    kept = np.unpackbits(mapped.array("kept"), axis=-1, count=bank.table.size, bitorder="little")
    alone = bank.judge.block_judge(protocol.levels(130), 1, 1).judge(image[0].reshape(130, 1, -1))
    np.testing.assert_array_equal(kept.reshape(130, -1), alone.kept())
    np.testing.assert_array_equal(mapped.array("best").ravel(), alone.best)
    assert mapped.array("label").shape == (10, 13, 1)
    assert mapped.about["regions"][0]["elements"][:2] == ["line 0", "line 1"]
    elements = mapped.elements("axis")
    np.testing.assert_array_equal(elements.reshape(130, -1), alone.kept()[:, 1:])


def test_withheld_labels_empty_signals_and_no_data_are_told_apart(mapped):
    gate = mapped.array("gate").ravel()
    assert GATES[gate[3]] == "no data"
    assert GATES[gate[100]] in ("withheld", "empty")
    assert mapped.sentence((0, 3)).startswith("No data")
    assert "not in the bank is at channel" in mapped.sentence((7, 9))
    labels = mapped.labels("axis").ravel()
    assert (labels[gate == GATES.index("withheld")] == "ABSTAIN").all()
    assert (labels[gate == GATES.index("empty")] == "EMPTY").all()


def test_sentences_name_what_is_kept(mapped, image):
    index = next(tuple(i) for i in np.argwhere(mapped.labels("axis") == "FINE").tolist())
    names = [f"line {i}" for i in np.flatnonzero(mapped.elements("axis")[index])]
    assert mapped.sentence(index).startswith(f"axis: {', '.join(names)}.")
    assert "at level 0.1 for this signal by itself" in mapped.sentence(index)
    assert {str(label) for label in LABELS} >= set(np.unique(mapped.labels("axis")))


@pytest.mark.parametrize(("block", "threads"), [(32, 3), (7, 2), (1000, 1)])
def test_blocks_and_threads_change_nothing(protocol, image, mapped, tmp_path, block, threads):
    again = map_signals(image[0], protocol, tmp_path / "out", block=block, threads=threads)
    for name in (*NAMES, *SHARED):
        np.testing.assert_array_equal(again.array(name), mapped.array(name))
    if block == 32:
        assert content(again.store.folder) == content(mapped.store.folder)


KILLED = """
import os, signal, sys
import numpy as np
sys.path.insert(0, {tests!r})
from conftest import lines_bank
from physupport.maps import MapProtocol, map_signals

def stop(done, total):
    if done == {after}:
        os.kill(os.getpid(), signal.SIGKILL)

bank = lines_bank()
protocol = MapProtocol(bank.judge, bank.question, level=0.1, rate=0.2)
map_signals({image!r}, protocol, {out!r}, block=32, threads=1, progress=stop)
"""


def test_a_killed_run_is_continued_to_the_same_bytes(protocol, image, mapped, tmp_path):
    out, path = tmp_path / "out", tmp_path / "image.npy"
    np.save(path, image[0])
    script = KILLED.format(tests=str(Path(__file__).parent), after=2, image=str(path), out=str(out))
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not SignalMap.open(out).about["is_complete"]
    done = []
    again = map_signals(path, protocol, out, block=32, threads=2, progress=lambda *now: done.append(now))
    assert done[0] == (3, 5)
    assert content(again.store.folder) == content(mapped.store.folder)


def test_files_and_labelled_arrays_give_the_same_map_with_their_names(protocol, image, mapped, tmp_path):
    h5py, xarray = pytest.importorskip("h5py"), pytest.importorskip("xarray")
    with h5py.File(tmp_path / "image.h5", "w") as file:
        data = file.create_dataset("cube", data=image[0], chunks=(3, 4, 40))
        data.attrs["units"] = "counts"
        for axis, name in enumerate(("y", "x", "band")):
            data.dims[axis].label = name
    values = xarray.DataArray(
        np.moveaxis(image[0], -1, 0),
        dims=("band", "y", "x"),
        coords={"y": np.arange(10) * 0.5},
        attrs={"units": "counts"},
    )
    for number, (given, options) in enumerate(
        [(tmp_path / "image.h5", {"member": "cube"}), (values, {"channels": "band"})]
    ):
        found = map_signals(given, protocol, tmp_path / str(number), block=32, **options)
        np.testing.assert_array_equal(found.array("label"), mapped.array("label"))
        assert found.about["axes"] == ["y", "x"]
        assert found.about["unit"] == "counts"
    assert found.to_xarray().coords["y"].values.tolist()[:2] == [0.0, 0.5]


def test_the_store_is_read_by_zarr_and_keeps_axes_names_and_units(protocol, image, tmp_path):
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    x = xarray.DataArray(np.arange(13) * 2.0, dims="x", attrs={"units": "mm"})
    names = [f"row {i}" for i in range(10)]
    given = xarray.DataArray(image[0], dims=("y", "x", "band"), coords={"x": x, "y": names}, attrs={"units": "mV"})
    found = map_signals(given, protocol, tmp_path / "out", block=30)
    group = zarr.open(tmp_path / "out" / "map.zarr", mode="r")
    assert group["kept"].chunks == (2, 13, 2)  # a block is two rows of the image, and one file
    for name in (*NAMES, *SHARED):
        np.testing.assert_array_equal(group[name][:], found.array(name))
    data = found.to_xarray()
    assert data["label"].dims == ("y", "x", "region")
    assert data["label"].dtype == np.uint8
    assert data["noise"].attrs["units"] == "mV"
    assert data.coords["x"].attrs["units"] == "mm"
    assert data.coords["x"].values.tolist()[:2] == [0.0, 2.0]
    assert data.coords["y"].values.tolist() == names
    assert data.attrs["regions"][0]["elements"][:2] == ["line 0", "line 1"]
    np.testing.assert_array_equal(data["label"].sel(region="axis"), found.array("label")[..., 0])
    again = as_signals(tmp_path / "out" / "map.zarr", member="kept")
    np.testing.assert_array_equal(again.read(0, 130)[:, 0], found.array("kept").reshape(130, -1))


@pytest.mark.parametrize(("interleave", "order"), [("bsq", (2, 0, 1)), ("bil", (0, 2, 1)), ("bip", (0, 1, 2))])
def test_envi_images_keep_lines_and_samples_and_what_is_missing(tmp_path, interleave, order):
    cube = np.arange(2 * 3 * 4, dtype="<i2").reshape(2, 3, 4)
    (tmp_path / "a.img").write_bytes(np.ascontiguousarray(cube.transpose(order)).tobytes())
    keys = f"lines = 2\nsamples = 3\nbands = 4\ndata type = 2\ninterleave = {interleave}\ndata ignore value = 18\n"
    more = "reflectance scale factor = 10\nbbl = {1, 0, 1, 1}\nwavelength = {400, 500, 600, 700}\n"
    (tmp_path / "a.hdr").write_text(f"ENVI\n{keys}{more}wavelength units = nm\n")
    signals = as_signals(tmp_path / "a.hdr")
    assert signals.axes == ("line", "sample")
    assert signals.bands == ("400 nm", "600 nm", "700 nm")
    expected = np.where(cube == 18, np.nan, cube / 10.0)[..., [0, 2, 3]].reshape(6, 3)
    np.testing.assert_array_equal(signals.read(0, 6)[:, 0], expected)
    np.testing.assert_array_equal(signals.at((1, 2))[0], expected[5])


def test_a_small_map_fits_into_one_archive(mapped, tmp_path):
    mapped.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as archive:
        about = json.loads(str(archive["about"]))
        np.testing.assert_array_equal(archive["share_kept"], mapped.array("share_kept"))
    assert about["axes"] == ["axis 0", "axis 1"]
    assert about["regions"] == mapped.about["regions"]


@pytest.mark.parametrize(
    ("shape", "most"), [((10,), 3), ((4, 6), 6), ((4, 6), 13), ((2, 3, 5), 4), ((7, 2), 1), ((3,), 9)]
)
def test_blocks_are_chunks_of_consecutive_signals(shape, most):
    blocks = Blocks(shape, most)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    ends = [0]
    for block in range(len(blocks)):
        start, stop = blocks.range(block)
        assert start == ends[-1]
        assert 0 < stop - start <= most
        np.testing.assert_array_equal(numbers[blocks.slices(block)].ravel(), np.arange(start, stop))
        ends.append(stop)
    assert ends[-1] == np.prod(shape)
    index = tuple(length - 1 for length in shape)
    block, within = blocks.of(index)
    assert numbers[blocks.slices(block)][within] == numbers[index]


def test_a_folder_of_another_map_and_signals_of_another_shape_are_refused(protocol, image, mapped):
    with pytest.raises(MisuseError, match="same map"):
        map_signals(image[0], replace(protocol, level=0.2), mapped.store.folder, block=32)
    with pytest.raises(MisuseError, match="channels"):
        map_signals(image[0][..., :-1], protocol, mapped.store.folder)
    with pytest.raises(MisuseError, match="real channels"):
        map_signals(image[0].astype(complex), protocol, mapped.store.folder)
    with pytest.raises(MisuseError, match="hold numbers"):
        as_signals(np.full((2, 40), "x"))
    with pytest.raises(MisuseError, match="be a folder"):
        SignalMap.open(mapped.store.folder / "nowhere")


def test_signals_that_change_between_the_layers_are_refused(protocol, image, tmp_path):
    class Changing:
        shape, dtype, calls = image[0].shape, image[0].dtype, 0

        def __getitem__(self, key):
            self.calls += 1
            return image[0][key] + (self.calls > 5)

    with pytest.raises(MisuseError, match="stay what they are"):
        map_signals(Changing(), protocol, tmp_path / "out", block=32, threads=1)

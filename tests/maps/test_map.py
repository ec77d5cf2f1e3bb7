"""A map of labels: the same bytes whoever does the work, whatever stops it, and whatever holds the signals."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.maps import GATES, LABELS, MapProtocol, SignalMap, _store, as_signals, map_signals, write_map_page
from physupport.maps._result import label_in_words
from physupport.maps._store import Blocks

NAMES = ("label", "group", "kept", "best", "amplitude", "noise", "outsider", "gate", "misfit", "evidence")
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
    alone = bank.judge.block_judge(protocol.levels(130), 1, 1)(image[0].reshape(130, 1, -1))
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
    np.testing.assert_array_equal(again.read()[:, 0], found.array("kept").reshape(130, -1))


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
    np.testing.assert_array_equal(signals.read()[:, 0], expected)
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
    parts = [numbers[blocks.slices(block)].ravel() for block in range(len(blocks))]
    assert all(0 < len(part) <= most for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(np.prod(shape)))
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


def test_other_signals_are_not_taken_for_those_of_the_folder(protocol, image, mapped, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    other = image[0][::-1]
    with pytest.raises(KeyboardInterrupt):
        map_signals(image[0], replace(protocol, rate=None), tmp_path / "begun", block=32, threads=1, progress=stop)
    for folder, asked in ((mapped.store.folder, protocol), (tmp_path / "begun", replace(protocol, rate=None))):
        with pytest.raises(MisuseError, match=r"made of, but block \d+ has others\. Name another folder"):
            map_signals(other, asked, folder, block=32)
    again = map_signals(image[0], replace(protocol, rate=None), tmp_path / "begun", block=32)
    np.testing.assert_array_equal(again.array("kept"), mapped.array("kept"))


class Watched:
    """An array that remembers how much was asked of it at once."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.most = values, values.shape, values.dtype, 0

    def __getitem__(self, key):
        found = self.values[key]
        self.most = max(self.most, found.size)
        return found


def test_no_more_than_a_block_is_read_whatever_the_axes(protocol, image, mapped, tmp_path):
    watched = Watched(image[0][None])  # a first axis of one entry holds all signals
    found = map_signals(watched, protocol, tmp_path / "out", block=32, threads=1)
    assert watched.most <= 32 * image[0].shape[-1]
    np.testing.assert_array_equal(found.array("kept")[0], mapped.array("kept"))
    as_signals(watched).at((0, 3, 4))
    assert watched.most <= 32 * image[0].shape[-1]


def test_labelled_arrays_stay_in_their_file(protocol, image, mapped, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    xarray.DataArray(image[0], dims=("y", "x", "band"), name="cube").to_zarr(
        tmp_path / "image.zarr", consolidated=False
    )
    lazy = xarray.open_dataset(tmp_path / "image.zarr", engine="zarr", chunks=None, cache=False, consolidated=False)[
        "cube"
    ]
    signals = as_signals(lazy)
    assert signals.values is lazy  # and not its numbers
    np.testing.assert_array_equal(signals.at((2, 3))[0], image[0][2, 3])
    turned = as_signals(lazy, channels="y")
    np.testing.assert_array_equal(turned.at((3, 7))[0], image[0][:, 3, 7])


def test_masked_entries_are_no_data(image):
    masked = np.ma.masked_array(image[0], mask=np.zeros(image[0].shape, dtype=bool))
    masked[1, 2, 7] = np.ma.masked
    rows = as_signals(masked).read((slice(1, 2), slice(0, 13)))[:, 0]
    assert np.isnan(rows[2, 7])
    np.testing.assert_array_equal(rows[3], image[0][1, 3])


def test_zarr_and_hdf5_files_bring_coordinates_with_units(image, tmp_path):
    h5py, xarray = pytest.importorskip("h5py"), pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    x = xarray.DataArray(np.arange(13) * 2.0, dims="x", attrs={"units": "mm"})
    given = xarray.DataArray(image[0], dims=("y", "x", "band"), coords={"x": x}, attrs={"units": "mV"}, name="cube")
    for version in (2, 3):
        given.to_dataset().to_zarr(tmp_path / f"v{version}.zarr", zarr_format=version, consolidated=False)
    with h5py.File(tmp_path / "image.h5", "w") as file:
        data = file.create_dataset("cube", data=image[0], chunks=(3, 4, 40))
        data.attrs["units"] = "mV"
        for axis, name in enumerate(("y", "x", "band")):
            data.dims[axis].label = name
        file["places"] = np.arange(13) * 2.0
        file["places"].attrs["units"] = "mm"
        file["places"].make_scale("x")
        data.dims[1].attach_scale(file["places"])
    for name in ("v2.zarr", "v3.zarr", "image.h5"):
        signals = as_signals(tmp_path / name)  # one array, whose name need not be told
        assert signals.axes == ("y", "x")
        assert signals.unit == "mV"
        values, unit = signals.coordinates["x"]
        assert (values.tolist()[:2], unit) == ([0.0, 2.0], "mm")
        np.testing.assert_array_equal(signals.at((2, 3))[0], image[0][2, 3])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nowhere.zarr", None, "no such file"),
        ("nowhere.h5", None, "No such file"),
        ("damaged.h5", b"x" * 40, r"sound \.h5 file"),
        ("damaged.zarr", b"x" * 40, r"sound \.zarr file"),
        ("nowhere.hdr", None, "No such file"),
        ("nowhere.npy", None, "No such file"),
        ("empty.npy", b"", "is empty"),
    ],
)
def test_files_that_hold_no_signals_end_in_one_message(tmp_path, name, content, message):
    for package in ("h5py", "zarr"):
        pytest.importorskip(package)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MisuseError, match=message):
        as_signals(tmp_path / name)


@pytest.mark.parametrize("axes", [("label", "x"), ("../out", "x"), ("x", "x"), ("region", "x"), (".x", "x")])
def test_axes_whose_names_are_taken_or_name_no_file_are_refused(protocol, image, tmp_path, axes):
    signals = replace(as_signals(image[0]), axes=axes)
    with pytest.raises(MisuseError, match="names of axes"):
        map_signals(signals, protocol, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sentences_of_the_second_layer_say_what_holds_for_the_map(protocol, mapped, image, tmp_path):
    states = np.isin(mapped.labels("axis", share=True), ["FINE", "GROUP", "ABSENT"])
    index, other = (next(tuple(i) for i in np.argwhere(each).tolist()) for each in (states, ~states))
    number = mapped.about["share"]["statements"]
    assert states.sum() == number > 10
    told = mapped.sentence(index, share=True)
    assert f"One of {number} signals with a statement" in told
    assert told.endswith("their expected share of false ones is at most 0.2.")
    assert told.startswith("axis: ")
    assert mapped.sentence(other, share=True).startswith("No statement on this signal if at most 0.2")
    alone = map_signals(image[0], replace(protocol, rate=None), tmp_path / "out")
    with pytest.raises(MisuseError, match="second layer"):
        alone.sentence((0, 0), share=True)


def test_a_second_layer_that_states_nothing_is_written_all_the_same(bank, protocol, tmp_path):
    rows, _ = bank.signals(np.zeros(40), seed=4)
    found = map_signals(rows, replace(protocol, rate=1e-4), tmp_path / "out", block=16)
    assert found.about["share"] == {"rate": 1e-4, "signals": 40, "level": 0.0, "statements": 0}
    for name in SHARED:
        assert len([*(tmp_path / "out/map.zarr" / name).glob("[0-9]*")]) == 3  # blocks
        assert not found.array(name).any()


def test_lines_count_what_the_arrays_say(mapped):
    gate, labels = mapped.array("gate"), mapped.labels("axis")
    for label in np.unique(labels[gate == 0]):
        assert f"{(labels[gate == 0] == label).sum()} {label_in_words(label)}" in mapped.lines()[0]
        assert label_in_words(label).endswith(f"({label})")
    counts = [f"{(gate == i).sum()} {name}" for i, name in enumerate(GATES) if i]
    assert mapped.lines()[1] == f"Of 130 signals: {', '.join(counts)}."


def test_an_image_without_data_is_not_told_as_one_with_nothing_in_it(protocol, image, tmp_path):
    found = map_signals(np.full_like(image[0][:2], np.nan), protocol, tmp_path / "out", block=32, threads=1)
    assert found.lines()[0] == "axis, each signal by itself at level 0.1: no data to judge."
    assert found.lines()[1] == "Of 26 signals: 0 withheld, 0 empty, 26 no data."
    assert str(found).endswith("\n".join(found.lines()))
    assert repr(found) == f"SignalMap({' x '.join(map(str, found.array('gate').shape))} signals, regions axis)"


def test_a_disk_without_room_is_told_before_and_while_it_is_written(
    protocol, image, small_files, tmp_path, monkeypatch
):
    monkeypatch.setattr(_store, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(MisuseError, match=r"room for .* GB more for the arrays, but 1e-06 GB are free"):
        map_signals(image[0], protocol, tmp_path / "before", block=32)
    monkeypatch.undo()
    wide = map_signals(image[0], protocol, tmp_path / "whole", block=32)
    # Some chunks are larger.
    with small_files(200), pytest.raises(MisuseError, match="Finished blocks are kept: repeat the call"):
        map_signals(image[0], protocol, tmp_path / "out", block=32)
    again = map_signals(image[0], protocol, tmp_path / "out", block=32)
    assert content(again.store.folder) == content(wide.store.folder)


def test_files_of_signals_that_are_none_end_in_one_message(protocol, image, tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    np.save(tmp_path / "other.npy", image[0])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("huge", shape=(10**9, 40), dtype="f8", chunks=(1000, 40))
        file.create_dataset("outside", (2, 40), "f8", external=[(str(tmp_path / "other.npy"), 128, 640)])
        file["linked"] = h5py.ExternalLink("other.h5", "rows")
    for member, rule in {
        "huge": "hold the entries of", "outside": "hold the entries of '/outside' itself", "linked": "hold the member",
        "none": "hold the member",
    }.items():  # fmt: skip
        with pytest.raises(MisuseError, match=rule):
            as_signals(tmp_path / "a.h5", member=member)
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    zarr.open_array(str(tmp_path / "huge.zarr"), mode="w", shape=(10**9, 40), chunks=(1000, 40), dtype="f8")
    (tmp_path / "file.zarr").write_text("no array")
    for name, rule in {
        "group": "hold one array",
        "huge": "hold the entries",
        "file": "be a sound",
        "no": "be a Zarr",
    }.items():
        with pytest.raises(MisuseError, match=rule):
            as_signals(tmp_path / f"{name}.zarr")
    (tmp_path / "a.img").write_bytes(bytes(80))
    for lines in ("²", "9" * 5000, "1"):
        (tmp_path / "a.hdr").write_text(f"ENVI\nsamples = 1\nlines = {lines}\nbands = 40\ndata type = 5\n")
        with pytest.raises(MisuseError):
            as_signals(tmp_path / "a.hdr")


def test_signals_that_become_shorter_during_a_map_end_in_a_message(protocol, image, tmp_path):
    np.save(tmp_path / "a.npy", image[0])
    given = as_signals(tmp_path / "a.npy")
    with (tmp_path / "a.npy").open("r+b") as file:
        file.truncate(4096)
    with pytest.raises(MisuseError, match="keep its length while it is in use"):
        map_signals(given, protocol, tmp_path / "out")


def test_signals_that_were_read_do_not_go_with_the_file(image, tmp_path):
    """Whoever reads a map of what is gone is ended by the system."""
    np.save(tmp_path / "a.npy", image[0])
    given = as_signals(tmp_path / "a.npy")
    block = given.read((slice(0, 2),))
    np.testing.assert_array_equal(block.reshape(-1), image[0][:2].reshape(-1))
    assert not np.shares_memory(block, given.values)


def test_the_page_says_what_it_is_given_and_no_browser_obeys_it(mapped, image, tmp_path):
    about = mapped.about | {"bands": ["</script>\u202e", *["x"] * 39], "unit": "DATA \x1b[2J"}
    found = SignalMap(replace(mapped.store, about=about))
    write_map_page(tmp_path / "page.html", found, as_signals(image[0]), "DATA LINES <b>\x07\u2028")
    page = (tmp_path / "page.html").read_text()
    assert r"<h1>DATA LINES &lt;b&gt;\x07\u2028</h1>" in page
    assert not [each for each in page if not each.isprintable() and each != "\n"]
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    read = json.loads(data)
    assert read["unit"] == r"DATA \x1b[2J"
    assert read["bands"][0] == r"</script>\u202e"

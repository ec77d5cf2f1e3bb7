"""The folder of a map that somebody or something damaged: done again where that is safe, or one message."""

import errno
import json
import os
import shutil

import numpy as np
import pytest

from physupport import MisuseError
from physupport._files import npy_bytes
from physupport.maps import MapProtocol, SignalMap, map_signals, write_map_page
from physupport.maps._signals import as_signals

ARRAYS = ("label", "kept", "evidence", "amplitude", "share_label")


@pytest.fixture(scope="module")
def protocol(bank):
    return MapProtocol(bank.judge, bank.question, level=0.1, rate=0.2)


@pytest.fixture(scope="module")
def signals(bank):
    return bank.signals(np.repeat([0.0, 12.0], 50), seed=5)[0]


@pytest.fixture(scope="module")
def whole(protocol, signals, tmp_path_factory):
    """A map in four blocks that nobody touched."""
    return map_signals(signals, protocol, tmp_path_factory.mktemp("map") / "out", block=32, threads=1).store.folder


@pytest.fixture
def out(whole, tmp_path):
    """A copy of it."""
    return shutil.copytree(whole, tmp_path / "out")


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def again(protocol, signals, out):
    """The same call once more, and the blocks that it did."""

    def called():
        done = []
        made = map_signals(signals, protocol, out, block=32, threads=1, progress=lambda *now: done.append(now))
        return made, done

    return called


def said(folder, signals):
    """All that is read of a map."""
    found = SignalMap.open(folder)
    found.save(folder.parent / "map.npz")
    write_map_page(folder.parent / "map.html", found, as_signals(signals))
    return found.lines()


def test_a_map_that_is_whole_is_not_done_again_nor_touched(again, whole, out):
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    made, done = again()
    assert done == []
    assert made.about["is_complete"]
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == times
    assert content(out) == content(whole)


# Every array in one way, and one array in every way.
DAMAGED = [*((name, "cut") for name in ARRAYS), *(("label", how) for how in ("empty", "longer", "lost"))]


@pytest.mark.parametrize(("name", "how"), DAMAGED)
def test_a_chunk_that_is_lost_or_cut_is_done_again_to_the_same_bytes(again, whole, out, name, how, signals):
    path = next(each for each in (out / "map.zarr" / name).iterdir() if each.name.startswith("1"))
    held = path.read_bytes()
    path.write_bytes({"cut": held[:-1], "empty": b"", "longer": held + b"x", "lost": b""}[how])
    if how == "lost":
        path.unlink()
    with pytest.raises(MisuseError, match=rf"{name}/1.* must be as the map was written, not .* Delete it"):
        said(out, signals)
    done = again()[1]
    assert done == [(4, 4)]  # this block alone
    assert content(out) == content(whole)


def test_a_block_is_done_again_only_of_the_signals_that_the_map_was_made_of(protocol, signals, out):
    (out / "map.zarr/label/1.0").write_bytes(b"")
    other = signals.copy()
    other[40] += 1.0  # in that block
    before = content(out)
    with pytest.raises(MisuseError, match="signals must be those that the map in this folder was made of"):
        map_signals(other, protocol, out, block=32, threads=1)
    assert content(out) == before


@pytest.mark.parametrize("layer", ["first", "share"])
def test_hashes_that_are_lost_have_their_blocks_done_again(again, whole, out, layer):
    (out / f"{layer}_hashes.npy").unlink()
    assert len(again()[1]) == 4
    assert content(out) == content(whole)


def test_a_map_whose_hashes_are_lost_is_not_taken_for_one_of_other_signals(protocol, signals, out):
    for layer in ("first", "share"):
        (out / f"{layer}_hashes.npy").unlink()
    other = signals[::-1].copy()
    found = map_signals(other, protocol, out, block=32, threads=1)
    straight = map_signals(other, protocol, out.parent / "straight", block=32, threads=1)
    for name in found.store.names:
        np.testing.assert_array_equal(found.array(name), straight.array(name))


def test_a_link_in_the_folder_is_replaced_and_what_it_leads_to_stays(again, whole, out):
    for name in ("map.zarr/label/1.0", "map.zarr/label/.zarray"):
        (out / name).unlink()
        (out / name).symlink_to(out.parent / "mine")
        (out.parent / "mine").write_text("of the user")
        again()
        assert (out.parent / "mine").read_text() == "of the user"
    assert content(out) == content(whole)
    assert not [path for path in out.rglob("*") if path.is_symlink()]


def test_a_chunk_that_is_a_link_is_no_chunk_of_the_map(again, whole, out, signals):
    """It leads to as many bytes, which somebody else may change."""
    path = out / "map.zarr/label/1.0"
    path.rename(out.parent / "mine")
    path.symlink_to(out.parent / "mine")
    with pytest.raises(MisuseError, match=r"label/1.0 must be as the map was written, not a link\. Delete it"):
        said(out, signals)
    assert again()[1] == [(4, 4)]
    assert content(out) == content(whole)
    assert not path.is_symlink()


@pytest.mark.parametrize("name", ["map.zarr", "map.zarr/label", "map.json", "first_hashes.npy"])
def test_a_map_with_a_link_where_runs_write_is_refused_and_what_it_leads_to_stays(again, out, name):
    elsewhere = out.parent / "elsewhere"
    (out / name).rename(elsewhere)
    (out / name).symlink_to(elsewhere)
    if name == "map.zarr":
        (elsewhere / "label/1.0").write_bytes(b"")  # would be done again
    before = content(elsewhere.parent)
    with pytest.raises(MisuseError, match=rf"{name}"):
        again()
    assert content(elsewhere.parent) == before


@pytest.mark.parametrize("held", [b"", b"{", b"{}"])
@pytest.mark.parametrize("name", [".zgroup", ".zattrs", ".zmetadata", "region/.zarray", "region/0", "label/.zattrs"])
def test_what_other_programs_read_of_a_map_is_made_again(again, whole, out, name, held):
    (out / "map.zarr" / name).write_bytes(held)
    assert again()[1] == []
    assert content(out) == content(whole)


@pytest.mark.parametrize("name", [".zgroup", "label/1.0"])
def test_a_pipe_in_the_folder_ends_in_a_message_and_is_not_written_to(again, out, name):
    replaced_by_pipe(f"map.zarr/{name}")(out)
    with pytest.raises(MisuseError, match=rf"{name} must be as the map was written, not a pipe or a device. Delete it"):
        again()


def test_two_maps_into_one_folder_do_not_mix(protocol, signals, whole, tmp_path):
    """The second begins while the first is at work, with other signals and with the same."""
    told = []

    def second(done, total):
        for rows in (signals[::-1].copy(), signals):
            with pytest.raises(
                MisuseError, match=r"out must be written by one run at a time, but another one writes to .*"
            ):
                map_signals(rows, protocol, tmp_path / "out", block=32, threads=1)
            told.append(done)

    made = map_signals(signals, protocol, tmp_path / "out", block=32, threads=1, progress=second)
    assert told[:4] == [1, 1, 2, 2]
    assert content(made.store.folder) == content(whole)
    with pytest.raises(MisuseError, match="block 0 has others"):  # and no longer held
        map_signals(signals[::-1].copy(), protocol, tmp_path / "out", block=32, threads=1)


def test_a_file_system_without_locks_holds_maps(protocol, signals, whole, tmp_path, monkeypatch):
    """As those of networks answer when a folder is to be held."""

    def refused(file, operation):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", refused)
    made = map_signals(signals, protocol, tmp_path / "out", block=32, threads=1)
    assert content(made.store.folder) == content(whole)


def changed(**changes):
    def change(folder):
        path = folder / "map.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def rewritten(name, held):
    return lambda folder: (folder / name).write_bytes(held)


def replaced_by_folder(name):
    def replace(folder):
        (folder / name).unlink()
        (folder / name).mkdir()

    return replace


def replaced_by_pipe(name):
    def replace(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return replace


def group_is_a_file(folder):
    shutil.rmtree(folder / "map.zarr")
    (folder / "map.zarr").write_text("")


def array_is_a_file(folder):
    shutil.rmtree(folder / "map.zarr/kept")
    (folder / "map.zarr/kept").write_text("")


HASHES = "first_hashes.npy"
BEYOND_REPAIR = {
    "map.json is not text": (rewritten("map.json", b"\xff\xfe"), r"map\.json must be strict JSON in UTF-8"),
    "map.json is no object": (rewritten("map.json", b"[]"), r"map\.json must be a JSON object"),
    "map.json is cut": (rewritten("map.json", b'{"kind": '), r"map\.json must be strict JSON"),
    "map.json is nested": (rewritten("map.json", b"[" * 100_000), r"map\.json must be strict JSON"),
    "map.json is empty": (rewritten("map.json", b""), r"map\.json must be strict JSON"),
    "block is a word": (changed(block="x"), r"map\.json: block must be a whole number above 0"),
    "block is 0": (changed(block=0), r"map\.json: block must be"),
    "block is another": (changed(block=31), r"map\.json must be as the map was written, not another block"),
    "shape is huge": (changed(shape=[10**9]), r"map\.json must be .* another shape"),
    "shape has no axis": (changed(shape=[], axes=[]), r"map\.json must be"),
    "axes are missing": (changed(axes=None), r"map\.json: axes must be a list"),
    "axes are too many": (changed(axes=["a", "b"]), r"map\.json must be"),
    "arrays lie elsewhere": (changed(arrays=["../../x"]), r"map\.json: arrays\[0\] must be the name of an array"),
    "arrays are fewer": (changed(arrays=["label"]), r"map\.json must be .* another arrays"),
    "levels are others": (changed(levels=[0.5]), r"map\.json must be .* another levels"),
    "share is a word": (changed(share="x"), r"map\.json: share must be null or an object"),
    "slots are none": (changed(slots={}), r"map\.json: array must be of whole numbers"),
    "completeness is a number": (changed(is_complete=1), r"map\.json: is_complete must be true or false"),
    "hashes are empty": (rewritten(HASHES, b""), rf"{HASHES} must be .* 0 bytes instead of 256"),
    "hashes are junk": (rewritten(HASHES, b"\x93NUMPYxx"), rf"{HASHES} must be .* 8 bytes"),
    "hashes are of another type": (rewritten(HASHES, npy_bytes(np.zeros((2, 8)))), rf"{HASHES} must .* beginning"),
    "hashes are fewer": (rewritten(HASHES, npy_bytes(np.zeros((0, 32), np.uint8))), rf"{HASHES} must be"),
    "hashes are a folder": (replaced_by_folder(HASHES), rf"{HASHES} must be .* no file"),
    "hashes are a pipe": (replaced_by_pipe(HASHES), rf"{HASHES} must be .* no file"),
    "a chunk is a folder": (
        replaced_by_folder("map.zarr/kept/1.0"),
        r"kept/1\.0 is not \(Is a directory\)",
    ),
    "the group is a file": (group_is_a_file, r"out must be .*map\.zarr"),
    "an array is a file": (array_is_a_file, r"out must be .*kept"),
}


@pytest.mark.parametrize("case", [*BEYOND_REPAIR])
def test_what_cannot_be_mended_ends_in_one_message_that_names_the_file_and_says_what_to_do(again, out, case):
    damage, message = BEYOND_REPAIR[case]
    damage(out)
    with pytest.raises(MisuseError, match=message) as told:
        again()
    assert told.value.__suppress_context__ or told.value.__cause__ is None
    assert "\n" not in str(told.value)
    assert told.value.remedy or "folder" in told.value.rule


@pytest.mark.parametrize(
    "case", [case for case in BEYOND_REPAIR if case.startswith(("map.json", "block is a word", "slots"))]
)
def test_who_opens_such_a_map_has_a_message_too(out, case, signals):
    BEYOND_REPAIR[case][0](out)
    with pytest.raises(MisuseError, match=r"map\.json"):
        said(out, signals)


@pytest.mark.parametrize("held", [b"{", b"[]", b"\xff", b"", b'{"shape": [1000000000, 1000000000], "dtype": "<f8"}'])
def test_the_description_of_an_array_is_made_again(again, whole, out, held, signals):
    """It is for other programs: this one reads what map.json says of the array."""
    (out / "map.zarr/label/.zarray").write_bytes(held)
    assert said(out, signals) == said(whole, signals)
    assert again()[1] == []
    assert content(out) == content(whole)


def test_arrays_that_claim_more_than_there_is_are_refused_before_memory_is_taken(out):
    changed(shape=[10**15])(out)
    with pytest.raises(MisuseError, match=r"map must have arrays that memory has room for|kept/0.* must be"):
        SignalMap.open(out).array("kept")


def test_a_map_from_elsewhere_runs_no_code_as_a_dataset(out):
    pytest.importorskip("xarray")
    path = out / "map.zarr/label/.zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"filters": [{"id": "pickle"}]}))
    with pytest.raises(MisuseError, match=r"map must be stored with codecs that cannot run code, .* not 'pickle'"):
        SignalMap.open(out).to_xarray()


@pytest.mark.parametrize("name", ["label", "gate", "group", "best", "evidence", "share_label"])
def test_numbers_that_stand_for_nothing_name_their_chunk_which_is_done_again_without_it(
    again, whole, out, name, signals
):
    path = next(each for each in (out / "map.zarr" / name).iterdir() if each.name.startswith("1"))
    path.write_bytes(b"\x7f" * path.stat().st_size)
    with pytest.raises(MisuseError, match=rf"{name}/1.* not numbers that stand for nothing. Delete it") as told:
        said(out, signals)
    os.unlink(told.value.argument)
    assert again()[1] == [(4, 4)]
    assert content(out) == content(whole)


def test_a_block_is_marked_when_its_chunks_are_on_the_disk(protocol, signals, tmp_path, monkeypatch):
    """Whatever is renamed was brought to the disk before, and so was its folder before the next mark."""
    steps, fsync, rename = [], os.fsync, os.replace

    def synced(number):
        steps.append(("synced", os.readlink(f"/proc/self/fd/{number}")))
        fsync(number)

    def renamed(source, target, **more):
        steps.append(("renamed", str(target)))
        rename(source, target, **more)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    map_signals(signals, protocol, tmp_path / "out", block=32, threads=1)
    unsafe = set()
    for step, path in steps:
        if step == "renamed":
            unsafe.add(os.path.dirname(path))
        elif path.endswith("_hashes.npy"):
            assert not unsafe
        else:
            unsafe.discard(path)
    assert [path for step, path in steps if step == "synced" and path.endswith("first_hashes.npy")]
    assert not unsafe

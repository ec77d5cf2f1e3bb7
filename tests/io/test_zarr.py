"""Zarr stores of signals run no code, wherever their metadata name a codec that would."""

import json
import os
import pickle

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.maps import as_signals

numcodecs, zarr = pytest.importorskip("numcodecs"), pytest.importorskip("zarr")
SHAPE = (4, 5)
PICKLE = {"id": "pickle"}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


class Payload:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """The folder that is there if code ran; numcodecs unpickles, as it did before 0.16.6 and does if it is told to."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    return tmp_path / "ran"


def second(shape=SHAPE, dtype="<f8", **changes):
    plain = {"zarr_format": 2, "compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    return plain | {"shape": [*shape], "chunks": [*shape], "dtype": dtype} | changes


def third(codecs):
    return {
        "zarr_format": 3, "node_type": "array", "shape": [*SHAPE], "data_type": "float64", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*SHAPE]}}, "codecs": codecs,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "attributes": {},
    }  # fmt: skip


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def beside_a_coordinate(folder, code, **changes):
    """A plain array of signals, and texts along its first axis."""
    write(folder / ".zgroup", {"zarr_format": 2})
    write(folder / "cube/.zarray", second())
    write(folder / "cube/.zattrs", {"_ARRAY_DIMENSIONS": ["y", "band"]})
    write(folder / "cube/0.0", np.ones(SHAPE).tobytes())
    write(folder / "y/.zarray", second((4,), "|O", **changes))
    write(folder / "y/.zattrs", {"_ARRAY_DIMENSIONS": ["y"]})
    write(folder / "y/0", code)


def array_of(document):
    def make(folder, code):
        name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
        write(folder / name, document)
        write(folder / ("0.0" if name == ".zarray" else "c/0/0"), code)

    return make


def linked(folder, code):
    array_of(second(filters=[PICKLE]))(folder.parent / "elsewhere", code)
    write(folder / ".zgroup", {"zarr_format": 2})
    os.symlink(folder.parent / "elsewhere", folder / "cube")


STORES = {
    "a filter": array_of(second(filters=[PICKLE])),
    "a compressor": array_of(second(compressor=PICKLE)),
    "a filter behind a plain one": array_of(second(filters=[{"id": "zlib", "level": 1}, PICKLE])),
    "a coordinate": lambda folder, code: beside_a_coordinate(folder, code, filters=[PICKLE]),
    "texts that are pickled": lambda folder, code: beside_a_coordinate(
        folder, code, filters=[{"id": "vlen-utf8"}, PICKLE], fill_value=""
    ),
    "texts that are compressed": lambda folder, code: beside_a_coordinate(
        folder, code, filters=[{"id": "vlen-utf8"}], compressor=PICKLE, fill_value=""
    ),
    "a folder that is a link": linked,
    "the third format": array_of(third([LITTLE, {"name": "numcodecs.pickle", "configuration": {}}])),
    "a codec of another package": array_of(third([LITTLE, "imagecodecs_tiff"])),
    "a shard": array_of(
        third([{
            "name": "sharding_indexed",
            "configuration": {"chunk_shape": [2, 5], "codecs": [LITTLE, {"name": "pickle"}], "index_codecs": [LITTLE]},
        }])
    ),
    "the index of a shard": array_of(
        third([{
            "name": "sharding_indexed",
            "configuration": {"chunk_shape": [2, 5], "codecs": [LITTLE], "index_codecs": [LITTLE, {"name": "pickle"}]},
        }])
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", [*STORES])
def test_a_codec_that_may_run_code_is_refused_before_anything_is_decoded(tmp_path, ran, where):
    STORES[where](tmp_path / "a.zarr", pickle.dumps(Payload(ran)))
    rule = "must be stored with codecs that cannot run code, such as .*, not '(numcodecs.)?(pickle|imagecodecs_tiff)'"
    with pytest.raises(MisuseError, match=rule):
        as_signals(tmp_path / "a.zarr").read()
    assert not ran.exists()


def test_negative_control_zarr_itself_runs_the_code_of_such_a_store(tmp_path, ran):
    STORES["texts that are pickled"](tmp_path / "a.zarr", pickle.dumps(Payload(ran)))
    with pytest.raises(TypeError):  # what the code returns is no text
        zarr.open_group(tmp_path / "a.zarr", mode="r")["y"][:]
    assert ran.exists()


TEXTS = bytes(numcodecs.VLenUTF8().encode(np.array([*"abcd"], dtype=object)))


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_are_ignored(tmp_path, ran, version):
    """Those of the arrays themselves were checked, and others may say something else."""
    folder, other = tmp_path / "a.zarr", second(filters=[{"id": "vlen-utf8"}, PICKLE], fill_value="", dtype="|O")
    if version == 2:
        beside_a_coordinate(folder, TEXTS, filters=[{"id": "vlen-utf8"}], fill_value="")
        write(folder / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": {"cube/.zarray": other}})
    else:
        inline = {"kind": "inline", "must_understand": False, "metadata": {"cube": other | {"attributes": {}}}}
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": inline}
        write(folder / "zarr.json", group)
        array_of(third([LITTLE]))(folder / "cube", np.ones(SHAPE).tobytes())
    np.testing.assert_array_equal(as_signals(folder).read(), 1.0)
    assert not ran.exists()


def test_metadata_in_a_pipe_are_refused(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    os.mkfifo(tmp_path / "a.zarr/.zarray")
    with pytest.raises(MisuseError, match="must be a file, not a device or a pipe"):
        as_signals(tmp_path / "a.zarr")


COMPRESSORS = ["zlib", "gzip", "bz2", "lzma", "blosc", "zstd", "lz4"]


@pytest.mark.parametrize("name", COMPRESSORS)
def test_what_compressors_pack_is_read_and_what_is_cut_ends_in_one_message(tmp_path, name):
    values, compressor = np.arange(20.0).reshape(SHAPE), numcodecs.get_codec({"id": name})
    array_of(second(compressor=compressor.get_config()))(tmp_path / "a.zarr", bytes(compressor.encode(values)))
    np.testing.assert_array_equal(as_signals(tmp_path / "a.zarr").read()[:, 0], values)
    chunk = tmp_path / "a.zarr/0.0"
    chunk.write_bytes(chunk.read_bytes()[:9])
    with pytest.raises(MisuseError, match="signals must be readable throughout"):
        as_signals(tmp_path / "a.zarr").read()


def test_shards_and_texts_are_read(tmp_path):
    values = np.arange(20.0).reshape(SHAPE)
    packed = [LITTLE, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}]
    inner = {"chunk_shape": [2, 5], "codecs": packed, "index_codecs": [LITTLE, {"name": "crc32c"}]}
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=3)
    group.create_array("cube", shape=SHAPE, dtype="f8", shards=SHAPE, chunks=(2, 5), dimension_names=["y", "band"])
    group["cube"][:] = values
    write(tmp_path / "b.zarr/zarr.json", third([{"name": "sharding_indexed", "configuration": inner}]))
    zarr.open_array(tmp_path / "b.zarr", mode="r+")[:] = values
    beside_a_coordinate(tmp_path / "c.zarr", TEXTS, filters=[{"id": "vlen-utf8"}], fill_value="")
    for name in "ab":
        np.testing.assert_array_equal(as_signals(tmp_path / f"{name}.zarr").read()[:, 0], values)
    assert as_signals(tmp_path / "c.zarr").coordinates["y"][0].tolist() == [*"abcd"]

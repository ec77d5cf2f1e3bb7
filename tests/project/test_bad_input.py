"""Whatever stands in a project and its files, the answer is one message."""

import os
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from physupport import MisuseError
from physupport.io import open_array, read_archive, read_array, read_table
from physupport.project import assemble, load_project, run_project

LONG, LONGER = "9" * 400, "9" * 5000


@pytest.mark.parametrize(
    "change",
    [
        ("level = 0.1", f"level = {LONG}"),
        ("level = 0.1", f"level = {LONGER}"),
        ("budget = 1.0", f"budget = -{LONG}"),
        ("seed = 3", f"seed = {LONG}"),
        ("seed = 3", f"seed = {LONGER}"),
        ("seed = 3", f"seed = 0x{'f' * 4000}"),
        ("seed = 3", f"seed = -0x{'f' * 40}"),
        ("channels = 1", f"channels = {LONG}"),
        ("channels = 1", f"channels = 0x{'f' * 4000}"),
        ("noise = 0.5", f"noise = {LONG}"),
        ("noise = 0.5", f"noise = 0x{'f' * 4000}"),
        ("noise = 0.5", f"noise = {2**53 + 1}"),
        ("strength = 2.0", f"strength = [1.0, {LONG}]"),
        ("strength = 2.0", f"strength = {{ from = 1, to = 2, count = {LONG} }}"),
        ("tolerance = 0.01", f"tolerance = {LONG}"),
        ("tolerance = 0.01", f"tolerance = 0x{'f' * 4000}"),
        ("tolerance = 0.01", f"groups = {'{ a = ' * 900}1{' }' * 900}"),
        ("tolerance = 0.01", f"strength = {'[' * 900}1{']' * 900}"),
        ("tolerance = 0.01", f"a{'.a' * 20_000} = 1"),
        ("tolerance = 0.01", f"a{' . a' * 20_000} = 1"),
        ('presence = "optional"', f"groups.{'.'.join('abcdefghij' * 20)} = ['b1']"),
        ("width = 0.15 }", f"width = {LONG} }}"),
        ('{ kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }',
         '{ kind = "linear array", n_sensors = 1000000000, spacing = 0.5 }'),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_a_key_of_the_file(write, change):
    with pytest.raises(MisuseError) as caught:
        assemble(load_project(write(change)))
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("part", ["a", '"!"', "'='", '"\\""'])
@pytest.mark.parametrize("before", ["", "# don't\n", 'b = """ " """"\n', "b = ''' \" '''\n", '[c]\nb = "#"\n'])
def test_a_key_of_hundreds_of_parts_is_refused_before_it_is_parsed(tmp_path, monkeypatch, part, before):
    """The parser takes time and memory by the square of their number, for each of such keys again."""
    monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("parsed"))
    for form in (" . ".join([part] * 150) + " = 1", f"z = {{ y = 1, {'.'.join([part] * 150)} = 1 }}"):
        (tmp_path / "project.toml").write_text(before + form)
        with pytest.raises(MisuseError, match="must be TOML that is not nested too deeply"):
            load_project(tmp_path / "project.toml")


def test_dots_in_texts_and_numbers_are_no_parts_of_a_key(write):
    dots = "." * 5000
    for text in ("'{}'", '"{}"', "'''{}'''", '"""{}"""'):
        title = text.format("a" + dots)
        assert load_project(write(('title = "Small"', f"title = {title}"))).settings.title == "a" + dots
    load_project(write(('title = "Small"', f"# {dots}")))


@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_a_file_that_may_never_end(write, kind):
    path = write(('file = "elements.csv"', 'file = "pipe.csv"' if kind == "FIFO" else 'file = "/dev/zero"'))
    if kind == "FIFO":
        os.mkfifo(path.parent / "pipe.csv")
    with pytest.raises(MisuseError, match="must be a file, not a device or a pipe"):
        assemble(load_project(path, trust=True))
    with pytest.raises(MisuseError, match="must be a readable file, not a device or a pipe"):
        load_project(path.parent / "pipe.csv" if kind == "FIFO" else "/dev/zero")


def npz_with(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def header(shape):
    content = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content.encode()


@pytest.mark.parametrize("member", ["a.txt", "a.npy"])
def test_a_member_that_is_no_array(tmp_path, member):
    path = npz_with(tmp_path / "rows.npz", {member: b"not an array"})
    for read in (read_array, read_archive):
        with pytest.raises(MisuseError, match=r"must hold .* as an array, not a member of another kind"):
            read(path)


def test_headers_that_claim_a_billion_rows(tmp_path):
    path = npz_with(tmp_path / "rows.npz", {"rows.npy": header((10**9, 8)) + bytes(64)})
    with pytest.raises(MisuseError, match="must hold the entries of 'rows'"):
        read_array(path)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("rows", shape=(10**9, 8), dtype="f8", chunks=(1000, 8))
    with pytest.raises(MisuseError, match="must hold the entries of '/rows'"):
        read_array(tmp_path / "rows.h5")
    (tmp_path / "rows.npy").write_bytes(header((10**9, 8)) + bytes(64))
    with pytest.raises(MisuseError, match="must be a sound"):
        read_array(tmp_path / "rows.npy")


@pytest.mark.filterwarnings("always")
def test_a_damaged_header_is_told_without_a_warning(tmp_path, recwarn):
    (tmp_path / "rows.npy").write_bytes(header((60, 8)).replace(b"60,", b"6if"))
    with pytest.raises(MisuseError, match=r"must be a sound .npy file"):
        read_array(tmp_path / "rows.npy")
    assert recwarn.list == []


def test_an_hdf5_file_that_leads_to_another_one(tmp_path):
    (tmp_path / "secret.bin").write_bytes(np.ones(16).tobytes())
    layout = h5py.VirtualLayout(shape=(2, 8), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "rows", shape=(2, 8))
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("outside", (2, 8), "f8", external=[(str(tmp_path / "secret.bin"), 0, 128)])
        file.create_virtual_dataset("virtual", layout)
        file["linked"] = h5py.ExternalLink("other.h5", "rows")
    for member, rule in {
        "outside": "hold the entries of '/outside' itself",
        "virtual": "hold the entries of '/virtual' itself",
        "linked": "hold the member 'linked' as an array of numbers",
    }.items():
        with pytest.raises(MisuseError, match=rule):
            read_array(tmp_path / "rows.h5", member)


@pytest.mark.parametrize("how", ["external", "virtual", "linked"])
def test_the_scale_of_an_axis_that_leads_to_another_file(tmp_path, how):
    """Names of channels are read as well, and would appear in the report."""
    (tmp_path / "secret.txt").write_bytes(b"password" * 8)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["names"] = np.array([b"password"] * 8)
    layout = h5py.VirtualLayout(shape=(8,), dtype="S8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "names", shape=(8,))
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = np.ones((2, 8))
        if how == "virtual":
            file.create_virtual_dataset("names", layout)
        else:
            file.create_dataset("names", (8,), "S8", external=[(str(tmp_path / "secret.txt"), 0, 64)])
        if how == "linked":  # a name in the file itself for what leads out of it
            file.move("names", "far")
            file["names"] = h5py.SoftLink("/far")
        file["names"].make_scale("channel")
        file["rows"].dims[1].label = "channel"
        file["rows"].dims[1].attach_scale(file["names"])
        file["rows"].dims[0].label = "row"
    rule = r"rows.h5 must hold the entries of '/(names|far)' itself, not a reference to another file"
    with pytest.raises(MisuseError, match=rule):
        read_table(tmp_path / "rows.h5", channels="channel", label="deployment")
    with pytest.raises(MisuseError, match=rule):
        open_array(tmp_path / "rows.h5", None, "signals")


def test_a_scale_that_was_never_written_names_nothing(tmp_path):
    """An axis of netCDF that has a length and no places has a scale without entries, however long."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = np.ones((300_000, 8), np.uint8)
        file.create_dataset("row", (300_000,), "f8").make_scale("row")
        file["rows"].dims[0].attach_scale(file["row"])
        file["rows"].dims[1].label = "channel"
    assert read_table(tmp_path / "rows.h5", channels="channel", label="deployment").channels == (*"01234567",)
    opened = open_array(tmp_path / "rows.h5", None, "signals")
    assert (opened.axes, opened.coordinates) == ((("row",), ("channel",)), {})


def test_what_is_packed_well_is_read(tmp_path):
    zeros = np.zeros((100_000, 8))
    np.savez_compressed(tmp_path / "rows.npz", rows=zeros)
    assert np.array_equal(read_array(tmp_path / "rows.npz"), zeros)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("rows", data=zeros, compression="gzip")
    assert np.array_equal(read_array(tmp_path / "rows.h5"), zeros)


@pytest.mark.parametrize("ending", ["npz", "mat", "h5", "npy"])
def test_rows_of_too_many_channels_are_refused_before_they_are_unpacked(write, monkeypatch, ending):
    """A file of a thousandth of their size may hold zeros."""
    path = write(("deployment.npy", f"packed.{ending}"))
    zeros, file = np.zeros((3000, 7)), path.parent / f"packed.{ending}"
    if ending == "npz":
        np.savez_compressed(file, rows=zeros)
    elif ending == "mat":
        savemat(file, {"rows": zeros}, do_compression=True)
    elif ending == "h5":
        with h5py.File(file, "w") as held:
            held.create_dataset("rows", data=zeros, compression="gzip")
    else:
        np.save(file, zeros)
    monkeypatch.setattr("physupport.project._tables.read_table", lambda *_, **__: pytest.fail("unpacked"))
    with pytest.raises(MisuseError, match=rf"data.deployment.file must have 8 channels.* but packed.{ending} has 7"):
        assemble(load_project(path))


@pytest.mark.parametrize("size", [1e200, 1e308])
@pytest.mark.filterwarnings("error")
def test_rows_too_large_for_an_opponent_are_told_with_key_and_file(write, size):
    """Their squares overflow at the first size, their sums at the second."""
    law = ('law = "covariance"', 'law = "mean"\nopponent = "free"')
    path = write(law, deployment=size * np.random.default_rng(1).uniform(0.5, 1.0, (60, 8)))
    with pytest.raises(MisuseError) as caught:
        run_project(load_project(path))
    told = str(caught.value)
    assert told.startswith(
        "project.toml: data.deployment.file: deployment (deployment.npy) must have means and squares"
    )


def test_a_matlab_file_of_far_too_few_bytes(tmp_path):
    savemat(tmp_path / "rows.mat", {"rows": np.zeros((2, 3))})
    content = bytearray((tmp_path / "rows.mat").read_bytes())
    place = content.index(np.array([2, 3], "<i4").tobytes())
    content[place : place + 4] = (2**30).to_bytes(4, "little")
    (tmp_path / "rows.mat").write_bytes(content)
    with pytest.raises(
        MisuseError, match=r"must hold the entries of 'rows', but it has [0-9]+ bytes instead of 3,221,225,472"
    ):
        read_array(tmp_path / "rows.mat")


@pytest.mark.parametrize("base", ["BaseException", "SystemExit", "GeneratorExit"])
@pytest.mark.parametrize("where", ["import", "call"])
def test_a_function_that_raises_anything(write, base, where):
    path = write(('{ kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }', '{ function = "own:f" }'))
    raised = f"class Own({base}): pass\n" + ("raise Own('no')\n" if where == "import" else "")
    (path.parent / "own.py").write_text(raised + "def f(places):\n    raise Own('no')\n")
    with pytest.raises(MisuseError, match="Own: no"):
        assemble(load_project(path, trust=True))


@pytest.mark.parametrize("stage", ["Looking at proposal rows", "Writing the report"])
def test_a_data_file_that_becomes_shorter_during_a_run(write, stage):
    path = write(deployment=np.random.default_rng(0).normal(size=(4000, 8)))

    def told(now):
        if now == stage:
            os.truncate(path.parent / "deployment.npy", 8192)

    with pytest.raises(MisuseError, match=r"deployment.npy must keep its length while it is in use"):
        run_project(load_project(path, {"budget": 3}), stage=told)
    assert not (path.parent / "report").exists()


def test_no_warning_stands_before_a_message(write):
    elements = "id,region,x\na1,A,1e308\na2,A,-1e308\nb1,B,0.7\nb2,B,0.9\n"
    path = write(elements=elements)
    program = "from physupport.__main__ import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", program, "run", str(path)], capture_output=True, text=True, check=False
    )
    assert answer.returncode in (0, 2), answer.stderr
    assert "Warning" not in answer.stderr
    assert "Traceback" not in answer.stderr

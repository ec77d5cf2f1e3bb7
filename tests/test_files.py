"""Files are replaced as a whole: by the new one, or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from physupport import MisuseError
from physupport._files import hidden_beside, replace_file, write_whole


def test_a_full_disk_leaves_the_earlier_file_and_nothing_beside_it(tmp_path, small_files):
    path = tmp_path / "page.html"
    write_whole(path, b"earlier")
    with small_files(100), pytest.raises(OSError, match="too large") as told:
        write_whole(path, bytes(1000))
    assert told.value.filename == str(path)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert path.read_bytes() == b"earlier"
    with small_files(100), pytest.raises(MisuseError, match=r"--html must be a file that can be written, not .*page"):
        replace_file("--html", path, bytes(1000))


# Replaces a file in a process that is killed before its k-th file operation, for every k, and looks what is there.
KILLED = """
import os, signal, sys
from pathlib import Path
from physupport._files import hidden_beside, write_whole

path = Path(sys.argv[1])

def killed(k):
    child = os.fork()
    if child == 0:
        count = [0]
        def hook(event, arguments):
            if event == "open" or event.startswith("os."):
                count[0] += 1
                if count[0] == k:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        write_whole(path, b"new" * 1000)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

k, seen = 1, set()
while True:
    path.write_bytes(b"old")
    ended = killed(k)
    seen.add(path.read_bytes())
    if ended == 0:
        break
    k += 1
assert seen == {b"old", b"new" * 1000}, seen
write_whole(path, b"last")
assert not hidden_beside(path).exists()
print(k)
"""


def test_whenever_the_program_is_killed_the_file_is_the_earlier_one_or_the_new_one(tmp_path):
    ran = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "file"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 5  # opened, brought to the disk and renamed, and each time killed


def test_content_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path, steps = tmp_path / "file", []
    fsync, rename = os.fsync, os.replace

    def synced(number):
        steps.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else os.fstat(number).st_size)
        fsync(number)

    def renamed(*names, **more):
        steps.append("renamed")
        rename(*names, **more)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_whole(path, bytes(1000))
    assert steps == [1000, "renamed", "folder"]


def test_links_are_followed_and_permissions_stay(tmp_path):
    (tmp_path / "real").write_bytes(b"earlier")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_a_link_may_be_replaced_itself_whatever_it_leads_to(tmp_path):
    (tmp_path / "real").write_bytes(b"earlier")
    for target in ("real", "nowhere", "/dev/full", "/tmp"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(target)
        write_whole(tmp_path / "link", b"new", follow=False)
        assert not (tmp_path / "link").is_symlink()
        assert (tmp_path / "link").read_bytes() == b"new"
    assert (tmp_path / "real").read_bytes() == b"earlier"


def test_a_file_that_is_protected_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"earlier")
    monkeypatch.setattr(os, "access", lambda place, mode: False)  # whoever runs the tests may write anything
    with pytest.raises(PermissionError):
        write_whole(path, b"new")
    assert path.read_bytes() == b"earlier"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)
    try:
        write_whole(pipe, b"new")
        assert os.read(end, 10) == b"new"
    finally:
        os.close(end)
    assert pipe.is_fifo()
    with pytest.raises(OSError, match="No space left"):
        write_whole(type(pipe)("/dev/full"), b"new")


def test_the_longest_name_has_room_and_a_file_of_the_users_beside_it_stays(tmp_path):
    path = tmp_path / ("a" * 255)
    write_whole(path, b"new")
    beside = tmp_path / "page.html.part"
    beside.write_bytes(b"of the user")
    write_whole(tmp_path / "page.html", b"new")
    assert beside.read_bytes() == b"of the user"
    assert hidden_beside(path) != hidden_beside(tmp_path / ("a" * 254))

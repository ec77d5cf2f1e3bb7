"""Files that are replaced as a whole: whenever the program is killed, the earlier one is there or the new one."""

import errno
import os
import shutil
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._codec import pieces_hash
from ._errors import MisuseError

if sys.platform != "win32":
    import fcntl


def hidden_beside(place: Path) -> Path:
    """The hidden name in the same folder under which what will be at a place is made; the same for every run."""
    return place.parent / f".{place.name[:40]}-{pieces_hash(place.name)[:8]}"  # a long name has no room for more


def write_whole(path: Path, content: bytes, *, follow: bool = True) -> None:
    """A file with this content, in one step that neither a kill nor a loss of power can split.

    Raises OSError with the name of the file, which then is as it was.  A link is followed, or replaced itself.  What is
    there and is no file, a device or a pipe, has no earlier content: it is written to as it stands.
    """
    is_replaced = path.is_symlink() and not follow
    if path.exists() and not path.is_file() and not is_replaced:
        path.write_bytes(content)
        return
    place = path if is_replaced else Path(os.path.realpath(path))
    is_there = place.exists() and not is_replaced
    if is_there and not os.access(place, os.W_OK):  # the step itself would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    part = hidden_beside(place)
    try:
        part.unlink(missing_ok=True)  # of a run that was killed, or a link to elsewhere
        with part.open("xb") as file:
            file.write(content)
        if is_there:
            shutil.copymode(place, part)
        to_disk(part)
        part.replace(place)
        to_disk(place.parent)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):  # which may name the hidden file, or none
            error.filename = str(path)
            error.filename2 = None
        raise


def replace_file(name: str, path: Path, content: bytes) -> None:
    """The same for a file that a user named, who is told what stands in the way."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise MisuseError(name, "be a file that can be written", f"{path} ({error.strerror})") from None


def lock(folder: Path) -> int | None:
    """Hold a folder against other processes, and return the open file to close; None where the system has no locks.

    The system lets go of it when this process ends, however it ends.  Raises BlockingIOError if another one holds it.
    """
    if sys.platform == "win32":
        return None
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise
    except OSError:
        os.close(opened)
        return None  # network file systems may have no locks of folders
    return opened


def npy_bytes(array: NDArray[np.generic]) -> bytes:
    """The content of a file of type .npy with this array."""
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a loss of power, where a file system knows of it."""
    if sys.platform == "win32" and path.is_dir():
        return
    opened = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)

"""Files that appear whole or not at all, and temporary files that are removed even if the process that made them was
killed.

A process holds a lock (flock) on each temporary file or folder that it works on, and the system releases the lock when
the process ends, in whatever way. So a temporary file without a lock is abandoned, and the next process in the same
folder removes it. The library filelock does not serve here: it locks regular files only, and a killed process would
leave a lock file next to each temporary folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .signals import interruptible, uninterrupted

PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
"""Names without characters that are special to shells, make or tools."""

PART = "mxcast-part"
"""End of the names of temporary files and folders."""
UNFINISHED = ".mxcast-unfinished"
"""Name of the folder, in an unfinished result, from which the same command resumes."""


def regular(path: Path | str) -> Path:
    """The path of a file to read. Raises OSError if it is missing, and ValueError for a folder, and for a pipe or a
    device, which cannot be read twice or may never end.
    """
    path = Path(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{path} is not a regular file")
    return path


def read_toml(path: Path | str) -> dict[str, object]:
    """The document in a TOML file. Raises OSError if it is missing, and ValueError if it is no file or not TOML."""
    import tomllib

    path = regular(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # without the byte order mark of Windows
        return tomllib.loads(text)  # it handles the ends of lines
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    except ValueError:
        raise ValueError(f"{path} has {_too_long()}") from None


def parsed_json(text: str, **hooks: Any) -> Any:
    """The document in a text of JSON, with hooks of `json.loads` that raise no ValueError. Raises ValueError if the
    text is not JSON, and RecursionError.
    """
    try:
        return json.loads(text, **hooks)
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise ValueError(f"it has {_too_long()}") from None


def _too_long() -> str:
    """The problem in words; Python's own message is about Python's settings."""
    return f"a whole number of more than {sys.get_int_max_str_digits()} digits"


@contextlib.contextmanager
def replaced(path: Path | str) -> Iterator[BinaryIO]:
    """A new file, open for reading and writing, that replaces ``path`` when the block ends: other processes see the old
    content or the new one. If ``path`` is a symbolic link, its target is replaced.

    After an exception no temporary file remains, and the old file is untouched. Raises OSError with the system's text
    and the name ``path``, and ValueError if ``path`` is a folder or a device.
    """
    final = Path(os.path.realpath(path))
    if final.is_symlink():  # realpath stops at links that point to each other
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if final.exists() and not final.is_file():
        raise ValueError(f"{path} exists and is not a regular file")
    with named(path):
        name = short(final.name)
        _remove_abandoned(final.parent)
        with uninterrupted():
            temporary, handle = _new_file(final.parent, name)
            try:
                with open(handle, "w+b") as file:
                    with interruptible():
                        yield file
                    file.flush()
                    if final.exists():
                        os.fchmod(file.fileno(), stat.S_IMODE(final.stat().st_mode))
                    os.replace(temporary, final)  # it is locked, so no process takes it for abandoned
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise


@contextlib.contextmanager
def named(path: Path | str) -> Iterator[None]:
    """A block whose system errors name ``path`` instead of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.strerror and (error.filename is None or _is_temporary(str(error.filename))):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def short(name: str) -> str:
    """The name of a file, or the digest of a long name, so that a suffix fits after it."""
    return name if len(os.fsencode(name)) <= 200 else sha256(name)[:32]


def _is_temporary(path: str) -> bool:
    return any(part.endswith(f".{PART}") or part == UNFINISHED for part in Path(path).parts)


def _new_file(folder: Path, name: str) -> tuple[Path, int]:
    while True:
        temporary = folder / f".{name}.{os.urandom(4).hex()}.{PART}"
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
        if _lock(handle, temporary):
            return temporary, handle
        os.close(handle)  # another process removed it before it was locked


def begin(file: BinaryIO, beginning: bytes, size: int) -> None:
    """Write the first bytes of a file and reserve its length: a full disk raises here, before any work."""
    file.write(beginning)
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file under a temporary name in its folder, which is created, and rename it."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A new folder in ``parent`` that is removed at the end of the block, unless it was renamed."""
    parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(parent)
    with uninterrupted():
        folder, handle = _new_folder(parent)
        try:
            with interruptible():
                yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _new_folder(parent: Path) -> tuple[Path, int]:
    while True:
        folder = parent / f"{os.urandom(8).hex()}.{PART}"
        folder.mkdir()
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            if not parent.is_dir():
                raise
            continue  # another process removed it before it was opened
        if _lock(handle, folder):
            return folder, handle
        os.close(handle)


def _lock(handle: int, path: Path) -> bool:
    """Lock a new temporary file or folder; False if it was removed meanwhile."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False


def _remove_abandoned(folder: Path) -> None:
    """Remove the unlocked temporary files and folders in a folder."""
    for path in folder.glob(f"*.{PART}"):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
            finally:
                os.close(handle)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """A block that one process and one thread at a time can enter for each ``path``, the name of a lock file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = _lock_file(path)
    except OSError:
        if not os.path.lexists(path):
            raise
        with temporary_folder(path.parent) as aside:  # a folder, or a broken link
            path.rename(aside / "lock")
        handle = _lock_file(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock_file(path: Path) -> int:
    # for reading and writing: a pipe of this name does not block then
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


POLL = 0.02
"""Seconds between two attempts to lock a folder of another command."""


def _is_locked(handle: int) -> bool:
    """Lock a file unless another process has locked it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Waiting(UserWarning):
    """This process waits for another process in the same folder."""


@contextlib.contextmanager
def claimed(folder: Path, while_waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """A block in which one process and one thread at a time works in ``folder``, which is created if it is missing.
    Others wait, with the warning `Waiting`, and call ``while_waiting`` again and again; so a block within a block of
    the same folder never ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            warnings.warn(f"another command works in {folder}: waiting until it has ended", Waiting, stacklevel=3)
            while while_waiting and not _is_locked(handle):
                while_waiting()
                time.sleep(POLL)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sha256(*parts: str | bytes) -> str:
    """Hex digest of the parts and their lengths."""
    import hashlib

    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()

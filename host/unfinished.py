"""Large files that a command goes on with where an earlier one was killed.

Until such a file is whole it is in a folder of its own beside what the command makes, with a journal: what the file
shall be, and then a line for each part of it that is whole. A line is written after the data that it speaks of have
reached the disk, so that it holds after a crash of the machine too. A line that was not written to its end is none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .files import begin, named, sha256

__all__ = ["Journal", "continued", "is_begun"]

EVERY = 1.0
"""Seconds from one wait for the disk to the next. What is made in less time is sooner made again."""


class Journal:
    """The parts of a file that are whole, by name, each with what the command noted of it."""

    def __init__(self, data: BinaryIO, lines: BinaryIO, whole: dict[str, Any]) -> None:
        self.whole = whole
        """Of an earlier command."""
        self._data, self._lines = data, lines
        self._waiting: list[bytes] = []
        self._last = time.monotonic()

    def finish(self, parts: Sequence[str], note: Any = None) -> None:
        """Say that the data of some parts have been written, with a note that JSON can hold."""
        self._waiting.append(_line(parts, note))
        if time.monotonic() - self._last >= EVERY:
            self.write()

    def write(self) -> None:
        """Write the lines that wait, after the data."""
        if self._waiting:
            self._data.flush()
            os.fsync(self._data.fileno())
            self._lines.write(b"".join(self._waiting))
            self._lines.flush()
            self._waiting.clear()
        self._last = time.monotonic()


@contextlib.contextmanager
def continued(path: Path, folder: Path, beginning: bytes, size: int) -> Iterator[tuple[BinaryIO, Journal]]:
    """A file, open for reading and writing, that appears as ``path`` when the block ends. It begins with ``beginning``
    and has ``size`` bytes.

    After an exception, or if the process is killed, it stays in ``folder``. If the folder has one with the same
    beginning and size, this is it, and its journal says what of it is whole; else it is new. One process works on it at
    a time. A ``path`` in the folder itself is continued too, with nothing left to do. Raises OSError, naming ``path``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part, log = folder / f"{path.name}.part", _journal(folder, path.name)
    with named(path), open(log, "a+b") as lines:
        fcntl.flock(lines, fcntl.LOCK_EX)  # a job whose command was killed may take a moment to end
        if path.parent == folder and path.exists():
            os.replace(path, part)
        identity = [sha256(beginning), size]
        lines.seek(0)
        said, end = _whole_lines(lines.read())
        is_this = said[:1] == [([], identity)] and part.is_file() and part.stat().st_size == size
        if not is_this:
            said, end = [], 0
            _remove(part)
        lines.truncate(end)
        with open(part, "r+b" if is_this else "w+b") as data:
            if not is_this:
                _begin(data, part, beginning, size)
                lines.write(_line([], identity))
            journal = Journal(data, lines, {name: note for names, note in said for name in names})
            try:
                yield data, journal
            finally:
                journal.write()
        os.replace(part, path)


def is_begun(folder: Path) -> bool:
    """Has a part of a file been finished, in a folder of `continued` or one in it?"""
    return any(len(_whole_lines(log.read_bytes())[0]) > 1 for log in folder.rglob(_journal(folder, "*").name))


def _journal(folder: Path, name: str) -> Path:
    return folder / f"{name}.journal"


def _line(names: Sequence[str], note: Any) -> bytes:
    return json.dumps([list(names), note]).encode() + b"\n"


def _whole_lines(text: bytes) -> tuple[list[tuple[list[str], Any]], int]:
    """The names and notes of the lines that were written to their end, before any that is damaged, and where they
    end.
    """
    found, end = list[tuple[list[str], Any]](), 0
    for line in text.splitlines(keepends=True):
        try:
            names, note = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            break
        if not line.endswith(b"\n") or not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            break
        found.append((names, note))
        end += len(line)
    return found, end


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)


def _begin(data: BinaryIO, part: Path, beginning: bytes, size: int) -> None:
    try:
        begin(data, beginning, size)
    except OSError:
        part.unlink()  # what a full disk left of it would keep the disk full
        raise

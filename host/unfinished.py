"""Large files that a command goes on with where an earlier one was killed.

Until such a file is whole it is in a folder of its own beside what the command makes, with a journal: what the file
shall be, and then a line for each part of it that is whole. A line is written after the data that it speaks of have
reached the disk, so that it holds after a crash of the machine too. Each has a digest: one that was not written to its
end, or is damaged, is none, nor are those after it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .files import begin, named, remove, sha256, short, temporary_folder, write_whole

__all__ = ["Journal", "aside", "continued", "is_begun", "read_note", "stamp", "write_note"]

EVERY = 1.0
"""Seconds from one wait for the disk to the next. What is made in less time is sooner made again."""
DIGEST = 16
"""Characters of the digest of a line."""


class Journal:
    """The parts of a file that are whole, by name, each with what the command noted of it."""

    def __init__(self, data: BinaryIO, lines: BinaryIO, waiting: list[bytes], whole: dict[str, Any]) -> None:
        self.whole = whole
        """Of an earlier command."""
        self._data, self._lines, self._waiting = data, lines, waiting
        self._last = time.monotonic()

    def finish(self, parts: Sequence[str], note: Any = None) -> None:
        """Say that the data of some parts have been written, with a note that JSON can hold."""
        self._waiting.append(_line([list(parts), note]))
        if time.monotonic() - self._last >= EVERY:
            self.write()

    def write(self) -> None:
        """Write the lines that wait, after the data; after an error none of them."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._data.flush()
            os.fsync(self._data.fileno())
            self._lines.write(b"".join(waiting))
            self._lines.flush()
        self._last = time.monotonic()


@contextlib.contextmanager
def continued(path: Path, folder: Path, beginning: bytes, size: int) -> Iterator[tuple[BinaryIO, Journal]]:
    """A file, open for reading and writing, that appears as ``path`` when the block ends. It begins with ``beginning``
    and has ``size`` bytes.

    After an exception, or if the process is killed, it stays in ``folder``, which must exist. If there is one with the
    same beginning and size, this is it, and its journal says what of it is whole; else it is new. One that had got its
    name, and has not been changed since, has nothing left to do. One process works on it at a time. Raises OSError,
    naming ``path``.
    """
    part, log = folder / f"{short(path.name)}.part", _journal(folder, path.name)
    with named(path), open(log, "a+b") as lines:
        fcntl.flock(lines, fcntl.LOCK_EX)  # a job whose command was killed may take a moment to end
        identity = [[], [sha256(beginning), size]]
        lines.seek(0)
        said, end = _whole_lines(lines.read())
        if said and said[-1] == [[], stamp(path)]:
            os.replace(path, part)
        is_this = said[:1] == [identity] and _begins(part, beginning, size)
        if not is_this:
            said, end = [], 0
            remove(part)
        lines.truncate(end)
        with open(part, "r+b" if is_this else "w+b") as data:
            if not is_this:
                _begin(data, part, beginning, size)
            whole = {name: note for names, note in said for name in names}
            journal = Journal(data, lines, [] if is_this else [_line(identity)], whole)
            try:
                yield data, journal
            finally:
                journal.write()
        lines.write(_line([[], stamp(part)]))
        lines.flush()
        os.replace(part, path)


@contextlib.contextmanager
def aside(target: Path, unfinished: Path | None, name: str) -> Iterator[tuple[Path, Path | None]]:
    """A folder for what becomes ``target`` in several steps: one of this name in ``unfinished``, which must exist, or a
    temporary one beside the target. The second is that for `continued`, of the first.
    """
    if unfinished is None:
        with temporary_folder(target.parent) as folder:
            yield folder, None
    else:
        folder = unfinished / name
        folder.mkdir(exist_ok=True)
        yield folder, folder


def is_begun(folder: Path) -> bool:
    """Is a part of a file whole that is unfinished in a folder, or in one in it?"""
    return any(
        any(names for names, _ in _whole_lines(log.read_bytes())[0]) and log.with_suffix(".part").exists()
        for log in folder.rglob(_journal(folder, "*").name)
    )


def stamp(path: Path) -> list[int] | None:
    """What changes when a file is written again, though not when it is renamed; None where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return [state.st_ino, state.st_size, state.st_mtime_ns]


def write_note(path: Path, note: Any) -> None:
    """Write a note that JSON can hold into a file of its own."""
    write_whole(path, _line(note))


def read_note(path: Path) -> Any:
    """The note in a file; None where there is none, or a damaged one."""
    try:
        notes, _ = _whole_lines(path.read_bytes())
    except OSError:
        return None
    return notes[0] if notes else None


def _journal(folder: Path, name: str) -> Path:
    return folder / f"{short(name)}.journal"


def _line(content: Any) -> bytes:
    text = json.dumps(content)
    return f"{sha256(text)[:DIGEST]} {text}\n".encode()


def _whole_lines(text: bytes) -> tuple[list[Any], int]:
    """What the lines hold, and where they end."""
    found, end = [], 0
    for line in text.splitlines(keepends=True):
        content = line[DIGEST + 1 : -1]
        if line != f"{sha256(content)[:DIGEST]} ".encode() + content + b"\n":
            break
        found.append(json.loads(content))
        end += len(line)
    return found, end


def _begins(part: Path, beginning: bytes, size: int) -> bool:
    """Is this a file that begins so, and no link to one?"""
    if part.is_symlink() or not part.is_file() or part.stat().st_size != size:
        return False
    with open(part, "rb") as file:
        return file.read(len(beginning)) == beginning


def _begin(data: BinaryIO, part: Path, beginning: bytes, size: int) -> None:
    try:
        begin(data, beginning, size)
    except OSError:
        part.unlink()  # what a full disk left of it would keep the disk full
        raise

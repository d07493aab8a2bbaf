"""Large files whose writing can be resumed after the command was killed.

Until such a file is complete it stays with a journal in a folder of its own, next to the command's output. The first
line of the journal says which file it is; each further line names parts of it that are complete. A line is written
after its data have reached the disk, so that it is true after a crash of the machine too. Every line has a digest. A
line that is torn or damaged ends the journal: it and the lines after it are ignored.
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

EVERY = 1.0
"""Seconds between two waits for the disk. Repeating the work of less time is cheaper than waiting."""
DIGEST = 16
"""Characters of the digest of a line."""


class Journal:
    """The complete parts of a file by name, each with a note."""

    def __init__(self, data: BinaryIO, lines: BinaryIO, waiting: list[bytes], whole: dict[str, object]) -> None:
        self.whole = whole
        """The parts that an earlier command completed, with their notes."""
        self._data, self._lines, self._waiting = data, lines, waiting
        self._last = time.monotonic()

    def finish(self, parts: Sequence[str], note: object = None) -> None:
        """Record that some parts are complete, with a note for JSON."""
        self._waiting.append(_line([list(parts), note]))
        if time.monotonic() - self._last >= EVERY:
            self.write()

    def write(self) -> None:
        """Flush the data to the disk, then write the waiting lines. An error drops them."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._data.flush()
            os.fsync(self._data.fileno())
            self._lines.write(b"".join(waiting))
            self._lines.flush()
        self._last = time.monotonic()


@contextlib.contextmanager
def resumable(path: Path, folder: Path, beginning: bytes, size: int) -> Iterator[tuple[BinaryIO, Journal]]:
    """A file, open for reading and writing, that begins with ``beginning``, has ``size`` bytes, and is renamed to
    ``path`` when the block ends.

    After an exception or SIGKILL it stays in ``folder``, which must exist. The next call with the same beginning and
    size resumes it, and its journal names the complete parts; any other call begins a new file. A file that was renamed
    to ``path`` already and is unchanged since is resumed with all its parts. One process works on a file at a
    time; others wait. Raises OSError, naming ``path``.
    """
    part, log = folder / f"{short(path.name)}.part", _journal(folder, path.name)
    with named(path), open(log, "a+b") as lines:
        fcntl.flock(lines, fcntl.LOCK_EX)  # the job of a killed command takes a moment to end
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
def work_folder(target: Path, unfinished: Path | None, name: str) -> Iterator[tuple[Path, Path | None]]:
    """A folder for the intermediate files of ``target``: the folder ``name`` in ``unfinished``, or a temporary folder.
    Yields the folder, and the folder for `resumable`: the same one, or None.
    """
    if unfinished is None:
        with temporary_folder(target.parent) as folder:
            yield folder, None
    else:
        folder = unfinished / name
        folder.mkdir(exist_ok=True)
        yield folder, folder


def is_begun(folder: Path) -> bool:
    """Does a folder contain an unfinished file with a complete part?"""
    return any(
        any(names for names, _ in _whole_lines(log.read_bytes())[0]) and log.with_suffix(".part").exists()
        for log in folder.rglob(_journal(folder, "*").name)
    )


def stamp(path: Path) -> list[int] | None:
    """A version of a file, which changes when the file is written but not when it is renamed. None if it is missing."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return [state.st_ino, state.st_size, state.st_mtime_ns]


def write_note(path: Path, note: object) -> None:
    """Write a note as JSON into a file of its own."""
    write_whole(path, _line(note))


def read_note(path: Path) -> Any:
    """The note in a file, or None if it is missing or damaged."""
    try:
        notes, _ = _whole_lines(path.read_bytes())
    except OSError:
        return None
    return notes[0] if notes else None


def _journal(folder: Path, name: str) -> Path:
    return folder / f"{short(name)}.journal"


def _line(content: object) -> bytes:
    text = json.dumps(content)
    return f"{sha256(text)[:DIGEST]} {text}\n".encode()


def _whole_lines(text: bytes) -> tuple[list[Any], int]:
    """Contents of the complete lines, and the length of their text."""
    found, end = [], 0
    for line in text.splitlines(keepends=True):
        content = line[DIGEST + 1 : -1]
        if line != f"{sha256(content)[:DIGEST]} ".encode() + content + b"\n":
            break
        found.append(json.loads(content))
        end += len(line)
    return found, end


def _begins(part: Path, beginning: bytes, size: int) -> bool:
    """Is this a regular file with these first bytes and this size?"""
    if part.is_symlink() or not part.is_file() or part.stat().st_size != size:
        return False
    with open(part, "rb") as file:
        return file.read(len(beginning)) == beginning


def _begin(data: BinaryIO, part: Path, beginning: bytes, size: int) -> None:
    try:
        begin(data, beginning, size)
    except OSError:
        part.unlink()  # its beginning would keep the disk full
        raise

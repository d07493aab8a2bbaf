"""The state of an unfinished model in its folder: the same command resumes from it, and another command removes it."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ...host.files import UNFINISHED, claimed, remove, sha256
from ...host.unfinished import is_begun, read_note, stamp, write_note
from .shard_jobs import Report

FILES, REPORT, WAITERS = "files.json", "report.json", "waiters"
"""File names: the names of all new files, the report of a shard with the stamp of its file, and a file that waiting
commands lock.
"""


class UnfinishedModel:
    """A model that is being written into the folder ``target``. A folder in it belongs to one command by its
    ``identity``, and contains a folder for each shard with its report or its unfinished file.
    """

    def __init__(self, target: Path, identity: str, shards: Sequence[str]) -> None:
        self.target, self._record = target, target / UNFINISHED
        self._command = self._record / sha256(identity)[:32]
        self._folders = {shard: self._command / str(number) for number, shard in enumerate(shards)}
        self._request: BinaryIO | None = None

    @contextlib.contextmanager
    def claimed(self, files: Sequence[str]) -> Iterator[None]:
        """A block in which this command alone writes these files into the folder. Its end removes the state, unless the
        same command is waiting; so does an exception if nothing can be resumed. Raises ValueError for a folder with
        other files.
        """
        is_new = not self.target.exists()
        self._check()
        self.target.mkdir(exist_ok=True)
        with contextlib.ExitStack() as locks, claimed(self.target, lambda: self._ask_for_state(locks)):
            self._check()  # another command may have finished
            locks.close()
            try:
                self._begin(files)
                yield
            except BaseException:
                self._end_without_parts(is_new)
                raise
            self._is_removed()

    def _ask_for_state(self, locks: contextlib.ExitStack) -> None:
        """Lock a file of the same command while this one waits, so that its state is not removed."""
        if self._request is None and self._command.is_dir():
            with contextlib.suppress(FileNotFoundError):  # it has been removed meanwhile
                self._request = locks.enter_context(open(self._command / WAITERS, "rb"))
                fcntl.flock(self._request, fcntl.LOCK_SH)

    def _is_removed(self) -> bool:
        """Remove the state, unless the same command is waiting to use the complete shards."""
        with contextlib.suppress(BlockingIOError), contextlib.ExitStack() as locks:
            if (self._command / WAITERS).exists():
                waiters = locks.enter_context(open(self._command / WAITERS, "rb"))
                fcntl.flock(waiters, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(self._record, ignore_errors=True)
            return True
        return False

    def _check(self) -> None:
        is_unfinished = self._record.is_dir() and not self._record.is_symlink()
        if self.target.exists() and not is_unfinished and any(self.target.iterdir()):
            raise ValueError(f"{self.target} is not empty: a model is written into a new folder")

    def _begin(self, files: Sequence[str]) -> None:
        self._record.mkdir(exist_ok=True)
        for other in {*self._record.iterdir()} - {self._command}:  # of another command
            for name in read_note(other / FILES) or ():
                (self.target / Path(name).name).unlink(missing_ok=True)
            remove(other)
        self._command.mkdir(exist_ok=True)
        (self._command / WAITERS).touch()
        write_note(self._command / FILES, list(files))
        for folder in self._folders.values():
            folder.mkdir(exist_ok=True)

    def _end_without_parts(self, is_new: bool) -> None:
        parts = (path for path in self._command.rglob("*") if path.is_file() and path.name not in (FILES, WAITERS))
        if not any(parts) and self._is_removed() and is_new:
            with contextlib.suppress(OSError):  # other files have come
                self.target.rmdir()

    def folder(self, shard: str) -> Path:
        """The folder from which the job of a shard resumes."""
        return self._folders[shard]

    def is_begun(self, shard: str) -> bool:
        """Is a tensor of an unfinished shard complete?"""
        return is_begun(self._folders[shard])

    def report(self, shard: str) -> Report | None:
        """The report of a shard; None if its file is missing or has changed."""
        note = read_note(self._folders[shard] / REPORT)
        return note["report"] if note and note["made"] == stamp(self.target / shard) else None

    def keep(self, shard: str, report: Report) -> None:
        """Store the report of a complete shard, and remove its intermediate files."""
        folder = self._folders[shard]
        write_note(folder / REPORT, {"made": stamp(self.target / shard), "report": report})
        for path in folder.iterdir():
            if path.name != REPORT:
                remove(path)

"""Output of verbs: text and tables for people, one JSON document for machines, progress on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .streams import complain
from .tables import cell, folded, is_number, listed, plain_table
from .text import shown

if TYPE_CHECKING:
    from rich.console import Console

    from ...hdl import HardwareConfig
    from ...spec import Operation

PIPE = 10_000
"""Columns of a pipe: no line is folded or cut."""
NARROW = 60
"""On a terminal with fewer columns, a table that does not fit becomes a list."""
PATIENCE = 1.0
"""Seconds until a progress bar appears."""


@dataclass(frozen=True)
class Output:
    """The options that every verb has, and what they mean: results go to stdout, everything else to stderr.

    ``json`` prints one document in place of the text. ``quiet`` prints errors only.
    """

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")] = False
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")] = False
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the complete configuration too, on stderr.")
    ] = False

    @property
    def talks(self) -> bool:
        return not (self.json or self.quiet)

    def say(self, text: str = "") -> None:
        """Print a text. A narrow terminal folds sentences between words; indented lines, such as commands, stay."""
        if not self.talks:
            return
        text, columns = shown(text), _columns()
        if columns < NARROW:
            lines = (folded(line, columns) if line[:1].strip() else [line] for line in text.split("\n"))
            text = "\n".join(line for several in lines for line in several)
        print(text)

    def configuration(self, config: HardwareConfig) -> None:
        """Print the complete configuration to stderr, with ``--verbose``."""
        for mode in config.modes:
            self._choices(f"configuration {config.config_id}", mode.identity() | config.microarchitecture.to_dict())

    def rules(self, operation: Operation) -> None:
        """Print the rules of an operation to stderr, with ``--verbose``."""
        self._choices(f"rules of {operation.subject}", operation.identity())

    def _choices(self, of: str, fields: Mapping[str, object]) -> None:
        if self.verbose:
            complain(f"{of}: " + " ".join(f"{key}={value}" for key, value in fields.items()))

    def document(self, value: object) -> None:
        """Print the JSON document of the verb, with ``--json``."""
        if self.json:
            print(json.dumps(value, indent=2, allow_nan=False))

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None for a pipe."""
        return _columns() if sys.stdout.isatty() else None

    def table(self, rows: Sequence[Mapping[str, object]], title: str | None = None) -> None:
        """Print rows, whose keys are the columns; numbers are aligned to the right, a `rich.text.Text` keeps
        its style.
        """
        if not self.talks or not rows:
            return
        plain, columns = plain_table(rows, title), _columns()
        if columns < NARROW and max(map(len, plain.splitlines())) > columns:
            print(listed(rows, title, columns))
            return
        if not sys.stdout.isatty():
            print(plain)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        console = _console()
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column, value in rows[0].items():
            table.add_column(column.replace("_", " "), justify="right" if is_number(value) else "left", overflow="fold")
        for row in rows:
            table.add_row(*(value if isinstance(value, Text) else Text(cell(value)) for value in row.values()))
        console.print(table)

    @contextlib.contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None] | None]:
        """A callable (done, total) that moves a bar, which appears after `PATIENCE`; None without a terminal.

        A total of 0 means unknown.
        """
        if not self.talks or not sys.stderr.isatty():
            yield None
            return
        bar = _LateBar(label)
        try:
            yield bar.update
        finally:
            bar.stop()

    @contextlib.contextmanager
    def steps(self, label: str) -> Iterator[Callable[[str], None] | None]:
        """A callable that shows the current step; None without a terminal."""
        if not self.talks or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console

        with Console(stderr=True).status(label) as status:
            yield lambda text: status.update(f"{label}: {text}")


def _columns() -> int:
    """Columns of the terminal; for a pipe, the variable COLUMNS if it is set."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    said = os.environ.get("COLUMNS", "")
    return max(int(said), 1) if said.isdecimal() and len(said) < 5 and int(said) else PIPE


def _console() -> Console:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # the BrokenPipeError, which `cli.app` answers for every verb

    return Plain() if sys.stdout.isatty() else Plain(width=PIPE)


class _LateBar:
    """A bar that appears after `PATIENCE`, even if the work reports no progress."""

    def __init__(self, label: str) -> None:
        self._label, self._done, self._total = label, 0, 0
        self._lock, self._is_over = threading.Lock(), False
        self._bar: Any = None
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
        with self._lock:
            if not self._is_over:
                self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
                self._bar.start()
                self._task = self._bar.add_task(self._label, completed=self._done, total=self._total or None)

    def update(self, done: int, total: int) -> None:
        with self._lock:
            self._done, self._total = done, total
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total or None)

    def stop(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._bar is not None:
                self._bar.stop()

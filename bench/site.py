"""For `make docs`: the pages that are made of the command and the catalogues, and links to what is not in docs/.

Called by MkDocs (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from mxcast.cli.app import app
from mxcast.cli.examples import EXAMPLES
from mxcast.cli.verbs.listing import NOTES, SECTIONS

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]+)\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Called by MkDocs with the files of docs/."""
    from mkdocs.structure.files import File

    for name, content in (("commands", commands()), ("catalogue", catalogue())):
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Called by MkDocs with the text of a page.

    >>> on_page_markdown("see [changes](../CHANGELOG.md)", page=None)
    'see changes (`CHANGELOG.md`)'
    """
    depth = 0 if page is None else page.file.src_uri.count("/")
    return OUTSIDE.sub(
        lambda found: found[0] if found[0].count("../") <= depth else f"{found[1]} (`{found[2]}`)", markdown
    )


def commands() -> str:
    """Every verb with its arguments, options and examples, as its help has them."""
    group: Any = typer.main.get_command(app)
    parts = ["# Commands", "`mxcast VERB --help` says the same. The [guide](../guide.md) has the exit codes."]
    for verb, command in group.commands.items():
        about, _, more = " ".join(command.help.split()).partition(". ")
        parts += [f"## {verb}", f"{about.rstrip('.')}."]
        parts += [more] if more else []
        parts.append("\n".join(["| | |", "| --- | --- |", *_options(command)]))
        parts.append("\n".join(f"    {line}" for line in EXAMPLES[verb]))
    return "\n\n".join(parts) + "\n"


def _options(command: Any) -> Iterator[str]:
    for option in command.params:
        if option.param_type_name == "argument":
            names = option.metavar or option.name.upper()
        else:
            value = option.metavar or ("N" if option.type_descriptor.annotation is int else "TEXT")
            names = ", ".join(option.opts) + ("" if option.is_flag else f" {value}")
        default = f" Default: {option.show_default}." if isinstance(option.show_default, str) else ""
        yield f"| `{_cell(names)}` | {_cell((option.help or '') + default)} |"


def catalogue() -> str:
    """What `mxcast list` shows: a table for each section."""
    parts = ["# Catalogue", "What `mxcast list` shows, from the same tables."]
    for section, rows_of in SECTIONS.items():
        rows = rows_of()
        heads = list(rows[0])
        lines = ["| " + " | ".join(head.replace("_", " ") for head in heads) + " |", "| --- " * len(heads) + "|"]
        lines += ["| " + " | ".join(_cell(_text(row[head])) for head in heads) + " |" for row in rows]
        parts += [f"## {section.capitalize()}", "\n".join(lines)]
        parts += [NOTES[section]] if section in NOTES else []
    return "\n\n".join(parts) + "\n"


def _text(value: object) -> str:
    return " ".join(f"{key}={entry}" for key, entry in value.items()) if isinstance(value, dict) else str(value)


def _cell(text: str) -> str:
    """A text in a cell of a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")

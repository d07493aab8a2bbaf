"""Hooks of `make docs` (mkdocs.yml): pages generated from the command and the catalogues, the files of each room, and
links that leave docs/.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mxcast.cli.examples import EXAMPLES
from mxcast.cli.group import built
from mxcast.cli.verbs.listing import NOTES, SECTIONS

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]+)\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the generated pages to the files of docs/."""
    from mkdocs.structure.files import File

    for name, content in (("index", index()), ("reference/commands", commands()), ("reference/catalogue", catalogue())):
        files.append(File.generated(config, f"{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Complete a page of docs/rooms, and print a link that leaves docs/ as the path of its file.

    >>> on_page_markdown("see [changes](../CHANGELOG.md)", page=None)
    'see changes (`CHANGELOG.md`)'
    """
    if page is not None and page.file.src_uri.startswith("rooms/"):
        markdown += files(markdown)
    depth = 0 if page is None else page.file.src_uri.count("/")
    return OUTSIDE.sub(
        lambda found: found[0] if found[0].count("../") <= depth else f"{found[1]} (`{found[2]}`)", markdown
    )


def index() -> str:
    """The first page: README.md, whose links begin in docs/ then.

    >>> index().splitlines()[0]
    '# mxcast'
    """
    page = re.sub(r"\]\((?!\w+:|docs/)", "](../", (ROOT / "README.md").read_text())
    return page.replace("](docs/", "](")


def files(page: str) -> str:
    """A table for each folder of the rooms that the heading of a page names: its files, and what they hold."""
    heading = page.split(":")[0]
    rooms = [word for word in re.findall(r"\w+", heading) if (ROOT / word / "__init__.py").exists()]
    parts = ["\n## Files"]
    for folder in sorted({path.parent for room in rooms for path in (ROOT / room).rglob("*.py")}):
        paths = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("__")]
        rows = [f"| `{path.name}` | {_cell(_about(path))} |" for path in paths]
        parts += [f"**`{folder.relative_to(ROOT)}/`**: {_about(folder / '__init__.py')}"]
        parts += ["\n".join(["| file | |", "| --- | --- |", *rows])] if rows else []
    return "\n\n".join(parts) + "\n"


def _about(path: Path) -> str:
    """The first paragraph of a module's docstring."""
    return " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())


def commands() -> str:
    """Every verb with its arguments, options and examples, as its help has them."""
    parts = ["# Commands", "`mxcast VERB --help` says the same. The [guide](../guide.md) has the exit codes."]
    for verb, command in built().commands.items():
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
            value = option.metavar or ("N" if option.type.name.startswith("int") else "TEXT")
            names = ", ".join(option.opts) + ("" if option.is_flag else f" {value}")
        default = f" Default: {option.show_default}." if isinstance(option.show_default, str) else ""
        yield f"| `{_cell(names)}` | {_cell((option.help or '') + default)} |"


def catalogue() -> str:
    """The catalogue of `mxcast list`: a table for each section."""
    parts = ["# Catalogue", "The output of `mxcast list`, from the same tables."]
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

"""What the documents say can be done: snippets run, commands are read by the command line, links lead somewhere."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from mxcast.cli import main
from mxcast.cli.app import app
from mxcast.cli.examples import EXAMPLES
from mxcast.cli.verbs.listing import SECTIONS
from mxcast.spec import PROFILES
from mxcast.synth import TARGETS

from .test_examples import loaded
from .test_structure import ALLOWED

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples/README.md",
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchor(heading: str) -> str:
    """As GitHub and MkDocs make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def commands(page: Path) -> Iterator[str]:
    """The lines of indented code that begin with the command, their comments and continued lines included."""
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if line.startswith("    mxcast "):
            while line.endswith("\\"):
                line = line.removesuffix("\\") + next(lines)
            yield line.strip()


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=lambda page: page.name)
def test_snippets_run(page):
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 and attempted >= 3


PATH = re.compile(r"`((?:[a-z0-9_]+/)+(?:\w+\.\w+)?)`")


@pytest.mark.parametrize("page", [ROOT / "docs/architecture.md", *ROOT.glob("docs/rooms/*.md")], ids=lambda p: p.name)
def test_paths_of_the_architecture_exist(page):
    found = [path for path in PATH.findall(page.read_text()) if path != "NAME/"]
    assert found and not [path for path in found if not (ROOT / path).exists()]


def test_every_room_has_a_page():
    site = loaded(ROOT / "bench" / "site.py")
    listed = "".join(site.files(page.read_text()) for page in ROOT.glob("docs/rooms/*.md"))
    assert not [room for room in ALLOWED if room not in ("data", "records") and f"`{room}/`" not in listed]


def test_pictures_are_current():
    """`python bench/pictures.py` draws them."""
    pictures = loaded(ROOT / "bench" / "pictures.py")
    for name, draw in pictures.DRAWN.items():
        assert (pictures.PICTURES / f"{name}.svg").read_text() == draw(), name


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 900


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name}: {link}"
        if place:
            assert place in map(anchor, HEADING.findall(target.read_text())), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_read(page):
    """Verbs and options exist, and their values are of the right kind."""
    group = typer.main.get_command(app)
    for line in commands(page):
        verb, *words = shlex.split(line, comments=True)[1:]
        assert verb in group.commands, line
        group.commands[verb].make_context(verb, words)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_help_of_a_verb_ends_with_examples(verb, capsys, monkeypatch):
    """Which are read."""
    monkeypatch.setenv("COLUMNS", "200")
    group = typer.main.get_command(app)
    assert set(EXAMPLES) == set(group.commands)
    for example in EXAMPLES[verb]:
        mxcast, name, *words = shlex.split(example)
        assert (mxcast, name) == ("mxcast", verb)
        group.commands[verb].make_context(verb, words)
    assert main([verb, "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.endswith(" ".join(["Examples:", *EXAMPLES[verb]]))


def test_there_are_commands():
    assert sum(len(list(commands(page))) for page in PAGES) > 20


def test_pages_that_are_made_have_every_verb_and_every_catalogue():
    """`make docs` makes them of the command itself."""
    site = loaded(ROOT / "bench" / "site.py")
    commands, catalogue = site.commands(), site.catalogue()
    for verb, command in typer.main.get_command(app).commands.items():
        part = commands.split(f"\n## {verb}\n")[1].split("\n## ")[0]
        assert all(f"    {example}\n" in f"{part}\n" for example in EXAMPLES[verb])
        for option in command.params:
            assert f"`{', '.join(option.opts)}" in part or option.metavar in part, option
    for section in SECTIONS:
        assert f"\n## {section.capitalize()}\n" in catalogue
    assert all(f"| {name} |" in catalogue for name in (*PROFILES, *TARGETS, "mxfp8_e4m3"))

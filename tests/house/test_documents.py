"""The documents are true: snippets run, commands give the output that is shown, links and paths exist."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.cli.examples import EXAMPLES
from mxcast.cli.group import built
from mxcast.cli.verbs.listing import SECTIONS
from mxcast.spec import PROFILES
from mxcast.synth import TARGETS

from .test_examples import loaded
from .test_structure import ALLOWED

ROOT = Path(__file__).parents[2]
GENERATED = "differences.md"
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
    """The lines of code that begin with the command, their comments and continued lines included."""
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if line.startswith(("    mxcast ", "$ mxcast ")):
            while line.endswith("\\"):
                line = line.removesuffix("\\") + next(lines)
            yield line.removeprefix("$").strip()


CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
LONG = {"verify", "test", "prove", "mutate", "synth", "explore", "compare", "check-rtl", "identify", "vectors"}
"""Verbs that take more than a moment."""


def outputs(page: Path) -> Iterator[tuple[list[str], str]]:
    """The words of each command that is shown with its output, and the output, in which `...` matches any text."""
    for session in CONSOLE.findall(page.read_text()):
        for turn in session.replace("\\\n", "").split("$ mxcast ")[1:]:
            command, _, output = turn.partition("\n")
            yield shlex.split(command, comments=True), output


SHOWN = [page for page in PAGES if any(outputs(page))]


def shows(page, folder, monkeypatch, capsys, left_out):
    """Run the commands of a page in one folder, which also has the data of the checkout."""
    (folder / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(folder)
    for words, expected in outputs(page):
        if words[0] not in left_out:
            main(words)
            printed = "".join(capsys.readouterr())
            assert doctest.OutputChecker().check_output(
                expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            ), f"mxcast {shlex.join(words)}\n{printed}"


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_commands_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    shows(page, tmp_path, monkeypatch, capsys, left_out=LONG)


@pytest.mark.slow
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_commands_that_take_long_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    shows(page, tmp_path, monkeypatch, capsys, left_out=set())


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != GENERATED], ids=lambda page: page.name)
def test_lines_fit_their_column(page):
    text = re.sub(r"^<!-- .*?^<!-- end -->", "", page.read_text(), flags=re.M | re.S)
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")]


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
    site = loaded(ROOT / "docs" / "site.py")
    listed = "".join(site.files(page.read_text()) for page in ROOT.glob("docs/rooms/*.md"))
    assert not [room for room in ALLOWED if room not in ("data", "records") and f"`{room}/`" not in listed]


def test_the_site_lists_every_how_to_page():
    site = (ROOT / "mkdocs.yml").read_text()
    assert not [page.name for page in ROOT.glob("docs/how-to/*.md") if f"how-to/{page.name}\n" not in site]


def test_pictures_are_current():
    """`python docs/pictures.py` draws them."""
    pictures = loaded(ROOT / "docs" / "pictures.py")
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
    group = built()
    for line in commands(page):
        verb, *words = shlex.split(line, comments=True)[1:]
        assert verb in group.commands, line
        group.commands[verb].make_context(verb, words)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_help_of_a_verb_ends_with_examples(verb, capsys, monkeypatch):
    """Which are read."""
    monkeypatch.setenv("COLUMNS", "200")
    group = built()
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
    site = loaded(ROOT / "docs" / "site.py")
    commands, catalogue = site.commands(), site.catalogue()
    for verb, command in built().commands.items():
        part = commands.split(f"\n## {verb}\n")[1].split("\n## ")[0]
        assert all(f"    {example}\n" in f"{part}\n" for example in EXAMPLES[verb])
        for option in command.params:
            assert f"`{', '.join(option.opts)}" in part or option.metavar in part, option
    for section in SECTIONS:
        assert f"\n## {section.capitalize()}\n" in catalogue
    assert all(f"| {name} |" in catalogue for name in (*PROFILES, *TARGETS, "mxfp8_e4m3"))

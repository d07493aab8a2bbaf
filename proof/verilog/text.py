"""The text of a design: preprocessed for every tool that it asks about, and without what some tools obey and others
ignore.

A proof is of a text without macros, include files, comments and attributes, and without ``unique`` and ``priority``,
which promise a synthesis tool something and mean nothing to the result. Which text it is may depend on the tool that
reads it: each is a `Reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from ...host.files import sha256
from ...sim.run.preprocess import OF_VERILATOR, Trace, preprocessed, traced
from .macros import disagreement
from .slang import load_slang

TOOLS = (
    "SYNTHESIS",
    *OF_VERILATOR,
    "YOSYS",
    "FORMAL",
    "SIMULATION",
    "__ICARUS__",
    "__slang__",
    "__slang_major__",
    "__slang_minor__",
    "MODEL_TECH",
    "VCS",
    "INCA",
    "XILINX_SIMULATOR",
    "SYNPLIFY",
    "ALTERA_RESERVED_QIS",
    "COCOTB_SIM",
    "VERILATOR_TIMING",
    "QUESTA",
    "XCELIUM",
    "ALDEC",
)
"""Macros that tools define, or that are defined for them by custom, and that a text may ask about."""

USUAL = ("SYNTHESIS", *OF_VERILATOR)
"""Those that are defined in the reading that is simulated first."""

MOST = 8
"""Macros of which all choices are tried: each takes a run of the preprocessor."""

TOKEN = re.compile(r'("(?:\\.|[^"\\])*"|\\[^ \t\n\r]+)|^`line \d+ "[^"\n]*" \d$|[ \t\n\r]+', re.DOTALL | re.MULTILINE)
"""A string or an escaped name; or what does not make two texts different: a line directive or space."""

COMMENT = re.compile(r'("(?:\\.|[^"\\])*"|\\[^ \t\n\r]+)|/\*.*?\*/|//[^\n]*', re.DOTALL)
"""A comment; or a string or an escaped name, in which there is none."""


COMMANDS = re.compile(
    r'(\$system\b|\$c\d*(?=\s*\()|\bimport\s*"DPI(?:-C)?")|"(?:\\.|[^"\\])*"|\\[^ \t\n\r]+', re.DOTALL
)
"""What calls a program or C, which a simulator would run; or a string or an escaped name, where it does not."""


CONTINUED = re.compile(rb"^[ \t]*`define\b(?:[^\n]*\\\r?\n)*?[^\n]*//[^\n]*\\\r?$", re.MULTILINE)
"""A macro with a comment to the end of a line that goes on."""


LEFT_OUT = re.compile(rb"[\0\x1a]|(?!\A)\xef\xbb\xbf")
"""A byte at which some tools end a file, and others leave it out; or a byte order mark that is not at the start."""
STRANGE = re.compile(r'"(?:\\.|[^"\\])*"|([^\x00-\x7f])', re.DOTALL)
"""A character beyond ASCII; or a string, in which there may be some."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A text as some tools read it. ``macros`` says which of those that it asks about they define; empty if it asks
    about none.
    """

    text: str
    macros: str = ""

    @property
    def folder(self) -> str:
        """A name for what belongs to this reading alone; empty where there is but one."""
        return f"reading-{sha256(self.macros)[:8]}" if self.macros else ""


def readings(
    files: Iterable[Path | str], include: Iterable[Path | str] = (), define: Iterable[str] = ()
) -> list[Reading]:
    """The different texts that files are, with each choice of the macros of `TOOLS`, but for those in ``define``; that
    of `USUAL` first. Raises ValueError where the files cannot be preprocessed.
    """
    paths, folders, define = [Path(file) for file in files], [Path(folder) for folder in include], list(define)
    free = [macro for macro in TOOLS if macro not in {given.partition("=")[0] for given in define}]
    usual = frozenset(USUAL) & set(free)

    @cache
    def text(defined: frozenset[str]) -> str:
        return preprocessed(paths, folders, define, {macro: macro in defined for macro in free})

    @cache
    def trace(defined: frozenset[str]) -> Trace:
        return traced(paths, folders, define, {macro: macro in defined for macro in free})

    def differ(one: frozenset[str], other: frozenset[str]) -> bool:
        return _tokens(text(one)) != _tokens(text(other))

    asked: list[str] = []
    while more := [
        macro
        for macro in free
        if macro not in asked and any(macro in trace(choice).words for choice in _choices(usual, asked))
    ]:
        asked = _few(asked + more)
    for choice in _choices(usual, asked):
        _check(text(choice), trace(choice))
        if fault := disagreement(text(choice), paths, folders, define, {macro: macro in choice for macro in free}):
            raise ValueError(fault)
    asked = [
        macro for macro in asked if any(differ(choice - {macro}, choice | {macro}) for choice in _choices(usual, asked))
    ]
    found: dict[str, list[frozenset[str]]] = {}
    for choice in _choices(usual, asked):
        found.setdefault(_tokens(text(choice)), []).append(choice)
    return [
        Reading(
            text=plain(text(choices[0])),
            macros=" or ".join(
                ", ".join(f"{macro} {'defined' if macro in choice else 'not defined'}" for macro in asked)
                for choice in choices
            ),
        )
        for choices in found.values()
    ]


def _few(macros: list[str]) -> list[str]:
    if len(macros) > MOST:
        raise ValueError(
            f"the files ask about {len(macros)} macros of tools ({', '.join(macros)}), and all choices of {MOST} "
            "can be tried at "
            "most: preprocess the files, or define some of them"
        )
    return macros


def _tokens(text: str) -> str:
    """A text with one space wherever there is space, or a line directive."""
    return TOKEN.sub(lambda found: found[1] or " ", text)


def _check(text: str, trace: Trace) -> None:
    """Raise ValueError for what tools read differently, or depends on how they are called."""
    for file in trace.files:
        content = file.read_bytes()
        if found := LEFT_OUT.search(content):
            line = 1 + content[: found.start()].count(b"\n")
            raise ValueError(
                f"{file} has the character {found[0].decode()!a} in line {line}, "
                "at which some tools end the file, and which others leave out: take it out"
            )
        if re.search(rb"\r(?!\n)", content):
            raise ValueError(f"{file} has a carriage return within a line, which some tools take for its end")
        if CONTINUED.search(content):
            raise ValueError(
                f"{file} has a macro with a // comment that ends in \\: tools differ in where the macro ends"
            )
    if unreadable := re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]", text):
        raise ValueError(
            f"the files have the character {unreadable[0]!a}, or bytes that are not UTF-8, outside of their comments"
        )
    if strange := next((found[1] for found in STRANGE.finditer(text) if found[1]), None):
        raise ValueError(
            f"the files have the character {strange!a} outside of strings and comments, where all is ASCII"
        )
    if commands := next((found[1] for found in COMMANDS.finditer(text) if found[1]), None):
        raise ValueError(
            f"the design has {' '.join(commands.split())}, which runs other programs on the machine that simulates it: "
            "take it out"
        )
    for string in _strings(text):
        if any(_simple(str(file)) in _simple(string) for file in trace.files):
            raise ValueError(
                f"the design depends on {string}, as a string or by `__FILE__: a tool that is given another path for "
                "the file has another design"
            )


def _simple(name: str) -> str:
    """A name, or a string with one, however it is escaped."""
    return re.sub(r"(\\\d+)+|[^\w./+-]", "_", name)


def _strings(text: str) -> list[str]:
    """All strings but those that are given to system tasks and functions."""
    load_slang()
    from pyslang import syntax
    from pyslang.ast import VisitAction

    found = []

    def look(node: object) -> object:
        if isinstance(node, syntax.InvocationExpressionSyntax) and isinstance(node.left, syntax.SystemNameSyntax):
            return VisitAction.Skip
        if isinstance(node, syntax.LiteralExpressionSyntax) and node.kind.name == "StringLiteralExpression":
            found.append(str(node).strip())
        return VisitAction.Advance

    syntax.SyntaxTree.fromText(text).root.visit(look)
    return found


def _choices(usual: frozenset[str], asked: list[str]) -> Iterator[frozenset[str]]:
    """All choices of some macros, the others being as usual."""
    for choice in product((True, False), repeat=len(asked)):
        yield usual ^ {macro for macro, as_usual in zip(asked, choice) if not as_usual}


def plain(text: str) -> str:
    """A preprocessed text without comments, attributes, ``unique`` and ``priority``; what is left stays on its line."""
    load_slang()
    from pyslang import syntax

    text = COMMENT.sub(lambda found: found[1] or _blank(found[0]), text)
    tree = syntax.SyntaxTree.fromText(text)
    unwanted: list[tuple[int, int]] = []

    def look(node: object) -> bool:
        if isinstance(node, syntax.AttributeInstanceSyntax):
            unwanted.append((node.sourceRange.start.offset, node.sourceRange.end.offset))
        elif isinstance(node, syntax.CaseStatementSyntax | syntax.ConditionalStatementSyntax):
            word = node.uniqueOrPriority
            if word.rawText:
                unwanted.append((word.location.offset, word.location.offset + len(word.rawText.encode())))
        return True

    tree.root.visit(look)
    data = text.encode()
    for start, end in unwanted:
        data = data[:start] + re.sub(rb"[^\n]", b" ", data[start:end]) + data[end:]
    return data.decode()


def free_name(name: str, text: str) -> str:
    """The name, or the first of name_1, name_2 and so on that does not stand in a text."""
    names = (name, *(f"{name}_{number}" for number in range(1, len(text) + 2)))
    return next(name for name in names if name not in text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)

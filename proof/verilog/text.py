"""The text of a design: preprocessed for every tool that it asks about, and without words that some tools ignore.

A proof is about a text without macros, include files, comments and attributes, and without ``unique`` and ``priority``,
which are promises to synthesis tools. The text may depend on the tool that reads it: each text is a `Reading`.
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
"""Macros that tools define, or that users define for tools, and that a text may ask about."""

USUAL = ("SYNTHESIS", *OF_VERILATOR)
"""Macros that are defined in the reading that is simulated first."""

MOST = 8
"""Macros, at most, whose choices are all tried: each choice takes a run of the preprocessor."""

TOKEN = re.compile(r'("(?:\\.|[^"\\])*"|\\[^ \t\n\r]+)|^`line \d+ "[^"\n]*" \d$|[ \t\n\r]+', re.DOTALL | re.MULTILINE)
"""A string or an escaped name; or a line directive or space, which do not make texts different."""

COMMENT = re.compile(r'("(?:\\.|[^"\\])*"|\\[^ \t\n\r]+)|/\*.*?\*/|//[^\n]*', re.DOTALL)
"""A comment; or a string or an escaped name, which contain no comment."""


COMMANDS = re.compile(
    r'(\$system\b|\$c\d*(?=\s*\()|\bimport\s*"DPI(?:-C)?")|"(?:\\.|[^"\\])*"|\\[^ \t\n\r]+', re.DOTALL
)
"""A call of a program or C, which a simulator would run; or a string or an escaped name, which contain no call."""


CONTINUED = re.compile(rb"^[ \t]*`define\b(?:[^\n]*\\\r?\n)*?[^\n]*//[^\n]*\\\r?$", re.MULTILINE)
"""A macro with a line comment that ends in a backslash."""


LEFT_OUT = re.compile(rb"[\0\x1a]|(?!\A)\xef\xbb\xbf")
"""A byte that ends the file for some tools and that others skip; or a byte order mark after the start."""
STRANGE = re.compile(r'"(?:\\.|[^"\\])*"|([^\x00-\x7f])', re.DOTALL)
"""A character beyond ASCII; or a string, which may contain such characters."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A text as some tools read it. ``macros`` lists the macros that it asks about and that these tools define; empty
    if it does not ask."""

    text: str
    macros: str = ""

    @property
    def folder(self) -> str:
        """A folder name for the files of this reading; empty if it is the only one."""
        return f"reading-{sha256(self.macros)[:8]}" if self.macros else ""


def readings(
    files: Iterable[Path | str], include: Iterable[Path | str] = (), define: Iterable[str] = ()
) -> list[Reading]:
    """The different texts of files under each choice of the macros in `TOOLS` that ``define`` leaves open, with the
    choice `USUAL` first. Raises ValueError if the files cannot be preprocessed."""
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
            f"the files must ask about at most {MOST} macros of tools, not {len(macros)} ({', '.join(macros)}): "
            "preprocess the files, or define some of them"
        )
    return macros


def _tokens(text: str) -> str:
    """A text with one space in place of any space or line directive."""
    return TOKEN.sub(lambda found: found[1] or " ", text)


def _check(text: str, trace: Trace) -> None:
    """Raise ValueError for text that tools read differently, or that depends on how they are called."""
    for file in trace.files:
        content = file.read_bytes()
        if found := LEFT_OUT.search(content):
            line = 1 + content[: found.start()].count(b"\n")
            raise ValueError(
                f"{file} has the character {found[0].decode()!a} in line {line}, "
                "which ends the file for some tools and is skipped by others: take it out"
            )
        if re.search(rb"\r(?!\n)", content):
            raise ValueError(f"{file} has a carriage return within a line, which ends the line for some tools")
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
            f"the files have the character {strange!a} outside of strings and comments, where only ASCII is allowed"
        )
    if commands := next((found[1] for found in COMMANDS.finditer(text) if found[1]), None):
        raise ValueError(
            f"the design has {' '.join(commands.split())}, which runs other programs on the machine that simulates it: "
            "take it out"
        )
    for string in _strings(text):
        if any(_simple(str(file)) in _simple(string) for file in trace.files):
            raise ValueError(
                f"the design depends on {string}, as a string or by `__FILE__: another path to the file gives another "
                "design"
            )


def _simple(name: str) -> str:
    """A name, or a string that contains one, without escapes."""
    return re.sub(r"(\\\d+)+|[^\w./+-]", "_", name)


def _strings(text: str) -> list[str]:
    """All strings outside of calls of system tasks and functions."""
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
    """All choices of some macros; the others are as usual."""
    for choice in product((True, False), repeat=len(asked)):
        yield usual ^ {macro for macro, as_usual in zip(asked, choice) if not as_usual}


def plain(text: str) -> str:
    """A preprocessed text without comments, attributes, ``unique`` and ``priority``; the rest stays on its lines."""
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
    """The first of name, name_1, name_2 and so on that does not occur in a text."""
    names = (name, *(f"{name}_{number}" for number in range(1, len(text) + 2)))
    return next(name for name in names if name not in text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)

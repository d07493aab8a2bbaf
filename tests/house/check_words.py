"""Count hard sentences in docstrings, comments, messages and pages, as `make check` calls it.

    check_words.py               count all of the checkout; exit code 1 above LIMIT
    check_words.py PATH ...      print the hard sentences of these files and folders

A hard sentence has to be read twice: its noun is hidden in a clause, its subject is missing, or it negates twice.
The limit may fall and never rise. Write the sentence again, subject first, in place of a new exception.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIMIT = 14

ROOT = Path(__file__).resolve().parents[2]
PLACES = "bench", "docs", "examples", "tests", "README.md", "CONTRIBUTING.md"
"""Places with prose, in addition to the folders of the package."""
SKIPPED = {
    "tests/house/check_words.py": "lists the patterns",
    "tests/house/test_words.py": "has a sentence for each pattern",
}
"""Files that are not read, and why."""
SHORTEST = 20
"""Characters of the longest text that counts as a name, not as a sentence."""

OPENINGS = {
    "opens with What": r"What\b(?!.*\?)",
    "opens with Of": r"Of\b",
    "opens with Those of": r"(Those|That|The same) of\b",
    "opens with Who": r"(Who|Whose)\b(?!.*\?)",
}
"""Patterns for the first words of a docstring or message."""
ANYWHERE = {
    "is none": r"\b(is|are|was|were|has|have) none\b|\b(what|which) is no\b",
    "where there is": r"\bwhere there (is|are|was|were)\b",
    "told": r"\b(is|are|be|was|were) told\b|\btold apart\b|\bspeaks? of\b",
    "stands, beside": r"\bstands?\b|\bbesides?\b",
    "anew, whosever": r"\banew\b|\bwhosever\b|\bthe one aside\b",
    "made of": r"\b(makes?|made) of (it|them|him|that|the|an?|one|what)\b",
    "that of": r"\b(that|those) of\b",
    "has not": r"\b(has|have) not\b(?! (been|yet|to)\b)",
    "what is": r"(^|[.;:,] )what (is|was|are|were|has|have|it|they)\b",
    "chain of semicolons": r";[^;]*;[^;]*\.$",
}
EXCEPTIONS = {
    r"\bstands? (in )?for\b": "the usual verb for a symbol and its meaning",
    r"^(import|from) .*;.*$": "the text of a program",
}
"""Right English that a pattern would catch, and why it is right."""

FIRST = re.compile("|".join(f"(?P<_{n}>^{pattern})" for n, pattern in enumerate(OPENINGS.values())))
REST = re.compile("|".join(f"(?P<_{n}>{pattern})" for n, pattern in enumerate(ANYWHERE.values())))
ALLOWED = re.compile("|".join(EXCEPTIONS))
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*(\[])|\n\s*\n|\n(?=\s*[-*|#>] )")


@dataclass(frozen=True)
class Hard:
    """A hard sentence, its place, and the pattern that found it."""

    line: int
    pattern: str
    sentence: str


def hard(text: str, line: int = 1) -> Iterator[Hard]:
    """The hard sentences of a text whose first line has this number; each counts once."""
    start = 0
    for end in [*(match.span() for match in END.finditer(text)), (len(text), len(text))]:
        sentence = " ".join(text[start : end[0]].split())
        known = ALLOWED.sub("", sentence)
        number = line + text.count("\n", 0, start)
        if start == 0 and (found := FIRST.search(known)):
            yield Hard(number, _name(OPENINGS, found), sentence)
        elif found := REST.search(known):
            yield Hard(number, _name(ANYWHERE, found), sentence)
        start = end[1]


def _name(patterns: dict[str, str], found: re.Match[str]) -> str:
    assert found.lastgroup is not None
    return [*patterns][int(found.lastgroup[1:])]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of the strings and comments of a Python file, or of the paragraphs of a page."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        prose = re.sub(r"```.*?```|^    [^\n]*$", lambda code: "\n" * code[0].count("\n"), content, flags=re.S | re.M)
        yield 0, "\n" + prose  # no sentence of a page is a docstring's first
        return
    for node in ast.walk(ast.parse(content, str(path))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.strip()
            if " " in text and len(text) > SHORTEST:
                yield node.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def files(places: list[Path]) -> list[Path]:
    """Python files and pages in files and folders, without those that are skipped."""
    found = [path for place in places for path in ([place] if place.is_file() else place.rglob("*"))]
    return sorted(
        path
        for path in found
        if path.suffix in (".py", ".md") and path.resolve().relative_to(ROOT).as_posix() not in SKIPPED
    )


def main(arguments: list[str]) -> int:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    places = [ROOT / name for name in (*settings["tool"]["setuptools"]["package-dir"].values(), *PLACES)]
    counts: Counter[str] = Counter()
    for path in files([Path(argument) for argument in arguments] or places):
        for line, text in texts(path):
            for found in hard(text, line):
                counts[found.pattern] += 1
                if arguments:
                    print(f"{path}:{found.line}: {found.pattern}: {found.sentence}")
    total = counts.total()
    if arguments:
        print(f"{total} hard sentences")
        return 0
    print(f"{total} hard sentences, at most {LIMIT}: " + ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    if total > LIMIT:
        print("python tests/house/check_words.py FILE ... lists the sentences of a file; rewrite them, subject first")
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

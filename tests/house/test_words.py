"""The check of sentences finds each of its patterns, and leaves plain English and code alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from .check_words import ANYWHERE, OPENINGS, hard, texts

HARD = {
    "opens with What": "What a number that is zero is taken for.",
    "opens with Of": "Of one layer.",
    "opens with Those of": "The same of a decoder.",
    "opens with Who": "Who has read the file.",
    "is none": "It raises an error for what is no format.",
    "where there is": "The scale byte, where there is one.",
    "told": "Each lane is told its flag.",
    "stands, beside": "The scale is beside its codes.",
    "anew, whosever": "The command begins anew.",
    "made of": "A word is made of the codes.",
    "that of": "The width of p, and that\nof the scale.",
    "has not": "The top has not a port p.",
    "what is": "The report says, what is on record.",
    "chain of semicolons": "It reads; it writes; it ends.",
}


@pytest.mark.parametrize("pattern", [*OPENINGS, *ANYWHERE])
def test_each_pattern_is_found(pattern: str) -> None:
    assert [(one.line, one.pattern) for one in hard(f"Good.\n\n{HARD[pattern]}", 3)] == (
        [] if pattern in OPENINGS else [(5, pattern)]
    )
    assert [one.pattern for one in hard(HARD[pattern])] == [pattern]


@pytest.mark.parametrize(
    "text",
    [
        "Bit pattern substituted for zero.",
        "What is a scale? A power of two.",
        "`x` stands for any letter.",
        "import sys; from mxcast.cli import main; sys.exit(main()).",
        "The hash has not been read; the file has.",
    ],
)
def test_plain_english_is_not(text: str) -> None:
    assert not [*hard(text)]


def test_strings_comments_and_pages_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('def f():\n    """Of one layer, for each head."""\n    # beside the scale\n')
    page = tmp_path / "a.md"
    page.write_text("# Title\n\nA page.\n\n    what is, has none\n\n- beside\n- the scale is beside it\n")
    assert [line for line, _ in texts(tmp_path / "a.py")] == [2, 3]
    assert [one.line for line, text in texts(page) for one in hard(text, line)] == [7, 8]

"""Tables of the documents, each between two comments: `<!-- NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence


def filled(page: str, texts: Mapping[str, str]) -> str:
    """A page with these texts in its places, by name; a text is left out if the page lacks its name."""
    return re.sub(
        r"(<!-- (?P<name>[^>]*?) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}{texts[match['name']]}{match[3]}" if match["name"] in texts else match[0],
        page,
        flags=re.S,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
    """A table of Markdown whose first columns are texts and whose others are numbers; None is a dash."""
    lines = [head, ["---"] * texts + ["---:"] * (len(head) - texts), *rows]
    return "".join("| " + " | ".join("-" if cell is None else str(cell) for cell in line) + " |\n" for line in lines)

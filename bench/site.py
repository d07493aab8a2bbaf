"""For `make docs`: links to what is in the repository and not in its docs/ become names of files."""

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Called by MkDocs with the text of a page.

    >>> on_page_markdown("see [changes](../CHANGELOG.md)", page=None)
    'see changes (`CHANGELOG.md`)'
    """
    depth = 0 if page is None else page.file.src_uri.count("/")
    return OUTSIDE.sub(
        lambda found: found[0] if found[0].count("../") <= depth else f"{found[1]} (`{found[2]}`)", markdown
    )

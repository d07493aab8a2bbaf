"""mypy over the package, as `make check` calls it.

Folder `x/` of the checkout is the package `mxcast.x`, which an editable install hides from type checkers: so they get a
tree of links in `build/types`, where the folders have the names of the packages.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "build" / "types"
TO_FOLLOW = {"mxcast", "mxcast.hdl", "mxcast.proof", "mxcast.sim", "mxcast.spec"}
"""Packages with errors of types, and `mxcast` itself, which calls them; those of all others are errors of the check."""


def main() -> int:
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    package = TREE / "mxcast"
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        if link.is_symlink():
            link.unlink()
    for name, folder in folders.items():
        for path in (ROOT / folder).glob("*.py*") if name == "mxcast" else [ROOT / folder]:
            link = package / (path.name if name == "mxcast" else name.removeprefix("mxcast."))
            link.symlink_to(path)
    asked = [word for name in folders if name not in TO_FOLLOW for word in ("-p", name)]
    options = ["--follow-imports", "silent", "--cache-dir", TREE / "cache", *asked]
    return subprocess.run([sys.executable, "-m", "mypy", *options], cwd=TREE).returncode


if __name__ == "__main__":
    sys.exit(main())

"""mypy over the package, as `make check` calls it.

Folder `x/` of the checkout is the package `mxcast.x`, which an editable install hides from type checkers: so they get a
tree of links in `build/types`, where the folders have the names of the packages.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "types"
SETTINGS = ROOT / "pyproject.toml"


def main() -> int:
    folders = tomllib.loads(SETTINGS.read_text())["tool"]["setuptools"]["package-dir"]
    package = TREE / "mxcast"
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        if link.is_symlink():
            link.unlink()
    for name, folder in folders.items():
        for path in (ROOT / folder).glob("*.py*") if name == "mxcast" else [ROOT / folder]:
            link = package / (path.name if name == "mxcast" else name.removeprefix("mxcast."))
            link.symlink_to(path)
    options = ["--config-file", SETTINGS, "--cache-dir", TREE / "cache", "-p", "mxcast"]
    return subprocess.run([sys.executable, "-m", "mypy", *options], cwd=TREE).returncode


if __name__ == "__main__":
    sys.exit(main())

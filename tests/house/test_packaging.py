"""The wheel and the sdist contain everything, and work without a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from mxcast.host.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = [
    package.removeprefix("mxcast.") for package in PROJECT["tool"]["setuptools"]["packages"] if package != "mxcast"
]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def _isolation() -> list[str]:
    """Build with the environment's setuptools where it is new enough; otherwise `build` fetches one."""
    try:
        return ["--no-isolation"] if int(version("setuptools").split(".")[0]) >= 77 else []
    except PackageNotFoundError:
        return []


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """Wheel (made from the sdist, as package indexes do) and sdist of a copy of the checkout."""
    try:
        version("build")
    except PackageNotFoundError:
        pytest.fail("the build package is missing: pip install -e '.[test]'")
    folder = tmp_path_factory.mktemp("packaging")
    shutil.copytree(
        ROOT, folder / "tree", ignore=shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    )  # git's own list, for a checkout and for an unpacked sdist
    _run(sys.executable, "-m", "build", *_isolation(), "--outdir", folder / "dist", folder / "tree", cwd=folder)
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """A fresh virtual environment with the wheel and the dependencies of this one."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=False)
    (site,) = home.glob("lib/python*/site-packages")
    # a plain path adds the folder, and not the .pth files in it, so an editable install does not come along
    (site / "dependencies.pth").write_text(
        "\n".join(p for p in sys.path if p.endswith(("site-packages", "dist-packages")))
    )
    _run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        home / "bin" / "python",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        built[0],
        cwd=home,
    )
    return home


def test_wheel_holds_the_tree(built) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        licences = [wheel.read(name) for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    sources = {f"mxcast/{path.relative_to(ROOT)}" for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    sources |= {f"mxcast/{path.relative_to(ROOT / 'api')}" for path in (ROOT / "api").rglob("*.py")}
    assert len(sources) > 30
    data = {
        f"mxcast/{path.relative_to(ROOT)}"
        for room, patterns in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in (ROOT / room.removeprefix("mxcast.").replace(".", "/")).glob(pattern)
    } | {"mxcast/py.typed", "mxcast/__init__.pyi"}
    assert "mxcast/sim/run/verilator/loop/driver.cpp" in data  # compiled on the user's machine
    extensions = {one["name"].replace(".", "/") for one in PROJECT["tool"]["setuptools"].get("ext-modules", ())}
    compiled = {name for name in names if name.endswith(".so") and name.partition(".")[0] in extensions}
    assert names - compiled == sources | data  # and no test, no example, no stray file
    assert licences == [(ROOT / "LICENSE").read_bytes()]


def test_wheel_has_the_metadata(built) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))).decode()
        scripts = wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/entry_points.txt"))).decode()
    header, _, description = metadata.partition("\n\n")
    assert f"Version: {VERSION}" in header.splitlines()
    assert "License-Expression: Apache-2.0" in header.splitlines()
    assert description.strip() == (ROOT / "README.md").read_text().strip()
    assert "mxcast = mxcast.cli:main" in scripts.splitlines()


@pytest.mark.parametrize("folder", ["tests", "examples", "docs", "bench", "records"])
def test_sdist_holds_the_folder(built, folder: str) -> None:
    """Whoever packages the sdist runs the tests and reads the pages from it."""
    here = {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert here <= names, f"not in the sdist: {sorted(here - names)[:5]}; MANIFEST.in needs graft {folder}"


def test_sdist_holds_the_root(built) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    root = {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= root
    assert root <= names, f"not in the sdist: {sorted(root - names)}; MANIFEST.in needs include lines"


def test_the_installed_wheel_quantizes(installed, tmp_path) -> None:
    printed = _run(
        installed / "bin" / "python",
        "-c",
        "\n".join(
            (
                "import numpy as np, mxcast, mxcast.models, mxcast.hdl",
                "q = mxcast.quantize(np.ones(32, np.float32), 'e4m3', profile='ocp')",
                "print(mxcast.models.__file__)",
                "print(mxcast.hdl.__file__)",
                "print(*q.scales, *q.codes)",
            )
        ),
        cwd=tmp_path,
    ).splitlines()
    assert all(Path(line).is_relative_to(installed) for line in printed[:2])  # not the checkout
    assert printed[2].split() == ["119"] + ["120"] * 32  # byte 127 - 8, and 1.0 * 2**8 = 256 = 0x78


SCRIPT = """
import numpy as np

import mxcast
import mxcast.sim
import mxcast.spec

q = mxcast.quantize(np.ones(32, np.float32), "e4m3", profile="nvidia", scale_rule="ceil")
y: np.ndarray = mxcast.dequantize(q)
mxcast.emit("e4m3", op="decode", destination="bf16")
mxcast.synth("ue8m0", op="cast", negative="nan")
print(mxcast.prove("e2m1", rounding="rne").passed, mxcast.__version__, mxcast.formats["mxint8"].block_size)
"""


MISTAKES = {
    'mxcast.quantize(y, "e4m3", roundng="rne")': 'Unexpected keyword argument "roundng" for "quantize"',
    'mxcast.verify("e4m3", blocks="many")': 'Argument "blocks" to "verify" has incompatible type "str"',
    'mxcast.emit("e4m3", op="cast", laness=2)': 'Unexpected keyword argument "laness" for "emit"',
    'mxcast.explore("rounding", roundng="rne")': 'Unexpected keyword argument "roundng" for "explore"',
    "mxcast.spec.numerics(random_bits='3', block='e2m1')": 'Argument "random_bits" to "numerics" has incompatible',
    "mxcast.sim.verify('e2m1', amaxkey='reduced')": 'Unexpected keyword argument "amaxkey" for "verify"',
}


@pytest.mark.slow
def test_a_users_script_is_type_checked(installed, tmp_path) -> None:
    """It has no mistake but those that are written below it, and each of these is found in its line."""
    (tmp_path / "script.py").write_text(SCRIPT + "\n".join(MISTAKES))
    settings = ["--python-executable", installed / "bin" / "python", "--cache-dir", installed / "mypy"]
    command = [sys.executable, "-m", "mypy", "--strict", *settings, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    for line, sentence in enumerate(MISTAKES.values(), SCRIPT.count("\n") + 1):
        here = [row for row in found if row.startswith(f"script.py:{line}: error: ")]
        assert any(sentence in row for row in here), done.stdout + done.stderr
        found = [row for row in found if row not in here]
    assert not found, done.stdout


def test_the_installed_command_prints_its_version(installed, tmp_path) -> None:
    assert _run(installed / "bin" / "mxcast", "--version", cwd=tmp_path) == f"mxcast {VERSION}\n"


def test_the_installed_command_emits(installed, tmp_path) -> None:
    _run(installed / "bin" / "mxcast", "emit", "e2m1", "--name", "top", "-o", tmp_path, cwd=tmp_path)
    (rtl,) = tmp_path.glob("top/rtl/top.v")
    assert "// Made by mxcast 0.1.0," in rtl.read_text()  # the version of the text, which a release keeps

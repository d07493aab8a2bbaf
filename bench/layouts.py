"""Compare files in the layouts of libraries with the libraries that they belong to, both ways, keep the outcomes as
records/layouts.json, and write the tables of docs/how-to/layouts.md.

    python bench/layouts.py [WORD ...]
    python bench/layouts.py [WORD ...] --model MODEL.safetensors
    python bench/layouts.py --render

With words only the layouts with one of them in their names are compared again. Layouts of libraries that are not
installed keep their rows. With ``--model`` a whole file is converted to every layout, onward and back, by the command.
With ``--render`` only the tables are written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from parts.libraries.layout_libraries import LIBRARIES, WITHOUT, Library
from parts.pages import filled, table
from safetensors.numpy import load_file, save_file

from mxcast.host.files import sha256, write_whole
from mxcast.models import pack, quantize_nvfp4
from mxcast.models import quantize as quantized
from mxcast.spec import Convention
from mxcast.spec.layouts.catalogue import LAYOUTS, Layout
from mxcast.spec.profiles.layouts import library_profile
from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.containers.native_types import NATIVE, dialect_of
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.repacking import convert_file
from mxcast.tensors.layouts.library_metadata import metadata_after
from mxcast.tensors.layouts.own_metadata import widest_first

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "layouts.json"
PAGE = ROOT / "docs" / "how-to" / "layouts.md"

SEED = 21
WEIGHTS = ["--include", "*.weight", "--exclude", "*LayerNorm*"]
"""Tensors of the model to quantize: its matrices, which all layouts support."""


def numbers(library: Library) -> np.ndarray:
    """Normal numbers, in rows of different magnitudes."""
    rng, shape = np.random.default_rng(SEED), library.shape
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, (*shape[:-1], 1)))).astype(np.float32)
    return x / np.abs(x).max() * np.float32(10.5) if library.is_exact else x  # 10.5 / 2688 is 2**-8


def profile_of(layout: Layout) -> str | None:
    """A profile of NVFP4, of the library or else of its convention; None for other formats."""
    if layout.block != "nvfp4":
        return None
    by_convention = {Convention.AMAX: "nvfp4_te", Convention.MULTIPLIER: "nvfp4_ao"}
    return library_profile(layout.dialect, layout.block_format) or by_convention[layout.convention]


def suffix_of(dialect: str) -> str:
    """Suffix of the files of a dialect's library."""
    return next((suffix for suffix, (own, _) in NATIVE.items() if own == dialect), ".safetensors")


def partner_of(layout: Layout) -> Layout:
    """Another layout of the same blocks and the same convention of the tensor scale; or the layout itself."""
    others = (one for layouts in LAYOUTS.values() for one in layouts.values() if one.dialect != layout.dialect)
    fields = layout.block, layout.convention, layout.axis
    return next((one for one in others if (one.block, one.convention, one.axis) == fields), layout)


def own(path: Path, layout: Layout, tensor: str) -> ConvertOptions:
    """The options to read a file, which a native container does not need."""
    if dialect_of(path):
        return ConvertOptions()
    include = (tensor,) if layout.scales is None else ()
    return ConvertOptions(stored_as=layout.dialect, format=layout.block, include=include)


def numbers_in(path: Path, layout: Layout, tensor: str) -> np.ndarray:
    """Those that are read here."""
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back.safetensors"
        convert_file(path, back, replace(own(path, layout, tensor), profile=profile_of(layout)))
        return load_file(back)[tensor]


def there_and_back(path: Path, layout: Layout, tensor: str) -> Path:
    """Convert a file to the layout of its partner and back, next to it."""
    partner = partner_of(layout)
    onward = path.with_name(f"onward{suffix_of(partner.dialect)}")
    back = path.with_name(f"back{path.suffix}")
    convert_file(path, onward, replace(own(path, layout, tensor), layout=partner.dialect))
    convert_file(onward, back, replace(own(onward, partner, tensor), layout=layout.dialect))
    return back


def differing_arrays(first: Path, second: Path) -> list[str]:
    """The arrays that two files do not have with the same dtype, shape and bytes."""
    arrays = [
        {name: (one.dtype, one.shape, one.data.tobytes()) for name, one in read(path).tensors.items()}
        for path in (first, second)
    ]
    return sorted(name for name in {*arrays[0], *arrays[1]} if arrays[0].get(name) != arrays[1].get(name))


def outcome(layout: Layout, library: Library) -> dict[str, object]:
    """Comparisons of a file that is written here, and of one that the library writes."""
    tensor, x = library.tensor, numbers(library)
    with tempfile.TemporaryDirectory() as name:
        folder, suffix = Path(name), suffix_of(layout.dialect)
        ours, theirs = folder / f"ours{suffix}", folder / f"theirs{suffix}"
        save_file({tensor: x}, folder / "x.safetensors")
        quantize_file(folder / "x.safetensors", ours, layout.block, profile_of(layout), layout=layout.dialect)
        there = library.read(ours)
        found: dict[str, object] = {
            "library": library.distribution,
            "version": version(library.distribution),
            "reads": library.reads,
            "read": there.size,
            "read_differing": int((there != numbers_in(ours, layout, tensor)).sum()),
            "onward": partner_of(layout).name,
            "same_bytes": there_and_back(ours, layout, tensor).read_bytes() == ours.read_bytes(),
            "writes": library.writes,
        }
        if library.write is not None:
            library.write(x, theirs)
            there = library.read(theirs)
            found |= {
                "written": there.size,
                "written_differing": int((there != numbers_in(theirs, layout, tensor)).sum()),
                "arrays_differing": differing_arrays(theirs, there_and_back(theirs, layout, tensor)),
            }
    return found


def is_equal(row: dict) -> bool:
    """Is everything that was compared the same?"""
    return (
        row["same_bytes"]
        and not row["read_differing"]
        and not row.get("written_differing")
        and not row.get("arrays_differing")
    )


def run(*arguments: str | Path) -> str:
    """Error message of the command, or an empty text."""
    done = subprocess.run([sys.executable, "-m", "mxcast.cli", *map(str, arguments)], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def of_model(path: Path, words: list[str], rows: dict[str, dict[str, object]]) -> dict[str, object]:
    """A model in layouts, by the command: the numbers are those without one, and onward and back it is the same file.
    Rows of layouts without one of the words stay.
    """
    rows = dict(rows)
    plain: dict[tuple[str, str | None], dict[str, np.ndarray]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layout in (one for layouts in LAYOUTS.values() for one in layouts.values()):
            if words and not any(word in layout.name for word in words):
                continue
            begun, profile = time.perf_counter(), profile_of(layout)
            rules = ["--format", layout.block, "--profile", profile or "ocp"]
            key = layout.block, profile
            if key not in plain and layout.axis == -1:
                _must(run("quantize", path, folder / "q.safetensors", *rules, *WEIGHTS))
                _must(run("dequantize", folder / "q.safetensors", folder / "numbers.safetensors"))
                plain[key] = load_file(folder / "numbers.safetensors")
            row = _of_layout(path, layout, folder, rules, plain.get(key))
            rows[layout.name] = row | {"seconds": round(time.perf_counter() - begun, 1)}
            print(layout.name, rows[layout.name], flush=True)
    return {"name": "all-MiniLM-L6-v2", "bytes": path.stat().st_size, "layouts": rows}


def _must(fault: str) -> None:
    if fault:
        sys.exit(fault)


def _of_layout(
    model: Path, layout: Layout, folder: Path, rules: list[str], plain: dict[str, np.ndarray] | None
) -> dict[str, object]:
    partner = partner_of(layout)
    there, again = (folder / f"{one}{suffix_of(layout.dialect)}" for one in ("there", "again"))
    onward, back = folder / f"onward{suffix_of(partner.dialect)}", folder / "back.safetensors"
    if layout.axis == -1:
        _must(run("quantize", model, there, *rules, *WEIGHTS, "--layout", layout.dialect))
    else:  # no command makes blocks along another axis
        plain = _columns(model, layout, there)
    _must(run("convert", there, onward, *_own(there, layout), "--layout", partner.dialect))
    _must(run("convert", onward, again, *_own(onward, partner), "--layout", layout.dialect))
    read_as = ["--profile", rules[-1]] if layout.block == "nvfp4" and "--profile" in rules else []
    _must(run("dequantize", there, back, *_own(there, layout), *read_as))
    found = load_file(back)
    assert plain is not None
    return {
        "onward": partner.name,
        "bytes": there.stat().st_size,
        "same_bytes": sha256(there.read_bytes()) == sha256(again.read_bytes()),
        "numbers": sum(one.size for one in plain.values()),
        "differing": sum(int((found[name] != one).sum()) for name, one in plain.items()),
    }


def _columns(model: Path, layout: Layout, target: Path) -> dict[str, np.ndarray]:
    """Write the matrices of a model whose columns are of whole blocks, and give their numbers."""
    from mxcast.models import dequantize

    arrays, dtypes, plain = {}, {}, {}
    for name, x in load_file(model).items():
        if not name.endswith(".weight") or x.ndim < 2 or x.shape[0] % 32:
            continue
        profile = profile_of(layout)
        q = quantize_nvfp4(x, "nvfp4", profile, axis=-2) if profile else quantized(x, layout.block, axis=-2)
        arrays |= pack(q, layout, name=name)
        dtypes |= {part.of(name): part.dtype for part in layout.parts}
        plain[name] = dequantize(q, profile=profile) if profile else dequantize(q)
    header = {name: (dtypes[name], one.shape, one.nbytes) for name, one in arrays.items()}
    shapes = {name: one.shape for name, one in plain.items()}
    said = metadata_after({}, {}, dict.fromkeys(plain, layout), shapes, (), False)
    with written(target, widest_first(header), said) as write:
        for name, one in arrays.items():
            write(name, 0, one)
    return plain


def _own(path: Path, layout: Layout) -> list[str]:
    """The options that say what a file does not say itself."""
    if dialect_of(path):
        return []
    patterns = WEIGHTS if layout.scales is None else []
    return ["--from", layout.dialect, "--format", layout.block, *patterns]


def rendered(page: str, kept: dict) -> str:
    head = ["layout", "library", "it reads what we write, by", "we read what it writes, by"]
    exact = [f"`{':'.join(name)}`" for name, library in LIBRARIES.items() if library.is_exact and name[1] == "nvfp4"]
    said = (
        f"\n{', '.join(exact)} were compared with a power of two as tensor scale. Other tensor scales give numbers "
        "that differ from ours in the last place: ggml multiplies with the scale last, compressed-tensors returns "
        "bfloat16, and MLX divides the scale by 2688 first.\n"
    )
    texts = {"layouts": table(head, _lines(kept["layouts"]), texts=4) + said}
    if "model" in kept:
        texts["model"] = _of_trips(kept["model"])
    return filled(page, texts)


def _lines(rows: dict[str, dict]) -> Iterator[list[str]]:
    for dialect, layouts in LAYOUTS.items():
        for layout in layouts.values():
            row = rows.get(layout.name)
            if row is None:
                yield [f"`{layout.name}`", "-", f"not compared: {WITHOUT[dialect]}", "-"]
                continue
            read_by = _said(row["read_differing"], row["read"]) + f": {row['reads']}"
            read_by += "" if row["same_bytes"] else "; other bytes there and back"
            written_by = row["writes"]
            if "written" in row:
                written_by = _said(row["written_differing"], row["written"]) + f": {row['writes']}"
                if row["arrays_differing"]:
                    written_by += f"; other bytes there and back of {', '.join(row['arrays_differing'])}"
            yield [f"`{layout.name}`", f"{row['library']} {row['version']}", read_by, written_by]


def _said(differing: int, count: int) -> str:
    return f"{differing:,} of {count:,} numbers differ" if differing else "equal"


def _of_trips(model: dict) -> str:
    rows = model["layouts"]
    alike = sum(row["same_bytes"] and not row["differing"] for row in rows.values())
    alone = [f"`{name}`" for name, row in rows.items() if row["onward"] == name]
    return (
        f"{model['name']}, {model['bytes'] / 1e6:.0f} MB of float32, was quantized into each of the {len(rows)} "
        "layouts, converted to another layout with the same blocks and convention, and back (`python bench/layouts.py "
        "--model`). "
        f"Files of `te_columnwise` were made with `pack`. In {alike} of {len(rows)} the last file equals the first, "
        "byte for byte, and its numbers are those that `quantize` and `dequantize` return without a layout. "
        f"{', '.join(alone)} have no such other layout, and were converted to themselves.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {"seed": SEED, "layouts": {}}
    failed = False
    if given.model:
        kept["model"] = of_model(given.model, given.words, kept.get("model", {}).get("layouts", {}))
    elif not given.render:
        for (dialect, block), library in LIBRARIES.items():
            name = f"{dialect}:{block}"
            if given.words and not any(word in name for word in given.words):
                continue
            try:
                version(library.distribution)
            except PackageNotFoundError:
                print(f"{name}: {library.distribution} is not installed")
                continue
            try:
                kept["layouts"][name] = outcome(LAYOUTS[dialect][block], library)
            except Exception:  # a library that has changed: its row stays, and the reason is printed
                print(f"{name}: failed\n{traceback.format_exc(limit=-3)}")
                failed = True
                continue
            failed |= not is_equal(kept["layouts"][name])
            print(name, kept["layouts"][name], flush=True)
    write_whole(KEPT, json.dumps(kept, indent=1) + "\n")
    write_whole(PAGE, rendered(PAGE.read_text(), kept))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""The folder of a design. Its files are written whole, and replace another design only on request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...host.files import claimed, regular, write_whole
from ..config.hardware import HardwareConfig
from .around import CONTROLLED, NOTHING, Around, registers_file
from .designs import REPLACE_IT, design_in, drop_evidence, refuse_another
from .emit import default_name, describe, modules, verilog
from .ipxact import component
from .package import core, file_list, templates
from .vendors import project


def emit(
    config: HardwareConfig,
    out: Path | str = "build",
    name: str | None = None,
    *,
    vendor: str | None = None,
    part: str | None = None,
    period_ns: float | None = None,
    bench: str | None = None,
    ipxact: bool = False,
    around: Around = NOTHING,
    added: Mapping[str, tuple[str, str]] = {},
    force: bool = False,
) -> dict[str, Path]:
    """Write ``<out>/<name>/rtl/`` and its manifest. Returns the files by kind.

    The kinds are the keys of `modules`, ``filelist`` and ``icarus`` (`file_list`), ``core`` (FuseSoC), ``template`` and
    ``template_sv`` (an instantiation), ``json`` and ``manifest``. With the text of a ``bench``, the module
    ``<name>_tb``, there is also ``bench``. With a ``vendor`` of `VENDORS`, ``<vendor>_script`` and
    ``<vendor>_constraints`` are a project for its tool, a ``part`` and a clock period. With ``ipxact`` there is also
    ``ipxact``, the description ``component.xml`` of IEEE 1685-2014. The modules ``around`` the converter are the kinds
    ``controlled``, ``bus`` and ``block_design``; registers have a SystemRDL file too, ``rdl``. Core, description and
    instantiations are of the outermost module without attributes. ``added`` are further files: a path in
    ``<out>/<name>/`` and a text for each kind.

    Raises ValueError if the folder holds a design of another configuration, or if a file has been edited. ``force``
    replaces both, and removes the evidence of a replaced design.
    """
    if vendor is None and not (part is None and period_ns is None):
        raise ValueError("part and period belong to the project of a vendor: give the vendor too")
    about = describe(config, name)
    name = about["name"]
    folder = Path(out) / name
    written = modules(config, name) | around.modules(config, name)
    top = around.top(name)
    files, test = [file for file, _ in written.values()], f"{name}_tb.v"
    in_verilog, in_systemverilog = templates(top, around.pins(config)).values()
    with claimed(folder):  # the projects of several vendors share the manifest
        if not force:
            refuse_another(out, name, config, REPLACE_IT)
        held = design_in(folder)
        known = held.sums if held else {}
        still_there = {file for file, digest in known.items() if _digest(folder / file) == digest}
        kept = still_there if held and held.is_of(config, name) else set()
        has_bench = bench is not None or f"rtl/{test}" in kept
        contents = {
            **written,
            "filelist": (f"{name}.f", file_list(files)),
            "icarus": (f"{name}_icarus.f", file_list(files, folder / "rtl")),
            "core": (f"{name}.core", core(about, config.title, files, test if has_bench else None, top)),
            "template": (f"{name}_inst.v", in_verilog),
            "template_sv": (f"{name}_inst.sv", in_systemverilog),
            "json": (f"{name}.json", json.dumps(about, indent=2) + "\n"),
        }
        if around.registers:
            contents["rdl"] = (f"{name}{CONTROLLED}.rdl", registers_file(config, name))
        if bench is not None:
            contents["bench"] = (test, bench)
        contents = {kind: (f"rtl/{file}", text) for kind, (file, text) in contents.items()}
        if vendor is not None:
            contents |= project(vendor, about, part=part, **({} if period_ns is None else {"period_ns": period_ns}))
        if ipxact:
            tested = f"rtl/{test}" if has_bench else None
            contents["ipxact"] = (
                "component.xml",
                component(about, config, [f"rtl/{file}" for file in files], tested, around),
            )
        contents |= added
        if not force and (
            edited := [
                folder / file for file, text in contents.values() if _is_edited(folder / file, text, known.get(file))
            ]
        ):
            raise ValueError(
                f"{edited[0]} has been edited since it was emitted: move it, or emit it again with --force"
            )
        sums = {file: _sha256sum(text) for file, text in contents.values()}
        if (known.get(f"rtl/{name}.v") or _digest(folder / "rtl" / f"{name}.v")) != sums[f"rtl/{name}.v"]:
            drop_evidence(folder, name)
        for file in still_there - kept - sums.keys():
            (folder / file).unlink()  # of the replaced design
        paths = {kind: write_whole(folder / file, text) for kind, (file, text) in contents.items()}
        manifest = {**about, "sha256": {file: known[file] for file in known if file in kept} | sums}
        paths["manifest"] = write_whole(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    return paths


def emitted(
    config: HardwareConfig, out: Path | str = "build", name: str | None = None, around: Around = NOTHING
) -> Path:
    """The Verilog file of a configuration below ``out``, for a command that checks it, with the modules ``around`` it
    in the same folder. An emitted file is not changed (`intact`). If the folder holds no design, files are emitted.

    Raises ValueError as `intact` does, and if the modules around an emitted file are missing or edited.
    """
    name = default_name(config) if name is None else describe(config, name)["name"]
    around.pins(config)  # refused before any output
    path = intact(config, out, name)
    if path is None:
        return emit(config, out, name, around=around)["verilog"]
    for file, text in around.modules(config, name).values():
        found = _digest(path.with_name(file))
        if found != _sha256sum(text):
            state = "is missing" if found is None else "is not as it is emitted"
            raise ValueError(f"{path.with_name(file)} {state}: emit the design with it, or give another name or folder")
    return path


def intact(config: HardwareConfig, out: Path | str, name: str) -> Path | None:
    """The Verilog file of the design ``name`` below ``out``, or None if it is missing.

    Raises ValueError if the folder holds a design of another configuration, if the file has been edited, or if another
    version of the generator made it.
    """
    folder = Path(out) / name
    refuse_another(out, name, config)
    held, path = design_in(folder), folder / "rtl" / f"{name}.v"
    found = _digest(path)
    if found is None:
        return None
    expected = verilog(replace(config, profile=held.config.profile) if held and held.config else config, name)
    if found == _sha256sum(expected):
        return path
    if held and held.sums.get(f"rtl/{name}.v") == found:
        raise ValueError(f"{path} was made by another version of the generator: emit it again, or prove it with --rtl")
    raise ValueError(
        f"{path} has been edited since it was emitted: prove it with --rtl, move it, or emit it again with emit --force"
    )


def _is_edited(path: Path, text: str, emitted: str | None) -> bool:
    """Does the file exist, with neither the emitted content nor the content to write?"""
    return _digest(path) not in (None, emitted, _sha256sum(text))


def _digest(path: Path) -> str | None:
    """The SHA-256 of a file, or None if it is missing. Raises OSError and ValueError if it cannot be read."""
    try:
        return hashlib.sha256(regular(path).read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _sha256sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

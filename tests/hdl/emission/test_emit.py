"""Emission: the files, their references to each other, equal bytes everywhere, and no partial results."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mxcast.hdl import ConverterConfig, converter_config, default_name, describe, emit, nvfp4_config, verilog
from mxcast.host.files import write_whole
from mxcast.sim.run.tools import verilator_root

CONFIG = converter_config("e4m3", "nvidia", specials="inf_scale")

# IEEE 1364-2005, annex B
KEYWORDS_2005 = """always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign
default defparam design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive
endspecify endtable endtask event for force forever fork function generate genvar highz0 highz1 if ifnone incdir include
initial inout input instance integer join large liblist library localparam macromodule medium module nand negedge nmos
nor noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1 pulldown pullup
pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran rtranif0 rtranif1
scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table task time tran tranif0
tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand weak0 weak1 while wire wor xnor
xor""".split()


@pytest.mark.sampled(4)
def test_files(emitted):
    folder = emitted.files["manifest"].parent
    assert folder.name == emitted.top
    assert {kind: str(path.relative_to(folder)) for kind, path in emitted.files.items()} == {
        "verilog": f"rtl/{emitted.top}.v",
        "filelist": f"rtl/{emitted.top}.f",
        "icarus": f"rtl/{emitted.top}_icarus.f",
        "core": f"rtl/{emitted.top}.core",
        "template": f"rtl/{emitted.top}_inst.v",
        "template_sv": f"rtl/{emitted.top}_inst.sv",
        "json": f"rtl/{emitted.top}.json",
        "manifest": "manifest.json",
        **({"random_source": f"rtl/{emitted.top}_random_source.v"} if emitted.config.numerics.random_bits else {}),
    }
    assert {path for path in folder.rglob("*") if path.is_file()} == set(emitted.files.values())


@pytest.mark.sampled(4)
def test_manifest_has_the_sums(emitted):
    manifest = json.loads(emitted.files["manifest"].read_text())
    folder = emitted.files["manifest"].parent
    assert manifest.pop("sha256") == {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for kind, path in emitted.files.items()
        if kind != "manifest"
    }
    assert manifest == json.loads(emitted.files["json"].read_text())


@pytest.mark.sampled(2)
def test_json_agrees_with_the_verilog(emitted):
    about = json.loads(emitted.files["json"].read_text())
    assert about == describe(emitted.config)
    assert about["name"] == emitted.top == default_name(emitted.config)
    assert (about["config_id"], about["profile"]) == (emitted.config.config_id, emitted.config.profile)
    assert {
        key: about[key] for key in ("numerics", "alternatives", "microarchitecture") if key in about
    } == emitted.config.to_dict()
    assert ConverterConfig.from_dict(about) == emitted.config
    assert f"// Latency: {about['latency']} cycles" in emitted.text
    commented = re.findall(r"^//   (input|output) +(\w+)\[(\d+):0\]", emitted.text, flags=re.M)
    assert [(p["direction"], p["name"], str(p["width"] - 1)) for p in about["ports"]] == commented
    declared = re.findall(
        r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", emitted.code[: emitted.code.index("endmodule")], flags=re.M
    )
    assert sorted((d, n, w or "0") for d, w, n in declared) == sorted(commented)


def test_file_list_and_core_name_the_verilog(emitted):
    files = [emitted.files[kind].name for kind in ("verilog", "random_source") if kind in emitted.files]
    assert emitted.files["filelist"].read_text().splitlines() == files
    core = emitted.files["core"].read_text()
    assert core.startswith("CAPI=2:\n")  # FuseSoC looks for it in the first line
    assert f"files: [{', '.join(files)}]" in core and f"toplevel: {emitted.top}\n" in core
    assert re.findall(r"^  (\w+):", core.partition("targets:")[2], flags=re.M) == ["default", "lint", "synth"]


def test_two_configurations_of_one_name_are_two_versions_of_a_core(tmp_path):
    cores = {
        config: emit(config, tmp_path / config.config_id, "mx_encoder")["core"].read_text().splitlines()[1]
        for config in (converter_config("int4", block_size=2), converter_config("int4", "nvidia", block_size=2))
    }
    assert (
        cores == {config: f"name: mxcast:mx:mx_encoder:0.1.0.{int(config.config_id, 16)}" for config in cores}
        and len(set(cores.values())) == 2
    )


def test_a_bench_is_part_of_the_package(tmp_path):
    files = emit(CONFIG, tmp_path, "top", bench="module top_tb; endmodule\n")
    assert files["bench"].read_text() == "module top_tb; endmodule\n" and files["bench"].name == "top_tb.v"
    core = files["core"].read_text()
    assert "files: [top_tb.v]" in core and "toplevel: top_tb\n" in core
    assert "rtl/top_tb.v" in json.loads(files["manifest"].read_text())["sha256"]


def test_template_can_be_pasted(emitted, tmp_path):
    """It works in another module, together with the file list."""
    (tmp_path / "outer.v").write_text(f"module outer;\n{emitted.files['template'].read_text()}endmodule\n")
    root = verilator_root()
    done = subprocess.run(
        [
            root / "bin" / "verilator_bin",
            "--lint-only",
            "--top-module",
            "outer",
            tmp_path / "outer.v",
            "-F",
            emitted.files["filelist"],
        ],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "%" not in done.stdout + done.stderr, done.stderr


def test_a_given_name(tmp_path):
    files = emit(CONFIG, tmp_path, "My_top7")
    assert files["verilog"] == tmp_path / "My_top7" / "rtl" / "My_top7.v"
    text = files["verilog"].read_text()
    assert re.findall(r"^module (\w+)", text, flags=re.M)[:2] == ["My_top7", "My_top7_amax_tree"]
    assert text == verilog(CONFIG, "My_top7")
    # and nothing else than the name depends on it
    assert text.replace("My_top7", default_name(CONFIG)) == verilog(CONFIG)


@pytest.mark.parametrize(
    "name",
    [
        "7up",  # leading digit
        "my top",  # space
        "größe",  # a letter, to Python
        "top-1",
        "top.v",  # signs
        "top$1",  # legal, and trouble in scripts
        "../top",  # a path
        "top\n",  # regular expressions that end in $ let it pass
        "\\top ",  # escaped
        "logic",  # a keyword of SystemVerilog
        5,
        *KEYWORDS_2005,
    ],
)
def test_bad_names(tmp_path, name):
    with pytest.raises(ValueError) as error:
        emit(CONFIG, tmp_path, name)
    assert str(error.value) == f"name must be a Verilog identifier and no keyword, not {name!r}"
    assert not any(tmp_path.iterdir())


def test_a_name_that_a_file_cannot_have(tmp_path):
    config = converter_config("e2m1", block_size=2, rounding="sr")
    assert emit(config, tmp_path, "a" * 200)["random_source"].is_file()
    with pytest.raises(ValueError) as error:
        emit(config, tmp_path, "a" * 201)
    assert str(error.value) == "name must have at most 200 characters, because files are named after it, not 201"
    with pytest.raises(ValueError) as error:
        emit(config, tmp_path, "a-" * 200)
    assert str(error.value) == f"name must be a Verilog identifier and no keyword, not '{'a-' * 30}...'"


def test_an_empty_name_is_refused(tmp_path):
    with pytest.raises(ValueError):
        emit(CONFIG, tmp_path, "")


def test_emission_can_be_repeated(tmp_path):
    first = {kind: (path, path.read_bytes()) for kind, path in emit(CONFIG, tmp_path).items()}
    first["json"][0].unlink()
    assert {kind: (path, path.read_bytes()) for kind, path in emit(CONFIG, str(tmp_path)).items()} == first


@pytest.mark.parametrize("kind", ["manifest", "verilog"])
def test_a_pipe_is_not_replaced(kind, tmp_path):
    """A pipe, which would also block the reader. A file without read permission is treated alike."""
    path = emit(CONFIG, tmp_path)[kind]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match=f"{path.name} is not a regular file"):
        emit(CONFIG, tmp_path)
    assert path.is_fifo()


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_not_replaced(tmp_path):
    path = emit(CONFIG, tmp_path)["verilog"]
    path.write_text("// mine")
    path.chmod(0)
    with pytest.raises(PermissionError):
        emit(CONFIG, tmp_path)
    path.chmod(0o600)
    assert path.read_text() == "// mine"


def test_an_edited_file_is_not_lost(tmp_path):
    files = emit(CONFIG, tmp_path)
    first = files["verilog"].read_text()
    files["verilog"].write_text("// mine")
    with pytest.raises(
        ValueError, match="has been edited since it was emitted: move it, or emit it again with --force"
    ):
        emit(CONFIG, tmp_path)
    assert files["verilog"].read_text() == "// mine"
    files["manifest"].write_text("[" * 100_000)  # and without one nobody knows that it was not
    with pytest.raises(ValueError, match="has been edited"):
        emit(CONFIG, tmp_path)
    emit(CONFIG, tmp_path, force=True)
    assert files["verilog"].read_text() == first
    emit(CONFIG, tmp_path)


# ---- the same bytes

EVERYTHING = """
import sys, time
if "later" in sys.argv:
    for clock in ("time", "monotonic"):
        setattr(time, clock, lambda: 4102444800.0)
    time.time_ns = lambda: 4102444800 * 10**9
    day = time.struct_time((2100, 1, 1, 0, 0, 0, 4, 1, 0))
    time.localtime = time.gmtime = lambda *_: day
from mxcast.hdl import emit
from mxcast.hdl import converter_config
for block, fields in (("e4m3", {"specials": "inf_scale"}), ("e2m1", {"amax_key": "magnitude"}), ("int8", {}),
                      ("e2m1,int4", {"scale_rule": "even,rceil", "rounding": "sr", "source": "fp16", "block_size": 4})):
    emit(converter_config(block, "nvidia", **fields))  # to the folder that is the default, where the process is
"""


def _emitted_by_a_process(folder: Path, *arguments: str, **environment: str) -> dict[str, bytes]:
    folder.mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-c", EVERYTHING, *arguments], cwd=folder, env={**os.environ, **environment}, check=True
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> dict[str, bytes]:
    files = _emitted_by_a_process(tmp_path_factory.mktemp("here") / "a", PYTHONHASHSEED="0")
    assert len(files) == 3 * 8 + 9 and all(name.startswith("build/") for name in files)
    return files


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "folder, arguments, environment",
    [
        ("another/much/deeper/folder with a space", [], {"PYTHONHASHSEED": "1"}),
        pytest.param(
            "b",
            [],
            {"PYTHONHASHSEED": "2", "LC_ALL": "C", "USER": "somebody", "HOSTNAME": "elsewhere"},
            marks=pytest.mark.slow,
        ),
        ("c", ["later"], {"PYTHONHASHSEED": "3", "TZ": "Pacific/Auckland", "SOURCE_DATE_EPOCH": "4102444800"}),
    ],
)
def test_the_same_bytes_everywhere(here, tmp_path, folder, arguments, environment):
    there = _emitted_by_a_process(tmp_path / folder, *arguments, **environment)
    assert there.keys() == here.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_the_files_do_not_mention_the_machine(here, tmp_path):
    content = b"\n".join(here.values()).decode()
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b", content)  # a date, a time
    assert str(Path.home()) + "/" not in content and str(tmp_path.parent) not in content and "/tmp" not in content
    assert os.uname().nodename not in content


# ---- all or nothing


def _left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OSError):
        emit(CONFIG, tmp_path / "out")
    assert _left(tmp_path) == ["out"] and (tmp_path / "out").read_text() == "mine"


def test_a_folder_in_the_place_of_a_file(tmp_path):
    target = tmp_path / "top" / "rtl" / "top.v"
    target.mkdir(parents=True)
    with pytest.raises(ValueError, match="top.v is not a regular file"):
        emit(CONFIG, tmp_path, "top")
    assert _left(tmp_path / target.parent.parent) == ["rtl", "rtl/top.v"]  # no temporary file either


def test_write_whole_keeps_the_old_content(tmp_path, monkeypatch):
    (tmp_path / "f").write_text("old")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "f", "new")
    assert _left(tmp_path) == ["f"] and (tmp_path / "f").read_text() == "old"


def test_files_have_the_mode_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        assert write_whole(tmp_path / "f", b"x").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


def test_nothing_is_written_when_the_verilog_fails(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("Yosys is broken")

    monkeypatch.setattr(importlib.import_module("mxcast.hdl.emission.modules"), "_print", broken)
    with pytest.raises(RuntimeError, match="broken"):
        emit(CONFIG, tmp_path / "out")
    assert _left(tmp_path) == []


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is absent, nothing was checked with it")
@pytest.mark.parametrize("name", ["amax_tree", "element_00", "_"])
def test_names_that_are_also_used_inside(tmp_path, name):
    """Modules and signals have separate name spaces."""
    done = subprocess.run(
        ["iverilog", "-Wall", "-g2005", "-t", "null", emit(CONFIG, tmp_path, name)["verilog"]],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_the_top_modules_signals_are_refused(emitted, tmp_path):
    """Verilator would warn that the signal hides the module."""
    top = emitted.code[: emitted.code.index("endmodule")]
    signals = set(re.findall(r"^  (?:wire|input|output) (?:\[\d+:0\] )?([a-z]\w*);", top, flags=re.M))
    assert {"x", "scale", "p", "key"} <= signals
    for name in signals:
        with pytest.raises(ValueError, match="must differ from the signals of the top module"):
            emit(emitted.config, tmp_path, name)


def test_a_pin_of_a_layout_is_a_signal():
    config = nvfp4_config("nvfp4", layout="te")
    assert config.stored_pin is not None
    assert describe(config, "top")["name"] == "top"
    with pytest.raises(ValueError, match="must differ from the signals of the top module .*, not 'codes'"):
        describe(config, config.stored_pin.name)


def test_different_converters_have_different_names(tmp_path):
    """A design cannot contain two modules with one name."""
    configs = [
        converter_config("e4m3"),
        converter_config("e4m3", "nvidia"),
        converter_config("e4m3", "nvidia", specials="drop"),
        converter_config("e4m3", amax_key="magnitude"),
        converter_config("e4m3", input_subnormals="flush"),
    ]
    configs += [
        converter_config("e4m3", **fields)
        for fields in (
            {"block_size": 16},
            {"source": "bf16"},
            {"scale_rule": "floor,ceil"},
            {"scale_rule": "ceil,floor"},
            {"rounding": "sr"},
            {"rounding": "sr", "random_bits": 9},
        )
    ]
    configs += [converter_config("e4m3,e5m2"), converter_config("e5m2,e4m3")]
    names = [default_name(config) for config in configs]
    assert names[:2] == ["mxfp8_e4m3_ocp", "mxfp8_e4m3_nvidia"] and len(set(names)) == len(names)
    assert default_name(converter_config("e4m3,e5m2,int8")).startswith("mxfp8_e4m3_e5m2_int8_")
    assert emit(configs[0], tmp_path)["verilog"].stem == names[0]
    assert emit(converter_config("e4m3", "ocp", scale_rule="ceil"), tmp_path)["verilog"].stem == "mxfp8_e4m3_nvidia"

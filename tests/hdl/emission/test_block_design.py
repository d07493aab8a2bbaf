"""The module for block designs: four readers read it, and it connects each pin to the one of the same name."""

import json
import re
import shutil
import subprocess

import pytest

from mxcast.hdl import cast_config, converter_config, decoder_config, emit, verilog
from mxcast.hdl.emission.around import Around
from mxcast.proof.verilog.readers import readers, reading
from mxcast.synth.yosys import execute

from ..lint import lint

CONFIG = converter_config("e2m1,e1m2", lanes=2, interface="axis", block_size=8)


@pytest.fixture(params=[False, True], ids=["plain", "registers"], scope="module")
def written(request, tmp_path_factory):
    return emit(CONFIG, tmp_path_factory.mktemp("ip"), "top", around=Around(registers=request.param, block_design=True))


def sources(written) -> list:
    return [written[kind] for kind in ("block_design", "controlled", "verilog") if kind in written]


def attributes(bus: str, kind: str, *signals: str) -> dict[str, str]:
    return {f"{bus}_{one}": f"xilinx.com:interface:{kind}:1.0 {bus} {one.upper()}" for one in signals}


def expected(has_registers: bool) -> dict[str, str]:
    """X_INTERFACE_INFO of each pin, in the words of Vivado."""
    stream = "tdata", "tlast", "tvalid", "tready"
    found = {
        "aclk": "xilinx.com:signal:clock:1.0 aclk CLK",
        "aresetn": "xilinx.com:signal:reset:1.0 aresetn RST",
        **attributes("s_axis", "axis", *stream, "tkeep", *(() if has_registers else ("tuser",))),
        **attributes("m_axis", "axis", *stream, "tkeep", "tuser"),
        **attributes("m_axis_scale", "axis", *stream),
    }
    if has_registers:
        signals = "awaddr awprot awvalid awready wdata wstrb wvalid wready bresp bvalid bready araddr arprot arvalid "
        found |= attributes("s_axil", "aximm", *(signals + "arready rdata rresp rvalid rready").split())
    return found


@pytest.mark.parametrize("reader", readers())
def test_yosys_reads_the_attributes_and_connects_every_pin(written, reader, tmp_path):
    (tmp_path / "all.v").write_text("\n".join(path.read_text() for path in sources(written)))
    execute([*reading(reader, "all.v", "top_bd", {}), "proc", "write_json all.json"], tmp_path)
    module = json.loads((tmp_path / "all.json").read_text())["modules"]["top_bd"]
    has_registers = "controlled" in written
    told = {name: net["attributes"] for name, net in module["netnames"].items()}
    assert {name: told[name]["X_INTERFACE_INFO"] for name in module["ports"]} == expected(has_registers)
    more = {name: one["X_INTERFACE_PARAMETER"] for name, one in told.items() if "X_INTERFACE_PARAMETER" in one}
    buses = "s_axis:m_axis:m_axis_scale" + ":s_axil" * has_registers
    lite = "XIL_INTERFACENAME s_axil, PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH 8"
    assert more == {
        "aclk": f"XIL_INTERFACENAME aclk, ASSOCIATED_BUSIF {buses}, ASSOCIATED_RESET aresetn",
        "aresetn": "XIL_INTERFACENAME aresetn, POLARITY ACTIVE_LOW",
        **({"s_axil_awaddr": lite} if has_registers else {}),
    }
    (inner,) = module["cells"].values()
    assert inner["connections"] == {name: port["bits"] for name, port in module["ports"].items()}


def test_verilator_finds_nothing(written):
    assert lint("--lint-only", "-Wall", "--top-module", "top_bd", *sources(written)) == ""


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is optional: apt-get install iverilog")
def test_icarus_reads_it(written, tmp_path):
    command = ["iverilog", "-g2005", "-Wall", "-s", "top_bd", "-o", tmp_path / "a.out", *sources(written)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "top_bd" not in done.stderr, done.stderr


def test_the_converter_stays_the_same(written):
    assert written["verilog"].read_text() == verilog(CONFIG, "top")


def test_other_pins_are_refused(tmp_path):
    with pytest.raises(ValueError, match="a block design connects AXI4-Stream: give interface=axis too"):
        emit(converter_config("e4m3"), tmp_path, "top", around=Around(block_design=True))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("config", "buses"),
    [
        (decoder_config("e2m1", lanes=8, interface="axis"), {"s_axis", "s_axis_scale", "m_axis"}),
        (cast_config("e4m3", interface="axis"), {"s_axis", "m_axis"}),
    ],
    ids=["decoder", "cast"],
)
def test_decoders_and_casts_have_one_too(config, buses, tmp_path):
    written = emit(config, tmp_path, "top", around=Around(block_design=True))
    assert lint("--lint-only", "-Wall", "--top-module", "top_bd", written["block_design"], written["verilog"]) == ""
    told = re.findall(r'"xilinx.com:interface:axis:1.0 (\w+) (\w+)"', written["block_design"].read_text())
    assert {bus for bus, _ in told} == buses
    pins = {pin.name for pin in config.pins} - {"aclk", "aresetn"}
    assert {f"{bus}_{signal.lower()}" for bus, signal in told} == pins

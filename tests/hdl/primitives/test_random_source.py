"""The on-chip source of random bits, compared with Marsaglia's numbers and the model, also in the emitted Verilog."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from amaranth.sim import Simulator

from mxcast.hdl import RandomSource, converter_config, emit
from mxcast.models.fast.random_source import source_numbers
from mxcast.spec import numerics
from mxcast.spec.operations.random_source import SPREAD, initial_states

from ..lint import COCOTB, lint

FIELDS = {"rounding": "sr", "random_bits": 5, "block_size": 16}  # 80 bits: two generators and a half


def clocked(source: RandomSource, enable: list[int]) -> list[int]:
    """``random`` in each cycle for these values of ``enable``, and in one more cycle."""
    found = []

    async def bench(ctx):
        for value in enable:
            ctx.set(source.enable, value)
            found.append(ctx.get(source.random))
            await ctx.tick()
        found.append(ctx.get(source.random))

    simulator = Simulator(source)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_the_published_sequence():
    """xorshift32 of G. Marsaglia with the shifts 13, 17 and 5, from state 1."""
    source = RandomSource(32)
    source.states = [1]
    assert clocked(source, [1] * 4) == [1, 270369, 67634689, 2647435461, 307599695]


@pytest.mark.parametrize("seed", [0, 12345])
def test_the_numbers_of_the_model(seed):
    rules = numerics("e2m1").replace(**FIELDS)
    expected = [
        sum(int(number) << 5 * lane for lane, number in enumerate(block)) for block in source_numbers(rules, 41, seed)
    ]
    assert len(set(expected)) == 41 and max(expected).bit_length() == 80
    assert clocked(RandomSource(80, seed), [1] * 40) == expected


def test_it_waits_without_enable():
    enable = [0, 0, 1, 0, 1, 1, 0, 0, 0, 1]
    numbers = clocked(RandomSource(40), [1] * sum(enable))
    found = clocked(RandomSource(40), enable)
    assert found == [numbers[sum(enable[:cycle])] for cycle in range(len(enable) + 1)]


def test_generators_start_apart_and_never_at_zero():
    for seed in (0, 1, (-3 * SPREAD) % (1 << 32)):  # the third would start at 0
        states = initial_states(4096, seed)
        assert len(states) == len(set(states)) == 128 and all(0 < state < 1 << 32 for state in states)


@pytest.mark.parametrize("width, seed", [(0, 0), (8, -1), (8, 1 << 32)])
def test_refused(width, seed):
    with pytest.raises(ValueError, match="must be"):
        initial_states(width, seed)


# ---- the emitted file


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict:
    return emit(converter_config("e2m1", **FIELDS), tmp_path_factory.mktemp("sr"), "cast")


def test_the_file_can_be_read(files, tmp_path):
    text = files["random_source"].read_text()
    assert files["random_source"].name == "cast_random_source.v" and "seed 0; synchronous reset" in text
    assert re.findall(r"^module (.*);", text, flags=re.M) == ["cast_random_source(clk, rst, enable, random)"]
    assert "  output [79:0] random;\n" in text and "\\" not in text and "(*" not in text
    assert lint("--lint-only", "-Wall", files["random_source"]) == lint(*COCOTB, tmp_path, files["random_source"]) == ""
    script = "\n".join(
        (
            "from pyosys import libyosys",
            "design = libyosys.Design()",
            "for command in (",
            f"    'read_verilog {files['random_source']}', 'hierarchy -check -top cast_random_source', 'proc', "
            "'check -assert',",
            "    'flatten', 'simplemap', 'select -assert-count 96 t:$_*DFF*', 'select -assert-none t:$_DLATCH*',",
            "    'log it came to the end'):",
            "    libyosys.run_pass(command, design)",
        )
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "it came to the end" in done.stdout, (done.stdout + done.stderr)[-1500:]


BENCH = """
module bench;
  reg clk = 0, rst = 1, enable = 1;
  wire [79:0] random;
  wire [7:0] scale;
  wire [63:0] p;
  cast_random_source source (.clk(clk), .rst(rst), .enable(enable), .random(random));
  cast cast_0 (.x({16{32'h3fb00000}}), .random(random), .scale(scale), .p(p));
  integer cycle;
  initial begin
    #1 clk = 1; #1 clk = 0; rst = 0;
    for (cycle = 0; cycle < 40; cycle = cycle + 1) begin
      #1 $display("%h", random); clk = 1; #1 clk = 0;
    end
  end
endmodule
"""


@pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus is absent, nothing was simulated: apt-get install iverilog"
)
def test_the_file_gives_the_numbers_of_the_model(files, tmp_path):
    """After a reset, next to its converter."""
    (tmp_path / "bench.v").write_text(BENCH)
    sources = [files["random_source"], files["verilog"], tmp_path / "bench.v"]
    said = subprocess.run(
        ["iverilog", "-Wall", "-g2005", "-o", tmp_path / "bench", *sources], capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    done = subprocess.run(["vvp", "-n", tmp_path / "bench"], capture_output=True, text=True, check=True)
    numbers = source_numbers(numerics("e2m1").replace(**FIELDS), 40)
    assert [int(line, 16) for line in done.stdout.split()] == [
        sum(int(number) << 5 * lane for lane, number in enumerate(block)) for block in numbers
    ]

"""`mxcast verify` and `mxcast test`: compare the hardware with the golden model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...host.cache import refreshed
from ...spec import is_nvfp4
from ..errors import ExitCode
from ..options.common import Blocks, Force, Seed
from ..options.files import Pad
from ..options.hardware import DesignOptions, HardwareOptions
from ..options.request import check_emitted, request
from ..output.output import Output

if TYPE_CHECKING:
    from ...sim import Verification
    from ...sim.cocotb.regression import Regression


def verify(
    given: DesignOptions,
    output: Output,
    stimuli: Annotated[
        str,
        typer.Option(
            "--stimuli",
            metavar="KIND",
            help="standard (the next four), corner, boundary, distance, random or exhaustive. NVFP4: standard (the "
            "next five), corner, boundary, ties, nearest, random or factors. Decoders: standard (all), pairs, random, "
            "and of NVFP4 ties and bits. Casts: standard, all, boundary or random.",
        ),
    ] = "standard",
    exhaustive: Annotated[
        bool,
        typer.Option(
            "--exhaustive", help="All inputs, in minutes for each format. The same command resumes an interrupted run."
        ),
    ] = False,
    force: Force = False,
    blocks: Blocks = 1_000_000,
    tensors: Annotated[
        Path | None,
        typer.Option(
            "--tensors",
            metavar="FILE",
            show_default=False,
            help="Compare on the tensors of this file instead (.npy, .safetensors).",
        ),
    ] = None,
    pad: Pad = False,
    waves: Annotated[
        str | None,
        typer.Option(
            "--waves",
            metavar="BLOCK",
            show_default=False,
            help="Keep a waveform of this block and its neighbours: a number, or as in reports, such as random:17.",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Compare the emitted Verilog with the golden model, in NumPy, bit for bit. Verilator simulates it."""
    asked = request("verify {}", given, output=output, designs=given.out)
    if given.op != "encode" and (exhaustive or tensors is not None or pad):
        raise ValueError(f"--exhaustive, --tensors and --pad are for encoders: leave them out with --op {given.op}")
    if waves is not None and (exhaustive or asked.many):
        raise ValueError("--waves shows a block of one converter: leave out --exhaustive, and give one format")
    window = None
    if waves is not None:
        from ...sim.check.window import Window

        window = Window.named(waves)
    if exhaustive:
        if is_nvfp4(asked.configs[0].numerics):
            raise ValueError(f"--exhaustive is not for {asked.configs[0].formats}: leave it out")
        if tensors is not None or stimuli not in ("standard", "exhaustive"):
            raise ValueError(
                f"--exhaustive takes all inputs: leave out --{'stimuli' if tensors is None else 'tensors'}"
            )
        stimuli = "exhaustive"
    if tensors is not None:
        from ...tensors.convert.files import read_blocks

        read_blocks(tensors, asked.configs[0].numerics.block_size, pad)  # a wrong file is refused before a long build
    check_emitted(asked, given.out)
    from ...sim import verify

    results = []
    for chosen in asked.configs:
        output.configuration(chosen)
        with output.progress(f"verifying {chosen.formats}") as progress, refreshed(force):
            if tensors is None:
                result = verify(
                    chosen, stimuli=stimuli, blocks=blocks, seed=seed, window=window, progress=progress, force=force
                )
            else:
                result = verify(
                    chosen,
                    tensors=read_blocks(tensors, chosen.numerics.block_size, pad),
                    window=window,
                    progress=progress,
                )
        results.append(result)
        output.table([{"stimulus": name, "blocks": count} for name, count in result.counts.items()])
        output.say(
            f"{chosen.formats}: "
            + (f"passed, {result.blocks} blocks equal" if result.passed else f"FAILED\n{result.report}")
        )
        if result.record:
            output.say(f"{_source_of(result)}: {result.seconds:.0f} s in all, record {result.record}")
    documents = [result.to_dict() for result in results]
    if window is not None:
        from ...sim.cocotb.traced import trace

        with output.progress("simulating the block with waves"):
            traced = trace(window, asked.configs[0], out=given.out, name=asked.name)
        _say_waves(traced, output)
        documents[0]["waveform"] = str(traced.waveform)
    output.document(asked.of(documents))
    _judge(results)


def _source_of(result: Verification) -> str:
    """Source of an exhaustive result: this run, or a record."""
    if not result.kept_blocks:
        return "compared now"
    if result.kept_blocks == result.blocks:
        return "ON RECORD, nothing was compared now; --force compares again"
    return f"{result.kept_blocks} blocks compared before an interruption, {result.blocks - result.kept_blocks} now"


def test(
    given: HardwareOptions,
    output: Output,
    simulator: Annotated[str, typer.Option("--sim", metavar="NAME", help="verilator or icarus.")] = "verilator",
    waves: Annotated[bool, typer.Option("--waves", help="Keep a waveform, with decoded values.")] = False,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors", metavar="FILE", show_default=False, help="Test these blocks too: counterexample.npz of prove."
        ),
    ] = None,
    rtl: Annotated[
        Path | None,
        typer.Option(
            "--rtl", metavar="FILE", show_default=False, help="Test this Verilog file instead of the emitted one."
        ),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Run the cocotb regression on the emitted Verilog."""
    asked = request("test {}", given, output=output, designs=None if rtl else given.out)
    if asked.many and (vectors or rtl):
        raise ValueError("--vectors and --rtl are for one converter: give one format")
    from ...sim import test

    results = []
    for chosen in asked.configs:
        output.configuration(chosen)
        with output.progress(f"testing {chosen.formats}"):
            result = test(
                chosen,
                simulator=simulator,
                out=given.out,
                name=asked.name,
                seed=seed,
                waves=waves,
                vectors=vectors,
                verilog=rtl,
                force=force,
            )
        results.append(result)
        output.table([{"test": name, "comparisons": count} for name, count in result.tests.items()])
        output.say(
            f"{chosen.formats}: "
            + (
                f"passed, {len(result.tests)} tests, {result.comparisons} comparisons"
                if result.passed
                else f"FAILED\n{result.report}"
            )
        )
        output.say(f"log {result.log}")
        _say_waves(result, output)
    output.document(asked.of([result.to_dict() for result in results]))
    _judge(results)


def _say_waves(result: Regression, output: Output) -> None:
    if result.waveform:
        output.say(f"waveform {result.waveform}")
        output.say(f"to open it: gtkwave {result.waveform} {result.waveform.with_suffix('.gtkw')}")


def _judge(results: list) -> None:
    if not all(result.passed for result in results):
        raise typer.Exit(ExitCode.FAILED)

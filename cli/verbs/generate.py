"""`mxcast emit`: the Verilog of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options.around import BlockDesign, Bus, Registers, around
from ..options.hardware import HardwareOptions
from ..options.request import request
from ..output.output import Output


def emit(
    given: HardwareOptions,
    output: Output,
    vendor: Annotated[
        str | None,
        typer.Option(
            "--vendor",
            metavar="NAME",
            show_default=False,
            help="Also write a project for vivado, which implies --target xcu, or for quartus.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option("--part", metavar="NAME", show_default="one of the vendor's", help="Device of the project."),
    ] = None,
    pair: Annotated[
        bool, typer.Option("--pair", help="Also write the decoder, and a test bench of the round trip.")
    ] = False,
    c: Annotated[
        bool, typer.Option("--c", help="Write the golden model in C for this configuration too, with a test.")
    ] = False,
    ipxact: Annotated[
        bool, typer.Option("--ipxact", help="Also write component.xml, the description of IEEE 1685-2014.")
    ] = False,
    registers: Registers = False,
    bus: Bus = None,
    block_design: BlockDesign = False,
    fusesoc_generator: Annotated[
        Path | None,
        typer.Option(
            "--fusesoc-generator",
            metavar="DIR",
            show_default=False,
            help="Write no converter, but the generator by which FuseSoC asks for converters, to this folder.",
        ),
    ] = None,
    dpi: Annotated[
        bool,
        typer.Option("--dpi", help="Write a SystemVerilog package and a scoreboard that call the model in C (DPI-C)."),
    ] = False,
    period: Annotated[
        float | None, typer.Option("--period", metavar="NS", show_default="10", help="Clock period of the project.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a design of another configuration, and edited files, too.")
    ] = False,
) -> None:
    """Write the Verilog of a converter, with its file lists, description and test benches."""
    if fusesoc_generator is not None:
        _write_generator(given, fusesoc_generator, output)
        return
    usual_target = "xcu" if vendor == "vivado" else None
    asked, out = request("emit {}", given, usual_target=usual_target, output=output), given.out
    if vendor is None and not (part is None and period is None):
        raise ValueError("--part and --period belong to the project of a vendor: give --vendor too")
    if pair and given.op != "encode":
        raise ValueError("--pair adds the decoder to an encoder: leave out --op")
    if pair and not asked.encoders:
        raise ValueError("--pair adds the decoder of a format with one level of scales: leave it out")
    from ...hdl import default_name, emit
    from ...hdl.emission.designs import REPLACE_IT, refuse_another
    from ...native.folder import c_files, dpi_files
    from ...sim.check.round_trip import decoder_of, write_round_trip
    from ...sim.check.self_checking import bench

    wanted_around = around(registers, bus, block_design)
    wanted = [(chosen, asked.name or default_name(chosen)) for chosen in asked.configs]
    pairs = []
    if pair:
        for encoder in asked.encoders:
            decoder, top = decoder_of(encoder), asked.name or default_name(encoder)
            pairs.append((encoder, decoder, top, f"{asked.name}_decode" if asked.name else default_name(decoder)))
        wanted += [(decoder, its_name) for _, decoder, _, its_name in pairs]
    added = [(c_files(chosen, top) if c else {}) | (dpi_files(chosen, top) if dpi else {}) for chosen, top in wanted]
    if not force:  # before the first is written
        for chosen, top in wanted:
            refuse_another(out, top, chosen, REPLACE_IT)
    results = []
    for (chosen, top), more in zip(wanted, added, strict=True):
        output.configuration(chosen)
        with output.progress(f"emitting {chosen.formats}"):
            files = emit(
                chosen,
                out,
                top,
                vendor=vendor,
                part=part,
                period_ns=period,
                bench=bench(chosen, top),
                ipxact=ipxact,
                around=wanted_around,
                added=more,
                force=force,
            )
        if chosen.latency:
            output.say(
                f"latency {chosen.latency} cycles: registered after "
                f"{', '.join(chosen.microarchitecture.registered_after)}"
            )
        for path in files.values():
            output.say(f"wrote {path}")
        results.append(
            {
                "name": top,
                "config_id": chosen.config_id,
                "profile": chosen.profile,
                **chosen.to_dict(),
                "files": {kind: str(path) for kind, path in files.items()},
            }
        )
    for encoder, decoder, top, its_name in pairs:
        files = write_round_trip(encoder, decoder, top, its_name, out)
        for path in files.values():
            output.say(f"wrote {path}")
        results.append({"name": f"{top}_pair", "files": {kind: str(path) for kind, path in files.items()}})
    output.document(results if pair else asked.of(results))


def _write_generator(given: HardwareOptions, folder: Path, output: Output) -> None:
    if given != HardwareOptions(out=given.out):
        raise ValueError("--fusesoc-generator writes no converter: leave out format and rules, a core gives them")
    from ..fusesoc import write_generator

    files = write_generator(folder)
    for path in files:
        output.say(f"wrote {path}")
    output.document({"files": [str(path) for path in files]})

"""`mxcast synth`: the cost of the hardware."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from ...hdl import ConverterConfig
from ...spec.catalogue import known_name
from ..options.around import Bus, Registers, around
from ..options.common import Force
from ..options.hardware import DesignOptions
from ..options.request import check_emitted, request
from ..output.output import Output


@dataclass(frozen=True, kw_only=True)
class MappedOptions(DesignOptions):
    """The options of a design, with the target of the mapping."""

    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="NAME",
            show_default="xcu; with --pnr ecp5, with --liberty asic",
            help="Target for synthesis and for the hardware (mxcast list targets).",
        ),
    ] = None


def synth(
    given: MappedOptions,
    output: Output,
    liberty: Annotated[
        Path | None,
        typer.Option(
            "--liberty",
            metavar="FILE",
            show_default=False,
            help="Map to the cells of a Liberty file; print their number, area and longest path. For --target asic.",
        ),
    ] = None,
    sta: Annotated[
        bool, typer.Option("--sta", help="With --liberty: also the longest path and the energy of a block by OpenSTA.")
    ] = False,
    pnr: Annotated[bool, typer.Option("--pnr", help="Also place and route, between registers, for Fmax.")] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, show_default="3", help="Number of seeds for place and route.")
    ] = None,
    registers: Registers = False,
    bus: Bus = None,
    force: Force = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes.")] = 2,
) -> None:
    """Synthesize with Yosys, and count LUTs, carries, flip-flops and logic levels. With --pnr, also find Fmax."""
    if seeds is not None and not pnr:
        raise ValueError("--seeds is for place and route: give --pnr too")
    if pnr and (registers or bus):
        raise ValueError("--pnr places a converter without modules around it: leave out --registers and --bus")
    from ...sim.stimuli.weights import weights_of
    from ...synth import TARGETS, place_and_route_all, synth_all
    from ...synth.tables import ABC_NOTE, AREA_NOTE, NOTE, PNR_NOTE, pnr_table, table, timing_note

    if liberty is not None and pnr:
        raise ValueError("--liberty maps to an ASIC, and --pnr places on an FPGA: give one of them")
    if sta and liberty is None:
        raise ValueError("--sta needs the cells of a library: give --liberty too")
    usual = "asic" if liberty is not None else "ecp5" if pnr else "xcu"
    target = known_name("target", usual if given.target is None else given.target, TARGETS)
    built_for = TARGETS[target].optimized_as
    rules = replace(given, target=None)
    asked = request("synth {}", rules, usual_target=built_for, output=output, designs=given.out)
    check_emitted(asked, given.out)
    for chosen in asked.configs:
        output.configuration(chosen)
    if pnr:
        with output.progress(f"placing and routing for {target}") as progress:
            placed = place_and_route_all(
                list(asked.configs), target, seeds=seeds or 3, jobs=jobs, force=force, progress=progress
            )
        rows, note, documents = pnr_table(placed), PNR_NOTE, [result.to_dict() for result in placed]
    else:
        with output.progress(f"synthesizing for {target}") as progress:
            mapped = synth_all(
                list(asked.configs),
                target,
                liberty=liberty,
                around=around(registers, bus),
                blocks_of=weights_of if sta else None,
                jobs=jobs,
                force=force,
                progress=progress,
            )
        times = timing_note(mapped) if sta else ABC_NOTE
        note = NOTE if liberty is None else f"{AREA_NOTE} {times}"
        rows, documents = table(mapped), [result.to_dict() for result in mapped]
    output.table(rows, TARGETS[target].description if liberty is None else f"the cells of {liberty.name}")
    for form, built in _forms(asked.encoders).items():  # decoders have one form
        output.say(f"{', '.join(built)}: {form}")
    output.say(note)
    output.document(asked.of(documents))


def _forms(configs: Iterable[ConverterConfig]) -> dict[str, list[str]]:
    """The formats of the converters, by micro-architecture."""
    found: dict[str, list[str]] = {}
    for config in configs:
        chosen = config.microarchitecture
        form = f"amax={chosen.amax}, quantizer={chosen.quantizer}, structure={chosen.structure}"
        found.setdefault(form, []).append(config.formats)
    return found

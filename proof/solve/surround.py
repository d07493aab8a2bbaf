"""The proof of the modules around a converter with AXI4-Stream, whose own module is proved apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...hdl import HardwareConfig
from ...hdl.bus.pins import streams_of
from ...hdl.emission.around import ON_BUS, Around
from ...hdl.registers.table import encoder_with_axis
from ..netlist.beats.bus import check_wires
from ..netlist.design import Design
from ..netlist.structure import StructureError
from ..questions.question import Question
from ..specification.beats.gear import gear
from ..specification.beats.induction import Induction
from ..specification.beats.registers import controls
from ..verilog.readers import readers
from .argument import Argument, Status, answered, without_a_trace
from .trace import traced_around


@dataclass(frozen=True, kw_only=True)
class System:
    """Statements about a module, and the edges after a reset within which a fault is looked for."""

    induction: Induction
    questions: tuple[Question, ...]
    folder: Path
    edges: int


def with_registers(text: str, config: HardwareConfig, around: Around, name: str, folder: Path, reader: str) -> System:
    """The statements about the module with registers."""
    system = controls(Design(text, around.inner(name), folder, reader), encoder_with_axis(config), name)
    ready = system.depends_on_registers("registers-ready", "s_tready", "it follows the encoder", "encoder_tready")
    return System(induction=system, questions=(*system.questions(), ready), folder=folder, edges=12)


def on_bus(text: str, config: HardwareConfig, around: Around, name: str, folder: Path, reader: str) -> Iterator[System]:
    """The statements about the streams of the module with words of a bus, whose wires are checked."""
    assert around.bus is not None
    top, pins = name + ON_BUS, around.inside(config)
    streams = [stream for stream in streams_of(pins, around.bus) if stream.inside != stream.outside]
    check_wires(Design(text, top, folder, reader), pins, streams, around.inner(name))
    for stream in streams:
        module = Design(text, f"{top}_{stream.kind}", folder / stream.kind, reader)
        system = gear(module, stream)
        apart = (("s_tready", "no path leads from an input to it"), ("m_tvalid", "it does not wait for m_tready"))
        questions = (
            *system.questions(),
            *(system.depends_on_registers(f"{system.name}-{port}", port, why) for port, why in apart),
        )
        yield System(induction=system, questions=questions, folder=module.folder, edges=sum(stream.sides) + 4)


def _systems(
    text: str, config: HardwareConfig, around: Around, name: str, folder: Path, reader: str
) -> Iterator[System]:
    if around.registers:
        yield with_registers(text, config, around, name, folder / "registers", reader)
    if around.bus:
        yield from on_bus(text, config, around, name, folder / "bus", reader)
    if around.block_design:
        top = Design(text, around.outermost(name), folder / "block_design", reader)
        check_wires(top, around.pins(config), (), around.top(name))


def surrounding(
    text: str,
    config: HardwareConfig,
    around: Around,
    name: str,
    folder: Path,
    *,
    solver: str,
    timeout: float,
    force: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Argument]:
    """The arguments about the modules ``around`` the converter ``name``, as each reader reads the ``text`` of all."""
    for reader in readers():
        argument = Argument(reader=reader, macros="", steps=[])
        try:
            for system in _systems(text, config, around, name, folder / reader, reader):
                argument.steps += answered(
                    system.questions, system.folder, solver=solver, timeout=timeout, force=force, say=say
                )
                last = argument.steps[-1]
                if last.status is Status.FAIL:
                    argument.trace = traced_around(
                        system.induction, system.edges, system.folder, solver=solver, timeout=timeout
                    )
                    argument.doubt = None if argument.trace else without_a_trace(last.question)
                    break
        except StructureError as error:
            argument.remark = f"{error}: nothing is proved of the modules around {name}"
            argument.steps = []
        if argument.steps or argument.remark:  # without either, the netlist shows all
            yield argument

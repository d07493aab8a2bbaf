"""Components in Amaranth's own simulator."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.sim import Simulator


def outputs(component, stimuli: list[dict[str, int]], names: list[str]) -> list[tuple[int, ...]]:
    """The outputs of a combinational component for each stimulus."""
    found = []
    inputs = {port: Value.cast(getattr(component, port)) for port in stimuli[0]}
    wanted = [Value.cast(getattr(component, name)) for name in names]

    async def bench(ctx):
        for stimulus in stimuli:
            for port, value in stimulus.items():
                ctx.set(inputs[port], value)
            found.append(tuple(ctx.get(value) for value in wanted))

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(found) == len(stimuli) > 0
    return found

"""The save file of GTKWave for a waveform with decoded values: one block, in groups."""

from __future__ import annotations

from pathlib import Path

from vcd.gtkw import GTKWSave

from ...hdl import HardwareConfig
from ...spec import Port, Role
from .waves import Header, names

GROUPS = {
    "numbers": (Role.NUMBERS, Role.ROTATED),
    "scale": (Role.SCALE,),
    "elements": (Role.CODES,),
    "constants": (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX, Role.TENSOR_SCALE),
}
"""Roles of the ports in each group, behind the group ``block``."""
ZOOM = -4.0
"""Sixteen steps of the simulator in a pixel: about ten blocks in a window."""


def write_view(path: Path, dump: str, known: Header, config: HardwareConfig, time: int) -> None:
    """Write the save file of GTKWave for a dump in the same folder, which starts at a time."""

    def bits(port: Port) -> str:
        return f"{known.scope}.{port.name}" + (f"[{port.width - 1}:0]" if port.width > 1 else "")

    with open(path, "w", encoding="ascii") as file:
        view = GTKWSave(file)
        view.dumpfile(dump, abspath=False)
        view.timestart(time)
        view.zoom_markers(ZOOM, time)
        view.signals_width(200)
        with view.group("block"):
            view.trace("decoded.test")
            for side in ("in", "out"):
                view.trace(f"decoded.block_{side}", datafmt="dec")
            for port in config.ports:
                if not port.role.is_data or port.role in (Role.MODE, Role.RANDOM):
                    view.trace(bits(port))
        for group, roles in GROUPS.items():
            if not (ports := [port for port in config.ports if port.role in roles]):
                continue
            with view.group(group):
                for port in ports:
                    view.trace(bits(port))
                    for name in names(port, config):
                        view.trace(f"decoded.{name}")

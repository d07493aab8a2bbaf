"""Amaranth's warning about a component that is never elaborated."""

from __future__ import annotations

from amaranth.hdl import Elaboratable


def set_elaborated(part: Elaboratable, elaborated: bool = True) -> None:
    """Mark a component or a module as elaborated, so that Amaranth does not warn when it is dropped."""
    part._MustUse__used = elaborated

"""The store of a block: what the quantizers use of its numbers, in distributed RAM."""

from __future__ import annotations

from amaranth.hdl import Const, MemoryData, MemoryInstance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class BlockStore(wiring.Component):
    """A memory of one word for each beat. It is written at a clock edge, and read within the cycle.

    A word that is read and written in one cycle gives its old content. Synthesis infers distributed RAM from it.

    Parameters
    ----------
    width : bits of a word
    beats : words

    Ports
    -----
    enable : in, whether a word is written
    write_beat, word : in, the address and the word that is written
    read_beat : in, the address that is read
    stored : out, the word there
    """

    def __init__(self, width: int, beats: int) -> None:
        self.width, self.beats = width, beats
        address = (beats - 1).bit_length()
        super().__init__(
            {
                "enable": In(1),
                "write_beat": In(address),
                "word": In(width),
                "read_beat": In(address),
                "stored": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # `lib.memory` would name the signals of its ports in a way that Verilog has to escape
        m.submodules.words = words = MemoryInstance(data=MemoryData(shape=self.width, depth=self.beats, init=[]))
        words.write_port(domain="sync", addr=self.write_beat, data=self.word, en=self.enable)
        words.read_port(domain="comb", addr=self.read_beat, data=self.stored, en=Const(1), transparent_for=())
        return m

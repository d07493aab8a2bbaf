"""Packets through hardware with AXI4-Stream, driven by cocotbext-axi. Runs inside a simulator (`test_axis`)."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from mxcast.hdl import config_of
from mxcast.hdl.config.axis import OF_RESULTS
from mxcast.models import quantize
from mxcast.models.arrays.stored_bytes import PACKINGS
from mxcast.sim.nvfp4.stimuli import with_constants
from mxcast.sim.operations import golden
from mxcast.sim.transactions import Transactions, word
from mxcast.spec import BlockOperation, Decode, Nvfp4Encode, Nvfp4TileEncode, Role, ScalePlace

JOB = json.loads(Path(os.environ["MXCAST_BENCH"]).read_text())
CONFIG = config_of(JOB)
RULES = CONFIG.numerics
PATIENCE = 30 + CONFIG.pause
"""Microseconds for a packet: 3000 cycles, and 100 pauses."""
SIZE = RULES.block_size
BITS = RULES.block.element.bits if isinstance(RULES, BlockOperation) else 0


TENSORS = (0x00000001, 0x3F800000, 0x45280000, 0x7F7FFFFF)
"""Largest magnitudes of tensors of NVFP4."""

BEAT_BYTES = CONFIG.pins[2].width // 8
"""Bytes of a beat that enters."""
LEAVING_BYTES = next(pin.width for pin in CONFIG.pins if pin.name == "m_axis_tdata") // 8
BUS = [bits // 8 for bits in JOB.get("bus", ())]
"""Bytes of a word of a bus that enters and that leaves; empty without a bus."""


def length(random: Random, unit: int, most: int) -> int:
    """Length of a packet: of one beat, of whole blocks, or any."""
    return random.choice((1, unit, most, 2 * most, random.randrange(1, 4 * most)))


def numbers(random: Random, count: int) -> np.ndarray:
    """FP32 patterns: near each other, or any."""
    rng = np.random.default_rng(random.getrandbits(32))
    exponents = rng.integers(1, 255) + rng.integers(-12, 12, count)
    wide = rng.integers(0, 1 << 32, count, dtype=np.uint32) if random.random() < 0.2 else None
    x = rng.integers(0, 1 << 23, count) | np.clip(exponents, 0, 255) << 23 | rng.integers(0, 2, count) << 31
    return x.astype(np.uint32) if wide is None else wide


@dataclass
class Sent:
    """Frames of a packet by stream, and what has to leave by stream: the bytes with tkeep, and tuser of each beat if it
    is checked.
    """

    frames: dict[str, AxiStreamFrame]
    leaves: dict[str, tuple[bytes, list[int] | None]]


def padded(x: np.ndarray) -> np.ndarray:
    """Numbers in whole blocks, the last one completed by zeros."""
    return np.append(x, np.zeros(-len(x) % SIZE, np.uint32)).reshape(-1, SIZE)


def completed(x: np.ndarray) -> list[int]:
    """The mark of each beat that leaves: zeros complete its block."""
    blocks = -(-len(x) // SIZE)
    return [int(row == blocks - 1 and len(x) % SIZE > 0) for row in range(blocks) for _ in range(CONFIG.beats)]


def encoded(random: Random) -> Sent:
    """A packet of an encoder; of NVFP4, the packet of a tensor, whose constants are in tuser."""
    x = numbers(random, length(random, CONFIG.lanes, SIZE))
    given, user = Transactions({Role.NUMBERS: padded(x)}), 0
    if isinstance(RULES, Nvfp4Encode):
        given = of_tensor(RULES, padded(x), random.choice(TENSORS))
        user = sum(int(given[port.role][0, 0]) << 32 * place for place, port in enumerate(CONFIG.of_block))
    found = golden(RULES, given)
    bits = (found[Role.CODES].reshape(-1, 1) >> np.arange(BITS, dtype=np.uint8) & 1).reshape(-1, CONFIG.lanes * BITS)
    codes = np.packbits(bits, axis=1, bitorder="little")
    if not CONFIG.is_even:
        if CONFIG.microarchitecture.layout:
            codes = PACKINGS[CONFIG.block_stream.packing][0](found[Role.CODES].astype(np.uint8))
        parts = [codes.reshape(len(padded(x)), -1), found[Role.SCALE].reshape(-1, 1)]
        blocks = np.hstack(parts[::-1] if CONFIG.block_stream.place is ScalePlace.BEFORE else parts)
        leaves = {"m_axis": (blocks.tobytes(), [completed(x)[-1] * is_in_last for is_in_last in last_block(blocks)])}
    else:
        leaves = {"m_axis": (codes.tobytes(), completed(x)), "m_axis_scale": (found[Role.SCALE].tobytes(), None)}
    return Sent({"s_axis": AxiStreamFrame(x.tobytes(), tuser=user)}, leaves)


def last_block(blocks: np.ndarray) -> list[bool]:
    """Whether each word of packed blocks ends within the last block."""
    ends = np.minimum(np.arange(0, blocks.size, LEAVING_BYTES) + LEAVING_BYTES, blocks.size)
    return ((ends - 1) // blocks.shape[1] == len(blocks) - 1).tolist()


def of_tensor(rules: Nvfp4Encode, blocks: np.ndarray, amax: int) -> Transactions:
    """Blocks in a tensor with this largest magnitude."""
    return with_constants(rules, blocks, np.full(len(blocks), amax, np.uint32))


def sparse(random: Random, data: bytes, above: int = 0) -> tuple[AxiStreamFrame, list[int]]:
    """The frame of a packet with a mark, and bits ``above`` it in tuser, and the mark of each beat that leaves. Beats
    without bytes are dropped, except at the end of the packet.
    """
    mark, sends, keeps, marks = random.getrandbits(1), bytearray(), list[int](), list[int]()

    def put(part: bytes, kept: int) -> None:
        sends.extend(part)
        keeps.extend([kept] * len(part))

    size = BUS[0] if BUS else BEAT_BYTES
    for start in range(0, len(data), size):
        while random.random() < 0.1:
            put(random.randbytes(size), 0)
        put(data[start : start + size], 1)
        marks.append(mark)
    if not len(data) % size and random.random() < 0.3:
        put(bytes(size), 0)
        marks.append(mark)
    return AxiStreamFrame(bytes(sends), tkeep=keeps, tuser=mark | above << 1), marks


def decoded(random: Random) -> Sent:
    """A packet of a decoder: beats of any bytes, the last one of any length, and beats without bytes between them."""
    rng = np.random.default_rng(random.getrandbits(32))
    count = length(random, BEAT_BYTES, BEAT_BYTES * CONFIG.beats)
    data, beats = rng.bytes(count), -(-count // BEAT_BYTES)
    scales = rng.integers(0, 256, -(-beats // CONFIG.beats), dtype=np.uint8)
    codes = words(data.ljust(beats * BEAT_BYTES, b"\0"), beats, BITS)[:, : CONFIG.lanes].reshape(-1).astype(np.uint8)
    codes = np.append(codes, np.zeros(-len(codes) % SIZE, np.uint8)).reshape(-1, SIZE)
    given, g = Transactions({Role.CODES: codes, Role.SCALE: scales[:, None]}), 0
    if any(port.role is Role.TENSOR_SCALE for port in CONFIG.with_codes):
        g = random.getrandbits(32)
        given = given.with_arrays({Role.TENSOR_SCALE: np.full((len(codes), 1), g, np.uint32)})
    y = golden(RULES, given)[Role.NUMBERS].reshape(-1)
    whole, rest = divmod(count, BEAT_BYTES)
    kept = sum((BITS * (lane + 1) - 1) // 8 < rest for lane in range(CONFIG.lanes))
    sent, marks = sparse(random, data, g)
    frames = {"s_axis": sent, "s_axis_scale": AxiStreamFrame(scales.tobytes())}
    return Sent(frames, {"m_axis": (y[: whole * CONFIG.lanes + kept].tobytes(), marks)})


def packed(random: Random) -> Sent:
    """A packet of blocks of a scale and codes of a byte, which may end within a block. Only whole beats leave."""
    rng = np.random.default_rng(random.getrandbits(32))
    blocks = rng.integers(0, 256, (random.randrange(1, 80), 1 + SIZE), dtype=np.uint8)
    y = golden(RULES, Transactions({Role.CODES: blocks[:, 1:], Role.SCALE: blocks[:, :1]}))[Role.NUMBERS]
    missing = random.choice((0, 0, random.randrange(blocks.size)))
    data = blocks.tobytes()[: blocks.size - missing]
    ends = np.arange(len(blocks))[:, None] * (1 + SIZE) + 1 + np.arange(1, CONFIG.beats + 1) * CONFIG.lanes
    whole = int((ends <= len(data)).sum()) * CONFIG.lanes
    sent, _ = sparse(random, data)
    return Sent({"s_axis": sent}, {"m_axis": (y.reshape(-1)[:whole].tobytes(), None)})


def cast(random: Random) -> Sent:
    """A packet of a cast: words of any bits, the last beat of any length."""
    rng = np.random.default_rng(random.getrandbits(32))
    entering, *_, leaving = RULES.ports
    count = length(random, BEAT_BYTES, 8 * BEAT_BYTES)
    data, beats = rng.bytes(count), -(-count // BEAT_BYTES)
    given = words(data.ljust(beats * BEAT_BYTES, b"\0"), beats, entering.bits)[:, : RULES.lanes].astype(word(entering))
    results = golden(RULES, Transactions({entering.role: given}))[leaving.role]
    of_result = np.arange(leaving.bits, dtype=np.uint64)
    bits = (results[..., None].astype(np.uint64) >> of_result & np.uint64(1)).reshape(beats, -1)
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    rest = count - (beats - 1) * BEAT_BYTES
    kept = sum((entering.bits * (lane + 1) - 1) // 8 < rest for lane in range(RULES.lanes))
    last = sum(8 * byte // leaving.bits < kept for byte in range(packed.shape[1]))
    right = packed.tobytes()[: (beats - 1) * packed.shape[1] + last]
    sent, marks = sparse(random, data)
    return Sent({"s_axis": sent}, {"m_axis": (right, marks)})


def rotated(random: Random) -> Sent:
    """A packet of a Hadamard transform: BF16 numbers, the last vector of any length."""
    x = numbers(random, length(random, SIZE, 4 * SIZE)) >> 16
    given = np.append(x, np.zeros(-len(x) % SIZE, np.uint32)).reshape(-1, SIZE).astype(np.uint16)
    y = golden(RULES, Transactions({Role.NUMBERS: given}))[Role.ROTATED]
    return Sent({"s_axis": AxiStreamFrame(x.astype(np.uint16).tobytes())}, {"m_axis": (y.tobytes(), completed(x))})


def tiled(random: Random) -> Sent:
    """A packet of a tile encoder: rows, the last one of any length, in tiles that zeros complete."""
    side, width = CONFIG.beats, RULES.numbers.bits
    x = numbers(random, length(random, side, side**2)) >> 32 - width
    missing = -len(x) % side**2
    tiles = np.append(x, np.zeros(missing, np.uint32)).reshape(-1, side**2)
    tiles = tiles.astype(word(next(port for port in RULES.ports if port.role is Role.NUMBERS)))
    given, user = Transactions({Role.NUMBERS: tiles}), 0
    if isinstance(RULES, Nvfp4TileEncode):
        given = of_tensor(RULES, tiles, random.choice(TENSORS))
        constants = [port.role for port in RULES.ports if port.direction == "input"][1:]
        user = sum(int(given[role][0, 0]) << 32 * place for place, role in enumerate(constants))
    found = golden(RULES, given)
    marks = [int(tile == len(tiles) - 1 and missing > 0) for tile in range(len(tiles)) for _ in range(side)]
    leaves = {}
    for port in RULES.ports:
        if port.direction == "output":
            bits = found[port.role][..., None] >> np.arange(port.bits, dtype=np.uint8) & 1
            data = np.packbits(bits.reshape(len(marks), -1), axis=1, bitorder="little").tobytes()
            has_marks = not port.name.endswith("scale")
            leaves[OF_RESULTS[port.name].removesuffix("_")] = data, marks if has_marks else None
    sent = x.astype(tiles.dtype).tobytes()
    return Sent({"s_axis": AxiStreamFrame(sent, tuser=user)}, leaves)


def words(data: bytes, beats: int, bits: int) -> np.ndarray:
    """The words of beats: (beats, lanes)."""
    every = np.unpackbits(np.frombuffer(data, np.uint8).reshape(beats, -1), axis=1, bitorder="little")
    parts = every[:, : every.shape[1] // bits * bits].reshape(beats, -1, bits).astype(np.uint64)
    return (parts << np.arange(bits, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)


def there_and_back(random: Random) -> Sent:
    """A packet of an encoder with the decoder behind it."""
    x = numbers(random, length(random, CONFIG.lanes, SIZE))
    q = quantize(padded(x).view(np.float32), RULES)
    back = config_of(JOB["behind"]).numerics
    y = golden(back, Transactions({Role.CODES: q.codes, Role.SCALE: q.scales.reshape(-1, 1)}))[Role.NUMBERS]
    return Sent({"s_axis": AxiStreamFrame(x.tobytes())}, {"m_axis": (y.tobytes(), completed(x))})


PACKETS = {
    "encode": encoded,
    "two_level_encode": encoded,
    "decode": decoded,
    "two_level_decode": decoded,
    "cast": cast,
    "hadamard": rotated,
    "tile": tiled,
    "nvfp4_tile": tiled,
}
HAS_PACKED_CODES = not CONFIG.is_even and isinstance(RULES, Decode)
PACKET = there_and_back if "behind" in JOB else packed if HAS_PACKED_CODES else PACKETS[RULES.name]


class Bench:
    def __init__(self, dut, random: Random) -> None:
        self.dut, self.random = dut, random
        cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
        ends = {"clock": dut.aclk, "reset": dut.aresetn, "reset_active_level": False}
        sent = PACKET(Random(0))
        self.sources = {name: AxiStreamSource(AxiStreamBus.from_prefix(dut, name), **ends) for name in sent.frames}
        self.sinks = {name: AxiStreamSink(AxiStreamBus.from_prefix(dut, name), **ends) for name in sent.leaves}
        self.ends = [*self.sources.values(), *self.sinks.values()]

    def stall(self) -> None:
        for end in self.ends:
            end.set_pause_generator(self.stalls())

    def stalls(self):
        """Gaps: none, few, many; another choice from time to time."""
        while True:
            share = self.random.choice((0, 0.1, 0.5, 0.9))
            for _ in range(64):
                yield self.random.random() < share

    async def reset(self) -> None:
        self.dut.aresetn.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.aclk)
        for end in self.ends:
            end.clear()
        self.dut.aresetn.value = 1
        await RisingEdge(self.dut.aclk)

    def send(self) -> Sent:
        sent = PACKET(self.random)
        for name, frame in sent.frames.items():
            self.sources[name].send_nowait(frame)
        return sent

    async def check(self, sent: Sent) -> None:
        for name, (data, marks) in sent.leaves.items():
            found = await self.sinks[name].recv(compact=False)
            keep = found.tkeep or [1] * len(found.tdata)
            assert bytes(byte for byte, kept in zip(found.tdata, keep) if kept) == data, name
            if marks is not None and BUS:
                every, width = np.repeat(marks, LEAVING_BYTES)[: len(data)], BUS[1]
                for start in range(0, len(found.tdata), width):
                    mark = every[start : start + width].any() if start < len(every) else marks[-1]
                    assert set(found.tuser[start : start + width]) == {int(mark)}, start
            elif marks is not None:
                assert np.array(found.tuser).reshape(len(marks), -1).tolist() == [
                    [mark] * (len(found.tdata) // len(marks)) for mark in marks
                ]


async def streamed(dut, count: int, stalls: bool, seed: int) -> None:
    bench = Bench(dut, Random(seed))
    if stalls:
        bench.stall()
    await bench.reset()
    for _ in range(-(-count // 10)):
        for sent in [bench.send() for _ in range(10)]:
            await bench.check(sent)
    for _ in range(100):
        await RisingEdge(dut.aclk)
    assert all(sink.empty() for sink in bench.sinks.values()), "more than was sent"


@cocotb.test(timeout_time=PATIENCE * JOB["packets"], timeout_unit="us")
async def packets(dut) -> None:
    """Packets in order, without stalls and with stalls on all sides."""
    await streamed(dut, JOB["packets"], True, JOB["seed"])


@cocotb.test(timeout_time=10 * PATIENCE, timeout_unit="us")
async def full_rate(dut) -> None:
    """A block enters in as many cycles as it has beats, or leaves in as many as it has words, or follows the one before
    after the interval.
    """
    bench = Bench(dut, Random(JOB["seed"]))
    await bench.reset()
    entering = BEAT_BYTES * CONFIG.beats + HAS_PACKED_CODES
    blocks = LEAVING_BYTES * CONFIG.beats + (not CONFIG.is_even and not HAS_PACKED_CODES)
    sizes = BUS or (BEAT_BYTES, LEAVING_BYTES)
    words = -(-40 * blocks // sizes[1])
    frames = {"s_axis": AxiStreamFrame(bytes(40 * entering))}
    if "s_axis_scale" in bench.sources:
        frames["s_axis_scale"] = AxiStreamFrame(bytes(40))
    for name, frame in frames.items():
        bench.sources[name].send_nowait(frame)
    taken = []
    apart = 39 * CONFIG.interval + 1 if CONFIG.interval > 1 else 0
    for cycle in range(
        max(words, 40 * entering // sizes[0], 40 * CONFIG.beats, apart) + 40 + 2 * CONFIG.latency + CONFIG.pause + 20
    ):
        await RisingEdge(dut.aclk)
        if dut.m_axis_tvalid.value == 1 and dut.m_axis_tready.value == 1:
            taken.append(cycle)
    beats = 40 * CONFIG.beats + 1 if BUS else 0  # the hardware inside takes one in a cycle
    most = max(
        words + bool(BUS), -(-40 * entering // sizes[0]), beats, apart
    )  # words and beats may begin in turn on a bus
    assert len(taken) == words and taken[-1] - taken[0] <= most - 1


@cocotb.test(timeout_time=6 * PATIENCE * JOB["resets"], timeout_unit="us")
async def resets(dut) -> None:
    """A reset drops what is inside, and nothing of it comes later."""
    random = Random(JOB["seed"] + 1)
    bench = Bench(dut, random)
    bench.stall()
    for _ in range(JOB["resets"]):
        await bench.reset()
        for sent in [bench.send() for _ in range(3)]:
            await bench.check(sent)
        for _ in range(3):
            bench.send()
        for _ in range(random.randrange(1, 60)):
            await RisingEdge(dut.aclk)

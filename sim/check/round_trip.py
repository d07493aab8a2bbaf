"""An encoder and the decoder behind it, on a test bench that checks itself: numbers go in, and numbers come back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...hdl import ConverterConfig, DecoderConfig, decoder_config
from ...hdl.emission.package import file_list
from ...host.files import write_whole
from ...spec import DECODERS, Port, Role
from ..operations import drawn, golden, of
from .self_checking import Row, bench_of


def decoder_of(encoder: ConverterConfig) -> DecoderConfig:
    """The decoder that belongs to an encoder: of the profile of the same name, or ``ocp``, back to the source format,
    with a register at its output where the encoder has registers, and with the layout of its blocks.

    >>> from mxcast.hdl import converter_config
    >>> decoder_of(converter_config("e4m3", "nvidia", source="bf16")).numerics.destination.name
    'bf16'
    """
    if encoder.alternatives:
        raise ValueError("a pair is of one format and one scale rule")
    if encoder.in_beats:
        raise ValueError("a pair converts whole blocks by valid and ready: leave out lanes and interface")
    rules = encoder.numerics
    profile = encoder.profile if encoder.profile in DECODERS else "ocp"
    registered = "output" if encoder.latency else ""
    return decoder_config(
        rules.block,
        profile,
        destination=rules.source.name,
        registered_after=registered,
        layout=encoder.microarchitecture.layout,
    )


def round_trip(
    encoder: ConverterConfig, decoder: DecoderConfig, encoder_name: str, decoder_name: str, name: str, seed: int = 0
) -> str:
    """The text of the module ``<name>_tb``, in which the modules of an encoder and of a decoder follow each other. It
    prints PASS or FAIL in its last line. Raises ValueError for a decoder that takes random bits.
    """
    if decoder.numerics.random_bits:
        raise ValueError("the decoder of a pair takes no random bits")
    rules, back = encoder.numerics, decoder.numerics
    given = drawn(rules, of(rules).sample(seed), seed)
    between = golden(rules, given)
    made = golden(back, between)
    entering = [port for port in encoder.pins if port.direction == "input" and port.role.is_data]
    leaving = [port for port in decoder.ports if port.is_result]
    registered = [config for config in (encoder, decoder) if config.latency]
    control = _control(registered[0], registered[-1]) if registered else []
    rows: list[Row] = [
        (given.values(entering, "input", row), made.values(leaving, "output", row)) for row in range(len(given))
    ]
    middle = {pin.name: pin.width for pin in encoder.pins if pin.is_result}
    renamed: tuple[dict[str, str], dict[str, str]] = {}, {}
    if len(registered) == 2:
        middle |= {"valid_between": 1, "ready_between": 1}
        renamed = (
            {"o_valid": "valid_between", "o_ready": "ready_between"},
            {"i_valid": "valid_between", "i_ready": "ready_between"},
        )
    instances = [
        *(f"wire [{width - 1}:0] {wire};" for wire, width in middle.items()),
        f"{encoder_name} encoder ({_pins(encoder, renamed[0])});",
        f"{decoder_name} decoder ({_pins(decoder, renamed[1])});",
    ]
    ports = [*control, *entering, *leaving]
    return bench_of(name, ports, rows, instances, encoder.latency + decoder.latency)


def _control(first: ConverterConfig | DecoderConfig, last: ConverterConfig | DecoderConfig) -> list[Port]:
    """Clock, reset, and the handshake of both ends."""
    at_first = [port for port in first.ports if port.role in (Role.CLOCK, Role.RESET) or port.name.startswith("i_")]
    return [*at_first, *(port for port in last.ports if port.name.startswith("o_"))]


def _pins(config: ConverterConfig | DecoderConfig, renamed: Mapping[str, str]) -> str:
    return ", ".join(f".{port.name}({renamed.get(port.name, port.name)})" for port in config.pins)


def write_round_trip(
    encoder: ConverterConfig, decoder: DecoderConfig, encoder_name: str, decoder_name: str, out: Path
) -> dict[str, Path]:
    """Write the bench of a pair that is emitted below ``out``, and two lists of its files (`file_list`), to
    ``<encoder>_pair/sim/``.
    """
    name = f"{encoder_name}_pair"
    folder = out / name / "sim"
    folder.mkdir(parents=True, exist_ok=True)
    text = round_trip(encoder, decoder, encoder_name, decoder_name, name)
    files = [*(f"../../{one}/rtl/{one}.v" for one in (encoder_name, decoder_name)), f"{name}_tb.v"]
    return {
        "round_trip": write_whole(folder / f"{name}_tb.v", text),
        "round_trip_filelist": write_whole(folder / f"{name}.f", file_list(files)),
        "round_trip_icarus": write_whole(folder / f"{name}_icarus.f", file_list(files, folder)),
    }

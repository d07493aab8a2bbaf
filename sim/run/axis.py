"""A module with the ports of hardware with lanes around one with AXI4-Stream, so that both are driven alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...hdl import HardwareConfig
from ...hdl.config.axis import OF_RESULTS
from ...hdl.config.beats import BeatConfig
from ...spec import (
    Cast,
    Decode,
    Encode,
    Hadamard,
    Nvfp4Decode,
    Nvfp4Encode,
    Nvfp4TileEncode,
    Port,
    Role,
    ScalePlace,
    TileEncode,
)
from ...spec.layouts.catalogue import ScaleByte

ENCODER = """
module {name}({head});
  wire has_codes, takes_codes, has_scale, takes_scale;
  wire [{scale_bits}-1:0] next_scale;
  wire [{data_bits}-1:0] data;
  wire [{keep_bits}-1:0] kept;
  wire last, completed, scale_last;
  reg [{scale_bits}-1:0] scale_q;
  reg [{count_bits}-1:0] beat;
  // the scale of a block is taken together with its first beat
  assign o_first = beat == 0;
  assign o_last = beat == {count_bits}'d{end};
  assign o_valid = has_codes && (!o_first || has_scale);
  assign takes_codes = o_ready && (!o_first || has_scale);
  assign takes_scale = o_ready && o_first && has_codes;
  assign scale = o_first ? {scale_code} : scale_q;
  assign p = {p};
  always @(posedge clk) begin
    if (rst) beat <= 0;
    else if (o_valid && o_ready) beat <= o_last ? {count_bits}'d0 : beat + 1'd1;
    if (o_first) scale_q <= {scale_code};
  end
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(x), .s_axis_tkeep({{{bytes}{{1'b1}}}}), .s_axis_tlast(1'b0),{user}
    .s_axis_tvalid(i_valid), .s_axis_tready(i_ready),
    .m_axis_tdata(data), .m_axis_tkeep(kept), .m_axis_tlast(last), .m_axis_tuser(completed),
    .m_axis_tvalid(has_codes), .m_axis_tready(takes_codes),
    .m_axis_scale_tdata(next_scale), .m_axis_scale_tlast(scale_last),
    .m_axis_scale_tvalid(has_scale), .m_axis_scale_tready(takes_scale)
  );
endmodule
"""


DECODER = """
module {name}({head});
  wire takes_codes, takes_scale, last, marked;
  wire [{data_bits}-1:0] data = {codes};
  wire [7:0] scale_byte = {byte};
  wire [{keep_bits}-1:0] kept;
  reg [{count_bits}-1:0] beat, leaving;
  // the scale of a block enters together with its first beat
  wire first = beat == 0;
  assign i_ready = takes_codes && (!first || takes_scale);
  assign o_first = leaving == 0;
  assign o_last = leaving == {count_bits}'d{end};
  always @(posedge clk) begin
    if (rst) beat <= 0;
    else if (i_valid && i_ready) beat <= beat == {count_bits}'d{end} ? {count_bits}'d0 : beat + 1'd1;
    if (rst) leaving <= 0;
    else if (o_valid && o_ready) leaving <= o_last ? {count_bits}'d0 : leaving + 1'd1;
  end
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(data), .s_axis_tkeep({{{bytes}{{1'b1}}}}), .s_axis_tlast(1'b0), .s_axis_tuser({{{user}1'b0}}),
    .s_axis_tvalid(i_valid && (!first || takes_scale)), .s_axis_tready(takes_codes),
    .s_axis_scale_tdata(scale_byte), .s_axis_scale_tlast(1'b0),
    .s_axis_scale_tvalid(i_valid && first && takes_codes), .s_axis_scale_tready(takes_scale),
    .m_axis_tdata(y), .m_axis_tkeep(kept), .m_axis_tlast(last), .m_axis_tuser(marked),
    .m_axis_tvalid(o_valid), .m_axis_tready(o_ready)
  );
endmodule
"""


ZERO = "1'b0"

UNPACKED = """/* verilator lint_off WIDTH */
module {name}({head});
  // words enter a queue of bytes, and a block leaves when it has all its bytes. If nothing enters for long, a beat
  // without bytes ends the packet; it makes a block of zeros, which is dropped
  localparam SIZE = {size}, BLOCK = {beats} * SIZE + 1, BYTES = 2 * BLOCK + SIZE;
  wire s_ready, has_word, ends, completed;
  wire [{data_bits}-1:0] word;
  wire [SIZE-1:0] kept;
  reg [8*BYTES-1:0] bytes;
  reg [15:0] count, owed;
  reg [4:0] idle;
  reg has_entered, flushes, drains, is_last_word;
  reg [{count_bits}-1:0] beat, leaving;
  wire [{data_bits}-1:0] data = bytes >> 8 * ({codes_at} + leaving * SIZE);
  wire [7:0] next_scale = bytes >> 8 * {scale_at};
  integer i;
  reg [15:0] more;
  always @* begin more = 0; for (i = 0; i < SIZE; i = i + 1) more = more + kept[i]; end
  wire takes_word = count < BLOCK + BLOCK;
  wire leaves = o_valid && o_ready;
  wire block_leaves = leaves && o_last;
  wire enters = i_valid && i_ready;
  wire block_enters = enters && beat == {count_bits}'d{end};
  wire word_enters = has_word && takes_word;
  wire [15:0] left = block_leaves ? count - BLOCK : count;
  assign i_ready = s_ready && !flushes && !drains;
  assign o_valid = owed != 0 && count >= BLOCK;
  assign o_first = leaving == 0;
  assign o_last = leaving == {count_bits}'d{end};
  assign scale = {scale_code};
  assign p = {p};
  always @(posedge clk) begin
    owed <= owed + block_enters - block_leaves;
    count <= left + (word_enters ? more : 16'd0);
    bytes <= ((block_leaves ? bytes >> 8 * BLOCK : bytes) & ~(~{{8*BYTES{{1'b0}}}} << 8 * left))
      | (word_enters ? {{{{8*BYTES{{1'b0}}}}, word}} << 8 * left : 0);
    if (enters) beat <= beat == {count_bits}'d{end} ? {count_bits}'d0 : beat + 1'd1;
    if (leaves) leaving <= o_last ? {count_bits}'d0 : leaving + 1'd1;
    idle <= enters || beat != 0 ? 5'd0 : idle + (idle != 31);
    if (enters) has_entered <= 1'b1;
    if (idle == 31 && has_entered && !enters && !flushes && !drains) flushes <= 1'b1;
    if (flushes && s_ready) begin flushes <= 1'b0; drains <= 1'b1; has_entered <= 1'b0; end
    if (word_enters && ends) is_last_word <= 1'b1;
    if (drains && is_last_word && owed == 0) begin drains <= 1'b0; is_last_word <= 1'b0; count <= 0; end
    if (rst) begin
      owed <= 0; count <= 0; beat <= 0; leaving <= 0; idle <= 0;
      has_entered <= 0; flushes <= 0; drains <= 0; is_last_word <= 0;
    end
  end
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(x), .s_axis_tkeep({{{bytes}{{!flushes}}}}), .s_axis_tlast(flushes),{user}
    .s_axis_tvalid(flushes || i_valid && !drains), .s_axis_tready(s_ready),
    .m_axis_tdata(word), .m_axis_tkeep(kept), .m_axis_tlast(ends), .m_axis_tuser(completed),
    .m_axis_tvalid(has_word), .m_axis_tready(takes_word)
  );
endmodule
"""

PACKED = """/* verilator lint_off WIDTH */
module {name}({head});
  // blocks enter a queue of bytes and leave it in words; a packet ends if no block follows
  wire takes, last, marked;
  reg [{queue_bits}-1:0] bytes;
  reg [7:0] count;
  reg ending;
  reg [{count_bits}-1:0] beat, leaving;
  wire [{keep_bits}-1:0] kept;
  wire first = beat == 0;
  wire [{data_bits}-1:0] codes = {codes};
  wire [7:0] scale_byte = {byte};
  wire [{data_bits}+7:0] part = {part};
  wire [7:0] size = {bytes} + {more};
  wire sends = takes && (ending || count >= {bytes});
  wire [7:0] left = !sends ? count : ending ? 8'd0 : count - 8'd{bytes};
  wire enters = i_valid && i_ready;
  assign i_ready = !ending && count < {bytes} + 8'd2;
  assign o_first = leaving == 0;
  assign o_last = leaving == {count_bits}'d{end};
  always @(posedge clk) begin
    count <= left + (enters ? size : 8'd0);
    bytes <= (sends ? bytes >> {data_bits} : bytes) | (enters ? {{{{{queue_bits}{{1'b0}}}}, part}} << (8 * left) : 0);
    ending <= ending ? !sends : count != 0 && count < {bytes} && first && !enters;
    if (enters) beat <= beat == {count_bits}'d{end} ? {count_bits}'d0 : beat + 1'd1;
    if (o_valid && o_ready) leaving <= o_last ? {count_bits}'d0 : leaving + 1'd1;
    if (rst) begin count <= 0; bytes <= 0; ending <= 0; beat <= 0; leaving <= 0; end
  end
{users}  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(bytes[{data_bits}-1:0]),
    .s_axis_tkeep(ending ? ~({{{bytes}{{1'b1}}}} << count) : {{{bytes}{{1'b1}}}}),
    .s_axis_tlast(ending), .s_axis_tuser({{{user}1'b0}}),
    .s_axis_tvalid(ending || count >= {bytes}), .s_axis_tready(takes),
    .m_axis_tdata(y), .m_axis_tkeep(kept), .m_axis_tlast(last), .m_axis_tuser(marked),
    .m_axis_tvalid(o_valid), .m_axis_tready(o_ready)
  );
endmodule
"""

USERS = """  // the word that completes a beat brings what the beat has in tuser
  reg [4*{bits}-1:0] users;
  reg [2:0] waiting;
  reg [7:0] due;
  reg [{count_bits}-1:0] completed;
  wire completes = sends && due <= {bytes};
  wire [{count_bits}-1:0] next = completed == {count_bits}'d{end} ? {count_bits}'d0 : completed + 1'd1;
  always @(posedge clk) begin
    waiting <= waiting + enters - completes;
    users <= (completes ? users >> {bits} : users)
      | (enters ? {{{{{{4*{bits}{{1'b0}}}}}}, {user}}} << {bits} * (waiting - completes) : 0);
    if (completes) completed <= next;
    if (sends) due <= (completes ? {bytes} + {more_of_next} : 8'd0) + due - {bytes};
    if (rst) begin waiting <= 0; users <= 0; completed <= 0; end
    if (rst || sends && ending) due <= {bytes} + 8'd1;
  end
"""

CAST = """
module {name}({head});
  wire last, marked;
  wire [{data_bits}-1:0] data = {entering};
  wire [{result_bits}-1:0] result;
  wire [{keep_bits}-1:0] kept;
  assign {leaving} = result[{leaving_bits}-1:0];
  assign o_first = 1'b1;
  assign o_last = 1'b1;
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(data), .s_axis_tkeep({{{bytes}{{1'b1}}}}), .s_axis_tlast(1'b0), .s_axis_tuser({{{user}1'b0}}),
    .s_axis_tvalid(i_valid), .s_axis_tready(i_ready),
    .m_axis_tdata(result), .m_axis_tkeep(kept), .m_axis_tlast(last), .m_axis_tuser(marked),
    .m_axis_tvalid(o_valid), .m_axis_tready(o_ready)
  );
endmodule
"""

SURROUNDED = """
module {name}({head});
  wire [{streams}-1:0] valids;
  reg [{count_bits}-1:0] beat;
  // each stream has a part of a result, which is taken when all have theirs
  assign o_valid = &valids;
  assign o_first = beat == 0;
  assign o_last = beat == {count_bits}'d{end};
  always @(posedge clk) begin
    if (rst) beat <= 0;
    else if (o_valid && o_ready) beat <= o_last ? {count_bits}'d0 : beat + 1'd1;
  end
{wires}
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(x), .s_axis_tkeep({{{bytes}{{1'b1}}}}), .s_axis_tlast(1'b0),{user}
    .s_axis_tvalid(i_valid), .s_axis_tready(i_ready),
    {connected}
  );
endmodule
"""


def around_axis(config: HardwareConfig, top: str) -> tuple[str, str]:
    """The text of the module, and its name. It sends one packet without an end."""
    name = f"{top}_ports"
    about = {
        "name": name,
        "top": top,
        "head": ", ".join(f"{port.direction} wire [{port.width - 1}:0] {port.name}" for port in config.ports),
        "count_bits": max(1, (config.beats - 1).bit_length()),
        "end": config.beats - 1,
    }
    return f"/* verilator lint_off UNUSEDSIGNAL */\n{AROUND[config.numerics.name](config, about)}", name


def _encoder(config: HardwareConfig, about: Mapping[str, object]) -> str:
    ports, pins = _widths(config.ports), _widths(config.pins)
    assert isinstance(config, BeatConfig)
    random = [port for port in config.ports if port.role is Role.RANDOM]
    user = [port.name for port in reversed((*config.of_block, *random))]
    stream, size = config.block_stream, pins["m_axis_tkeep"]
    is_before = stream is not None and stream.place is ScalePlace.BEFORE
    return (ENCODER if config.is_even else UNPACKED).format(
        **about,
        **_places(config),
        scale_bits=ports["scale"],
        data_bits=pins["m_axis_tdata"],
        keep_bits=size,
        size=size,
        beats=config.beats,
        codes_at=int(is_before),
        scale_at=0 if is_before else config.beats * size,
        bytes=pins["s_axis_tkeep"],
        user=f" .s_axis_tuser({{{', '.join(user)}}})," if user else "",
    )


def _decoder(config: HardwareConfig, about: Mapping[str, object]) -> str:
    assert isinstance(config, BeatConfig)
    pins, stream = _widths(config.pins), config.block_stream
    is_before, size = stream is not None and stream.place is ScalePlace.BEFORE, pins["s_axis_tdata"]
    values, bits = config.with_codes, sum(port.width for port in config.with_codes)
    known = {
        **about,
        "data_bits": size,
        "queue_bits": 3 * size + 16,
        "keep_bits": pins["m_axis_tkeep"],
        "part": "first ? {codes, scale_byte} : {8'd0, codes}" if is_before else "{scale_byte, codes}",
        "more": "{7'd0, first}" if is_before else "8'd1",
        "more_of_next": "{7'd0, next == 0}" if is_before else "8'd1",
        "bytes": pins["s_axis_tkeep"],
        "bits": bits,
    }
    user = "".join(f"{port.name}, " for port in values)
    if config.is_even:
        return DECODER.format(**known, **_places(config), user=user)
    users = USERS.format(**known, user=user.removesuffix(", ")) if values else ""
    return PACKED.format(**known, **_places(config), users=users, user=f"users[{bits - 1}:0], " if values else "")


def _places(config: BeatConfig) -> dict[str, str]:
    """Verilog of the bytes of a beat, from its codes ``p`` and its ``scale``, and of these from ``data`` and
    ``next_scale``."""
    stream, codes = config.block_stream, next(port for port in config.ports if port.role is Role.CODES)
    if stream is None:
        whole = {"codes": "p", "byte": "scale", "scale_code": "next_scale"}
        return whole | {"p": f"data[{codes.width - 1}:0]"}
    places = stream.places(config.numerics.block.element, config.lanes)
    at = {bit: place for place, bit in enumerate(places) if bit is not None}
    is_code = stream.scale_byte is ScaleByte.CODE
    return {
        "codes": f"{{{', '.join(ZERO if bit is None else f'p[{bit}]' for bit in reversed(places))}}}",
        "byte": "scale" if is_code else "scale - 8'd127",
        "scale_code": "next_scale" if is_code else "next_scale + 8'd127",
        "p": f"{{{', '.join(f'data[{at[bit]}]' for bit in reversed(range(codes.width)))}}}",
    }


def _cast(config: HardwareConfig, about: Mapping[str, object]) -> str:
    pins, (entering, *_, leaving) = _widths(config.pins), config.numerics.ports
    return CAST.format(
        **about,
        entering=entering.name,
        leaving=leaving.name,
        leaving_bits=leaving.width,
        data_bits=pins["s_axis_tdata"],
        result_bits=pins["m_axis_tdata"],
        keep_bits=pins["m_axis_tkeep"],
        bytes=pins["s_axis_tkeep"],
        user="random, " if config.numerics.random_bits else "",
    )


def _surrounded(config: HardwareConfig, about: Mapping[str, object]) -> str:
    given = [port.name for port in config.operation_ports if port.direction == "input" and port.name != "x"]
    pins = {pin.name: pin for pin in config.pins}
    results = {port.name: OF_RESULTS[port.name] for port in config.operation_ports if port.direction == "output"}
    wires, connected = [], []
    for number, (port, stream) in enumerate(results.items()):
        own = [name for end in ("tdata", "tkeep", "tlast", "tuser") if (name := f"{stream}{end}") in pins]
        wires += [f"  wire [{pins[name].width}-1:0] {name};" for name in own]
        wires.append(f"  assign {port} = {stream}tdata[{_widths(config.ports)[port]}-1:0];")
        connected += [f".{name}({name})" for name in own]
        connected += [f".{stream}tvalid(valids[{number}])", f".{stream}tready(o_ready && o_valid)"]
    return SURROUNDED.format(
        **about,
        streams=len(results),
        wires="\n".join(wires),
        bytes=pins["s_axis_tkeep"].width,
        user=f" .s_axis_tuser({{{', '.join(reversed(given))}}})," if given else "",
        connected=", ".join(connected),
    )


def _widths(ports: Sequence[Port]) -> dict[str, int]:
    return {port.name: port.width for port in ports}


AROUND: dict[str, Callable[[HardwareConfig, Mapping[str, object]], str]] = {
    Encode.name: _encoder,
    Nvfp4Encode.name: _encoder,
    Decode.name: _decoder,
    Nvfp4Decode.name: _decoder,
    Cast.name: _cast,
    **dict.fromkeys((Hadamard.name, TileEncode.name, Nvfp4TileEncode.name), _surrounded),
}
"""The module by the name of the operation."""

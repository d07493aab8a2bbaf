"""`mxcast prove` and `mxcast mutate`: prove the Verilog for every block, and measure which faults checks find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...hdl import BEST, HardwareConfig
from ...hdl.emission.designs import described
from ...host.cache import refreshed
from ...host.files import parsed_json, regular
from ...spec import Encode, Role, Tiled
from ...spec.catalogue import entry
from ...spec.operations.nvfp4_encode import Nvfp4Encoding
from ..errors import ExitCode
from ..options.around import BlockDesign, Bus, Registers, around
from ..options.common import Force, Seed
from ..options.hardware import HardwareOptions
from ..options.request import Request, request
from ..output.output import Output

if TYPE_CHECKING:
    from ...proof import Proof
    from ...proof.mutation import Mutation
    from ...proof.solve.argument import Argument

Rtl = Annotated[
    Path | None,
    typer.Option(
        "--rtl",
        metavar="FILE",
        show_default=False,
        help="Prove this Verilog file instead of the emitted one. Its configuration is in the .json file of the same "
        "name, unless a format is given.",
    ),
]
Solver = Annotated[str, typer.Option("--solver", metavar="NAME", help="bitwuzla or z3.")]
Timeout = Annotated[
    float, typer.Option("--timeout", min=1, max=1_000_000, metavar="SECONDS", help="Time limit for each question.")
]


def prove(
    given: HardwareOptions,
    output: Output,
    rtl: Rtl = None,
    monolithic: Annotated[bool, typer.Option("--monolithic", help="Ask one question about the whole block.")] = False,
    netlist: Annotated[
        str | None,
        typer.Option(
            "--netlist", metavar="TARGET", show_default=False, help="Prove the netlist of synthesis: xcu or ecp5."
        ),
    ] = None,
    latency: Annotated[
        int, typer.Option("--latency", min=0, metavar="CYCLES", help="Latency of a pipelined file with the clock clk.")
    ] = 0,
    registers: Registers = False,
    bus: Bus = None,
    block_design: BlockDesign = False,
    solver: Solver = "bitwuzla",
    timeout: Timeout = 900,
    force: Force = False,
) -> None:
    """Prove that the written Verilog equals the specification for every input block.

    PASS: every block is converted correctly. FAIL: a counterexample is shown (exit code 1). UNKNOWN, TIMEOUT: the
    solver gave no answer (exit code 4). With --rtl the results are in the folder of that file.
    """
    if rtl is not None and given.format is None and given.config is None:
        others = [("profile", given.profile), ("set", given.set and given.set[0]), ("target", given.target)]
        if option := next((f"--{name} {value}" for name, value in others if value), None):
            raise ValueError(f"{option.split()[0]} needs a format: mxcast prove FORMAT --rtl {rtl} {option}")
        config, name = beside(rtl)
        asked = Request(configs=(config,), many=False, name=given.name or name)
    else:
        usual = netlist if netlist in BEST else None
        designs = None if rtl else given.out
        asked = request("prove {}", given, usual_target=usual, output=output, designs=designs)
    if rtl is not None and asked.many:
        raise ValueError("--rtl is one converter: give one format")
    from ...proof import prove

    proofs = []
    for chosen in asked.configs:
        output.configuration(chosen)
        with output.steps(f"proving {chosen.formats}") as progress, refreshed(force):
            proof = prove(
                chosen,
                rtl=rtl,
                name=asked.name,
                out=given.out,
                whole=monolithic,
                latency=latency,
                netlist=netlist,
                around=around(registers, bus, block_design),
                solver=solver,
                timeout=timeout,
                force=force,
                progress=progress,
            )
        proofs.append(proof)
        output.table(steps_table(proof.arguments))
        if proof.remark:
            output.say(proof.remark)
        if proof.handshake:
            output.say(f"checked on the netlist: {proof.handshake}")
        output.say(_verdict(proof))
        if proof.trace:
            output.say("\n".join([*proof.trace.words, f"the same as a waveform: {proof.trace.file}"]))
        if proof.counterexample:
            _explain(proof, output)
        output.say(f"questions and outcome in {proof.folder}")
    output.document(asked.of([proof.to_dict() for proof in proofs]))
    statuses = {str(proof.status) for proof in proofs}
    if statuses != {"PASS"}:
        raise typer.Exit(ExitCode.FAILED if "FAIL" in statuses else ExitCode.INCONCLUSIVE)


def steps_table(arguments: list[Argument]) -> list[dict[str, object]]:
    """One row for each question."""
    several = {"text": lambda argument: argument.macros} if len({argument.macros for argument in arguments}) > 1 else {}
    return [
        {
            **{name: value(argument) for name, value in several.items()},
            "read by": argument.reader,
            "status": str(step.status),
            "seconds": step.answer.seconds,
            "lemma": step.question.name,
            "which says": step.question.description,
        }
        for argument in arguments
        for step in argument.steps
    ]


def read_by(readers: list[str], unread: dict[str, str], second_leg: str = "") -> str:
    """Front ends that read the design, why others were skipped, and the simulation in their place."""
    names = " and ".join(dict.fromkeys(readers))
    if not unread:
        return f"as {names} read it"
    return "; ".join([f"as {names} alone reads it: {'; '.join(unread.values())}", *filter(None, [second_leg])])


def mutate(
    given: HardwareOptions,
    output: Output,
    mutants: Annotated[int, typer.Option("--mutants", min=1, metavar="N", help="Number of faults to plant.")] = 200,
    timeout: Timeout = 300,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Plant faults in the emitted Verilog, and mutants in the specification, and count which are found.

    The cocotb regression or verify must find each fault, or a proof must show that it changes no result. A fault that
    survives is a failure. The solver must also refute every mutant of the specification.
    """
    asked = request("mutate {}", given, output=output, designs=given.out)
    from ...hdl import default_name, intact
    from ...proof.mutation import mutate
    from ...proof.refutation import refute

    documents, passed, undecided = [], True, False
    for chosen in asked.configs:
        output.configuration(chosen)
        top = asked.name or default_name(chosen)
        intact(chosen, given.out, top)
        folder = given.out / top / "mutants"
        with output.progress(f"mutating {chosen.formats}") as progress, refreshed(force):
            result = mutate(chosen, mutants, seed=seed, out=folder, timeout=timeout, progress=progress)
            statements = refute(chosen, folder / "specification", timeout=timeout)
        output.table([_row(result)])
        for mutant in result.mutants:
            if mutant.fate in ("survived", "undecided"):
                output.say(f"mutant {mutant.number} {mutant.fate}: {mutant.fault}\n{mutant.by}")
        wrong = [mutant for mutant in statements if mutant.by is None]
        output.say(
            f"{chosen.formats}: {len(statements) - len(wrong)} of {len(statements)} specification mutants refuted"
            + "".join(f"\nnot refuted: {mutant.description}" for mutant in wrong)
        )
        passed = passed and not wrong and not any(m.fate == "survived" for m in result.mutants)
        undecided = undecided or any(m.fate == "undecided" for m in result.mutants)
        documents.append({**result.to_dict(), "mistakes": [mutant.to_dict() for mutant in statements]})
    output.document(asked.of(documents))
    if not passed or undecided:
        raise typer.Exit(ExitCode.INCONCLUSIVE if passed else ExitCode.FAILED)


def _row(result: Mutation) -> dict[str, object]:
    found = result.to_dict()
    return {
        "format": result.config.formats,
        "mutants": found["mutants"],
        "equivalent": found["equivalent"],
        "faults": result.faults,
        "killed by the regression": result.suite,
        "killed by verify only": found["killed"] - result.suite,
        "survived": found["survived"],
        "undecided": found["undecided"],
    }


def beside(rtl: Path) -> tuple[HardwareConfig, str]:
    """The configuration and the top module in the JSON file of an emitted Verilog file."""
    from ...sim.run.preprocess import verilog_file

    path = verilog_file(rtl).with_suffix(".json")
    try:
        about = parsed_json(regular(path).read_text("utf-8-sig"))
        return described(about), entry(about, "name", str)
    except OSError:
        raise ValueError(f"{path} is missing, which describes {rtl}: give a format and a profile") from None
    except RecursionError:
        raise ValueError(f"{path} does not describe a converter: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path} does not describe a converter: {error}") from None


def _explain(proof: Proof, output: Output) -> None:
    """Print the right conversion of a counterexample, step by step, for encoders."""
    from ...explain import explain
    from ..steps.encode import show

    found = proof.counterexample
    assert found is not None
    rules = proof.config.modes[found.mode]
    if isinstance(rules, Encode):
        block, random = found.block[Role.NUMBERS][0], found.block.get(Role.RANDOM)
        drawn = None if random is None else random[0].tolist()
        show(explain(block.tolist(), rules, random=drawn), output, [], everything=False)


def _verdict(proof: Proof) -> str:
    from ...hdl.config.command import command_line

    numerics, what = proof.config.numerics, f"{proof.status}: {proof.verilog.name}"
    name = f"{proof.config.formats} {proof.config.profile or proof.config.config_id}"
    if proof.netlist:
        what += f", mapped to {proof.netlist},"
    if proof.passed:
        bits = sum(port.width for port in numerics.ports if port.direction == "input")
        if proof.handshake:
            what += f", after {proof.config.latency} cycles,"
        mapped = {"slang": "Yosys maps what read_verilog reads"} if proof.netlist else {}
        readers = read_by([argument.reader for argument in proof.arguments], proof.unread | mapped, proof.second_leg)
        texts = list(dict.fromkeys(argument.macros for argument in proof.arguments))
        macros = f" each of {len(texts)} texts ({'; '.join(texts)})" if len(texts) > 1 else ""
        inputs = f"all 2^{bits} inputs"
        if isinstance(numerics, Nvfp4Encoding):
            bits, what_enters = numerics.ports[0].width, "tiles" if isinstance(numerics, Tiled) else "blocks"
            inputs = f"all 2^{bits} {what_enters}, under the constants of every tensor"
            if any(port.role is Role.ROW_CELLS for port in proof.config.ports):
                inputs += " with the rows of its table"
        if proof.config.in_beats:
            part = "packets" if proof.config.has_axis else "rows" if isinstance(numerics, Tiled) else "beats"
            inputs += f", in {part} with any stalls and resets"
        elif not proof.config.is_plain:
            inputs += ", in blocks with any stalls and resets"
        top = proof.around.outermost(proof.verilog.stem)
        around = f", and {top}.v passes them on" if top != proof.verilog.stem else ""
        return (
            f"{what} equals {name} for {inputs}{macros}{around}, {readers} "
            f"({proof.solver} {proof.version}, {proof.seconds:.1f} s)"
        )
    if proof.trace:
        return f"{what}: beats of {name} leave in a wrong order, or with the scale of another block"
    if proof.disagreement:
        return f"{what} is not proved"
    if proof.counterexample is None and (
        proof.objections or any(argument.remark or argument.doubt for argument in proof.arguments)
    ):
        return f"{what}: no block was found that it converts otherwise, and it is not proved"
    if proof.counterexample is None:
        unanswered = next(step for step in proof.steps if step.status != "PASS")
        return f"{what}: {proof.solver} {proof.version} did not show that {unanswered.question.description}"
    found = proof.counterexample
    if proof.arguments[-1].macros:
        what += f", with {proof.arguments[-1].macros},"
    return (
        f"{what} differs from {name}\n{found.report}\nto keep it in the regression: mxcast test "
        f"{command_line(proof.config)} --vectors {found.vectors}"
    )

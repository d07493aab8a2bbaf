"""`mxcast check-rtl`: compare anybody's converter with a profile."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...hdl import HardwareConfig
from ...host.cache import refreshed
from ...host.files import read_toml
from ...spec import Role
from ...spec.catalogue import unknown_name
from ..errors import ExitCode
from ..options.common import Blocks, Config, Force, FormatOption, Op, Out, ProfileOptions, RuleOptions, Seed
from ..options.request import request
from ..output.output import Output
from .proving import Solver, Timeout, read_by, steps_table

if TYPE_CHECKING:
    from ...proof.foreign.check_rtl import Check

NAN_CODES = ("exact", "free")

SHOWN = 5
"""Largest number of matching rules that are printed."""


def check_rtl(
    given: ProfileOptions,
    output: Output,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES...", help="Verilog or SystemVerilog, packages first.", show_default=False),
    ],
    top: Annotated[
        str | None, typer.Option("--top", metavar="MODULE", help="Name of the converter's module.", show_default=False)
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="KEY=VALUE",
            show_default=False,
            help="Ports by role: x, scale, p, y, random, and for nvfp4 k, d, a, g. "
            "Examples: x=in_{i}, x=s_{i}:e_{i}:m_{i}, x=data@msb, p=q[{4*i+3}:{4*i}]. Also clk=PORT, rst=PORT@low, "
            "latency=N, interval=N, i_valid=PORT and so on with lanes, and PORT=0 for other inputs. Repeatable.",
        ),
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map-file",
            metavar="FILE",
            show_default=False,
            help="TOML with the same keys in its table map; --map wins.",
        ),
    ] = None,
    format: FormatOption = None,
    op: Op = "encode",
    config: Config = None,
    include: Annotated[
        list[Path] | None, typer.Option("-I", metavar="DIR", help="Include files; repeatable.", show_default=False)
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", metavar="NAME[=TEXT]", help="A macro; repeatable.", show_default=False)
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", show_default=False, help="A parameter of the converter; repeatable."
        ),
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Simulate every input pattern, in minutes to hours.")
    ] = False,
    blocks: Blocks = 200_000,
    nan_codes: Annotated[
        str,
        typer.Option(
            "--nan-codes",
            metavar="exact|free",
            help="Whether codes under the scale byte 255 count; readers ignore them.",
        ),
    ] = "exact",
    timeout: Timeout = 300,
    solver: Solver = "bitwuzla",
    out: Out = Path("build"),
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Check anybody's converter against a profile. It is simulated, then proved; if it differs, its rules are named.

    PASS: proved for every block. FAIL: a counterexample is shown (exit code 1). UNKNOWN, TIMEOUT: no difference was
    found, and nothing is proved (exit code 4).
    """
    usage = f"check-rtl {files[0]} --top {top or 'TOP'} --format {{}}"
    rules = RuleOptions(format=format, op=op, profile=given.profile, set=given.set, config=config)
    chosen = request(usage, rules, allow_all=False).configs[0]
    if top is None:
        raise ValueError("the module to check is missing: --top MODULE")
    output.configuration(chosen)
    if nan_codes not in NAN_CODES:
        raise ValueError(unknown_name("choice of --nan-codes", nan_codes, NAN_CODES))
    from ...proof.foreign.check_rtl import check_rtl
    from ...proof.foreign.mapping import PortMap, entries

    asked = PortMap.of((_table(map_file) if map_file else {}) | entries(map or ()))
    with output.steps(f"checking {top}") as progress, refreshed(force):
        check = check_rtl(
            files,
            top,
            chosen,
            asked,
            include=include or (),
            define=define or (),
            parameters=entries(param or (), "--param"),
            out=out,
            exhaustive=exhaustive,
            blocks=blocks,
            seed=seed,
            nan_codes_free=nan_codes == "free",
            solver=solver,
            timeout=timeout,
            progress=progress,
        )
    _show(check, output)
    output.document(check.to_dict() | {"folder": str(check.folder)})
    if not check.passed:
        raise typer.Exit(ExitCode.FAILED if check.status == "FAIL" else ExitCode.INCONCLUSIVE)


def _table(path: Path) -> dict[str, object]:
    document = read_toml(path)
    if set(document) != {"map"} or not isinstance(document["map"], dict):
        raise ValueError(f"{path} must have one table, [map], with the keys of --map")
    return document["map"]


def _show(check: Check, output: Output) -> None:
    for one in [check, *check.others]:
        _show_one(one, output)
    output.say(f"designs and outcome in {check.folder}")


def _show_one(check: Check, output: Output) -> None:
    if check.reading.macros:
        output.say(f"with {check.reading.macros}:")
    output.table(check.stimuli)
    if (normal := check.divergence) is not None:
        output.say(
            f"N(0,1): {_share(normal.differing_blocks, normal.blocks)} blocks differ, "
            + ", ".join(_compared(role, count, check) for role, count in normal.differing.items())
            + "\n"
        )
    output.table(steps_table(check.arguments))
    name = _name(check.config) + (" with free codes under scale byte 255" if check.nan_codes_free else "")
    readers = read_by([argument.reader for argument in check.arguments], check.unread, check.second_leg)
    constants = any(port.role is Role.SCALE_CONSTANT for port in check.config.numerics.ports)
    under = ", under the constants of every tensor" if constants else ""
    once = f"{',' * constants} that enters once {check.edges} edges of the clock have passed" if check.edges else ""
    output.say(
        f"{check.status}: {check.top} "
        + {
            "PASS": f"equals {name} for every block{under}{once} ({readers}; {check.solver})",
            "FAIL": f"is not {name}",
            "TIMEOUT": f"differs from {name} on no block that was simulated; {check.solver} had no time to prove it",
            "UNKNOWN": "is not proved"
            if any(row["differ"] for row in check.stimuli)
            else f"differs from {name} on no block that was simulated; it is not proved",
        }[check.status]
    )
    for objection in check.objections:
        output.say(f"not to be proved: {objection}")
    for text in filter(None, [check.first, *check.remarks]):
        output.say(text)
    if check.counterexamples:
        output.table([{"differs": found.title, "blocks": found.blocks} for found in check.counterexamples])
        for found in check.counterexamples:
            if found.report:
                output.say(f"{found.title}\n  {found.report}")
    if check.matches:
        output.say(
            "it matches "
            + "; ".join(" = ".join(one.names) for one in check.matches[:SHOWN])
            + (f" and {len(check.matches) - SHOWN} more" if len(check.matches) > SHOWN else "")
            + f": nothing differs on {check.tried:,} blocks"
        )
    elif check.rules:
        _show_rules(check, output)


def _show_rules(check: Check, output: Output) -> None:
    """Print the rules that agree with the design on the most results, if they agree on more than half."""
    output.say("it matches no profile, and no profile with one rule changed")
    normal = check.divergence
    assert normal is not None  # there is something near
    for role in normal.differing:
        _, best = min(((one.words[role], one) for one in check.rules), key=itemgetter(0))
        if 2 * best.words[role] < _words(role, check):
            share, _, words = _compared(role, best.words[role], check).partition(") ")
            output.say(f"its {words} are nearest to {' = '.join(best.names)}: {share}) of N(0,1) differ")


def _compared(role: Role, count: int, check: Check) -> str:
    """How many of the results of a role differ, in words."""
    from ...sim.check.comparison import NOUNS

    of = _words(role, check)
    return f"{_share(count, of)} {'scale bytes' if role is Role.SCALE else NOUNS[role].replace('_', ' ')}"


def _words(role: Role, check: Check) -> int:
    """The number of results that were compared on N(0,1)."""
    assert check.divergence is not None
    return check.divergence.blocks * next(port.lanes for port in check.config.numerics.ports if port.role is role)


def _name(config: HardwareConfig) -> str:
    return f"{config.formats} {config.profile or config.config_id}"


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({100 * count / of:.3g} %)"

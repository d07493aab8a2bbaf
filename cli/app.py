"""The command itself: its verbs, and what becomes of errors."""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import typer
import typer.core

from ..host.signals import arrived
from .errors import ExitCode, UsageError, explained, interrupted, warned
from .examples import epilog
from .streams import abandon, complain, reader_is_gone
from .verbs import (
    check,
    check_rtl,
    compare,
    convert,
    cost,
    doctor,
    explain,
    explore,
    generate,
    identify,
    inspect,
    listing,
    proving,
    vectors,
)


class _Verb(typer.core.TyperCommand):
    """A verb, which refuses an option that takes one value and is given several times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        *_, given = self.make_parser(ctx).parse_args(list(args))
        for option in given:
            is_switch = getattr(option, "is_flag", False) and not option.secondary_opts
            is_single = option.param_type_name == "option" and not option.multiple and not is_switch
            if is_single and (count := given.count(option)) > 1:
                name = max(option.opts, key=len)
                raise UsageError(f"{name} is given {count} times and takes one value")
        return super().parse_args(ctx, args)


class _Verbs(typer.core.TyperGroup):
    """The verbs. What a signal ends they report as an error, of which typer makes an exit code without a sentence."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            raise typer.Abort(str(stopped)) from None


app = typer.Typer(
    name="mxcast", cls=_Verbs, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)
for verb in (
    listing.list_,
    doctor.doctor,
    convert.quantize,
    convert.dequantize,
    convert.convert,
    inspect.inspect,
    explain.explain,
    compare.compare,
    generate.emit,
    check.verify,
    check.test,
    proving.prove,
    proving.mutate,
    check_rtl.check_rtl,
    identify.identify,
    vectors.vectors,
    cost.synth,
    explore.explore,
):
    name = verb.__name__.rstrip("_").replace("_", "-")
    app.command(name, cls=_Verb, epilog=epilog(name))(verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"mxcast {version('mxcast')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bit-exact converters to the OCP microscaling (MX) formats: golden model, Verilog, and the evidence that they
    agree.

    Exit codes: 0 passed, 1 a check failed, 2 usage, configuration or input, 3 a tool is missing or too old, 4
    inconclusive; 129, 130, 131, 143 ended by SIGHUP, SIGINT, SIGQUIT, SIGTERM; 141 the reader of the output is gone.
    With --json, an error is a document too: {"error": SENTENCE, "exit_code": CODE}.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@lru_cache(maxsize=1)
def _built() -> Any:
    """The command that typer builds from the functions. Building it takes longer than many commands."""
    return typer.main.get_command(app)


def command(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; returns the exit code.

    What the user can mend, and a warning of ours, is one sentence on stderr; with --json an error is a document on
    stdout too. Anything else is a defect of ours and keeps its traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = warned
        return _answered(arguments)


def _answered(arguments: Sequence[str]) -> int:
    try:
        code = _built().main(args=arguments, prog_name="mxcast", standalone_mode=False) or 0
        sys.stdout.flush()  # a full disk shows here
        if arrived() is None:
            return code
        code, sentence = interrupted()  # while typer read the options, of which it makes a code that is always the same
    except (Exception, KeyboardInterrupt, SystemExit) as raised:
        error: BaseException = raised
        if isinstance(error, SystemExit):  # what typer makes of a broken pipe, whosever that is
            error = error.__context__ or error
        if isinstance(error, BrokenPipeError) and reader_is_gone():
            return int(ExitCode.PIPE)
        known = explained(error)
        if known is None:
            raise error  # noqa: B904  # it is no other error
        code, sentence = known
    try:
        if _asks_for_json(arguments):
            print(json.dumps({"error": sentence, "exit_code": int(code)}, indent=2))
        sys.stdout.flush()
    except OSError:  # the disk is still full
        abandon("stdout")
    complain(f"mxcast: {sentence}")
    return int(code)


def _asks_for_json(arguments: Sequence[str]) -> bool:
    return "--json" in itertools.takewhile("--".__ne__, arguments)

"""The verbs as typer commands. A verb is imported when it is called; its name is known before."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, wraps
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer
import typer.core

from ..spec.catalogue import cut
from .examples import epilog
from .version import print_version

VERBS = {
    "list": "listing.list_",
    "doctor": "doctor.doctor",
    "quantize": "convert.quantize",
    "dequantize": "convert.dequantize",
    "convert": "convert.convert",
    "inspect": "inspect.inspect",
    "explain": "explain.explain",
    "compare": "compare.compare",
    "emit": "generate.emit",
    "verify": "check.verify",
    "test": "check.test",
    "prove": "proving.prove",
    "mutate": "proving.mutate",
    "check-rtl": "check_rtl.check_rtl",
    "identify": "identify.identify",
    "vectors": "vectors.vectors",
    "synth": "cost.synth",
    "explore": "explore.explore",
}
"""Module in `verbs`, and function, of each verb, in the order of the help."""

SETTINGS = {"help_option_names": ["-h", "--help"]}
UsageError: Any = typer.BadParameter.__base__  # exported by typer only as the base of this class


def run(arguments: Sequence[str]) -> int:
    """Run the verb that the arguments name; returns the exit code. Raises ValueError for wrong arguments."""
    try:
        return built().main(args=arguments, prog_name="mxcast", standalone_mode=False) or 0
    except typer.Abort as stopped:
        raise KeyboardInterrupt(str(stopped)) from None
    except UsageError as error:  # whose message repeats words of any length
        raise ValueError(re.sub(r"\S+", lambda word: cut(word[0]), error.format_message())) from None


@lru_cache(maxsize=1)
def built() -> Any:
    """The command with all verbs."""
    app = typer.Typer(name="mxcast", cls=_Group, context_settings=SETTINGS)
    app.callback(invoke_without_command=True, help=_paragraphs(_command))(_command)
    group: Any = typer.main.get_command(app)
    group.commands = _Verbs()
    return group


class _Group(typer.core.TyperGroup):
    """The command. A signal ends a verb with an error, since typer would end it with a code and no sentence."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            raise typer.Abort(str(stopped)) from None


class _Verb(typer.core.TyperCommand):
    """A verb, which refuses an option that takes one value and is given several times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        *_, given = self.make_parser(ctx).parse_args(list(args))
        for option in given:
            is_switch = getattr(option, "is_flag", False) and not option.secondary_opts
            is_single = option.param_type_name == "option" and not option.multiple and not is_switch
            if is_single and (count := given.count(option)) > 1:
                raise ValueError(f"{max(option.opts, key=len)} is given {count} times and takes one value")
        return super().parse_args(ctx, args)


class _Verbs(Mapping[str, object]):
    """The commands of the verbs by name."""

    def __getitem__(self, name: str) -> object:
        if name not in VERBS:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _loaded(verb: str) -> object:
    module, _, name = VERBS[verb].partition(".")
    app = typer.Typer(add_completion=False, context_settings=SETTINGS)
    function = getattr(import_module(f".verbs.{module}", __package__), name)
    text = _paragraphs(function)
    short = text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."
    app.command(verb, cls=_Verb, epilog=epilog(verb), help=text, short_help=short)(_flat(function))
    return typer.main.get_command(app)


def _paragraphs(function: Callable[..., None]) -> str:
    """The docstring with each paragraph in one line, since typer keeps the line breaks of all but the first."""
    text = inspect.getdoc(function) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _flat(verb: Callable[..., None]) -> Callable[..., None]:
    """The function with the fields of its dataclass parameters, as options, after its other parameters."""
    hints = get_type_hints(verb, include_extras=True)
    parameters = inspect.signature(verb).parameters
    groups = {name: hints[name] for name in parameters if dataclasses.is_dataclass(hints[name])}
    flat = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in parameters.items()
        if name not in groups
    ]
    for group in groups.values():
        types = get_type_hints(group, include_extras=True)
        flat += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in dataclasses.fields(group)
        ]

    @wraps(verb)
    def call(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        verb(**given)

    vars(call)["__signature__"] = inspect.Signature(flat)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return call


def _print_version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit


def _command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bit-exact converters to the OCP microscaling (MX) formats: golden model, Verilog, and the evidence that they
    agree.

    Exit codes: 0 passed, 1 a check failed, 2 wrong usage, configuration or input, 3 a tool is missing or too old, 4
    inconclusive, 141 the reader of the output has closed. After a signal: 129 (SIGHUP), 130 (SIGINT), 131 (SIGQUIT),
    143 (SIGTERM).

    With --json, an error is a document too: {"error": SENTENCE, "exit_code": CODE}.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())

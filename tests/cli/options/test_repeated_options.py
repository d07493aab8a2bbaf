"""An option that takes one value is refused if it is given twice; with --json, errors are JSON."""

import json
import signal
import subprocess
import sys

import pytest

from mxcast.cli import main
from mxcast.cli.group import built

SINGLE = [
    (verb, option)
    for verb, command in built().commands.items()
    for option in command.params
    if option.param_type_name == "option" and not option.multiple and not (option.is_flag and not option.secondary_opts)
]


@pytest.mark.parametrize("verb, option", SINGLE, ids=[f"{verb} {option.opts[0]}" for verb, option in SINGLE])
def test_every_option_of_one_value(verb, option, fails):
    """With its long and its short name, with a separate value or an equals sign; before any file is read."""
    for first, second in ((option.opts[0], option.opts[-1]), (option.opts[-1], option.opts[-1])):
        value = [] if option.is_flag else ["1"]
        sentence = fails(2, verb, first, *value, second, *value)
        assert sentence == f"{max(option.opts, key=len)} is given 2 times and takes one value"
    if not option.is_flag:
        long = max(option.opts, key=len)
        assert "is given 3 times" in fails(2, verb, *[f"{long}=1"] * 3)


def test_switches_and_lists_may_be_repeated(passes, fails):
    assert passes("list", "formats", "-q", "-q", "--quiet") == ""
    assert (
        "no such file"
        in fails(2, "quantize", "x.npy", "y.npz", "-f", "e2m1", "--include", "a", "--include", "b").lower()
    )


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["emit", "e2m1", "--set", "rounding=rtz", "--set", "rounding=rne"], "takes one value, not 'rtz' and 'rne'"),
        (["emit", "e2m1", "--profile", "ocp:rounding=rtz,rounding=rtz"], "'rounding' takes one value, "),
        (["explain", "e2m1", "--values", "1", "--set", "block_size=4", "--set", "block_size=8"], "not 4 and 8"),
        (["quantize", "x.npy", "y.npz", "-f", "nvfp4", "--set", "order=te", "--set", "order=ao"], "not 'te' and 'ao'"),
        (["identify", "os:getcwd", "-f", "e2m1", "--set", "source=bf16", "--set", "source=fp32"], "not 'bf16' and"),
    ],
)
def test_a_key_has_one_value(arguments, sentence, fails):
    assert sentence in fails(2, *arguments)


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["quantize", "missing.npy", "y.npz", "-f", "e2m1"], 2),
        (["list", "nothing"], 2),
        (["inspect"], 2),
        (["emit", "e9m9"], 2),
        (["no-such-verb"], 2),
        (["inspect", "x", "--no-such-option"], 2),
        (["emit", "e2m1", "--emit", "\x1b[2J"], 2),
    ],
)
def test_an_error_is_a_document_too(arguments, code, fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fails(code, *arguments, "--json") == fails(code, *arguments)


def test_what_is_no_option_asks_for_nothing(capsys):
    assert main(["list", "formats", "--", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("mxcast: ")


def test_an_interrupt_is_a_document_too(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from mxcast.cli import main\n"
        "import mxcast.cli.output.output as output\n"
        "output.Output.table = lambda *rest: os.kill(os.getpid(), signal.SIGTERM)\n"
        "output.Output.document = output.Output.table\n"
        "sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", code, "list", "formats", "--json"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "mxcast: interrupted\n")
    assert json.loads(ended.stdout) == {"error": "interrupted", "exit_code": 143}

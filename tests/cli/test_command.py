"""The command as users type it: verbs, options, configuration files, JSON, exit codes."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from mxcast.cli import app
from mxcast.cli.options.common import RuleOptions
from mxcast.cli.options.request import request
from mxcast.host.errors import ToolMissing
from mxcast.models import quantize
from mxcast.spec import BLOCKS, OTHER_BLOCKS, PROFILES, RULES, SOURCES, block_format, is_nvfp4
from mxcast.spec.formats.names import named_blocks

from ..configurations import in_turn

COMMAND = [sys.executable, "-m", "mxcast.cli"]
VERBS = (
    *("list", "doctor", "quantize", "dequantize", "inspect"),
    *("explain", "compare", "emit", "verify", "test", "synth"),
)


def run(*arguments, **environment):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment or None)


def test_help_is_light():
    code = (
        "import sys, mxcast.cli; mxcast.cli.main(['--help']); "
        "print([m for m in ('numpy', 'amaranth', 'cocotb', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    for verb in VERBS:
        assert verb in done.stdout


def test_a_name_of_before_is_told_in_one_sentence(tmp_path):
    done = run("emit", "e2m1", "--set", "block_size=2", "--set", "amax=fours", "-q", "-o", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "mxcast: amax fours is called radix4 now\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_the_common_flags(passes, verb):
    text = passes(verb, "--help")
    for flag in ("--json", "--quiet", "--verbose"):
        assert flag in text


def test_version_and_bare_command(passes):
    from importlib.metadata import version

    assert passes("--version") == f"mxcast {version('mxcast')}\n"
    assert "Usage" in passes()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["emit"], "mxcast emit e4m3"),
        (["emit", "f4m3"], "unknown format 'f4m3': did you mean 'e4m3'?"),
        (["emit", "e6m1"], "ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not e6m1"),
        (["emit", "ocp"], "'ocp' is a profile: mxcast emit e4m3 --profile ocp"),
        (["verify", "nvidia"], "'nvidia' is a profile: mxcast verify e4m3 --profile nvidia"),
        (["quantize", "a.npy", "b.npz", "--format", "ocp"], "mxcast quantize a.npy b.npz --format e4m3 --profile ocp"),
        (["quantize", "a.npy", "b.npz"], "mxcast quantize a.npy b.npz --format e4m3"),
        (["quantize", "a.npy", "b.npz", "--format", "all"], "unknown format 'all'"),
        (["emit", "e4m3", "--profile", "nvidea"], "unknown profile 'nvidea': did you mean 'nvidia'?"),
        (["emit", "e4m3", "--set", "scale_rul=ceil"], "did you mean 'scale_rule'?"),
        (["emit", "e4m3", "--set", "scale_rule=ceiling"], "unknown scale_rule 'ceiling': did you mean 'ceil'?"),
        (["emit", "e4m3", "--set", "ceil"], "--set takes KEY=VALUE, not 'ceil'"),
        (["emit", "e4m3", "--set", "block=e2m1"], "--set"),
        (["emit", "e4m3", "--set", "block_size=24"], "block_size must be a power of two from 2 to 128, not 24"),
        (["emit", "e4m3", "--set", "block_size=many"], "block_size must be a power of two from 2 to 128, not 'many'"),
        (["emit", "e4m3", "--set", "random_bits=8"], "random_bits are for the rounding sr, not for rne"),
        (["emit", "e4m3", "--set", "rounding=sr", "--set", "random_bits=17"], "random_bits must be 1 to 16, not 17"),
        (["emit", "e4m3", "--set", "source=fp33"], "unknown source 'fp33': did you mean 'fp32'?"),
        (["emit", "e4m3,e2m1"], "must have the same width, not 8 bits (e4m3) and 4 (e2m1)"),
        (["emit", "e4m3,f5m2"], "unknown format 'f5m2': did you mean 'e5m2'?"),
        (["emit", "e4m3,nvidia"], "'nvidia' is a profile: mxcast emit e4m3 --profile nvidia"),
        (["emit", "e4m3,all"], "unknown format 'all'"),
        (
            ["emit", "e4m3", "--set", "scale_rule=floor,ceil,floor"],
            "the modes of a converter must differ from each other",
        ),
        (["emit", "e4m3", "--set", "scale_rule=floor,ceiling"], "unknown scale_rule 'ceiling': did you mean 'ceil'?"),
        (["emit", "e4m3", "--set", "rounding=rne,sr"], "unknown rounding 'rne,sr'"),
        (
            ["quantize", "a.npy", "b.npz", "--format", "e4m3,e5m2"],
            "mxcast quantize takes one format and one scale rule, not 2 modes",
        ),
        (
            ["quantize", "a.npy", "b.npz", "--format", "e4m3", "--set", "scale_rule=floor,ceil,even"],
            "mxcast quantize takes one format and one scale rule, not 3 modes",
        ),
        (["emit", "e4m3", "--name", "module"], "Verilog identifier"),
        (["emit", "all", "--name", "x"], "--name x is for one module"),
        (["emit", "e4m3", "-c", "no.toml"], "no.toml: No such file or directory"),
        (["verify", "e4m3", "--stimuli", "all"], "stimuli must be one of"),
        (["verify", "e4m3", "--tensors", "no.npy"], "no.npy: No such file or directory"),
        (["verify", "e4m3", "--seed", "x"], "--seed"),
        (["test", "e4m3", "--sim", "vcs"], "simulator must be one of"),
        (["synth", "e4m3", "--target", "xcv"], "unknown target 'xcv': did you mean 'xcu'?"),
        (["list", "format"], "did you mean 'formats'?"),
        (["frobnicate"], "frobnicate"),
        (["emitt"], "emit"),
        (["--frobnicate"], "--frobnicate"),
        (["quantize", "a.npy"], "OUT"),
    ],
)
def test_usage_errors(fails, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in fails(2, *arguments)
    assert not list(tmp_path.iterdir())


def test_errors_in_a_process_of_their_own(tmp_path):
    done = run("quantize", tmp_path / "no.npy", tmp_path / "out.npz", "--format", "e4m3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mxcast: {tmp_path}/no.npy: No such file or directory\n"


def test_a_defect_of_ours_keeps_its_traceback(monkeypatch):
    from mxcast.cli import main

    def defect(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("mxcast.hdl.emit", defect)
    with pytest.raises(ZeroDivisionError):
        main(["emit", "e4m3"])


def test_list(passes, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)  # no tool is asked
    everything = json.loads(passes("list", "--json"))
    assert [row["name"] for row in everything["formats"]] == [*named_blocks(), *filter(is_nvfp4, OTHER_BLOCKS)]
    assert [row["name"] for row in everything["profiles"]] == list(PROFILES)
    listed = {(row["key"], row["value"]) for row in everything["rules"]}
    assert listed >= {(key, str(rule)) for key, rules in RULES.items() for rule in rules}
    assert all(row["description"] for row in everything["targets"]) and everything["targets"]
    assert listed >= {("source", name) for name in SOURCES} | {("block_size", "2 to 128"), ("random_bits", "1 to 16")}
    assert [row["name"] for row in everything["sources"]] == list(SOURCES)
    for section in ("formats", "sources", "profiles", "rules", "targets"):
        text = passes("list", section)
        for row in everything[section]:
            assert next(iter(row.values())) in text
        assert passes("list", section, "-q") == ""


def test_list_profiles_says_where_they_are_from(passes):
    text = passes("list", "profiles")
    assert text.split("name")[1].split("\n")[0].split() == [
        *("source", "date", "checked", "up", "to", "rules", "elements", "remark")
    ]
    for profile in PROFILES.values():
        row = next(line for line in text.splitlines() if line.strip().startswith(f"{profile.name} "))
        assert all(part in row for part in (profile.source, profile.date, profile.up_to, profile.remark))
        for key, value in profile.rules:
            assert f"{key}={value}" in text
        for element, own in profile.by_element:
            assert f"{element}={', '.join(f'{key}={value}' for key, value in own)}" in text


def test_list_formats_says_how_others_are_spelt(passes):
    """Every name that the note gives as an example is a format."""
    note = passes("list", "formats").rstrip().splitlines()[-1]
    spelt = re.findall(r"\b(?:e\d+m\d+|int\d+)\b", note)
    assert len(spelt) >= 3 and not {block_format(name).name for name in spelt} & set(BLOCKS)
    for suffix in ("nan_only", "ieee"):
        assert f"eXmY_{suffix}" in note and block_format(f"e3m3_{suffix}").element.specials == suffix


@pytest.mark.parametrize(
    "arguments, unbuffered",
    in_turn([["list"], ["list", "--json"], ["--help"], ["explain", "e4m3", "--values", "1", "--all"]], ["", "1"]),
)
def test_a_reader_that_leaves(arguments, unbuffered):
    """`mxcast list | head -1` prints nothing on stderr and does not end with 0; a full disk is still an error."""
    import os

    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([*COMMAND, *arguments], stdout=theirs, stderr=subprocess.PIPE, env=environment)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, b"")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (2, b"mxcast: output: No space left on device\n")


def test_the_broken_pipe_of_a_tool_is_no_reason_for_silence(monkeypatch):
    from mxcast.cli import main

    def broken(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")

    kept = sys.stdout, sys.stderr
    monkeypatch.setattr("mxcast.hdl.emit", broken)
    with pytest.raises(BrokenPipeError):
        main(["emit", "e4m3"])
    sys.stdout, sys.stderr = kept  # which typer has wrapped


def test_doctor(passes, fails, monkeypatch):
    monkeypatch.setattr("mxcast.sim.run.tools.icarus_version", lambda: "11.0")
    found = json.loads(passes("doctor", "--json"))
    tools = {row["tool"]: row for row in found["tools"]}
    assert found["ok"] and tools["verilator"]["ok"]
    assert not tools["iverilog"]["required"] and not tools["safetensors"]["required"]
    assert tools["cocotb"]["version"] in passes("doctor")
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr("mxcast.cli.verbs.doctor.Output.table", lambda *_: None)
    sentence = fails(3, "doctor")
    assert "g++ is missing" in sentence and "apt-get install g++ make" in sentence


def test_doctor_refuses_old_versions(fails, monkeypatch):
    from mxcast.cli.verbs import doctor

    monkeypatch.setattr("mxcast.sim.run.tools.icarus_version", lambda: "11.0")
    true_version = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: "2.0.1" if name == "cocotb" else true_version(name))
    monkeypatch.setattr("mxcast.cli.verbs.doctor.Output.table", lambda *_: None)
    assert "cocotb is too old or too new: pip install '.[sim]' in a checkout of mxcast" in fails(3, "doctor")


def test_doctor_says_how_to_get_what_is_optional(passes, monkeypatch):
    def missing():
        raise ToolMissing("Icarus Verilog is missing: apt-get install iverilog")

    monkeypatch.setattr("mxcast.sim.run.tools.icarus_version", missing)
    text = passes("doctor")
    assert "iverilog is optional: apt-get install iverilog" in text and "all required tools are here" in text


@pytest.mark.parametrize(
    "found, needed, good",
    [
        ("2.1.0", ">=2.1,<2.2", True),
        ("2.2.0", ">=2.1,<2.2", False),
        ("2.10", ">=2.9", True),
        ("5.48", ">=5.48.0", True),
        ("0.70", "==0.70", True),
        ("0.71", "==0.70", False),
        ("0.50.0.0.post130", "<0.51,>=0.50", True),
        ("unknown", ">=10", True),
        ("found", "", True),
    ],
)
def test_version_bounds(found, needed, good):
    from mxcast.cli.verbs.doctor import _satisfies

    assert _satisfies(found, needed) is good


def test_quantize_prints_a_table(passes, saved, numbers, tmp_path):
    text = passes("quantize", saved(numbers, "w.npy"), tmp_path / "q.npz", "--format", "e4m3")
    for word in ("w", "6 x 64", "SQNR", "saturated", "flushed", "NaN", f"wrote {tmp_path}/q.npz"):
        assert word in text
    assert passes("quantize", saved(numbers), tmp_path / "q.npz", "--format", "e4m3", "--quiet") == ""


def test_quantize_json(passes, saved, numbers, tmp_path):
    report = json.loads(
        passes(
            "quantize",
            saved(numbers, "w.npy"),
            tmp_path / "q.npz",
            "--format",
            "e4m3",
            "--set",
            "scale_rule=ceil",
            "--json",
        )
    )
    assert report["tensors"][0]["name"] == "w" and report["tensors"][0]["shape"] == [6, 64]
    assert report["total"]["nan"] == 64 and report["path"] == str(tmp_path / "q.npz")
    assert report["numerics"] == quantize(numbers, "e4m3", scale_rule="ceil").numerics.to_dict()
    back = json.loads(passes("dequantize", tmp_path / "q.npz", tmp_path / "y.npy", "--json"))
    assert back["tensors"] == {"w": [6, 64]}


def test_emit(passes, tmp_path):
    emitted = json.loads(
        passes(
            "emit",
            "int8",
            "--profile",
            "nvidia",
            "--set",
            "amax_key=magnitude",
            "--name",
            "top",
            "-o",
            tmp_path,
            "--json",
        )
    )
    assert emitted["name"] == "top" and emitted["profile"] == "nvidia"
    assert emitted["microarchitecture"] == {"amax_key": "magnitude"} and emitted["numerics"]["scale_rule"] == "ceil"
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / f for f in emitted["files"].values()}
    text = passes("emit", "int8", "-o", tmp_path)
    assert text.count("wrote ") == len(emitted["files"])


def test_emit_all(passes, tmp_path):
    everything = json.loads(passes("emit", "all", "-o", tmp_path, "--json"))
    assert [one["numerics"]["block"] for one in everything] == list(BLOCKS)


@pytest.mark.parametrize(
    "format, assignments, fields",
    [
        ("e4m3", ["rounding=sr", "random_bits=5"], {"rounding": "sr", "random_bits": 5}),
        ("e4m3", ["random_bits=5", "rounding=sr"], {"rounding": "sr", "random_bits": 5}),  # in any order
        ("e4m3", ["rounding=sr"], {"rounding": "sr", "random_bits": 8}),
        ("int4", ["source=bf16", "block_size=16"], {"source": "bf16", "block_size": 16, "block": "mxint4"}),
        ("mxfp7_e3m3", ["scale_rule=rceil"], {"scale_rule": "rceil", "block": "mxfp7_e3m3"}),
    ],
)
def test_rules_on_the_command_line(format, assignments, fields):
    (config,) = request("emit {}", RuleOptions(format=format, set=assignments)).configs
    assert fields.items() <= config.numerics.to_dict().items() and not config.alternatives


@pytest.mark.parametrize(
    "format, assignments, modes",
    [
        ("e4m3", ["scale_rule=floor,ceil"], ["e4m3 floor", "e4m3 ceil"]),
        ("e5m2, e4m3", [], ["e5m2 floor", "e4m3 floor"]),
        ("e3m2,e2m3", ["scale_rule=ceil, even", "block_size=8"], ["e3m2 ceil", "e3m2 even", "e2m3 ceil", "e2m3 even"]),
    ],
)
def test_modes_on_the_command_line(format, assignments, modes):
    (config,) = request("emit {}", RuleOptions(format=format, set=assignments)).configs
    assert [f"{mode.block.short_name} {mode.scale_rule}" for mode in config.modes] == modes
    everything = request("emit {}", RuleOptions(format="all", set=assignments))
    assert [config.numerics.block.element for config in everything.configs] == [
        block.element for block in BLOCKS.values()
    ]


@pytest.mark.parametrize(
    "text, modes",
    [
        ("format = ['e4m3', 'e5m2']", ["e4m3 floor", "e5m2 floor"]),
        ("format = 'e4m3, e5m2'", ["e4m3 floor", "e5m2 floor"]),
        ("format = 'e4m3'\n[numerics]\nscale_rule = ['ceil', 'floor']", ["e4m3 ceil", "e4m3 floor"]),
        (
            "[numerics]\nblock = ['mxfp8_e4m3', 'e5m2']\nscale_rule = 'floor,ceil'",
            ["e4m3 floor", "e4m3 ceil", "e5m2 floor", "e5m2 ceil"],
        ),
        ("format = ['e4m3']\n[numerics]\nblock = 'mxfp8_e4m3'\nblock_size = 16", ["e4m3 floor"]),
    ],
)
def test_modes_in_a_configuration_file(tmp_path, text, modes):
    (tmp_path / "c.toml").write_text(text)
    (config,) = request("emit {}", RuleOptions(config=tmp_path / "c.toml")).configs
    assert [f"{mode.block.short_name} {mode.scale_rule}" for mode in config.modes] == modes


def test_unwritable_build_folder(fails, tmp_path):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in fails(2, "emit", "e4m3", "-o", tmp_path / "file")


TOML = """
format = "e2m3"
profile = "nvidia"
name = "from_file"
[numerics]
input_subnormals = "flush"
[microarchitecture]
amax_key = "magnitude"
"""


def test_configuration_file(passes, tmp_path):
    (tmp_path / "c.toml").write_text(TOML)
    one = json.loads(passes("emit", "-c", tmp_path / "c.toml", "-o", tmp_path, "--json"))
    assert (one["name"], one["profile"], one["numerics"]["block"]) == (
        "from_file",
        None,
        "mxfp6_e2m3",
    )  # nvidia, but flushing
    assert one["numerics"]["input_subnormals"] == "flush" and one["microarchitecture"]["amax_key"] == "magnitude"
    two = json.loads(
        passes(
            "emit",
            "int8",
            "-c",
            tmp_path / "c.toml",
            "--profile",
            "ocp",
            "--name",
            "mine",
            "--set",
            "input_subnormals=exact",
            "-o",
            tmp_path,
            "--json",
        )
    )
    assert (two["name"], two["profile"], two["numerics"]["block"]) == ("mine", "ocp", "mxint8")
    assert two["numerics"]["input_subnormals"] == "exact" and two["microarchitecture"]["amax_key"] == "magnitude"


def test_configuration_file_takes_what_json_gives(passes, tmp_path):
    one = json.loads(passes("emit", "e2m1", "-o", tmp_path, "--json"))
    text = "[numerics]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in one["numerics"].items() if key != "formats"
    )
    (tmp_path / "c.toml").write_text(text)
    assert (
        json.loads(passes("emit", "-c", tmp_path / "c.toml", "-o", tmp_path, "--json"))["config_id"] == one["config_id"]
    )


@pytest.mark.parametrize(
    "text, words",
    [
        ("formatt = 'e4m3'", "unknown key 'formatt': did you mean 'format'?"),
        ("format = 'e4m3'\n[numerics]\noperation = 'decode'", "a converter encodes: its operation is not 'decode'"),
        ("[numerics]\nscale = 'ceil'", "unknown key of [numerics] 'scale': did you mean"),
        ("[numerics]\namax_key = 'reduced'", "unknown key of [numerics] 'amax_key'"),
        ("[microarchitecture]\namax_ky = 'reduced'", "did you mean 'amax_key'?"),
        ("format = 4", "format must be a string or a list of strings, not 4"),
        ("format = []", "format must be a string or a list of strings, not []"),
        ("format = ['e4m3', 5]", "format must be a string or a list of strings, not ['e4m3', 5]"),
        ("profile = ['ocp']", "profile must be a string, not ['ocp']"),
        ("[numerics]\nrounding = ['rne', 'rtz']", "rounding must be a string or a whole number, not ['rne', 'rtz']"),
        ("[numerics]\nscale_rule = ['floor', 1]", "scale_rule must be a string or a list of strings, not ['floor', 1]"),
        ("[numerics]\nscale_rule = ['floor', 'up']", "unknown scale_rule 'up'"),
        ("[numerics]\nblock = 3", "block must be a string or a list of strings, not 3"),
        ("[numerics]\nblock_size = 16.0", "block_size must be a string or a whole number, not 16.0"),
        ("format = ['e4m3', 'e5m2']\n[numerics]\nblock = 'e4m3'", "gives the format twice"),
        ("numerics = 4", "numerics must be a table, not 4"),
        ("[numerics]\nscale_rule = true", "scale_rule must be a string"),
        ("[numerics]\nscale_rule = 'up'", "unknown scale_rule 'up'"),
        ("format = 'e4m3'\n[numerics]\nblock = 'int8'", "gives the format twice"),
        ("format = ", "is not TOML"),
        ("\xff", "is not TOML"),
    ],
)
def test_errors_in_configuration_files(fails, tmp_path, text, words):
    (tmp_path / "c.toml").write_bytes(text.encode("latin-1"))
    assert words in fails(2, "emit", "e4m3", "-c", tmp_path / "c.toml", "-o", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def test_a_configuration_file_may_begin_with_a_mark_of_utf_8(tmp_path, passes):
    (tmp_path / "c.toml").write_text('format = "e2m1"\nname = "a"\n', encoding="utf-8-sig")
    assert "rtl/a.v" in passes("emit", "-c", tmp_path / "c.toml", "-o", tmp_path)


def test_a_configuration_file_has_the_line_ends_of_toml(tmp_path, fails):
    (tmp_path / "c.toml").write_bytes(b'format = "e2m1"\rname = "a"\r')
    assert "is not TOML" in fails(2, "emit", "-c", tmp_path / "c.toml", "-o", tmp_path)


@pytest.mark.parametrize("option, sentence", [("--profile", "rules are PROFILE or"), ("--target", "unknown target ''")])
def test_an_empty_value_is_not_no_value(option, sentence, fails, tmp_path):
    """An unset variable of a shell gives an empty text."""
    assert sentence in fails(2, "emit", "e2m1", option, "", "-o", tmp_path)
    assert sentence in fails(2, "synth", "e2m1", option, "")


def test_whose_delays_count_is_asked_with_what_they_are_for(fails, tmp_path):
    sentence = fails(2, "emit", "e2m1", "--set", "delays_of=ecp5", "-o", tmp_path)
    assert sentence == "delays_of says whose delays count: give latency or frequency_mhz too"


def test_a_folder_name_of_too_many_levels(fails, tmp_path):
    assert (
        fails(2, "emit", "e2m1", "-o", f"{tmp_path}{'/d' * 1500}")
        == "a name or a text of the input is nested too deeply"
    )


def test_no_color_and_no_bars_in_a_pipe(saved, tmp_path):
    source = saved(np.ones((64, 1024), np.float32))
    done = run("quantize", source, tmp_path / "q.npz", "--format", "e4m3")
    assert done.returncode == 0 and done.stderr == "" and "\x1b" not in done.stdout


def test_verbose_prints_the_configuration_on_stderr(tmp_path, capsys):
    from mxcast.cli import main

    assert main(["emit", "e4m3", "-v", "--json", "-o", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["config_id"] in err and "scale_rule=floor" in err


@pytest.mark.parametrize("words", [["-h"], ["emit", "-h"], ["list", "--help"]])
def test_help_has_a_short_name(words, passes):
    assert "Usage: mxcast" in passes(*words)


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "mxcast", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mxcast ")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["emit", "e4m3", "--set", "latensy=3"], "unknown field 'latensy': did you mean 'latency'?"),
        (["emit", "mxfp6"], "unknown format 'mxfp6': did you mean 'mxfp6_e3m2' or 'mxfp6_e2m3'?"),
        (["emit", "e4m3", "--set", "optimize=3"], "unknown optimize 3: known are area, speed, balanced, plain"),
        (["emit", "e4m3", "--set", "profile=te"], "unknown field 'profile'"),
        (["emit", "e4m3", "--set", "rounding=sr", "--set", "random_bits=0"], "random_bits must be 1 to 16, not 0"),
        (["explore", "--set", "self=1", "--cached"], "unknown key of a sweep 'self'"),
        (["explore", "--emit-jobs", "-", "--json"], "--emit-jobs - prints commands, not JSON"),
        (
            ["explain", "e4m3", "--profile", "te:", "--values", "1"],
            "rules are PROFILE or PROFILE:KEY=VALUE,KEY=VALUE, not 'te:'",
        ),
    ],
)
def test_suggestions(words, sentence, fails):
    assert sentence in fails(2, *words)


def test_a_profile_with_fields_replaced(passes):
    """Every verb takes the form of `compare`."""
    both = [
        passes("explain", "E4M3", "--values", "1.9", "--json", *words)
        for words in (["--profile", "TE:scale_rule=CEIL"], ["--profile", "te", "--set", "scale_rule=ceil"])
    ]
    assert both[0] == both[1] and '"scale_rule": "ceil"' in both[0]


def test_a_warning_of_another_package_is_shown_and_the_command_goes_on(monkeypatch, capsys):
    def run(arguments):
        warnings.warn("an array is read only", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(app, "_run", run)
    assert app.command(["list"]) == 0
    assert "UserWarning: an array is read only" in capsys.readouterr().err

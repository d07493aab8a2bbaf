"""Exit code 3 means a missing tool and nothing else; a wrong design gives 1, 2 or 4."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config, verilog
from mxcast.sim.run import tools

CONFIG = converter_config("e2m1", "ocp", block_size=2)
SMALL = ["e2m1", "--set", "block_size=2"]
COMMAND = [sys.executable, "-c", "from mxcast.cli import main; import sys; sys.exit(main())"]


@pytest.fixture
def path_without(tmp_path, monkeypatch):
    """Set PATH so that these programs are missing."""

    def without(*missing: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        for place in os.environ["PATH"].split(os.pathsep):
            for program in Path(place).glob("*") if Path(place).is_dir() else ():
                if program.name not in missing and not os.path.lexists(folder / program.name):
                    (folder / program.name).symlink_to(program)
        monkeypatch.setenv("PATH", str(folder))

    return without


@pytest.mark.parametrize(
    "missing, verb, sentence",
    [
        (["make"], ["test", *SMALL], "make is missing: apt-get install g++ make"),
        (
            ["g++"],
            ["verify", "e2m1", "--set", "block_size=4", "--force"],
            "the C++ compiler g++ is missing: apt-get install g++ make",
        ),
        (["iverilog"], ["test", *SMALL, "--sim", "icarus"], "Icarus Verilog is missing: apt-get install iverilog"),
    ],
)
def test_a_missing_program_is_3(missing, verb, sentence, path_without, fails, tmp_path):
    path_without(*missing)
    verb += ["-o", tmp_path] if verb[0] == "test" else []
    assert fails(3, *verb) == sentence


@pytest.mark.slow
def test_a_compiler_may_have_words_before_it(tmp_path, monkeypatch, passes, without_simulators):
    """CXX names two programs, as in ``CXX="ccache g++"``; here the first counts its calls."""
    wrapper = tmp_path / "counting"
    wrapper.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/called\nexec "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", f"{wrapper} g++")
    without_simulators(tmp_path / 'a "b" $HOME c')  # what the library is compiled in may have any name
    assert "passed" in passes("verify", *SMALL, "--blocks", 100)
    assert set((tmp_path / "called").read_text().split()) == {"g++"}
    monkeypatch.setenv("CXX", "no-such-compiler -x")
    without_simulators(tmp_path / "another")
    assert main(["verify", *SMALL]) == 3


@pytest.fixture
def without_simulators(monkeypatch, new_cache):
    """Use a folder as the cache, without results of a C++ compiler."""

    def made(folder: Path) -> None:
        monkeypatch.setenv("MXCAST_CACHE", str(new_cache(folder, of_tools=("wasmtime",))))

    return made


@pytest.fixture
def compiler(tmp_path, monkeypatch, without_simulators):
    """Let CXX name a script, with a cache without compiled files."""

    def named(script: str) -> Path:
        path = tmp_path / "cxx"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return path

    without_simulators(tmp_path / "cache")
    return named


@pytest.mark.parametrize(
    "script, sentence",
    [
        ("exit 0", "the C++ compiler {} failed: it wrote no verilated.o"),
        ('exec g++ -E "$@"', "the C++ compiler {} failed: it wrote no linked.so"),
        ('for last; do :; done; echo text > "$last"', "the library that the C++ compiler {} wrote cannot be loaded: "),
    ],
)
def test_a_compiler_that_writes_nothing_of_use_is_4_and_nothing_is_kept(script, sentence, tmp_path, compiler, fails):
    path = compiler(f'[ "$1" = --version ] && exec g++ "$@"; {script}')
    assert fails(4, "verify", *SMALL).startswith(sentence.format(path))
    assert not list((tmp_path / "cache").glob("verilated/*"))


@pytest.mark.slow
def test_a_compiler_that_changes_its_mind_poisons_nothing(tmp_path, compiler, fails, passes):
    """A compiler that wrote nothing at first is tried again, with the same version."""
    compiler(f'[ "$1" = --version ] || [ -e {tmp_path}/works ] || exit 0; exec g++ "$@"')
    verify = ["verify", *SMALL, "--stimuli", "random", "--blocks", 10]
    fails(4, *verify)
    (tmp_path / "works").write_text("")
    assert "passed" in passes(*verify)


def test_what_compilers_made_is_apart(compiler, monkeypatch):
    """Other options, or another maker, mean another compiler, whatever its version."""
    path = compiler('[ "$1" = -m32 ] && shift; exec g++ "$@"')
    identities = [tools.compiler_identity()]
    for command in (f"{path} -m32", "g++"):
        monkeypatch.setenv("CXX", command)
        identities.append(tools.compiler_identity())
    monkeypatch.setenv("CXX", str(compiler("echo clang version 12.2.0")))
    tools._answer.cache_clear()  # the file is another one now
    identities.append(tools.compiler_identity())
    tools._answer.cache_clear()
    assert len(set(map(tuple, identities))) == 4


def test_a_design_that_cannot_be_loaded_is_4(fails, monkeypatch, tmp_path):
    monkeypatch.setattr("mxcast.sim.run.verilator.verilated.build", lambda *_, **__: tmp_path / "dut.so")
    assert fails(4, "verify", *SMALL).startswith(f"the Verilated design cannot be loaded: {tmp_path / 'dut.so'}: ")


@pytest.mark.parametrize(
    "script, sentence",
    [("echo 'g++ (GCC) 4.8.5'", "is too old, 4.8.5, and must be 10 or newer"), ("true", "says no version")],
)
def test_a_compiler_that_is_too_old_or_none_is_3(script, sentence, compiler, fails, monkeypatch):
    path = compiler(f'[ "$1" = --version ] && {{ {script}; exit; }}; exec g++ "$@"')
    assert (
        fails(3, "verify", *SMALL)
        == f"the C++ compiler {path}, which the variable CXX names, {sentence}: apt-get install g++ make"
    )
    monkeypatch.setattr("mxcast.sim.run.tools.icarus_version", lambda: "11.0")
    monkeypatch.setattr("mxcast.cli.verbs.doctor.Output.table", lambda *_: None)
    assert "apt-get install g++ make" in fails(3, "doctor")


def test_a_compiler_that_cannot_be_executed_is_3(compiler, fails):
    path = compiler("")
    path.write_bytes(b"\x7fELF" + bytes(1000))
    assert fails(3, "verify", *SMALL) == (
        f"the C++ compiler {path}, which the variable CXX names, cannot be executed (Exec format error): "
        "apt-get install g++ make"
    )


def test_a_compiler_whose_name_cannot_be_read_is_2(monkeypatch, fails):
    monkeypatch.setenv("CXX", 'g++ "')
    assert fails(2, "verify", *SMALL) == "the variable CXX is no command: No closing quotation"


def test_a_compiler_may_be_named_from_where_we_are(compiler, monkeypatch):
    """The compiler is run in other folders."""
    path = compiler('exec g++ "$@"')
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("CXX", "./cxx -O3")
    assert tools.compiler() == [str(path), "-O3"]


def test_without_a_path_programs_are_where_the_system_looks_for_them(monkeypatch):
    monkeypatch.delenv("PATH")
    assert tools.simulator_environment()["PATH"].endswith(f":{os.defpath}")


BROKEN = {
    "syntax": (r"[^$]*", "module dut(input a; endmodule", 2, "expected ')'"),
    "missing module": (r"dut_scale_unit scale_unit \(", "nowhere scale_unit (", 2, "unknown module 'nowhere'"),
    "other ports": (
        r"module dut\(x, scale, p\);",
        "module dut(x, scale, p, en);\n  input en;",
        2,
        "has an unexpected port en",
    ),
    "loop": ("assign scale =", "assign scale = {8{scale[0] & ~scale[0]}} |", 4, "logic loop"),
    "nothing drives it": ("assign up =", "wire unused_up =", 1, "has no driver"),
    "wrong": (r"{ x\[31\], magnitude }", "{ 1'h0, magnitude }", 1, "FAIL"),
}
"""A pattern in the text of a design, its replacement, the exit code, and words of the message."""


def broken(name: str, folder: Path) -> Path:
    pattern, instead, *_ = BROKEN[name]
    text = re.sub(pattern, lambda _: instead, verilog(CONFIG, "dut"), count=1)
    (folder / "dut.v").write_text(text)
    return folder / "dut.v"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_design_is_not_3(name, tmp_path, capsys):
    broken(name, tmp_path)
    *_, code, sentence = BROKEN[name]
    for verb in (
        ["prove", *SMALL, "--rtl", str(tmp_path / "dut.v")],
        [
            "check-rtl",
            str(tmp_path / "dut.v"),
            "--top",
            "dut",
            "-f",
            *SMALL,
            "--blocks",
            "100",
            "-o",
            str(tmp_path / "o"),
        ],
    ):
        found = main(verb)
        if name == "loop" and verb[0] == "prove" and shutil.which("iverilog"):
            assert found == 1  # there it never settles
        else:
            assert found == (2 if name == "other ports" else code)
        out, err = capsys.readouterr()
        assert sentence in out + err or (
            verb[0] == "check-rtl"
            and ("nothing drives the input en" in err or "FAIL" in out or (name == "loop" and "on Icarus" in out))
        )
        assert (err == "") is (code != 2) and err.count("\n") <= 1


@pytest.mark.slow
@pytest.mark.sampled(2, first=1)
@pytest.mark.parametrize(
    "name", [name if name in ("syntax", "wrong") else pytest.param(name, marks=pytest.mark.slow) for name in BROKEN]
)
def test_a_broken_design_is_not_3_in_a_simulator(name, tmp_path):
    broken(name, tmp_path)
    assert main(["test", *SMALL, "--name", "dut", "--rtl", str(tmp_path / "dut.v"), "-o", str(tmp_path / "o")]) in (
        (0,) if name == "other ports" else (1, 2)
    )  # cocotb leaves an input alone that it does not know


@pytest.mark.parametrize("macro", ["1x=3", "", "=3", "a b", "a-b=1", "\u00e4"])
def test_a_macro_has_a_name(macro, tmp_path, fails):
    (tmp_path / "dut.v").write_text(verilog(CONFIG, "dut"))
    assert (
        fails(2, "check-rtl", tmp_path / "dut.v", "--top", "dut", "-f", *SMALL, "-D", macro)
        == f"a macro is NAME or NAME=TEXT, and its name one of Verilog, not {macro!r}".encode("unicode_escape")
        .decode()
        .replace("\\\\", "\\")
        if macro.isascii()
        else f"a macro is NAME or NAME=TEXT, and its name one of Verilog, not {macro!r}"
    )


def test_a_missing_file_is_2(fails, tmp_path):
    assert (
        fails(2, "check-rtl", tmp_path / "none.v", "--top", "t", "-f", *SMALL)
        == f"{tmp_path / 'none.v'}: No such file or directory"
    )
    assert fails(2, "test", *SMALL, "--rtl", tmp_path / "none.v") == f"{tmp_path / 'none.v'}: No such file or directory"


def test_a_cache_that_cannot_be_used_is_named(fails, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MXCAST_CACHE", str(tmp_path / "file"))
    for verb in (["emit", "e4m3"], ["verify", *SMALL], ["synth", *SMALL], ["prove", *SMALL, "-o", tmp_path]):
        assert (
            fails(2, *verb)
            == f"the cache folder {tmp_path / 'file'}, which MXCAST_CACHE names, cannot be used: it is not a folder"
        )


@pytest.mark.parametrize("kind", ["wasmtime", "scratch", "verilated"])
def test_a_file_in_the_cache_where_a_folder_must_be_is_named(kind, fails, tmp_path, monkeypatch, new_cache):
    monkeypatch.setenv("MXCAST_CACHE", str(new_cache(tmp_path)))
    (tmp_path / kind).unlink(missing_ok=True)
    (tmp_path / kind).write_text("x")
    assert (
        fails(2, "verify", *SMALL)
        == f"the folder {tmp_path / kind} of the cache cannot be used: it is not a folder (MXCAST_CACHE names another "
        "cache)"
    )


@pytest.mark.slow
def test_a_cache_with_any_name(tmp_path, new_cache, monkeypatch, passes):
    """Characters that a shell, make or Verilator would interpret."""
    monkeypatch.setenv("MXCAST_CACHE", str(new_cache(tmp_path / 'a "b" $HOME c')))
    assert "passed" in passes("verify", *SMALL, "--blocks", 100)
    assert "passed" in passes("test", *SMALL, "-o", tmp_path / 'o "$x')
    assert "lut4" in passes("synth", *SMALL, "--target", "lut4")
    assert "PASS" in passes("prove", *SMALL, "-o", tmp_path / 'o "$x')


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody without a home")
def test_without_a_home(tmp_path):
    """The command needs write access only to the folder of temporary files and to the output."""
    for folder in ("out", "tmp"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder).chmod(0o777)
    for parent in [tmp_path, *tmp_path.parents[:-1]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    if not os.access(sys.executable, os.X_OK) or not _others_may_run(Path(sys.executable)):
        pytest.skip("others may not run this interpreter")
    for home in (None, "/proc/nowhere"):
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "tmp"), **({"HOME": home} if home else {})}
        done = subprocess.run(
            [*COMMAND, "emit", "e2m1", "-o", str(tmp_path / "out")],
            env=environment,
            capture_output=True,
            text=True,
            user=65534,
            cwd=tmp_path / "out",
        )
        assert done.returncode == 0 and done.stderr == "", done.stderr
    assert list((tmp_path / "out").glob("*/rtl/*.v"))


def _others_may_run(program: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in [program.resolve(), *program.resolve().parents])


def test_a_home_that_cannot_be_written(tmp_path, new_cache):
    """Only a read-only file system stops root."""
    (tmp_path / "home").write_text("")
    private = new_cache(tmp_path / f"mxcast-{os.getuid()}", of_tools=("wasmtime",))
    private.chmod(0o700)
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    for name in ("MXCAST_CACHE", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    done = subprocess.run(
        [*COMMAND, "emit", "e2m1", "-o", str(tmp_path / "out")], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert (private / "scratch").is_dir()


@pytest.mark.parametrize(
    "words, code",
    [
        (["quantize", "nope.npy", "x.npz", "-f", "e4m3"], 2),
        (["explain", "e4m3", "--values", "1", "-v"], 0),
        (["no-such-verb"], 2),
    ],
    ids=["an error", "remarks", "usage"],
)
@pytest.mark.parametrize("place", ["full", "no reader", "not for writing"])
def test_stderr_that_cannot_be_written_changes_nothing(words, code, place, tmp_path):
    if place == "no reader":
        reader, stderr = os.pipe()
        os.close(reader)
    else:
        stderr = os.open("/dev/full", os.O_WRONLY) if place == "full" else os.open(os.devnull, os.O_RDONLY)
    try:
        done = subprocess.run([*COMMAND, *words], stdout=subprocess.PIPE, stderr=stderr, cwd=tmp_path)
    finally:
        os.close(stderr)
    assert (done.returncode, bool(done.stdout)) == (code, code == 0)

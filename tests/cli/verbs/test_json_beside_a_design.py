"""The JSON of a Verilog file: whatever is missing in it or of another kind, the sentence names it and the file."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator

import pytest

from mxcast.cli import main
from mxcast.cli.verbs.proving import beside
from mxcast.hdl import configuration, describe

CONFIGS = [
    configuration("encode", "e4m3,e5m2", registered_after="scale"),
    configuration("decode", "e2m1", layout="ggml"),
    configuration("cast", "e3m2"),
    configuration("encode", "nvfp4"),
]
OTHERS = (None, True, -1, 1.5, 10**30, "x", "9" * 5000, [], ["x"], {}, {"x": 1})
OF_PYTHON = re.compile(r"indices|unhash|attribute|keyword|__|NoneType|iterable|subscript|positional|: '\w+'$|mxcast\.")
"""Words of Python's own messages."""


def places(document: object, before: tuple = ()) -> Iterator[tuple]:
    pairs = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in pairs:
        yield (*before, key)
        yield from places(value, (*before, key))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.numerics.name)
def test_every_place_with_something_else(config, tmp_path):
    written, messages = describe(config, "own"), set()
    for *path, key in places(written):
        for value in (..., *OTHERS):
            about = copy.deepcopy(written)
            part = about
            for step in path:
                part = part[step]
            if value is ...:
                del part[key]
            else:
                part[key] = value
            (tmp_path / "own.json").write_text(json.dumps(about))
            try:
                beside(tmp_path / "own.v")
            except ValueError as error:
                messages.add(str(error))
    start = f"{tmp_path / 'own.json'} does not describe a converter: "
    assert len(messages) > 50
    assert [text for text in messages if not text.startswith(start) or OF_PYTHON.search(text.removeprefix(start))] == []


@pytest.mark.parametrize(
    "edit, sentence",
    [
        (lambda about: about.pop("numerics"), "the key numerics is missing"),
        (lambda about: about.pop("microarchitecture"), "the key microarchitecture is missing"),
        (lambda about: about.pop("name"), "the key name is missing"),
        (lambda about: about.update(name=3), "name must be a string, not 3"),
        (lambda about: about.update(numerics=[]), "numerics must be an object, not []"),
        (lambda about: about.update(alternatives=None), "alternatives must be a list, not None"),
        (
            lambda about: about["numerics"]["formats"]["source"].pop("man_bits"),
            "man_bits of the float format 'fp32' is missing",
        ),
        (
            lambda about: about["microarchitecture"].update(registered="scale"),
            "unknown field of microarchitecture 'registered': did you mean 'registered_after'?",
        ),
        (lambda about: about["numerics"].update(operation=[]), "unknown operation []: known are"),
    ],
)
def test_the_sentence_names_it(edit, sentence, tmp_path, capsys):
    about = describe(CONFIGS[0], "own")
    edit(about)
    (tmp_path / "own.json").write_text(json.dumps(about))
    assert main(["prove", "--rtl", str(tmp_path / "own.v")]) == 2
    assert f"{tmp_path / 'own.json'} does not describe a converter: {sentence}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("null", "it must be an object with keys, not None"),
        ("[]", "it must be an object with keys, not []"),
        ("NaN", "it must be an object with keys, not nan"),
        ("[" * 100_000, "it is nested too deeply"),
        ("", "Expecting value: line 1 column 1"),
        ('{"numerics": }', "Expecting value: line 1 column 14"),
    ],
)
def test_other_documents(text, sentence, tmp_path):
    (tmp_path / "own.json").write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"own.json does not describe a converter: {sentence}")):
        beside(tmp_path / "own.v")


def test_a_byte_order_mark_of_an_editor(tmp_path):
    (tmp_path / "own.json").write_text(json.dumps(describe(CONFIGS[2], "own")), encoding="utf-8-sig")
    config, name = beside(tmp_path / "own.v")
    assert (config, name) == (CONFIGS[2], "own")

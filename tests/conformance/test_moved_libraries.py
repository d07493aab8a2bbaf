"""Profiles of libraries that are installed here: the version is the one that was checked, and ordinary blocks have the
bits of the profile. What differs elsewhere, as in NaN, is in the tests of each library in tests/models.
"""

import re
import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from mxcast import spec
from mxcast.conformance.adapters import ADAPTERS
from mxcast.conformance.subject.reply import encoded
from mxcast.conformance.subject.subject import Function
from mxcast.models import quantize_nvfp4
from mxcast.sim.operations import of
from mxcast.spec import OPERATIONS, PROFILES_OF, Profile, Tiled
from mxcast.spec.profiles.resolve import operation_of

BLOCKS, SEED = 400, 7
PROFILES = [(op, one) for op, profiles in PROFILES_OF.items() for one in profiles.values()]
OF_LIBRARIES = [
    (op, one) for op, one in PROFILES if one.library and not one.until and not issubclass(OPERATIONS[op], Tiled)
]
"""Tiles have the profiles of encoders."""
ADAPTERS_OF = {
    ("encode", "ggml"): "gguf",
    ("encode", "quark"): "quark_even",
    ("decode", "ggml"): "gguf",
    ("two_level_encode", "nvfp4_ao"): "torchao",
    ("two_level_encode", "nvfp4_modelopt"): "modelopt",
    ("two_level_encode", "nvfp4_compressed_tensors"): "compressed_tensors",
}
"""Adapters that have other names than their profiles."""
WITHOUT = {
    ("two_level_encode", "nvfp4_ao_single"): "the adapter is called with the scale of a tensor",
    ("two_level_decode", "nvfp4_ao"): "there is no adapter: tests/models/libraries/test_nvfp4_torchao.py",
    ("two_level_decode", "nvfp4_ao_single"): "there is no adapter: tests/models/libraries/test_nvfp4_torchao.py",
    ("two_level_decode", "nvfp4_modelopt"): "there is no adapter: nvfp4_ao has the same rules",
    ("two_level_decode", "nvfp4_compressed_tensors"): "there is no adapter: bench/speed.py --only nvfp4",
}
"""Profiles of libraries that are not called here, and why."""


def installed(profile: Profile) -> str | None:
    try:
        return version(profile.library)
    except PackageNotFoundError:
        return None


def moved(profile: Profile, there: str | None) -> str | None:
    """The sentence for an installed version that differs from the checked one."""
    release = profile.checked.partition(",")[0]
    if there is None or there.partition("+")[0] == release:
        return None
    return f"{profile.library} has moved: {profile.name} was checked up to {release}, and {there} is installed"


def departures(profile: Profile, operation: str) -> list[str]:
    """Formats for which an adapter and the profile give different bits for blocks of N(0,1)."""
    adapter, found = ADAPTERS[ADAPTERS_OF.get((operation, profile.name), profile.name)], []
    listed = dict(profile.by_element + profile.by_destination)
    for format in adapter.operations[operation]:
        if listed and format not in listed:
            continue
        rules = operation_of(operation.removeprefix("nvfp4_"), format, profile.name)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function = adapter.function(rules)
            same = of_a_tensor(function, rules) if operation == "two_level_encode" else of_blocks(function, rules)
        if not same:
            found.append(format)
    return found


def of_blocks(function, rules) -> bool:
    simulated = of(rules)
    given = simulated.usual(BLOCKS, SEED)
    made, wanted = Function(function, rules)(given), simulated.golden(given)
    return all(np.array_equal(made[role], wanted[role]) for role in made.arrays if role in wanted.arrays)


def of_a_tensor(function, rules) -> bool:
    x = np.random.default_rng(SEED).standard_normal((BLOCKS, rules.block_size), np.float32)
    scales, codes = encoded(function(x), rules.block, len(x))
    q = quantize_nvfp4(x, rules)
    return np.array_equal(scales, q.scales) and np.array_equal(codes, q.codes)


@pytest.mark.parametrize("operation, profile", OF_LIBRARIES, ids=lambda one: getattr(one, "name", one))
def test_the_library_has_the_rules_of_its_profile(operation, profile):
    there = installed(profile)
    if there is None:
        pytest.skip(f"{profile.library} is not installed")
    sentence = moved(profile, there)
    assert sentence is None, sentence
    if (operation, profile.name) in WITHOUT:
        return
    differ = departures(profile, operation)
    assert not differ, f"{profile.library} {there} gives other bits than {profile.name} to {', '.join(differ)}"


def test_another_version_is_reported_by_name():
    assert (
        moved(spec.PROFILES["mlx"], "0.33.0") == "mlx has moved: mlx was checked up to 0.32.4, and 0.33.0 is installed"
    )
    assert moved(spec.CASTS["torch"], "2.13.0+cpu") is None is moved(spec.PROFILES["mlx"], None)
    assert moved(spec.PROFILES["torchao_even"], "0.19.0").startswith("torchao has moved: torchao_even was checked")


def test_other_rules_are_found():
    """Many numbers of N(0,1) round differently toward zero."""
    wrong = spec.CASTS["ml_dtypes"]
    wrong = Profile(**vars(wrong) | {"rules": (*wrong.rules, ("rounding", "rtz"))})
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(spec.CASTS, "ml_dtypes", wrong)
        assert {"e4m3", "e2m1", "e4m3fnuz"} <= set(departures(wrong, "cast"))


def test_every_library_names_its_version_once():
    for _, one in PROFILES:
        assert not (one.checked and one.until), one.name
        assert bool(one.checked or one.until) >= bool(one.library), one.name
        commits = re.findall(r"commit (\w+) of (\d{4}-\d\d-\d\d)", one.up_to)
        assert len(commits) == one.up_to.count("commit"), one.up_to
    for operation, name in [*ADAPTERS_OF, *WITHOUT]:
        assert (operation, name) in {(op, one.name) for op, one in OF_LIBRARIES}
    for operation, one in OF_LIBRARIES:
        assert (operation, one.name) in WITHOUT or ADAPTERS_OF.get((operation, one.name), one.name) in ADAPTERS

"""Evidence on record: the checked converters, decoders and casts, and the kinds of checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from mxcast.hdl import GENERIC, HardwareConfig, configuration, verilog
from mxcast.hdl.emission import modules
from mxcast.spec import BLOCKS, INSTRUCTIONS, SCALARS


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Subject of a record, in the arguments of `configuration`."""

    operation: str
    format: str
    """Or an instruction of PTX."""
    profile: str
    target: str = GENERIC
    destination: str | None = None
    """The numbers that codes become; None where the operation makes codes."""
    source: str | None = None
    """The numbers that become codes; None is FP32, or what the profile has."""
    settings: str = ""
    """Other rules and options of the hardware, as ``--set`` takes them, with blanks between them."""

    @cached_property
    def config(self) -> HardwareConfig:
        ends = {"destination": self.destination, "source": self.source}
        given = {name: end for name, end in ends.items() if end is not None}
        given |= dict(setting.split("=") for setting in self.settings.split())
        return configuration(self.operation, self.format, self.profile, target=self.target, **given)

    @cached_property
    def verilog(self) -> str:
        """The fingerprint of what is emitted today."""
        return modules.fingerprint(verilog(self.config, "dut"))

    @property
    def label(self) -> dict[str, str]:
        """Its texts in tables."""
        ends = {"from": self.source, "to": self.destination}
        texts = {"operation": self.operation, "target": self.target, "profile": self.profile}
        ways = (f"{way} {end}" for way, end in ends.items() if end)
        return texts | {"format": " ".join([self.format, *ways, *self.settings.split()])}

    def __str__(self) -> str:
        return " ".join(self.label.values())


@dataclass(frozen=True, kw_only=True)
class Group:
    """Subjects that are checked in the same ways."""

    operation: str
    formats: Iterable[str]
    profiles: tuple[str, ...]
    target: str = GENERIC
    destination: str | None = None
    source: str | None = None
    settings: str = ""
    checks: tuple[str, ...]
    """Keys of `checks.CHECKS`."""

    @cached_property
    def subjects(self) -> list[Subject]:
        return [
            Subject(
                operation=self.operation,
                format=name,
                profile=profile,
                target=self.target,
                destination=self.destination,
                source=self.source,
                settings=self.settings,
            )
            for profile, name in product(self.profiles, self.formats)
        ]


NETLISTS = ("netlist xcu", "netlist ecp5")
ALL = ("proved", "mutants", "all inputs")
EACH = ("every element",)

OCP = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0")
OTHERS = tuple(name for name in SCALARS if name not in OCP)
"""Scalar formats of OCP, and the other ones."""

PROVED, MUTATED = ("proved", "mistakes"), ("proved", "mutants")

TE = ("nvfp4_te",)
MUTATED_ORDERS = (*TE, "nvfp4_paper", "nvfp4_modelopt", "nvfp4_compressed_tensors")
OTHER_ORDERS = ("nvfp4_ao", "nvfp4_ao_single")
"""A profile of each order of NVFP4: those whose encoders have mutants on record, and the others."""
MUTATED_FORMS = (("nvfp4_te", "form=product"), ("nvfp4_te", "form=table"))
FORMS = (
    ("nvfp4_te", "form=cache"),
    ("nvfp4_paper", "form=cache"),
    ("nvfp4_te", "rounding=sr"),
    ("nvfp4_te_4over6", "four_over_six=mae"),
    ("nvfp4_te_4over6", "four_over_six=mse"),
)
"""Other forms of hardware for NVFP4, random bits, and 4 over 6."""
CONVENTIONS = (*TE, "nvfp4_ao_single", "nvfp4_modelopt", "nvfp4_compressed_tensors")
"""A profile of each convention for the scale of a tensor."""


EVIDENCE = (
    Group(operation="encode", formats=BLOCKS, profiles=("ocp",), checks=(*ALL, *NETLISTS, "at once", "by z3")),
    Group(operation="encode", formats=BLOCKS, profiles=("nvidia", "te"), checks=(*ALL, *NETLISTS)),
    Group(operation="encode", formats=BLOCKS, profiles=("gorodecky_sousa",), checks=ALL),
    Group(operation="encode", formats=BLOCKS, profiles=("samson",), checks=("proved", "all inputs")),
    Group(
        operation="encode",
        formats=BLOCKS,
        profiles=("torchao_rceil", "torchao_ceil", "torchao_even"),
        checks=("proved",),
    ),
    Group(
        operation="encode",
        formats=("mxfp8_e4m3", "mxfp4_e2m1"),
        profiles=("compressed_tensors", "mlx_round", "modelopt"),
        checks=("proved",),
    ),
    Group(operation="encode", formats=("mxfp6_e2m3",), profiles=("compressed_tensors",), checks=("proved",)),
    Group(operation="encode", formats=("mxfp4_e2m1",), profiles=("mlx", "ggml"), checks=("proved",)),
    Group(
        operation="encode", formats=("mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"), profiles=("quark",), checks=("proved",)
    ),
    Group(operation="encode", formats=BLOCKS, profiles=("ocp", "nvidia"), target="xcu", checks=ALL),
    Group(operation="encode", formats=("nvfp4",), profiles=MUTATED_ORDERS, checks=MUTATED),
    Group(operation="encode", formats=("nvfp4",), profiles=TE, source="bf16", checks=PROVED),
    Group(operation="encode", formats=("nvfp4",), profiles=OTHER_ORDERS, checks=PROVED),
    *(
        Group(operation="encode", formats=("nvfp4",), profiles=(profile,), settings=settings, checks=checks)
        for forms, checks in ((MUTATED_FORMS, MUTATED), (FORMS, PROVED))
        for profile, settings in forms
    ),
    Group(operation="decode", formats=BLOCKS, profiles=("ocp",), destination="fp32", checks=ALL),
    Group(operation="decode", formats=BLOCKS, profiles=("ocp",), destination="fp32", target="xcu", checks=ALL),
    Group(operation="decode", formats=BLOCKS, profiles=("ocp",), destination="bf16", checks=("proved", "all inputs")),
    Group(
        operation="decode",
        formats=BLOCKS,
        profiles=("ocp",),
        destination="bf16",
        target="xcu",
        checks=("proved", "all inputs"),
    ),
    Group(operation="decode", formats=("nvfp4",), profiles=CONVENTIONS, checks=MUTATED),
    Group(operation="hadamard", formats=("hadamard16",), profiles=("te",), checks=MUTATED),
    Group(operation="hadamard", formats=("hadamard16",), profiles=("te",), settings="form=limbs", checks=MUTATED),
    Group(operation="tile", formats=BLOCKS, profiles=("ocp",), checks=("proved",)),
    Group(operation="tile", formats=("nvfp4",), profiles=(*MUTATED_ORDERS, *OTHER_ORDERS), checks=("proved",)),
    Group(operation="cast", formats=OCP, profiles=("ocp",), checks=ALL),
    Group(operation="cast", formats=OCP, profiles=("ocp",), destination="fp32", checks=ALL),
    Group(operation="cast", formats=OTHERS, profiles=("ocp",), checks=("proved",)),
    Group(operation="cast", formats=OTHERS, profiles=("ocp",), destination="fp32", checks=("proved",)),
    Group(operation="cast", formats=("e5m2", "e4m3"), profiles=("riscv",), checks=("proved",)),
    Group(
        operation="cast",
        formats=("e8m0",),
        profiles=("ptx", "ml_dtypes", "torch", "onnx", "gfloat"),
        checks=("proved", "all inputs"),
    ),
    Group(operation="cast", formats=INSTRUCTIONS, profiles=("ptx",), checks=("proved",)),
    *(
        Group(operation="decode", formats=BLOCKS, profiles=("ocp",), destination=to, target=target, checks=EACH)
        for to in ("fp32", "bf16")
        for target in (GENERIC, "xcu")
    ),
    Group(operation="cast", formats=OCP, profiles=("ocp",), destination="fp32", checks=EACH),
    *(Group(operation="cast", formats=OCP, profiles=("ocp",), source=end, checks=EACH) for end in ("bf16", "fp16")),
    Group(operation="cast", formats=("e4m3",), profiles=("ocp",), checks=EACH),
    Group(operation="encode", formats=BLOCKS, profiles=("nvidia",), source="fp16", checks=EACH),
    Group(operation="encode", formats=BLOCKS, profiles=("ocp",), source="bf16", checks=EACH),
)
"""Everything that is asked for, in the order of the tables. Of encoders one profile of each set of rules is proved; all
inputs are taken of both roundings that profiles have, three of the ways with NaN and Inf, exact and rounded thresholds,
and a 16-bit source. Encoders to NVFP4 with mutants are from FP32 and have no registers. Every element is taken of all
formats, in encoders from 16-bit sources, and of one cast from FP32.
"""


def wanted() -> Iterator[tuple[str, Subject]]:
    """Every check by name with its subject."""
    return ((check, subject) for group in EVIDENCE for subject in group.subjects for check in group.checks)


def subjects() -> list[Subject]:
    """Each once."""
    return list(dict.fromkeys(subject for _, subject in wanted()))

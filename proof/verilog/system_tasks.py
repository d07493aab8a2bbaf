"""System tasks and functions by their effect on a design."""

from __future__ import annotations

from .slang import Node

VALUES = frozenset(
    (
        "$signed",
        "$unsigned",
        "$clog2",
        "$bits",
        "$size",
        "$left",
        "$right",
        "$high",
        "$low",
        "$increment",
        "$dimensions",
        "$unpacked_dimensions",
        "$countones",
        "$onehot",
        "$onehot0",
    )
)
"""System functions whose value depends on their arguments only."""

READ_FILES = frozenset(("$readmemh", "$readmemb"))
"""System tasks that write a memory, which is their argument."""

MESSAGES = frozenset(
    (
        "$display",
        "$displayb",
        "$displayh",
        "$displayo",
        "$write",
        "$writeb",
        "$writeh",
        "$strobe",
        "$monitor",
        "$error",
        "$warning",
        "$info",
        "$fatal",
        "$dumpfile",
        "$dumpvars",
        "$dumpon",
        "$dumpoff",
        "$timeformat",
        "$printtimescale",
        "$stop",
        "$finish",
        "$assertoff",
        "$asserton",
        "$assertkill",
    )
)
"""System tasks without effect on the design."""


PURE = VALUES | frozenset(
    (
        "$time",
        "$stime",
        "$realtime",
        "$sformatf",
        "$psprintf",
        "$itor",
        "$rtoi",
        "$bitstoreal",
        "$realtobits",
        "$isunknown",
        "$past",
        "$sampled",
        "$rose",
        "$fell",
        "$stable",
        "$changed",
    )
)
"""System functions that write nothing, so that a message may call them."""


def only_says(statement: Node) -> bool:
    """Does a statement only print messages?"""
    kind = statement.kind.name
    if kind == "Block":
        return only_says(statement.body)
    if kind == "List":
        return all(map(only_says, statement.list))
    if kind != "ExpressionStatement":
        return kind == "Empty"
    call = statement.expr
    return call.kind.name == "Call" and call.isSystemCall and call.subroutineName in MESSAGES

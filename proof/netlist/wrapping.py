"""Wrappers around a converter, which only pass its ports on: they are dissolved, so that its own module is the top.

Each port of the converter is then connected to the bits of the top module that the wrappers pass to it, in any order,
and a proof about ports is about those bits.
"""

from __future__ import annotations

from .design import Design

WRAPPER = "mxcast_wrapper"
"""The attribute of wrappers, which are dissolved into the top."""


def unwrapped(design: Design, most: int | None = None) -> Design:
    """The design without the wrappers at its top, which are modules with one instance each, or without the first
    ``most`` of them. Gates of the wrappers stay, and cells and wires of the converter keep their names if these are
    free.
    """
    modules = {name: {**module, "attributes": {**module["attributes"]}} for name, module in design.modules.items()}
    name, prefix = design.top, ""
    dissolved = [name]
    while (only := _only_instance(modules, name)) is not None and (most is None or len(dissolved) <= most):
        cell, name = only
        prefix += f"{cell}."
        dissolved.append(name)
    if name == design.top:
        return design
    for module in modules.keys() - set(dissolved):
        modules[module]["attributes"]["keep_hierarchy"] = "1"
    for module in dissolved[:-1]:
        modules[module]["attributes"][WRAPPER] = "1"
    flat = design.of_netlist(modules).netlist_after(
        [
            f"opt_expr -keepdc A:{WRAPPER}",
            "flatten",
            "delete t:$scopeinfo",
            f"setattr -mod -unset keep_hierarchy -unset {WRAPPER}",
            "opt_clean",
        ]
    )
    top = flat[design.top]
    for kind in ("cells", "netnames"):
        found = top[kind]
        top[kind] = {long if (own := long.removeprefix(prefix)) in found else own: one for long, one in found.items()}
    return design.of_netlist(flat)


def _only_instance(modules: dict[str, dict], name: str) -> tuple[str, str] | None:
    """The name and the module of the only instance in a module; None if there are several, or no instance."""
    found = [(cell, one["type"]) for cell, one in modules[name]["cells"].items() if one["type"] in modules]
    return found[0] if len(found) == 1 else None

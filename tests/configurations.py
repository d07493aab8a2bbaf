"""The configurations that tests walk: every combination of the rules on offer, each once."""

from itertools import product

from mxcast.spec import BLOCKS, PROFILES, Numerics, Rounding, ScaleRule, Specials, Subnormals, numerics

ELEMENTS = [block.short_name for block in BLOCKS.values()]


def every_numerics() -> list[Numerics]:
    """Formats x {floor, ceil} x specials x subnormals of inputs and elements under rne, and all profiles; then, for
    each format, the remaining combinations of scale rule and rounding with specials and subnormals in turn."""
    chosen = [numerics(element, scale_rule=rule, specials=specials, input_subnormals=inputs, element_subnormals=elements)
              for element, rule, specials, inputs, elements in product(
                  ELEMENTS, (ScaleRule.FLOOR, ScaleRule.CEIL), Specials, Subnormals, Subnormals)]
    chosen += [numerics(element, profile) for element, profile in product(ELEMENTS, PROFILES)]
    turns = list(product(Specials, Subnormals, Subnormals))
    for element in ELEMENTS:
        for turn, (rule, rounding) in enumerate(product(ScaleRule, Rounding)):
            for step in (0, 5):
                specials, inputs, elements = turns[(2 * turn + step + len(element)) % len(turns)]
                chosen.append(numerics(element, scale_rule=rule, rounding=rounding, specials=specials,
                                       input_subnormals=inputs, element_subnormals=elements))
    return list(dict.fromkeys(chosen))


def short_id(rules: Numerics) -> str:
    """A test id that names what differs from the defaults."""
    fields = rules.to_dict()
    default = Numerics(block=rules.block).to_dict()
    return "-".join([rules.block.short_name, *(f"{v}" if k not in ("input_subnormals", "element_subnormals") else f"{k[:5]}_{v}"
                                               for k, v in fields.items() if default[k] != v)])

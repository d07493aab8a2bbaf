"""A second opinion on what macros make of files: the preprocessor of slang, which shares no code with Verilator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from ...sim.run.preprocess import COVERAGE
from .slang import Node, load_slang


def disagreement(
    text: str, files: Iterable[Path], include: Iterable[Path], define: Iterable[str], of_tools: Mapping[str, bool]
) -> str | None:
    """What another preprocessor than Verilator's, which made ``text``, makes of the files, in a sentence; None where it
    is the same, token by token. What messages print is left out, because lines and paths are in it.
    """
    load_slang()
    import pyslang
    from pyslang import parsing, syntax

    options = parsing.PreprocessorOptions()
    options.additionalIncludePaths = [str(folder) for folder in include]
    # slang defines those of the standard itself
    options.predefines = [*define, *(macro for macro, on in of_tools.items() if on and macro not in COVERAGE)]
    options.undefines = [macro for macro, on in of_tools.items() if not on]
    bag = pyslang.Bag()
    bag.preprocessorOptions = options
    tree = syntax.SyntaxTree.fromFiles([str(file) for file in files], pyslang.SourceManager(), bag)
    ours, others = _tokens(syntax.SyntaxTree.fromText(text).root), _tokens(tree.root)
    for one, other in zip_longest(ours, others, fillvalue="the end"):
        if one != other:
            return f"preprocessors differ in what they make of the files: {one} or {other}"
    return None


def _tokens(root: Node) -> Iterator[str]:
    """The tokens of a tree, in their order, but for those of calls of system tasks and functions."""
    from pyslang import syntax

    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, syntax.SyntaxNode):
            if node.rawText:  # none that is missing
                yield node.rawText
        elif not (
            isinstance(node, syntax.InvocationExpressionSyntax) and isinstance(node.left, syntax.SystemNameSyntax)
        ):
            waiting += reversed(list(node))

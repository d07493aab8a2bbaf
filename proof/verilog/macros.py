"""The preprocessor of slang as a second opinion: it shares no code with the preprocessor of Verilator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from ...sim.run.preprocess import COVERAGE
from .slang import Node, load_slang


def disagreement(
    text: str, files: Iterable[Path], include: Iterable[Path], define: Iterable[str], of_tools: Mapping[str, bool]
) -> str | None:
    """The first difference between ``text``, from the preprocessor of Verilator, and the files as slang preprocesses
    them, in a sentence; None if all tokens are equal. Arguments of system tasks are left out, because messages contain
    lines and paths."""
    load_slang()
    import pyslang
    from pyslang import parsing, syntax

    options = parsing.PreprocessorOptions()
    options.additionalIncludePaths = [str(folder) for folder in include]
    # slang defines the macros of the standard itself
    options.predefines = [*define, *(macro for macro, on in of_tools.items() if on and macro not in COVERAGE)]
    options.undefines = [macro for macro, on in of_tools.items() if not on]
    bag = pyslang.Bag()
    bag.preprocessorOptions = options
    tree = syntax.SyntaxTree.fromFiles([str(file) for file in files], pyslang.SourceManager(), bag)
    ours, others = _tokens(syntax.SyntaxTree.fromText(text).root), _tokens(tree.root)
    for one, other in zip_longest(ours, others, fillvalue="the end"):
        if one != other:
            return f"preprocessors give different texts for the files: {one} or {other}"
    return None


def _tokens(root: Node) -> Iterator[str]:
    """The tokens of a tree in order, without calls of system tasks and functions."""
    from pyslang import syntax

    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, syntax.SyntaxNode):
            if node.rawText:  # not a missing token
                yield node.rawText
        elif not (
            isinstance(node, syntax.InvocationExpressionSyntax) and isinstance(node.left, syntax.SystemNameSyntax)
        ):
            waiting += reversed(list(node))

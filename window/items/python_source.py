"""What Python source defines and where: by its syntax tree, nothing is imported or run."""

import ast
import warnings
from collections.abc import Iterator

from attrs import frozen

MOST_PARSED = 500_000
"""Characters that Python's parser is trusted with: it may take 600 bytes of memory for each."""

_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


@frozen
class Definition:
    """Hold a name as its module knows it (``Agent.run``) and its lines, from 1, decorators included.

    `kind` is the keyword that defines it, ``class`` or ``def``; empty for a variable.
    """

    name: str
    kind: str
    first_line: int
    last_line: int


def definitions(source: str) -> tuple[Definition, ...] | None:
    r"""Return the functions, classes, methods and module or class variables of `source` in order; None where it cannot be parsed.

    What stands in a block (``if TYPE_CHECKING``, ``try``) is defined as well; what stands in a function is not.

    >>> [each.name for each in definitions("class A:\n    def f(self): ...")]
    ['A', 'A.f']
    >>> definitions("(defun add (a b))") is None
    True
    """
    if len(source) > MOST_PARSED:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(_walked(tree))


def _walked(tree: ast.Module) -> Iterator[Definition]:
    # Not recursive: every `elif` stands inside of the one before it.
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        yield from _defined_by(node, prefix)
        if isinstance(node, ast.ClassDef):
            prefix += f"{node.name}."
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [(prefix, child) for child in ast.iter_child_nodes(node) if isinstance(child, _STATEMENTS)]
            pending.extend(reversed(inner))


def _defined_by(node: ast.AST, prefix: str) -> Iterator[Definition]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield _definition(node, prefix + node.name, "class" if isinstance(node, ast.ClassDef) else "def")
        case ast.Assign(targets=targets):
            yield from (_definition(node, prefix + target.id) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield _definition(node, prefix + name)
        case _:
            pass


def _definition(node: ast.stmt, name: str, kind: str = "") -> Definition:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return Definition(name, kind, first, node.end_lineno or node.lineno)

"""Where Python source defines what: by its syntax tree, nothing is imported or run."""

import ast
import warnings
from collections.abc import Iterable, Iterator

from attrs import frozen


@frozen
class Definition:
    """Hold a name as its module knows it (``Agent.run``) and its lines, from 1, decorators included."""

    name: str
    first_line: int
    last_line: int


def definitions(source: str) -> Iterator[Definition]:
    r"""Yield the functions, classes, methods and module or class variables of `source`; nothing where it is no Python.

    >>> [each.name for each in definitions("class A:\n    def f(self): ...")]
    ['A', 'A.f']
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _in_statements(tree.body, "")


def _in_statements(nodes: Iterable[ast.AST], prefix: str) -> Iterator[Definition]:
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield _definition(node, prefix + name)
            case ast.ClassDef(name=name, body=body):
                yield _definition(node, prefix + name)
                yield from _in_statements(body, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                yield from (_definition(node, prefix + target.id) for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield _definition(node, prefix + name)
            case _:
                # `if TYPE_CHECKING`, `try: import`: what stands in a block is defined as well.
                blocks = (ast.stmt, ast.excepthandler, ast.match_case)
                yield from _in_statements((child for child in ast.iter_child_nodes(node) if isinstance(child, blocks)), prefix)


def _definition(node: ast.stmt, name: str) -> Definition:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return Definition(name, first, node.end_lineno or node.lineno)

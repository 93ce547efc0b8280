"""Outlines: the names a text defines, which is what stays of an attached file when it yields."""

import ast
import re
import warnings
from collections.abc import Iterator

from attrs import frozen

_PYTHON, _MARKDOWN = "python", "markdown"
_PROSE = frozenset({"text", "output", "restructuredtext", "rst"})
_MOST_PARSED = 1_000_000
"""Characters that Python's parser is trusted with; longer texts are read line by line."""

_LONGEST_LINE = 300
_MODIFIERS = (
    "abstract|async|const|data|default|export|extern|final|inline|internal|open|override|private|protected|pub(?:\\(\\w+\\))?|public"
    "|sealed|static|unsafe|virtual"
)
_KEYWORDS = (
    "class|def|defclass|define|defgeneric|defmacro|defmethod|defn|defpackage|defstruct|defun|defvar|enum|fn|fun|func|function|impl|interface"
    "|macro_rules!|mod|module|namespace|object|protocol|record|struct|sub|trait|type|union"
)
_RECEIVER = r"(?<=func )\([^()]*\)[ \t]*"
_NAME = r"[^\W\d][\w$!?*-]*(?:(?:::|\.)[\w$!?*-]+)*"
_DEFINITION = re.compile(rf"([ \t]*)\(?(?:(?:{_MODIFIERS})[ \t]+)*((?:{_KEYWORDS})(?:<[^<>]*>)?[ \t*]+(?:{_RECEIVER})?)[(:]?({_NAME})")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_CODE_FENCE = re.compile(r" {0,3}(```|~~~)")


@frozen
class OutlineEntry:
    """Name one definition or heading, `depth` levels inside others."""

    depth: int
    text: str


def outline_of(text: str, language: str = "") -> tuple[OutlineEntry, ...]:
    r"""Return what `text` defines, in order: classes and functions, or the headings of markdown; nothing for prose.

    Python is parsed; other languages, and Python that is only a piece, are read line by line.

    >>> outline_of("class Store:\n    def peek(self): ...\n", "python")
    (OutlineEntry(depth=0, text='class Store'), OutlineEntry(depth=1, text='def peek'))
    >>> outline_of("(defun add (a b) (+ a b))", "lisp")
    (OutlineEntry(depth=0, text='defun add'),)
    """
    if language in _PROSE:
        return ()
    if language == _MARKDOWN:
        return tuple(_headings(text))
    tree = _parsed(text) if language == _PYTHON else None
    return tuple(_definitions(text) if tree is None else _names(tree, 0))


def _parsed(text: str) -> ast.Module | None:
    if len(text) > _MOST_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(node: ast.AST, depth: int) -> Iterator[OutlineEntry]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield OutlineEntry(depth, f"class {name}")
                yield from _names(child, depth + 1)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield OutlineEntry(depth, f"def {name}")
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from _names(child, depth)
            case _:
                pass


def _definitions(text: str) -> Iterator[OutlineEntry]:
    for line in text.splitlines():
        if match := _DEFINITION.match(line[:_LONGEST_LINE]):
            yield OutlineEntry(1 if match[1] else 0, " ".join([*match[2].split(), match[3]]))


def _headings(text: str) -> Iterator[OutlineEntry]:
    fence = ""
    for line in text.splitlines():
        if edge := _CODE_FENCE.match(line):
            fence = "" if fence == edge[1] else fence or edge[1]
        elif not fence and (match := _HEADING.match(line[:_LONGEST_LINE])):
            yield OutlineEntry(len(match[1]) - 1, match[2].rstrip(" #"))

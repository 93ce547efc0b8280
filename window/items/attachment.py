"""Attachments: context items stored as user turns, with the item described in the metadata.

An attached file that is evicted leaves its outline: the names that its text defines. Python is
parsed into a syntax tree; nothing is imported or run.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from ..turn import Role, Turn
from .item import ContextItem, ItemType, label_of

_KEY = "context_item"
_LONGEST_NAME = 80
_TYPES = frozenset(ItemType)
_FROM_FILE = frozenset({ItemType.CODE, ItemType.TEXT, ItemType.FILE})
_ITEM = re.compile(
    r"### (Code|Text|File|REPL History|Error|Custom)\n(?:#### ([^\n]+)\n)?"
    r"(`{3,})[^`\n]*\n(?:(?!\3).*\n)*\3"
)
_BROUGHT_BACK = "earlier"
"""The id of an item that is known only by its text."""


@frozen
class Attachment:
    """The description of the item that a turn holds.

    `label` is its file name and lines, or empty. A later attachment of the same `source` supersedes
    an earlier one; one whose `source` is None supersedes nothing.
    """

    id: str
    type: ItemType
    source: str | None
    label: str

    @property
    def name(self) -> str:
        """Return a short name on one line: the label (the end of a long one), or else the id."""
        return (
            self.label if len(self.label) <= _LONGEST_NAME else f"…{self.label[-_LONGEST_NAME:]}"
        ) or self.id

    @property
    def mention(self) -> str:
        """Return the text to display instead of the content: ``[@name]``, as pills are written."""
        return f"[@{self.name}]"


def source_of(item: ContextItem) -> str | None:
    """Return the source of an item, its file name and lines, or None without a file name.

    An item about a file, such as an error, has a different source than the file's own text.

    >>> source_of(ContextItem("x", metadata={"filename": "a.py", "start_line": 3}))
    'a.py:3'
    """
    return _source(item.type, label_of(item))


def _source(kind: ItemType, label: str) -> str | None:
    return (label if kind in _FROM_FILE else f"{kind} {label}") if label else None


def item_turn(item: ContextItem, source: str | None = None) -> Turn:
    """Return the user turn that attaches `item`, with ``context_to_string([item])`` as its text."""
    from .markdown import context_to_string  # noqa: PLC0415 - only needed to attach items

    entry = {
        "id": item.id,
        "type": str(item.type),
        "source": source or source_of(item),
        "label": label_of(item),
    }
    return Turn(Role.USER, context_to_string([item]), metadata={_KEY: entry})


def attachment_of(turn: Turn) -> Attachment | None:
    """Return the attachment that `turn` holds, or None if it holds none."""
    entry: Mapping[str, Any] | None = turn.metadata.get(_KEY)
    match entry:
        case {
            "id": str(item_id),
            "type": str(kind),
            "source": str() | None as source,
            "label": str(label),
        } if kind in _TYPES:
            return Attachment(item_id, ItemType(kind), source, label)
        case _:
            return None


def shown_text(turn: Turn) -> str:
    """Return the text of `turn` for readers: an attachment's name, a gist's number of messages."""
    if turn.is_gist and not turn.sources:
        return "earlier messages"
    if turn.is_gist:
        return f"{len(turn.sources)} earlier message{'' if len(turn.sources) == 1 else 's'}"
    attachment = attachment_of(turn)
    return turn.text if attachment is None else attachment.mention


def attached_metadata(text: str) -> Mapping[str, Any] | None:
    r"""Return the metadata of an attachment turn, recovered from its `text`.

    Returns None for any other text.

    >>> attached_metadata("### Code\n#### a.py:3\n```python\nx + 1\n```")["context_item"]["label"]
    'a.py:3'
    """
    found = _ITEM.fullmatch(text)
    if found is None:
        return None
    kind, label = ItemType(found[1].lower().replace(" ", "-")), found[2] or ""
    return {
        _KEY: {
            "id": _BROUGHT_BACK,
            "type": str(kind),
            "source": _source(kind, label),
            "label": label,
        }
    }


MOST_PARSED = 500_000
"""The most characters that Python's parser is given; it may take 600 bytes of memory for each."""

_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


@frozen
class Definition:
    """A qualified name (``Agent.run``) and its lines, from 1 and including decorators.

    `kind` is the defining keyword, ``class`` or ``def``, or empty for a variable.
    """

    name: str
    kind: str
    first_line: int
    last_line: int


def definitions(source: str) -> tuple[Definition, ...] | None:
    r"""Return the functions, classes, methods and module or class variables of `source`, in order.

    Returns None if `source` cannot be parsed or is too long. Definitions inside blocks
    (``if TYPE_CHECKING``, ``try``) are included; those inside functions are not.

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
    # Iterative, because every `elif` is nested inside the previous one.
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        yield from _defined_by(node, prefix)
        if isinstance(node, ast.ClassDef):
            prefix += f"{node.name}."
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [
                (prefix, child)
                for child in ast.iter_child_nodes(node)
                if isinstance(child, _STATEMENTS)
            ]
            pending.extend(reversed(inner))


def _defined_by(node: ast.AST, prefix: str) -> Iterator[Definition]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield _definition(
                node, prefix + node.name, "class" if isinstance(node, ast.ClassDef) else "def"
            )
        case ast.Assign(targets=targets):
            yield from (
                _definition(node, prefix + target.id)
                for target in targets
                if isinstance(target, ast.Name)
            )
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield _definition(node, prefix + name)
        case _:
            pass


def _definition(node: ast.stmt, name: str, kind: str = "") -> Definition:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return Definition(name, kind, first, node.end_lineno or node.lineno)


_PROSE = frozenset({"text", "output", "restructuredtext", "rst"})
_LONGEST_LINE = 300
_MODIFIERS = (
    "abstract|async|const|data|default|export|extern|final|inline|internal|open|override|private"
    "|protected|pub(?:\\(\\w+\\))?|public"
    "|sealed|static|unsafe|virtual"
)
_KEYWORDS = (
    "class|def|defclass|define|defgeneric|defmacro|defmethod|defn|defpackage|defstruct|defun"
    "|defvar|enum|fn|fun|func|function|impl|interface"
    "|macro_rules!|mod|module|namespace|object|protocol|record|struct|sub|trait|type|union"
)
_RECEIVER = r"(?<=func )\([^()]*\)[ \t]*"
_NAME = r"[^\W\d][\w$!?*-]*(?:(?:::|\.)[\w$!?*-]+)*"
_DEFINITION = re.compile(
    rf"([ \t]*)\(?(?:(?:{_MODIFIERS})[ \t]+)*"
    rf"((?:{_KEYWORDS})(?:<[^<>]*>)?[ \t*]+(?:{_RECEIVER})?)[(:]?({_NAME})"
)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_CODE_FENCE = re.compile(r" {0,3}(```|~~~)")


@frozen
class OutlineEntry:
    """A definition or heading, nested `depth` levels deep."""

    depth: int
    text: str


def outline_of(text: str, language: str = "") -> tuple[OutlineEntry, ...]:
    r"""Return the classes and functions, or the markdown headings, of `text` in order.

    Returns an empty tuple for prose. Python is parsed; other languages, and Python that is
    incomplete or very long, are scanned line by line.

    >>> outline_of("class Store:\n    def peek(self): ...\n", "python")
    (OutlineEntry(depth=0, text='class Store'), OutlineEntry(depth=1, text='def peek'))
    >>> outline_of("(defun add (a b) (+ a b))", "lisp")
    (OutlineEntry(depth=0, text='defun add'),)
    """
    if language in _PROSE:
        return ()
    if language == "markdown":
        return tuple(_headings(text))
    found = definitions(text) if language == "python" else None
    if found is None:
        return tuple(_line_by_line(text))
    return tuple(
        OutlineEntry(each.name.count("."), f"{each.kind} {each.name.rpartition('.')[2]}")
        for each in found
        if each.kind
    )


def _line_by_line(text: str) -> Iterator[OutlineEntry]:
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


def attached_outline(turn: Turn) -> tuple[OutlineEntry, ...]:
    """Return the outline of the code or file that `turn` holds.

    Returns an empty tuple if it holds neither, or nothing that defines names.
    """
    from .markdown import fenced_text  # noqa: PLC0415 - only needed for outlines

    attachment = attachment_of(turn)
    if attachment is None or attachment.type not in _FROM_FILE:
        return ()
    language, content = fenced_text(turn.text)
    return outline_of(content, language)

"""Outlines: the names a text defines, which is what stays of an attached file when it yields."""

import re
from collections.abc import Iterator

from attrs import frozen

_PROSE = frozenset({"text", "output", "restructuredtext", "rst"})
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

    Python is parsed; other languages, and Python that is only a piece or very long, are read line by line.

    >>> outline_of("class Store:\n    def peek(self): ...\n", "python")
    (OutlineEntry(depth=0, text='class Store'), OutlineEntry(depth=1, text='def peek'))
    >>> outline_of("(defun add (a b) (+ a b))", "lisp")
    (OutlineEntry(depth=0, text='defun add'),)
    """
    if language in _PROSE:
        return ()
    if language == "markdown":
        return tuple(_headings(text))
    from .python_source import definitions  # noqa: PLC0415 - for those who attach Python

    found = definitions(text) if language == "python" else None
    if found is None:
        return tuple(_line_by_line(text))
    return tuple(OutlineEntry(each.name.count("."), f"{each.kind} {each.name.rpartition('.')[2]}") for each in found if each.kind)


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

"""Items as the markdown that stands in a prompt (seed 000, "Formatting for LLM")."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from polycontext.window.items.formatters import formatted
from polycontext.window.items.item import ContextItem, ItemType
from polycontext.window.items.languages import language_of_file
from polycontext.window.items.metadata import END_LINE, FILENAME, START_LINE

_HEADINGS = {
    ItemType.CODE: "Code",
    ItemType.TEXT: "Text",
    ItemType.FILE: "File",
    ItemType.REPL_HISTORY: "REPL History",
    ItemType.ERROR: "Error",
    ItemType.CUSTOM: "Custom",
}
_LANGUAGES = dict.fromkeys(ItemType, "text") | {ItemType.CODE: "", ItemType.REPL_HISTORY: ""}
"""What a fence says where no file name does: of code it is only known that it is code."""

_TICKS = re.compile(r"`{3,}")
_FENCE = "```"


def context_to_string(items: Iterable[ContextItem]) -> str:
    r"""Return items as markdown for a prompt: heading, file and lines, and the content in a fence; empty for no items.

    Nothing in content or file name can end its fence or heading: the fence is longer than any run of
    backticks inside, and what cannot be printed in a file name is written as an escape.

    Raises:
        FormatterError: the registered formatter of a custom kind failed.

    >>> print(context_to_string([ContextItem("x + 1\n", metadata={"filename": "a.py", "start_line": 3})]))
    ### Code
    #### a.py:3
    ```python
    x + 1
    ```
    """
    return "\n\n".join(map(_block, items))


def label_of(item: ContextItem) -> str:
    """Return file name and lines, such as ``math.lisp:5-7``, on one line; empty without a file name."""
    metadata = item.metadata or {}
    name = metadata.get(FILENAME)
    return f"{_printable(name)}{_lines(metadata)}" if name else ""


def fenced_text(text: str) -> tuple[str, str]:
    r"""Return language and content of the first fence that `context_to_string` wrote; all of `text` where there is none.

    >>> fenced_text("### Code\n```python\nx\n```")
    ('python', 'x')
    """
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith(_FENCE)), None)
    if first is None:
        return "", text
    ticks = len(lines[first]) - len(lines[first].lstrip("`"))
    last = next((number for number in range(first + 1, len(lines)) if lines[number] == "`" * ticks), len(lines))
    return lines[first][ticks:], "\n".join(lines[first + 1 : last])


def _block(item: ContextItem) -> str:
    label = label_of(item)
    heading = f"### {_HEADINGS[item.type]}\n" + (f"#### {label}\n" if label else "")
    body = formatted(item)
    return heading + (_fenced(item.content, _language(item)) if body is None else body)


def _language(item: ContextItem) -> str:
    name = (item.metadata or {}).get(FILENAME)
    return (language_of_file(name, item.content) if name else None) or _LANGUAGES[item.type]


def _fenced(content: str, language: str) -> str:
    longest = max(map(len, _TICKS.findall(content)), default=2)
    fence = "`" * (longest + 1)
    end = "" if not content or content.endswith("\n") else "\n"
    return f"{fence}{language}\n{content}{end}{fence}"


def _lines(metadata: Mapping[str, Any]) -> str:
    start, end = metadata.get(START_LINE), metadata.get(END_LINE)
    if end is None or end == start:
        return "" if start is None else f":{start}"
    return f":{'' if start is None else start}-{end}"


def _printable(name: str) -> str:
    return name if name.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)

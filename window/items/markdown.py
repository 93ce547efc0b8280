"""Rendering of items as markdown for a prompt (docs/attachments.md).

A custom item names its kind in ``metadata["kind"]``. A formatter that is registered for this kind
writes the body below the heading (L-004). Without one, the content is fenced like text.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from polycontext.base import InvalidDataError
from polycontext.base.json_data import STORABLE, check_text

from ..errors import PluginError
from .item import FILENAME, ContextItem, ItemType, label_of

Formatter = Callable[[ContextItem], str]

_FORMATTERS: dict[str, Formatter] = {}

_HEADINGS = {kind: kind.capitalize() for kind in ItemType} | {ItemType.REPL_HISTORY: "REPL History"}
_LANGUAGES = dict.fromkeys(ItemType, "text") | {ItemType.CODE: "", ItemType.REPL_HISTORY: ""}
"""The language of a fence when the file name does not tell it; empty for code of any language."""

_TICKS = re.compile(r"`{3,}")


def context_to_string(items: Iterable[ContextItem]) -> str:
    r"""Return items as markdown for a prompt: heading, file and lines, and fenced content.

    Returns an empty string without items. Neither content nor file names can break out of the
    markdown: a fence is longer than any run of backticks inside it, and unprintable characters of a
    file name are escaped.

    Raises:
        PluginError: The registered formatter of a custom kind raised, or did not return storable
            text.

    >>> print(
    ...     context_to_string(
    ...         [ContextItem("x + 1\n", metadata={"filename": "a.py", "start_line": 3})]
    ...     )
    ... )
    ### Code
    #### a.py:3
    ```python
    x + 1
    ```
    """
    return "\n\n".join(map(_block, items))


def register_formatter(kind: str, formatter: Formatter) -> None:
    """Register `formatter` to write the body of custom items whose ``metadata["kind"]`` is `kind`.

    A later registration replaces an earlier one. The output goes into prompts unchanged, so a
    formatter that quotes content has to fence it.

    >>> register_formatter("doctest-ticket", lambda item: f"Ticket: {item.content}")
    >>> print(
    ...     context_to_string(
    ...         [ContextItem("the printer burns", "custom", {"kind": "doctest-ticket"})]
    ...     )
    ... )
    ### Custom
    Ticket: the printer burns
    """
    _FORMATTERS[kind] = formatter


def language_of_file(filename: str) -> str | None:
    """Return the fence language for a file name, or None if the name does not tell it.

    >>> language_of_file("src/math.lisp"), language_of_file("agent.py"), language_of_file("LICENSE")
    ('lisp', 'python', None)
    """
    name = re.split(r"[/\\]", filename)[-1].lower()
    names, endings = _languages()
    return names.get(name) or endings.get(name.rpartition(".")[2] if "." in name else "")


@cache
def _languages() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the languages of files with certain names, and of those with certain endings."""
    table = json.loads(Path(__file__).with_name("languages.json").read_text(encoding="utf-8"))
    languages = table["endings"].items()
    endings = {each: language for language, all_of in languages for each in all_of.split()}
    return table["names"], endings


def fenced_text(text: str) -> tuple[str, str]:
    r"""Return the language and content of the first fence that `context_to_string` wrote.

    Returns an empty language and all of `text` if there is no fence.

    >>> fenced_text("### Code\n```python\nx\n```")
    ('python', 'x')
    """
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("```")), None)
    if first is None:
        return "", text
    ticks = len(lines[first]) - len(lines[first].lstrip("`"))
    last = next(
        (number for number in range(first + 1, len(lines)) if lines[number] == "`" * ticks),
        len(lines),
    )
    return lines[first][ticks:], "\n".join(lines[first + 1 : last])


def _block(item: ContextItem) -> str:
    label = label_of(item)
    heading = f"### {_HEADINGS[item.type]}\n" + (f"#### {label}\n" if label else "")
    body = _formatted(item)
    return heading + (_fenced(item) if body is None else body)


def _formatted(item: ContextItem) -> str | None:
    """Return the output of the registered formatter of a custom item, or None if there is none."""
    kind = (item.metadata or {}).get("kind")
    formatter = (
        _FORMATTERS.get(kind) if isinstance(kind, str) and item.type is ItemType.CUSTOM else None
    )
    if formatter is None:
        return None
    try:
        return check_text(formatter(item))
    except Exception as error:
        problem = (
            error.what
            if isinstance(error, InvalidDataError)
            else f"it raised {type(error).__name__}: {error}"
        )
        raise PluginError(f"formatter of {kind!r} items", item.id, problem, STORABLE) from error


def _fenced(item: ContextItem) -> str:
    name, content = (item.metadata or {}).get(FILENAME), item.content
    language = (language_of_file(name) if name else None) or _LANGUAGES[item.type]
    # Longer than any run of backticks inside, so that the content cannot close the fence.
    fence = "`" * (max(map(len, _TICKS.findall(content)), default=2) + 1)
    end = "" if not content or content.endswith("\n") else "\n"
    return f"{fence}{language}\n{content}{end}{fence}"

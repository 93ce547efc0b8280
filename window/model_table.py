"""The larger table of models: windows, longest replies and prices out of genai-prices.

`just models` generates model_table.json, which is read on the first search.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_SUFFIX = re.compile(
    r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest|preview-\d\d-\d{2,4}|0\d\d))?(?:-v\d+(?:/\d+)?)?$"
)
"""The suffixes of a name.

These are a snapshot date, `-latest`, Google's `-001` and a service version (`-v1:0`).
"""

_STEPS = 4
"""The most path segments of a name to look at, counted from its end."""

_SHARE, _MOST = 4, 65_536
"""The reply assumed for a model whose longest reply is unknown.

It is this fraction (1/4) of the window, up to a maximum of tokens.
"""


class Listed(NamedTuple):
    """A row: the tokens of the window and of the longest reply, and the prices.

    Prices are in US dollars per million tokens, or None if unknown.
    """

    window: int
    reply: int
    input: float | None = None
    output: float | None = None
    read: float | None = None
    write: float | None = None


def find_listed(name: str) -> tuple[str, Listed] | None:
    """Return the row for `name`, with the name that the table uses.

    The route to a model (`openrouter/google/...`, `google:...`) and its snapshot date are ignored,
    unless the host has its own row for the model.

    >>> (
    ...     find_listed("openrouter/openai/gpt-4.1")[1].window,
    ...     find_listed("xai:grok-4")[0],
    ...     find_listed("gpt-99"),
    ... )
    (1000000, 'grok-4', None)
    """
    found = next((each for each in _tried(name) if each in _rows()), None)
    return None if found is None else (found, _row(found))


def listed_models() -> Mapping[str, Listed]:
    """Return all rows by name."""
    return {name: _row(name) for name in _rows()}


def _tried(name: str) -> Iterator[str]:
    steps = name.strip().lower().replace(":", "/").split("/")[-_STEPS:]
    # Try a host before a maker: openrouter/qwen/qwen3-32b.
    for rest in (
        "/".join((steps[0], steps[-1])),
        *("/".join(steps[start:]) for start in range(len(steps))),
    ):
        plain = rest.replace(".", "-") if rest.startswith("claude") else rest
        yield plain
        yield _SUFFIX.sub("", plain)


def _row(name: str) -> Listed:
    window, reply, *prices = _rows()[name]
    return Listed(window, reply or min(window // _SHARE, _MOST), *prices)


@cache
def _rows() -> Mapping[str, list[Any]]:
    table = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    rows: Mapping[str, list[Any]] = json.loads(table)["models"]
    return rows

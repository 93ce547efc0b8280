"""The table of models that is written by a machine: windows, replies and prices of hundreds of names, to be looked up by what people call them.

`just models` writes model_table.json out of genai-prices, which nobody needs who uses it. It is
read when a name is first asked for that `model_profiles` does not have. What was read by hand goes
before it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DATED = re.compile(
    r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest|preview-\d\d-\d{2,4}|0\d\d))?(?:-v\d+(?:/\d+)?)?$"
)
"""What stands behind a name: the day of a snapshot, `-latest`, Google's `-001`, the version of a
service (`-v1:0`)."""

_STEPS = 4
"""How long a way to a model may be; what stands before it is not looked at."""

_SHARE, _MOST = 4, 65_536
"""Of the window of a model whose longest reply is not known, so large a share is kept for it, and
no more tokens than these."""


class Listed(NamedTuple):
    """Hold a row: tokens of window and longest reply.

    Prices of a million tokens in US dollars, None where they are not known.
    """

    window: int
    reply: int
    input: float | None = None
    output: float | None = None
    read: float | None = None
    write: float | None = None


def find_listed(name: str) -> tuple[str, Listed] | None:
    """Return the row that `name` means, with the name that it has there.

    The way that leads to a model (`openrouter/google/...`, `google:...`) and its day are passed
    over, but where one who serves it has a row of their own.

    >>> find_listed("google/gemini-2.5-pro")[1].window, find_listed("xai:grok-4")[0], find_listed("gemini-9")
    (1048576, 'grok-4', None)
    """
    found = next((each for each in _tried(name) if each in _rows()), None)
    return None if found is None else (found, _row(found))


def listed_models() -> Mapping[str, Listed]:
    """Return all rows by name."""
    return {name: _row(name) for name in _rows()}


def _tried(name: str) -> Iterator[str]:
    steps = name.strip().lower().replace(":", "/").split("/")[-_STEPS:]
    # A host comes before a maker: openrouter/qwen/qwen3-32b.
    for rest in (
        "/".join((steps[0], steps[-1])),
        *("/".join(steps[start:]) for start in range(len(steps))),
    ):
        plain = rest.replace(".", "-") if rest.startswith("claude") else rest
        yield plain
        yield _DATED.sub("", plain)


def _row(name: str) -> Listed:
    window, reply, *prices = _rows()[name]
    return Listed(window, reply or min(window // _SHARE, _MOST), *prices)


@cache
def _rows() -> Mapping[str, list[Any]]:
    table = json.loads(Path(__file__).with_name("model_table.json").read_text(encoding="utf-8"))
    return table["models"]  # type: ignore[no-any-return]

"""Bad requests, each with the rule that refuses it and the vendor's wording.

The wordings are from recorded refusals, public issues and the documentation. Each request of the
table is refused for one reason; those that would be long there are made here.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.testing.strict.anthropic_blocks import picture, png, user


@frozen
class BadRequest:
    """A bad request, and what is said to it; `index` is that of the message or item."""

    name: str
    request: dict[str, Any]
    rule: str
    wording: str
    index: int | None = None
    param: str | None = None
    code: str | None = None


def bad_requests(provider: str) -> list[BadRequest]:
    """Return the bad requests to a provider."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    long = {"anthropic": _many_pictures, "openai": _many_entries}.get(provider, list)
    return [*(BadRequest(**row) for row in table[provider]), *long()]


def _many_pictures() -> Iterator[BadRequest]:
    large, small = picture(png() + "A" * (6 * 2**20 - len(png()))), [picture()]
    size = "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"
    wide = "exceed max allowed size for many-image requests: 2000 pixels"
    many = "Too much media: 0 document pages + 101 images > 100"
    for name, blocks, rule, wording, index in (
        ("a picture of 6 MB", [large], "image-size", f"image.source.base64: {size}", 0),
        ("21, one 2,001 high", [*small * 20, picture(png(10, 2001))], "image-size", wide, 0),
        ("101 pictures", small * 101, "too-much-media", many, None),
    ):
        request = {"model": "claude", "max_tokens": 4096, "messages": [user(*blocks)]}
        yield BadRequest(name, request, rule, wording, index)


def _many_entries() -> Iterator[BadRequest]:
    hi = {"role": "user", "content": "hi"}
    tools = [{"type": "function", "function": {"name": f"t{n}"}} for n in range(129)]
    for field, given, most in (("messages", [hi] * 2049, 2048), ("tools", tools, 128)):
        request = {"model": "gpt-5.6", "messages": [hi], field: given}
        says = f"maximum length {most}, but got an array with length {most + 1}"
        code = "array_above_max_length"
        yield BadRequest(f"too many {field}", request, "too-long", says, None, field, code)

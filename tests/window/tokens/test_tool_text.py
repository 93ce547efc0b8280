"""The text of tool definitions, word for word: what is counted is what a model reads."""

from datetime import date
from typing import Any

import pytest

from polycontext.window.tokens.part_text import tool_text

FRAME = "# Tools\n\n## functions\n\nnamespace functions {{\n\n{}}} // namespace functions"


def written(parameters: Any, **further: Any) -> str:
    """Return the text of one function with these parameters, without the frame."""
    text = tool_text(
        [{"type": "function", "function": {"name": "f", "parameters": parameters, **further}}]
    )
    head, tail = FRAME.format("|").split("|")
    assert text.startswith(head)
    assert text.endswith(f"\n\n{tail}")
    return text.removeprefix(head).removesuffix(f"\n\n{tail}")


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (None, ""),
        ({}, ""),
        ({"type": "object"}, ""),
        (
            {
                "type": "object",
                "properties": {},
                "additionalProperties": False,
                "title": "Nothing",
                "strict": True,
            },
            "",
        ),
        (7, "_: 7"),
        ({"type": "string"}, ""),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "_: string | number"),
        ({"type": "object", "minProperties": 1}, '_: object // {"minProperties":1}'),
        ({"const": date(2026, 1, 2)}, '_: "2026-01-02"'),
    ],
)
def test_a_function_takes_what_its_parameters_hold(parameters: Any, arguments: str) -> None:
    """A function without known parameters takes no argument; any other schema is written out."""
    assert written(parameters) == f"type f = ({arguments}) => any;"

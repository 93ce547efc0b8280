"""Gemini's answers: a response, or the responses of a stream, as one content of the model."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..blocks import dumped
from ..wire import Message


def assemble(answers: Sequence[Any]) -> Sequence[Message] | None:
    """Return the content of the responses to one request, or None if they hold several answers.

    A blocked prompt has no content; its answer has no parts.

    >>> said = [{"content": {"role": "model", "parts": [{"text": text}]}} for text in ("Plu", "ms")]
    >>> assemble([{"candidates": [each]} for each in said])
    [{'role': 'model', 'parts': [{'text': 'Plums'}]}]
    """
    parts = list[Any]()
    for answer in map(dumped, answers):
        candidates = answer.get("candidates") or ()
        if len(candidates) > 1:
            return None
        for candidate in candidates:
            parts += (candidate.get("content") or {}).get("parts") or ()
    return [{"role": "model", "parts": _joined(parts)}]


def _joined(parts: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return `parts` with the pieces of one text joined; only the last piece is signed."""
    joined: list[Message] = []
    for part in parts:
        last = joined[-1] if joined else {}
        is_more = "text" in part and last.keys() - {"thought"} == {"text"}
        if is_more and part.get("thought") == last.get("thought"):
            joined[-1] = {**part, "text": last["text"] + part["text"]}
        else:
            joined.append({**part})
    return joined

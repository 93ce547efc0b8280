"""A strict stand-in for Gemini's `generateContent` with scripted answers.

Requests are read in camel case, as the vendor's SDKs write them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import define, field

from polycontext.window.providers import Provider

from .provider import Endpoint, Event, Headers, Request, RequestRefusedError
from .scripted import Scripted, check_window
from .streams import pieces

Answer = str | Mapping[str, Any]
"""A reply of the model: a text, or a content with parts."""

_STATUSES = {"invalid_request_error": "INVALID_ARGUMENT", "not_found_error": "NOT_FOUND"}


@define(eq=False)
class StrictGemini(Scripted):
    """A provider that answers ``:generateContent`` as Gemini does, and rejects what it rejects.

    The reply is a text, or a content with parts.

    Args:
        model: The name of the model, which is part of the path.

    Source: the vendor's reference of `models.generateContent` and recorded errors.

    >>> gemini = StrictGemini(lambda request: f"{len(request['contents'])} contents")
    >>> answer = gemini.create({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
    >>> answer["candidates"][0]["content"]
    {'role': 'model', 'parts': [{'text': '1 contents'}]}
    """

    provider: ClassVar[Provider] = Provider.GEMINI
    messages: ClassVar[str] = "contents"
    system: ClassVar[str] = "systemInstruction"
    model: str = field(default="gemini-3-pro", kw_only=True)
    window: int = field(default=1_048_576, validator=check_window, kw_only=True)

    @property
    def path(self) -> str:
        """Return the path of a request."""
        return f"/v1/models/{self.model}:generateContent"

    @property
    def stream_path(self) -> str:
        """Return the path of a request for a stream."""
        return f"/v1/models/{self.model}:streamGenerateContent"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handler of token counts."""
        return {f"/v1/models/{self.model}:countTokens": self._count}

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends."""
        status = _STATUSES.get(refusal.kind, refusal.kind)
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}

    def render(self, request: Request, reply: Answer, tokens: int) -> dict[str, Any]:
        """Return `reply` as an answer."""
        parts = [{"text": reply}] if isinstance(reply, str) else [*map(dict, reply["parts"])]
        said = self._tokens.of(parts)
        usage = {
            "promptTokenCount": tokens,
            "candidatesTokenCount": said,
            "totalTokenCount": tokens + said,
        }
        return self._frame(parts, usage, {"finishReason": "STOP"})

    def events(self, request: Request, answer: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a stream of `answer`."""
        (candidate,), usage = answer["candidates"], answer["usageMetadata"]
        *before, last = [p for part in candidate["content"]["parts"] for p in _pieces(part)]
        for piece in before:
            yield Event(None, self._frame([piece], usage, {}))
        yield Event(None, self._frame([last], usage, {"finishReason": candidate["finishReason"]}))

    def overflow(self, tokens: int) -> RequestRefusedError:
        """Return the vendor's error for a request of too many tokens."""
        message = (
            f"The input token count ({tokens}) exceeds the maximum number of tokens allowed "
            f"({self.window})."
        )
        return RequestRefusedError(400, "INVALID_ARGUMENT", message, "overflow")

    def _count(self, request: Request, headers: Headers) -> dict[str, Any]:
        return {"totalTokens": self.size(request)}

    def _frame(
        self, parts: list[Any], usage: Mapping[str, int], finish: Mapping[str, str]
    ) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **finish}
        return {
            "candidates": [candidate],
            "usageMetadata": dict(usage),
            "modelVersion": self.model,
        }


def _pieces(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    texts = [*pieces(part["text"])] if "text" in part else []
    yield from ({"text": text} for text in texts[:-1])
    yield {**part, **({"text": texts[-1]} if texts else {})}

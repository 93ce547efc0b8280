"""A strict stand-in for Gemini's `generateContent` with scripted answers.

It rejects what the vendor rejects, with the vendor's messages. Requests are read in camel case, as
the vendor's SDKs write them.
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any, NoReturn

from attrs import define, field

from polycontext.base.json_data import copy_json
from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError, TokenCounter, default_counter
from polycontext.window.providers import Place, Provider, check
from polycontext.window.providers.gemini import UNSIGNED
from polycontext.window.tokens import TURN_OVERHEAD

from .provider import (
    Endpoint,
    Event,
    Faults,
    Headers,
    Request,
    RequestRefusedError,
    as_faults,
    interrupt,
    vendor_errors,
)
from .request_tokens import SeenTokens
from .streams import pieces

Answer = str | Mapping[str, Any]
"""A reply of the model: a text, or a content with parts."""

FIELDS = (
    "cachedContent",
    "contents",
    "generationConfig",
    "model",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "tools",
)
"""The fields of a request."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_UNKNOWN_NAME = 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
_BAD_NAME = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
    "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length "
    "of 128."
)
_UNSIGNED_CALL = "Function call is missing a thought_signature in functionCall parts."
_BAD_SIGNATURE = "Thought signature is not valid."
_STATUSES = {"invalid_request_error": "INVALID_ARGUMENT", "not_found_error": "NOT_FOUND"}
_REQUEST = Place(Provider.GEMINI)


@define(eq=False)
class StrictGemini:
    """A provider that answers ``:generateContent`` as Gemini does, and rejects what it rejects.

    The model signs its calls. Within the current step of a conversation, the first call of each
    content must have its signature, or the one that the vendor does not check. Safe under threads.

    Args:
        reply: Returns the model's reply to a request: a text, or a content with parts.
        model: The name of the model, which is part of the path.
        window: The maximum tokens of a request; a longer one is rejected as an overflow.
        counter: The token counter of texts; o200k_base by default.
        secret: Providers with the same secret accept each other's signatures.
        faults: Scripted faults by the number of the request, from 1.

    Source: the vendor's reference of `models.generateContent`, its page on thought signatures, and
    recorded errors.

    >>> gemini = StrictGemini(lambda request: f"{len(request['contents'])} contents")
    >>> answer = gemini.create({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
    >>> answer["candidates"][0]["content"]
    {'role': 'model', 'parts': [{'text': '1 contents'}]}
    """

    reply: Callable[[Request], Answer]
    model: str = field(default="gemini-3-pro", kw_only=True)
    window: int = field(default=1_048_576, kw_only=True)
    counter: TokenCounter = field(factory=default_counter, kw_only=True)
    secret: bytes = field(default=b"strict", kw_only=True)
    faults: Faults = field(factory=Faults, converter=as_faults, kw_only=True)
    _tokens: SeenTokens = field(init=False, repr=False)
    _numbers: "count[int]" = field(init=False, repr=False, factory=lambda: count(1))

    def __attrs_post_init__(self) -> None:
        self._tokens = SeenTokens(self.counter)

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

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: Gemini would reject the request, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        content, usage = self._turn(request)
        return self._frame(content["parts"], usage, "STOP")

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        fault = self.faults.next()
        return interrupt(self._events(*self._turn(request)), fault)

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends."""
        status = _STATUSES.get(refusal.kind, refusal.kind)
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}

    def _turn(self, request: Request) -> tuple[dict[str, Any], dict[str, int]]:
        with vendor_errors():
            check_request(request)
        contents: Sequence[Mapping[str, Any]] = request["contents"]
        self._check_signatures(contents)
        tokens = self._size(request)
        if tokens > self.window:
            _refuse(
                f"The input token count ({tokens}) exceeds the maximum number of tokens allowed "
                f"({self.window}).",
                "overflow",
            )
        said = self.reply(request)
        given = {"parts": [{"text": said}]} if isinstance(said, str) else said
        content = {"role": "model", "parts": self._signed(given["parts"])}
        told = self._tokens.of(content)
        return content, {
            "promptTokenCount": tokens,
            "candidatesTokenCount": told,
            "totalTokenCount": tokens + told,
        }

    def _signed(self, parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        signed, is_first = list[dict[str, Any]](), True
        for part in parts:
            if "functionCall" in part and is_first:
                nonce = b"%d" % next(self._numbers)
                signed.append({**part, "thoughtSignature": self._signature(nonce)})
                is_first = False
            else:
                signed.append(dict(part))
        return signed

    def _signature(self, nonce: bytes) -> str:
        mac = hmac.new(self.secret, nonce, sha256).hexdigest()[:32]
        return b64encode(nonce + b"." + mac.encode()).decode()

    def _check_signatures(self, contents: Sequence[Mapping[str, Any]]) -> None:
        """Reject a call of the current step without a signature, and signatures of nobody."""
        asked = [
            index
            for index, content in enumerate(contents)
            if content.get("role") != "model"
            and not any("functionResponse" in part for part in content["parts"])
        ]
        for index, content in enumerate(contents):
            calls = [part for part in content["parts"] if "functionCall" in part]
            given = [part["thoughtSignature"] for part in calls if "thoughtSignature" in part]
            if any(not self._is_ours(signature) for signature in given):
                _refuse(_BAD_SIGNATURE, "bad-signature", index)
            is_current = index > max(asked, default=-1)
            if calls and is_current and "thoughtSignature" not in calls[0]:
                _refuse(_UNSIGNED_CALL, "missing-signature", index)

    def _is_ours(self, signature: object) -> bool:
        if not isinstance(signature, str):
            return False
        nonce = re.match(rb"\d+", _decoded(signature))
        return signature == UNSIGNED or (
            nonce is not None and signature == self._signature(nonce[0])
        )

    def _size(self, request: Request) -> int:
        return (
            REQUEST_OVERHEAD
            + self._tokens.tools(request.get("tools"))
            + self._tokens.of(request.get("systemInstruction") or {})
            + sum(self._tokens.of(content) + TURN_OVERHEAD for content in request["contents"])
        )

    def _count(self, request: Request, headers: Headers) -> dict[str, Any]:
        with vendor_errors():
            check_request(request)
        return {"totalTokens": self._size(request)}

    def _frame(
        self, parts: Sequence[Mapping[str, Any]], usage: Mapping[str, int], finish: str | None
    ) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": [*parts]}, "index": 0}
        return {
            "candidates": [candidate | ({"finishReason": finish} if finish else {})],
            "usageMetadata": dict(usage),
            "modelVersion": self.model,
        }

    def _events(self, content: Mapping[str, Any], usage: Mapping[str, int]) -> Iterator[Event]:
        *before, last = [piece for part in content["parts"] for piece in _pieces(part)]
        for piece in before:
            yield Event(None, self._frame([piece], usage, None))
        yield Event(None, self._frame([last], usage, "STOP"))


def check_request(request: Request) -> None:
    """Raise `InvalidMessagesError` for the body of a request that Gemini would reject."""
    body = copy_json(request, "", _REQUEST.no_json)
    unknown = next((name for name in body if name not in FIELDS), None)
    if unknown is not None:
        says = _UNKNOWN_NAME.format(name=unknown)
        raise _REQUEST.refuse("extra-field", f"{unknown} is unknown", ", ".join(FIELDS), says)
    check(body.get("contents"), Provider.GEMINI)
    instruction = body.get("systemInstruction")
    if instruction is not None and not (
        isinstance(instruction, dict) and isinstance(instruction.get("parts"), list)
    ):
        place = _REQUEST.into("systemInstruction")
        raise place.wrong("bad-content", instruction, "an object with parts")
    place = _REQUEST.into("tools")
    for number, tool in enumerate(_listed(body.get("tools"), place)):
        _check_tool(tool, place.into(number))


def findings(request: Sequence[Any] | Request) -> list[InvalidMessagesError]:
    """Return the first problem of a request's body or of its contents, or an empty list."""
    try:
        if isinstance(request, Mapping):
            check_request(request)
        else:
            check(request, Provider.GEMINI)
    except InvalidMessagesError as error:
        return [error]
    return []


def _check_tool(tool: object, place: Place) -> None:
    if not isinstance(tool, dict):
        raise place.wrong("bad-tools", tool, "an object with functionDeclarations, or a tool")
    declarations = place.into("functionDeclarations")
    for number, declared in enumerate(_listed(tool.get("functionDeclarations"), declarations)):
        inner = declarations.into(number)
        name = declared.get("name") if isinstance(declared, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problem, legal = f"{inner.path}.name is {name!r}", "letters, digits and _.:-"
            raise inner.refuse("bad-tool-name", problem, legal, _BAD_NAME)


def _listed(value: object, place: Place) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise place.wrong("bad-tools", value, "a list")
    return value or []


def _pieces(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    texts = [*pieces(part["text"])] if "text" in part else []
    yield from ({"text": text} for text in texts[:-1])
    yield {**part, **({"text": texts[-1]} if texts else {})}


def _decoded(signature: str) -> bytes:
    try:
        return b64decode(signature.encode(), altchars=b"-_")
    except ValueError:
        return b""


def _refuse(message: str, rule: str, index: int | None = None) -> NoReturn:
    raise RequestRefusedError(400, "INVALID_ARGUMENT", message, rule, index)

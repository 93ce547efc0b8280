"""Wrapper that fits the requests of an OpenAI client into a window (docs/adapters.md).

It covers chat completions and responses, sync and async, streamed and parsed.
"""

from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast

from polycontext.base import InvalidOptionError, with_usage
from polycontext.polynomial import ContextSession

from .bridge import Bridge, Fitted
from .wire_dialect import Bridges, Message, besides_of, learn_from

__path__: list[str] = []
"""As in `polycontext.errors`: an import of another name is answered."""

Client = TypeVar("Client")


@with_usage
def wrap(client: Client, model: Any = None, **options: Any) -> Client:
    """Return a client of the same type whose requests fit into the window of `model`.

    Without `model`, each request fits into the window of the model that it names. `options` are
    those of `Sessions`.

    Keep the complete list of messages and send it every time: the client sends a view of it. A
    retry sends the same view. Clients made by `with_options` are wrapped, too. Responses that
    continue a conversation stored by OpenAI are sent unchanged, and so are all other requests, such
    as token counts and embeddings. If the client was wrapped before, the new wrapping replaces the
    old one.

    Raises:
        InvalidOptionError: not a client of the SDK, or an invalid option.
    """
    kind: Any = getattr(type(client), "_wraps", type(client))
    prepare = getattr(kind, "_prepare_options", None)
    if prepare is None or not hasattr(client, "chat"):
        raise InvalidOptionError("client", client, _LEGAL)
    bridges = Bridges(model, options, *(provider for _, provider in _PATHS.values()))

    def bridge_of(request: Any) -> Bridge[Message]:
        return bridges.of(_PATHS[_path(request)][1], request.json_data.get("model"))

    def fit(self: Any, request: Any) -> Any:
        asked = _parse_request(request := prepare(self, request))
        return (
            _with_fitted(request, bridge_of(request).fit_with_session(asked[0], **asked[1]))
            if asked
            else request
        )

    async def afit(self: Any, request: Any) -> Any:
        asked = _parse_request(request := await prepare(self, request))
        return (
            _with_fitted(request, await bridge_of(request).afit_with_session(asked[0], **asked[1]))
            if asked
            else request
        )

    def process(self: Any, **given: Any) -> Any:
        if isinstance(given["options"].json_data, _Body):
            learn_from(given["options"].json_data.fitted, given["response"])
        return kind._process_response(self, **given)  # noqa: SLF001 - as `_prepare_options`

    @with_usage
    def session(_: Any, messages: Any, /) -> ContextSession:
        return bridges.session(messages)

    # A new client with the same connections: resources that the old one already created stay bound
    # to it.
    wrapped: Any = client.with_options()  # type: ignore[attr-defined]  # SDK client, see above
    # SDK hooks that run for every form of call, on every attempt.
    hooks = {
        "_prepare_options": afit if iscoroutinefunction(prepare) else fit,
        "_process_response": process,
        "session": session,
    }
    wrapped.__class__ = type(kind.__name__, (kind,), {**hooks, "_wraps": kind})
    return cast("Client", wrapped)


_PATHS = {"/chat/completions": ("messages", "openai"), "/responses": ("input", "openai-responses")}
"""Path of a request → the field that holds its messages, and their format."""


_LEGAL = (
    "an OpenAI or AsyncOpenAI of the package openai; for a client of Anthropic or Google, wrap of "
    "polycontext.adapters.anthropic or .gemini"
)


class _Body(dict[str, Any]):
    """A request body with fitted messages that knows its session."""

    fitted: Fitted[Message]


def _parse_request(request: Any) -> tuple[list[Message], dict[str, Any]] | None:
    """Return the messages and other parts of a request, None if there is nothing to fit."""
    path, data = _path(request), request.json_data
    if (
        path not in _PATHS
        or not isinstance(data, dict)
        or data.get("previous_response_id")
        or data.get("conversation")
    ):
        return None
    natives = data.get(_PATHS[path][0])
    return (natives, besides_of(data)) if isinstance(natives, list) else None


def _with_fitted(request: Any, fitted: Fitted[Message]) -> Any:
    request.json_data = _Body({**request.json_data, _PATHS[_path(request)][0]: fitted.natives})
    request.json_data.fitted = fitted
    return request


def _path(request: Any) -> str:
    return str(request.url).partition("?")[0]

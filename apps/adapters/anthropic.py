"""Wrapper that fits the requests of an Anthropic client into a window (docs/adapters.md).

It covers messages, sync and async, streaming, and tool runners.
"""

from typing import Any, TypeVar, cast

from polycontext.base import require, require_extra, with_usage
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import options_for
from polycontext.window.providers import get_format
from polycontext.window.providers.anthropic import block_rules

from .bridge import Fitted
from .wire_dialect import Bridges, Message, besides_of, learn_from

require_extra("anthropic", extra="anthropic", purpose=__name__)

from anthropic import Middleware

__path__: list[str] = []
"""As in `polycontext.errors`: an import of another name is answered."""

Client = TypeVar("Client")


@with_usage
def wrap(client: Client, model: Any = None, **options: Any) -> Client:
    """Return a client of the same type whose requests fit into the window of `model`.

    Without `model`, each request fits into the window of the model that it names. `options` are
    those of `Sessions`.

    Keep the complete list of messages and send it every time: the client sends a view of it. A
    retry sends the same view. Clients made by `with_options` are wrapped, too. Token counting
    requests are sent unchanged. If the client was wrapped before, the new wrapping replaces the old
    one.

    Raises:
        InvalidOptionError: not a client of the SDK, or an invalid option.
    """
    require(
        "client",
        client,
        hasattr(client, "with_middleware") and hasattr(client, "messages"),
        "an Anthropic or AsyncAnthropic of the package anthropic, 2.12 or newer; for another "
        "client, wrap of polycontext.adapters.openai or .gemini",
    )
    sdk: Any = client
    bridges = Bridges(model, options, "anthropic")

    @with_usage
    def session(_: Any, messages: Any, /) -> ContextSession:
        return bridges.session(messages)

    others = (each for each in sdk.middleware if not isinstance(each, FitMiddleware))
    wrapped: Any = sdk.with_options(middleware=[*others, FitMiddleware(bridges)])
    kind: Any = getattr(type(client), "_wraps", type(client))
    wrapped.__class__ = type(kind.__name__, (kind,), {"session": session, "_wraps": kind})
    return cast("Client", wrapped)


class FitMiddleware(Middleware):
    """Middleware that fits the messages of every request, on every attempt."""

    def __init__(self, bridges: Bridges) -> None:
        self._bridges = bridges

    def handle(self, request: Any, call_next: Any) -> Any:
        """Fit a request and send it."""
        if not _is_asked(request):
            return call_next(request)
        bridge = self._bridges.of("anthropic", request.json.get("model"))
        fitted = bridge.fit_with_session(request.json["messages"], **besides_of(request.json))
        return learn_from(fitted, call_next(_with(request, fitted)))

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        """Fit a request and send it, without blocking."""
        if not _is_asked(request):
            return await call_next(request)
        bridge = self._bridges.of("anthropic", request.json.get("model"))
        fitted = await bridge.afit_with_session(
            request.json["messages"], **besides_of(request.json)
        )
        return learn_from(fitted, await call_next(_with(request, fitted)))


def _with(request: Any, fitted: Fitted[Message]) -> Any:
    """Return the request with the fitted messages and the options they require.

    Dropped thinking blocks require a beta header and a `thinking` option.
    """
    options = get_format("anthropic").options(fitted.session.window.epoch.unbound)
    body = block_rules.with_fewer_marks({**request.json, "messages": fitted.natives})
    # A request without thinking needs no options for dropped thinking blocks.
    if not options or body.get("thinking") in (None, {"type": "disabled"}):
        return request.copy(body=body)
    betas = [
        *filter(None, str(request.headers.get("anthropic-beta", "")).split(",")),
        *options["betas"],
    ]
    headers = {**request.headers, "anthropic-beta": ",".join(dict.fromkeys(betas))}
    return request.copy(
        body=options_for(fitted.natives, {"thinking": options["thinking"]}, body), headers=headers
    )


def _is_asked(request: Any) -> bool:
    """Return whether the request asks a model for an answer.

    Token counting sends the same list to a different path.
    """
    path = str(request.url).partition("?")[0]
    return (
        path.rstrip("/").endswith("/messages")
        and isinstance(request.json, dict)
        and isinstance(request.json.get("messages"), list)
    )

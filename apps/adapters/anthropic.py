"""An Anthropic client whose requests fit: messages, sync and async, streamed, and tool runners (docs/adapters.md)."""

from typing import Any, TypeVar

from polycontext.linearity import InvalidOptionError, require_extra
from polycontext.polynomial.session import options_for
from polycontext.window.providers import get_format

from .bridge import Bridge, Fitted
from .wire_dialect import Message, WireDialect, besides_of, learn_from

require_extra("anthropic", extra="anthropic", purpose=__name__)

from anthropic import Middleware

Client = TypeVar("Client")


def wrap(client: Client, model: Any = None, **options: Any) -> Client:
    """Return a client of the same type whose requests fit into the window of `model`.

    Options are those of `Sessions`.

    The caller keeps the whole list and sends it every time; what goes out is the view of it.
    Retries send the same, and clients made by `with_options` do so too. What counts tokens is left
    as it is. Of a client that was wrapped before, the last wrapping counts.

    Raises:
        InvalidOptionError: no client of the SDK, or an option that cannot be.
    """
    if not hasattr(client, "with_middleware"):
        raise InvalidOptionError(
            "client",
            client,
            "an Anthropic or AsyncAnthropic of the package anthropic, 2.12 or newer",
        )
    sdk: Any = client
    others = (each for each in sdk.middleware if not isinstance(each, FitMiddleware))
    wrapped: Client = sdk.with_options(
        middleware=[
            *others,
            FitMiddleware(Bridge(WireDialect("anthropic"), model=model, **options)),
        ]
    )
    return wrapped


class FitMiddleware(Middleware):
    """Fit the messages of every request, on every attempt."""

    def __init__(self, bridge: Bridge[Message]) -> None:
        self._bridge = bridge

    def handle(self, request: Any, call_next: Any) -> Any:
        """Send what fits."""
        if not _is_asked(request):
            return call_next(request)
        fitted = self._bridge.fit_with_session(request.json["messages"], **besides_of(request.json))
        return learn_from(fitted, call_next(_with(request, fitted)))

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        """Send what fits without blocking."""
        if not _is_asked(request):
            return await call_next(request)
        fitted = await self._bridge.afit_with_session(
            request.json["messages"], **besides_of(request.json)
        )
        return learn_from(fitted, await call_next(_with(request, fitted)))


def _with(request: Any, fitted: Fitted[Message]) -> Any:
    """Return the request with what fits, and whatever it needs once thoughts have fallen."""
    options = get_format("anthropic").options(fitted.session.window.epoch)
    body = {**request.json, "messages": fitted.natives}
    # Whoever wants no thoughts needs nothing of those that fell.
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
    """Tell whether a model is asked; counting has the same list, and a path of its own."""
    path = str(request.url).partition("?")[0]
    return (
        path.rstrip("/").endswith("/messages")
        and isinstance(request.json, dict)
        and isinstance(request.json.get("messages"), list)
    )

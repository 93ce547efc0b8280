"""The one place that knows all message formats, each loaded when it is first asked for."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import evolve

from polycontext.linearity import UnknownNameError

from .. import providers as formats
from ..errors import InvalidMessagesError
from .wire import Provider, WireFormat, as_provider

_FOLDERS = {"anthropic": "anthropic", "openai": "chat", "openai-responses": "responses"}
"""The package of each format; it is loaded when it is first asked for."""


def get_format(provider: Provider | str) -> WireFormat:
    """Return the message format of `provider`.

    Raises:
        UnknownNameError: no such format; the error names the legal ones.

    >>> get_format("openai").provider
    <Provider.OPENAI: 'openai'>
    """
    return _loaded(as_provider(provider))


@cache
def _loaded(known: Provider) -> WireFormat:
    vendor = _vendor(known)
    form = WireFormat(known, vendor.parse, vendor.render, vendor.check, vendor.Writer, vendor.GrowingList)
    return evolve(form, options=vendor.options_in) if known is Provider.ANTHROPIC else form


def _vendor(provider: Provider | str) -> Any:
    if str(provider) not in _FOLDERS:
        raise UnknownNameError("provider", str(provider), tuple(_FOLDERS))
    return getattr(formats, _FOLDERS[str(provider)])


def check(messages: object, provider: Provider | str, *, allow_open_tail: bool = False) -> None:
    """Raise for a message list (of Responses: input items) that `provider` would refuse; with `allow_open_tail` it may end on open calls.

    Raises:
        InvalidMessagesError: the first rule that is broken, its place, what would be legal, and the provider's own words.
        UnknownNameError: no such provider.

    >>> check([{"role": "user", "content": ""}], "anthropic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] break the anthropic rule empty-message: ...
    """
    _vendor(provider).check_messages(messages, allow_open_tail=allow_open_tail)


def check_request(request: Mapping[str, Any], provider: Provider | str, *, betas: Collection[str] = ()) -> None:
    """Raise for a whole request that `provider` would refuse: its fields, tools, messages, and what they ask of each other.

    `betas` are those of Anthropic's header.

    Raises:
        InvalidMessagesError: as `check`. UnknownNameError: no such provider.
    """
    options = {"betas": betas} if provider == Provider.ANTHROPIC else {}
    _vendor(provider).check_request(request, **options)


def findings(
    request: Sequence[Any] | Mapping[str, Any], provider: Provider | str, *, betas: Collection[str] = ()
) -> list[InvalidMessagesError]:
    """Return what `provider` would refuse in a request, or in a list of messages alone; nothing where it is fine.

    One finding a message, and what the rest holds, in order; a later one may follow from an earlier.

    Raises:
        UnknownNameError: no such provider.

    >>> blank = {"role": "user", "content": " "}
    >>> [(found.index, found.rule) for found in findings([blank, blank], "anthropic")]
    [(0, 'empty-message'), (1, 'empty-message')]
    """
    vendor = _vendor(provider)
    if provider == Provider.ANTHROPIC:
        found: list[InvalidMessagesError] = vendor.findings.findings(request, betas=betas)
        return found
    judge = formats.openai_findings.chat_findings if provider == Provider.OPENAI else formats.openai_findings.responses_findings
    return judge(request)

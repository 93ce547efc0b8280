"""The one place that knows all message formats, each loaded when it is first asked for."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from polycontext.linearity import UnknownNameError

from ..errors import InvalidMessagesError
from .wire import Provider, WireFormat, as_provider

JUDGED = ("anthropic", "openai", "openai-responses")
"""Whose requests can be judged."""


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
    match known:
        case Provider.OPENAI:
            from . import chat  # noqa: PLC0415 - most readers need one format only
            from .chat import rules as chat_rules  # noqa: PLC0415
            from .chat import write as chat_write  # noqa: PLC0415

            return WireFormat(known, chat.parse, chat.render, chat.check, chat_write.Writer, chat_rules.GrowingList)
        case Provider.ANTHROPIC:
            from . import anthropic  # noqa: PLC0415 - as above
            from .anthropic import request_rules, write  # noqa: PLC0415

            judge, options = request_rules.GrowingList, anthropic.options_in
            return WireFormat(known, anthropic.parse, anthropic.render, anthropic.check, write.Writer, judge, options)
        case Provider.RESPONSES:
            from . import responses  # noqa: PLC0415 - as above
            from .responses import rules as responses_rules  # noqa: PLC0415
            from .responses import write as responses_write  # noqa: PLC0415

            return WireFormat(
                known, responses.parse, responses.render, responses.check, responses_write.Writer, responses_rules.GrowingList
            )


def check(messages: object, provider: Provider | str, *, allow_open_tail: bool = False) -> None:
    """Raise for a message list (of Responses: input items) that `provider` would refuse; with `allow_open_tail` it may end on open calls.

    Raises:
        InvalidMessagesError: the first rule that is broken, its place, what would be legal, and the provider's own words.
        UnknownNameError: no such provider.

    >>> check([{"role": "user", "content": ""}], "anthropic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] break the anthropic rule empty-message: ...
    """
    match str(provider):
        case "anthropic":
            from .anthropic import request_rules as anthropic_request_rules  # noqa: PLC0415 - most readers need one format only

            anthropic_request_rules.check_messages(messages, allow_open_tail=allow_open_tail)
        case "openai":
            from .chat import rules as chat_rules  # noqa: PLC0415 - as above

            chat_rules.check_messages(messages, allow_open_tail=allow_open_tail)
        case "openai-responses":
            from .responses import rules as responses_rules  # noqa: PLC0415 - as above

            responses_rules.check_items(messages, allow_open_tail=allow_open_tail)
        case _:
            raise UnknownNameError("provider", str(provider), JUDGED)


def check_request(request: Mapping[str, Any], provider: Provider | str, *, betas: Collection[str] = ()) -> None:
    """Raise for a whole request that `provider` would refuse: its fields, tools, messages, and what they ask of each other.

    `betas` are those of Anthropic's header.

    Raises:
        InvalidMessagesError: as `check`. UnknownNameError: no such provider.
    """
    match str(provider):
        case "anthropic":
            from .anthropic import request_rules as anthropic_request_rules  # noqa: PLC0415 - as above

            anthropic_request_rules.check_request(request, betas=betas)
        case "openai":
            from .chat import request_rules as chat_request_rules  # noqa: PLC0415 - as above

            chat_request_rules.check_request(request)
        case "openai-responses":
            from .responses import request_rules as responses_request_rules  # noqa: PLC0415 - as above

            responses_request_rules.check_request(request)
        case _:
            raise UnknownNameError("provider", str(provider), JUDGED)


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
    match str(provider):
        case "anthropic":
            from .anthropic import findings as anthropic_findings  # noqa: PLC0415 - as above

            return anthropic_findings.findings(request, betas=betas)
        case "openai":
            from . import openai_findings  # noqa: PLC0415 - as above

            return openai_findings.chat_findings(request)
        case "openai-responses":
            from . import openai_findings  # noqa: PLC0415 - as above

            return openai_findings.responses_findings(request)
        case _:
            raise UnknownNameError("provider", str(provider), JUDGED)

"""The checks of whole requests: fields, messages, and how they fit together."""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.base.json_data import copy_json
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, as_provider, copied_messages, load_errors
from polycontext.window.providers.chat.rules import Judge as ChatJudge
from polycontext.window.providers.judge import ListJudge, raise_first
from polycontext.window.providers.places import Place
from polycontext.window.providers.responses.rules import Judge as InputJudge

from .anthropic_requests import NEWEST, anthropic_findings
from .gemini_requests import findings as gemini_findings
from .openai_requests import check_chat_fields, check_responses_fields, is_continued


def check_request(
    request: object,
    provider: Provider | str,
    *,
    version: str = NEWEST,
    foreign: bool = False,
) -> None:
    """Raise the first of `findings` for a whole request, if there is one.

    Raises:
        InvalidMessagesError: `provider` would reject the request. The error holds the broken rule,
            the index of the message if it is in one, and the provider's own wording.
        UnknownNameError: There is no such provider, or no such version.

    >>> hi = [{"role": "user", "content": "hi"}]
    >>> check_request({"model": "gpt-5.6", "messages": hi, "tool_choice": "auto"}, "openai")
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.errors.InvalidMessagesError: messages break the openai rule \
bad-tool-choice: Invalid value for 'tool_choice': ...
    """
    if not isinstance(request, Mapping):
        problem = f"{type(request).__name__} is not an object"
        place = Place(as_provider(provider))
        raise place.refuse("not-an-object", problem, "the body of a request")
    raise_first(findings(request, provider, version=version, foreign=foreign))


def findings(
    request: Sequence[Any] | Mapping[str, Any],
    provider: Provider | str,
    *,
    version: str = NEWEST,
    foreign: bool = False,
) -> list[InvalidMessagesError]:
    """Return the errors that `provider` would report for a request or a message list.

    Returns an empty list if it is valid. The findings are in order, with at most one for each
    message, plus those of the other fields. A later finding may follow from an earlier one.

    Args:
        request: The body of a request, or a list of messages (Responses: input items).
        provider: The name of the provider.
        version: The value of Anthropic's version header.
        foreign: Whether content and options that only OpenAI's compatible servers accept are valid.

    Raises:
        UnknownNameError: There is no such provider, or no such version.

    >>> blank = {"role": "user", "content": " "}
    >>> [(found.index, found.rule) for found in findings([blank, blank], "anthropic")]
    [(0, 'empty-message'), (1, 'empty-message')]
    """
    known = as_provider(provider)
    if known is Provider.ANTHROPIC:
        found = anthropic_findings(request, version=version)
    elif known is Provider.GEMINI:
        found = gemini_findings(request)
    else:
        found = _openai_findings(request, known, foreign=foreign)
    names = ("messages", "input", "contents")
    lists = map(request.get, names) if isinstance(request, Mapping) else [request]
    return found or [error for each in lists for error in load_errors(known, each or ())]


def _openai_findings(
    request: Sequence[Any] | Mapping[str, Any], known: Provider, *, foreign: bool
) -> list[InvalidMessagesError]:
    found, body = list[InvalidMessagesError](), dict[str, Any]()
    is_chat = known is Provider.OPENAI
    try:
        if isinstance(request, Mapping):
            body = copy_json(request, "", Place(known).no_json)
            entries = body.get("messages" if is_chat else "input")
        else:
            entries = copied_messages(known, request)
    except InvalidMessagesError as error:
        return [error]
    if isinstance(request, Mapping):
        check_fields = check_chat_fields if is_chat else check_responses_fields
        try:
            check_fields(body, foreign=foreign)
        except InvalidMessagesError as error:
            found.append(error)
    if isinstance(entries, list):
        judge: ListJudge = ChatJudge(foreign=foreign)
        if not is_chat:
            judge = InputJudge(foreign=foreign, continued=is_continued(body))
        found += [*judge.faults(entries), *judge.ends()]
    return found

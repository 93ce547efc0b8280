"""All that OpenAI would refuse in a request, not only the first: for people who want to repair a history in one go."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidMessagesError
from .blocks import copied_messages
from .breach import Breach
from .chat import request_rules as chat_request
from .chat.rules import ChatJudge
from .request_fields import copied_request
from .responses import request_rules as responses_request
from .responses.rules import InputJudge
from .wire import Provider

Given = Sequence[Any] | Mapping[str, Any]
"""The body of a request, or its list alone."""


def chat_findings(request: Given, *, allow_open_tail: bool = False, foreign: bool = False) -> list[InvalidMessagesError]:
    """Return what is wrong with a request for a chat completion, or with a message list: one finding a message at most.

    Behind a finding the rest is judged as if the message were fine, so that one fault is told once.

    >>> [error.rule for error in chat_findings([{"role": "user"}, {"role": "tool", "tool_call_id": "a", "content": "b"}])]
    ['missing-content', 'orphan-result']
    """
    try:
        body = copied_request(Provider.OPENAI, request) if isinstance(request, Mapping) else None
        found = _told(chat_request.request_breach(body, foreign=foreign) if body is not None else None, Provider.OPENAI)
        messages = copied_messages(Provider.OPENAI, request if body is None else body.get("messages"))
    except InvalidMessagesError as error:
        return [error]
    judge = ChatJudge(foreign=foreign)
    found += _each(judge, messages, Provider.OPENAI)
    return found + _told(judge.end(allow_open_tail=allow_open_tail), Provider.OPENAI)


def responses_findings(request: Given, *, allow_open_tail: bool = False, foreign: bool = False) -> list[InvalidMessagesError]:
    """Return what is wrong with a request for a response, or with a list of items: one finding an item at most, then what waits for something.

    >>> items = [{"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"} for name in "ab"]
    >>> [(error.index, error.rule) for error in responses_findings(items)]
    [(0, 'unanswered-call'), (1, 'unanswered-call')]
    """
    try:
        body = copied_request(Provider.RESPONSES, request) if isinstance(request, Mapping) else {}
        breach = responses_request.request_breach(body, foreign=foreign) or responses_request.unstored(body) if body else None
        items = body.get("input") if isinstance(request, Mapping) else request
        # A text for an input is one message; what else is no list, or an empty one, a whole request was told already.
        told = isinstance(items, str) or (isinstance(request, Mapping) and (not items or not isinstance(items, list)))
        copies = [] if told else copied_messages(Provider.RESPONSES, items)
    except InvalidMessagesError as error:
        return [error]
    judge = InputJudge(continued=responses_request.is_continued(body), foreign=foreign)
    found = _told(breach, Provider.RESPONSES) + _each(judge, copies, Provider.RESPONSES)
    return found + [end.error(Provider.RESPONSES) for end in judge.ends(allow_open_tail=allow_open_tail)]


def _told(breach: Breach | None, provider: str) -> list[InvalidMessagesError]:
    return [] if breach is None else [breach.error(provider)]


def _each(judge: ChatJudge | InputJudge, entries: Sequence[object], provider: str) -> list[InvalidMessagesError]:
    found: list[InvalidMessagesError] = []
    for entry in entries:
        breach = judge.add(entry)
        if breach is not None:
            found.append(breach.error(provider))
            judge.pardon(entry)
    return found

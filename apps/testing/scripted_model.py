"""A model with scripted replies, for testing an agent loop offline."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from threading import Lock
from typing import Any

from attrs import define, field

from polycontext.base import CallerError, InvalidOptionError, guided

Reply = str | Mapping[str, Any] | BaseException | type[BaseException] | Callable[[Any], Any]
"""A scripted reply: a text, an assistant message, an error to raise, or a function of the request.
"""


@define(slots=False, eq=False)
class ScriptEndedError(CallerError, LookupError):
    """A call for which the script has no reply; calls count from 1."""

    call: int
    replies: int
    rules: tuple[str, ...]

    def __str__(self) -> str:
        rules = (
            f", and none of the rules matches: {', '.join(map(repr, self.rules))}"
            if self.rules
            else ""
        )
        return (
            f"call {self.call} came after the last of {self.replies} replies{rules}. Script a "
            "reply for every call."
        )


def _scripted(replies: Iterable[Reply]) -> tuple[Reply, ...]:
    if isinstance(replies, str | Mapping):
        raise InvalidOptionError("replies", replies, "a sequence of replies")
    script = tuple(replies)
    for number, reply in enumerate(script, 1):
        _check_reply(reply, f"reply {number}")
    return script


def _ruled(rules: Mapping[str, Reply]) -> Mapping[str, Reply]:
    for pattern, reply in rules.items():
        _check_reply(reply, f"rule {pattern!r}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidOptionError("rule", pattern, f"a regular expression ({error})") from None
    return dict(rules)


def _check_reply(reply: object, where: str) -> None:
    if not isinstance(reply, str | Mapping | BaseException) and not callable(reply):
        raise InvalidOptionError(
            where, reply, "a text, an assistant message, an exception, or a function of the request"
        )
    if isinstance(reply, Mapping) and reply.get("role") != "assistant":
        raise InvalidOptionError(where, dict(reply), "a message of role 'assistant'")


@guided
@define
class ScriptedModel:
    r"""A stand-in for a model that plays a script and records its requests.

    Safe under threads. `requests` holds a copy of each request as it was received.

    Args:
        replies: One reply for each call, in order. An exception is raised; a function is called
            with the request.
        rules: Regular expressions with their replies. The first one that matches the request (of a
            message list, its last message) gives the reply, and the script does not advance.
        usage: What each call reports as its usage. Replies are then messages.

    Raises:
        InvalidOptionError: on creation, if the script cannot be played.

    >>> model = ScriptedModel(
    ...     ["Hello.", TimeoutError("too slow")], rules={r"\bweather\b": "It rains."}
    ... )
    >>> (
    ...     model.complete("What is the weather?"),
    ...     model.complete([{"role": "user", "content": "hi"}]),
    ...     len(model.requests),
    ... )
    ('It rains.', 'Hello.', 2)
    """

    replies: tuple[Reply, ...] = field(default=(), converter=_scripted)
    rules: Mapping[str, Reply] = field(factory=dict, converter=_ruled, kw_only=True)
    usage: Mapping[str, int] | None = field(default=None, kw_only=True)
    requests: list[Any] = field(init=False, factory=list)
    _script: Iterator[Reply] = field(init=False, repr=False, eq=False)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def __attrs_post_init__(self) -> None:
        self._script = iter(self.replies)

    def complete(self, request: Any) -> Any:
        """Return the reply to a prompt or a message list: a text, or a message as a new dict.

        Raises:
            ScriptEndedError: no rule matches and the script has ended.
            BaseException: an exception that the script raises.
        """
        with self._lock:
            # Copy the request, because the caller may change its list.
            self.requests.append(deepcopy(request))
            reply: Any = self._next(request)
        if isinstance(reply, BaseException) or (
            isinstance(reply, type) and issubclass(reply, BaseException)
        ):
            raise reply
        # Outside the lock: a scripted function may call the model again.
        said = reply(request) if callable(reply) else reply
        if self.usage is not None:
            message = said if isinstance(said, Mapping) else {"role": "assistant", "content": said}
            said = {"usage": self.usage, **message}
        return deepcopy(dict(said) if isinstance(said, Mapping) else said)

    async def acomplete(self, request: Any) -> Any:
        """Return the reply; the async twin of `complete`."""
        return self.complete(request)

    def _next(self, request: Any) -> Reply:
        last = request[-1] if isinstance(request, list | tuple) and request else request
        text = str(last.get("content") if isinstance(last, Mapping) else last)
        for pattern, reply in self.rules.items():
            if re.search(pattern, text):
                return reply
        for reply in self._script:
            return reply
        raise ScriptEndedError(len(self.requests), len(self.replies), tuple(self.rules))

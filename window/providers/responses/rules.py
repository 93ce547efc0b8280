"""OpenAI's rules for the list of input items: calls and outputs, reasoning, and ids.

An output may come anywhere after its call, since call ids pair them. Sources: the vendor's
reference, recorded requests and errors. The shapes of single items are in `item_rules`.
docs/providers.md lists the rules. An `InputJudge` checks a list incrementally, so that a growing
list is only checked from where the last check stopped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from attrs import Factory, define, evolve, field, frozen

from ..blocks import copied_messages
from ..breach import Breach, Spot, list_breach, refuse
from ..wire import Message, Provider
from .item_rules import item_breach, type_of

ANSWERS: Mapping[str, frozenset[str]] = {
    "function_call_output": frozenset({"function_call", "local_shell_call", "tool_search_call"}),
    "custom_tool_call_output": frozenset({"custom_tool_call"}),
    "computer_call_output": frozenset({"computer_call"}),
    "shell_call_output": frozenset({"shell_call"}),
    "apply_patch_call_output": frozenset({"apply_patch_call"}),
    "local_shell_call_output": frozenset({"local_shell_call"}),
}
"""The types of outputs, with the calls that they may answer.

Recorded requests answer a tool search with a function's output.
"""

_CALLS = frozenset[str]().union(*ANSWERS.values())
TRIGGER = "compaction_trigger"
"""The type of the item that makes the platform compact everything before it.

It must be the last item (openai 3.54.0, read on 2026-11-24).
"""

_NOT_MADE = frozenset(
    {*ANSWERS, "additional_tools", "mcp_approval_response", "configuration_update", TRIGGER}
)
# The prefix of the platform's own reasoning items; other servers use different ids.
_OWN_ID = "rs_"

Required = Callable[[str], str | None]
"""Returns the id of the reasoning item that must precede the item with the given id, or None."""


def check_messages(
    items: object, *, allow_open_tail: bool = False, continued: bool = False, foreign: bool = False
) -> None:
    """Raise an error for an input (a list of items, or a text) that OpenAI would reject.

    With `allow_open_tail`, calls at the end may lack their outputs. With `continued`, the input
    continues a conversation that the provider stores (`previous_response_id`, `conversation`), so
    outputs may answer calls that are not in the list. With `foreign`, content that only compatible
    servers accept is allowed: other ids, reasoning in plain text.

    Raises:
        InvalidMessagesError: An item breaks a rule of docs/providers.md; the error names its index
            and the rule, with the vendor's wording as the problem.

    >>> output = {"type": "function_call_output", "call_id": "a", "output": "21 degrees"}
    >>> check_messages([output])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] breaks the openai-responses rule \
orphan-result: No tool call found for ...
    """
    if isinstance(items, str):
        return
    copies = copied_messages(Provider.RESPONSES, items)
    breach = judge_list(
        copies, allow_open_tail=allow_open_tail, continued=continued, foreign=foreign
    )
    refuse(breach, Provider.RESPONSES)


def judge_list(
    items: Sequence[Message],
    *,
    allow_open_tail: bool = False,
    continued: bool = False,
    foreign: bool = False,
) -> Breach | None:
    """Return the first breach of `items`, a list of JSON objects, or None."""
    judge = InputJudge(continued=continued, foreign=foreign)
    return list_breach(judge, items, allow_open_tail=allow_open_tail)


@frozen
class _Call:
    index: int
    kind: str
    awaited: bool


@define
class InputJudge:
    """Checks an input incrementally, each item once, in linear time.

    Args:
        continued: The list continues a conversation that the provider stores.
        foreign: Ids and reasoning of other servers are accepted.
        required: Returns the reasoning item that an item requires, which only the provider that
            stores the items can know.
    """

    continued: bool = False
    foreign: bool = False
    required: Required | None = None
    count: int = 0
    _open: dict[str, _Call] = field(factory=dict)
    _answered: set[str] = field(factory=set)
    _ids: set[str] = field(factory=set)
    _reasoning: tuple[int, str] | None = None
    _trigger: int | None = None

    def add(self, item: object) -> Breach | None:
        """Return the breach of `item`, the next one of the list, or None.

        After a breach, call `pardon` before adding another item.
        """
        spot = Spot(f"input[{self.count}]", self.count)
        self.count += 1
        if self._trigger is not None:
            message = (
                f"Invalid 'input[{self._trigger}]': an item of type '{TRIGGER}' must be the final "
                "input item."
            )
            legal = "the last item, or no such item"
            return _input_breach("compaction-trigger", message, legal, self._trigger)
        if not isinstance(item, dict):
            return spot.wrong_type("not-an-object", "an object", item)
        self._trigger = self.count - 1 if item.get("type") == TRIGGER else None
        return item_breach(item, spot, foreign=self.foreign) or self._place(
            item, type_of(item), spot
        )

    def pardon(self, item: object) -> None:
        """Continue after `item`, which broke a rule, as if it were valid."""
        self._reasoning = self._trigger = None
        fields = item if isinstance(item, dict) else {}
        kind, call_id = type_of(fields), fields.get("call_id")
        if isinstance(call_id, str) and kind in _CALLS:
            self._open[call_id] = _Call(self.count - 1, kind, _is_awaited(fields, kind))
        elif isinstance(call_id, str) and kind in ANSWERS:
            self._open.pop(call_id, None)
            self._answered.add(call_id)

    def end(self, *, allow_open_tail: bool = False) -> Breach | None:
        """Return the first breach of the input as a whole if it ends here, or None."""
        return next(self.ends(allow_open_tail=allow_open_tail), None)

    def ends(self, *, allow_open_tail: bool = False) -> Iterator[Breach]:
        """Yield all breaches of the input as a whole if it ends here.

        These are reasoning without a following item and calls without an output.
        """
        if self._reasoning is not None:
            yield self._unfollowed()
        if not allow_open_tail:
            yield from self._unanswered()

    def copy(self) -> Self:
        """Return an independent judge that continues from here."""
        return evolve(self, open=dict(self._open), answered=set(self._answered), ids=set(self._ids))

    def _place(self, item: Message, kind: str, spot: Spot) -> Breach | None:
        return (
            self._follows(item, kind, spot)
            or self._own_id(item, kind, spot)
            or self._pair(item, kind, spot.index)
        )

    def _follows(self, item: Message, kind: str, spot: Spot) -> Breach | None:
        """Return a breach if reasoning is not followed by an item that the model created.

        A message only counts as the model's if it has an id.
        """
        if self._reasoning is not None and not _is_made(item, kind):
            return self._unfollowed()
        own = item.get("id")
        self._reasoning = (
            (spot.index or 0, own)
            if kind == "reasoning" and isinstance(own, str) and own.startswith(_OWN_ID)
            else None
        )
        return None

    def _unfollowed(self) -> Breach:
        index, own = self._reasoning or (0, "")
        message = (
            f"Item '{own}' of type 'reasoning' was provided without its required following item."
        )
        legal = "the item that the model made behind it, with its id"
        return _input_breach("reasoning-alone", message, legal, index)

    def _own_id(self, item: Message, kind: str, spot: Spot) -> Breach | None:
        own = item.get("id")
        if not isinstance(own, str):
            return None
        # An item that is also referred to counts as a duplicate.
        if own in self._ids and not self.foreign:
            message = (
                f"Duplicate item found with id {own}. Remove duplicate items from your input and "
                "try again."
            )
            return _input_breach("duplicate-item", message, "each item once", spot.index)
        self._ids.add(own)
        reasoning = None if self.required is None else self.required(own)
        if reasoning is None or reasoning in self._ids:
            return None
        message = (
            f"Item '{own}' of type '{kind}' was provided without its required 'reasoning' item: "
            f"'{reasoning}'."
        )
        legal = "the reasoning item before it, or the item without its id"
        return _input_breach("reasoning-missing", message, legal, spot.index)

    def _pair(self, item: Message, kind: str, index: int | None) -> Breach | None:
        if kind in _CALLS:
            return self._call(item, kind, index or 0)
        if kind in ANSWERS:
            return self._answer(str(item.get("call_id") or item.get("id") or ""), kind, index)
        return None

    def _call(self, item: Message, kind: str, index: int) -> Breach | None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str):
            return None
        if call_id in self._open:
            message = f"Duplicate tool call found with call_id {call_id}."
            return _input_breach("duplicate-call-id", message, "one open call an id", index)
        self._open[call_id] = _Call(index, kind, _is_awaited(item, kind))
        return None

    def _answer(self, call_id: str, kind: str, index: int | None) -> Breach | None:
        call = self._open.get(call_id)
        if (call is not None and call.kind in ANSWERS[kind]) or (
            self.continued and call is None and call_id not in self._answered
        ):
            self._open.pop(call_id, None)
            self._answered.add(call_id)
            return None
        rule = "duplicate-result" if call_id in self._answered else "orphan-result"
        message = f"No tool call found for {kind.replace('_', ' ')} with call_id {call_id}."
        return _input_breach(rule, message, _ONE_OUTPUT, index)

    def _unanswered(self) -> Iterator[Breach]:
        for call_id, call in self._open.items():
            if call.awaited:
                message = f"No tool output found for {call.kind.replace('_', ' ')} {call_id}."
                yield _input_breach("unanswered-call", message, _ONE_OUTPUT, call.index)


_ONE_OUTPUT = "one output for each call, behind it"


def _input_breach(rule: str, message: str, legal: str, index: int | None) -> Breach:
    return Breach(rule, message, legal, index, "input")


def _is_made(item: Message, kind: str) -> bool:
    if kind == "message":
        return item.get("role") == "assistant" and isinstance(item.get("id"), str)
    return kind not in _NOT_MADE


def _is_awaited(item: Message, kind: str) -> bool:
    """Return whether the call must be answered before the model continues.

    It need not if it runs on the platform or asynchronously.
    """
    environment: Any = item.get("environment")
    elsewhere = isinstance(environment, dict) and environment.get("type") != "local"
    return not (item.get("async") or elsewhere or kind == "tool_search_call")


@define
class GrowingList:
    """Checks a growing list, each item once.

    Content that only compatible servers accept is allowed.
    """

    _judge: InputJudge = Factory(lambda: InputJudge(foreign=True))

    def __call__(self, messages: Sequence[Message], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` for the first breach.

        Items that were checked before are skipped.
        """
        # A compaction trigger is removed once something follows it.
        stop = len(messages) - (messages[-1].get("type") == TRIGGER) if messages else 0
        further = messages[self._judge.count : stop]
        breach = list_breach(self._judge, further, allow_open_tail=allow_open_tail)
        refuse(breach, Provider.RESPONSES)

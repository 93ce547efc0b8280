"""OpenAI's rules for the list of input items: calls and outputs, reasoning, and ids.

An output may come anywhere after its call, since call ids pair them. Sources: the vendor's
reference, recorded requests and errors. The shapes of single items are in `item_rules`.
docs/providers.md lists the rules.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import define, field, frozen

from ...errors import InvalidMessagesError
from ..judge import ListJudge
from ..openai_places import OpenAIPlace
from ..wire import Message, Provider
from .item_rules import check_item, type_of

PROGRAM_OUTPUT = "program_output"
"""The type of the item with what a program of the model gave; the platform answers, not a client.

Source: types of openai 3.54.0.
"""

ANSWERS: Mapping[str, frozenset[str]] = {
    "function_call_output": frozenset({"function_call", "local_shell_call", "tool_search_call"}),
    "custom_tool_call_output": frozenset({"custom_tool_call"}),
    "computer_call_output": frozenset({"computer_call"}),
    "shell_call_output": frozenset({"shell_call"}),
    "apply_patch_call_output": frozenset({"apply_patch_call"}),
    "local_shell_call_output": frozenset({"local_shell_call"}),
    PROGRAM_OUTPUT: frozenset({"program"}),
}
"""The types of outputs, with the calls that they may answer.

Recorded requests answer a tool search with a function's output.
"""

CALLS = frozenset[str]().union(*ANSWERS.values())
"""The types of calls that need an output."""

TRIGGER = "compaction_trigger"
"""The type of the item that makes the platform compact everything before it.

It must be the last item (openai 3.54.0, read on 2026-11-24).
"""

_NOT_MADE = frozenset(
    {*ANSWERS, "additional_tools", "mcp_approval_response", "configuration_update", TRIGGER}
) - {PROGRAM_OUTPUT}
# The prefix of the platform's own reasoning items; other servers use different ids.
_OWN_ID = "rs_"
_INPUT = OpenAIPlace(Provider.RESPONSES, ("input",))


@frozen
class _Call:
    index: int
    kind: str
    awaited: bool


@define
class Judge(ListJudge):
    """Checks the items of an input, each once, in linear time.

    With `foreign`, ids and reasoning of other servers are accepted. With `continued`, the list
    continues a conversation that the provider stores (`previous_response_id`, `conversation`), so
    outputs may answer calls that are not in the list. `calls` have no output yet, `answered` have
    one. `reasoning` is the index and id of a last item that is reasoning, `trigger` the index of
    one that compacts.
    """

    takes_text: ClassVar[bool] = True
    foreign: bool = False
    continued: bool = False
    calls: dict[str, _Call] = field(factory=dict)
    answered: set[str] = field(factory=set)
    _ids: set[str] = field(factory=set)
    reasoning: tuple[int, str] | None = None
    trigger: int | None = None

    def add(self, entry: object) -> None:
        """Check the next item."""
        index, place = self.count, _INPUT.into(self.count)
        self.count += 1
        if self.trigger is not None:
            raise _INPUT.into(self.trigger).broken("compaction-trigger")
        if not isinstance(entry, dict):
            raise place.wrong_type("not-an-object", dict, entry)
        self.trigger = index if entry.get("type") == TRIGGER else None
        check_item(entry, place, foreign=self.foreign)
        kind = type_of(entry)
        self._check_follower(entry)
        own = entry.get("id")
        if isinstance(own, str):
            # An item that is also referred to counts as a duplicate.
            if own in self._ids and (kind == PROGRAM_OUTPUT or kind not in ANSWERS):
                raise place.broken("duplicate-item", own=own)
            self._ids.add(own)
        if kind in CALLS:
            self._call(entry, place)
        elif kind in ANSWERS:
            self._answer(str(entry.get("call_id") or entry.get("id") or ""), kind, place)

    def ends(self, *, allow_open_tail: bool = False) -> Iterator[InvalidMessagesError]:
        """Yield the errors of reasoning without a following item and calls without an output."""
        if self.reasoning is not None:
            yield _unfollowed(*self.reasoning)
        for call_id, call in self.calls.items():
            if call.awaited and not allow_open_tail:
                names = {"kind": call.kind.replace("_", " "), "call": call_id}
                yield _INPUT.into(call.index).broken("unanswered-call/input", **names)

    def pardon(self, entry: Mapping[str, Any]) -> None:
        """Continue after an item that broke a rule."""
        self.reasoning = self.trigger = None
        call_id = entry.get("call_id")
        if isinstance(call_id, str) and type_of(entry) in ANSWERS:
            self.calls.pop(call_id, None)
            self.answered.add(call_id)
        elif isinstance(call_id, str) and type_of(entry) in CALLS:
            self.open(call_id, entry)

    def _check_follower(self, item: Message) -> None:
        """Refuse an item behind reasoning that the model did not create."""
        if self.reasoning is not None and not is_made(item):
            raise _unfollowed(*self.reasoning)
        self.reasoning = (self.count - 1, item["id"]) if is_own_reasoning(item) else None

    def _call(self, item: Message, place: OpenAIPlace) -> None:
        call_id = item.get("call_id")
        if isinstance(call_id, str):
            if call_id in self.calls:
                raise place.broken("duplicate-call-id/input", call=call_id)
            self.open(call_id, item)

    def open(self, call_id: str, item: Mapping[str, Any]) -> None:
        """Let the last item, `item`, call by `call_id`."""
        kind, environment = type_of(item), item.get("environment")
        # A call on the platform, or an asynchronous one, need not be answered at once.
        elsewhere = isinstance(environment, dict) and environment.get("type") != "local"
        awaited = not (item.get("async") or elsewhere or kind in ("tool_search_call", "program"))
        self.calls[call_id] = _Call(self.count - 1, kind, awaited)

    def _answer(self, call_id: str, kind: str, place: OpenAIPlace) -> None:
        call, is_answered = self.calls.get(call_id), call_id in self.answered
        if call.kind in ANSWERS[kind] if call else self.continued and not is_answered:
            self.calls.pop(call_id, None)
            self.answered.add(call_id)
            return
        rule = "duplicate-result/input" if is_answered else "orphan-result/input"
        raise place.broken(rule, kind=kind.replace("_", " "), call=call_id)


def _unfollowed(index: int, own: str) -> InvalidMessagesError:
    return _INPUT.into(index).broken("reasoning-alone", own=own)


def is_own_reasoning(item: Message) -> bool:
    """Return whether `item` is the platform's reasoning, which needs an item of the model next."""
    own = item.get("id")
    return item.get("type") == "reasoning" and isinstance(own, str) and own.startswith(_OWN_ID)


def is_made(item: Message) -> bool:
    """Return whether the model made `item`, so that it may follow reasoning.

    A message only counts as the model's if it has an id.
    """
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant" and isinstance(item.get("id"), str)
    return kind not in _NOT_MADE

"""Draw what is asked of a session: its options, then command after command, legal and illegal, from what stands in it."""

import json
from collections.abc import Callable
from typing import Any

from attrs import Factory, define, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Reach, Signals, Threshold
from polycontext.window import ContextItem, ContextWindow, ItemType, Part, Role, ToolCall, Turn
from polycontext.window.part import PartKind
from tests.golden.material import FAULTS, NAMES, NOUNS, STARTS, Dice, answer, code, data, passage, path, speech

ITEM_TIME = 4_100_000_000
SIZES = (60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 650, 800, 1000, 1300, 1600, 2000, 2500, 3200, 4000)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_berth",
            "description": "Find a free berth in the harbour.",
            "parameters": {"type": "object", "properties": {"length": {"type": "number"}, "night": {"type": "string"}}},
        },
    }
]


@frozen
class Quarters:
    """Count a token for every four bytes, or fewer, of a text."""

    exact: bool = True

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


@frozen
class Words:
    """Count a token a word."""

    exact: bool = False

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


@frozen
class Command:
    """Name a method of the session (or ``round_trip``) with its arguments; the revision is named, not numbered."""

    name: str
    arguments: dict[str, Any]


@define
class Memory:
    """Know the budget and what has been used up, so that no id stands for two things."""

    max_tokens: int
    items: list[ContextItem] = Factory(list[ContextItem])
    calls: int = 0
    own_ids: int = 0


def draw_options(dice: Dice) -> dict[str, Any]:
    """Return the options of a session."""
    max_tokens = dice.pick(SIZES)
    options: dict[str, Any] = {"max_tokens": max_tokens, "counter": Words() if dice.chance(0.15) else Quarters()}
    if dice.chance(0.3):
        options["auto"] = False
    if dice.chance(0.15):
        options["reserve"] = dice.number(1, max_tokens // 3)
    if dice.chance(0.12):
        options["tools"] = TOOLS * dice.number(1, 3)
    if dice.chance(0.7):
        options["cooldown"] = dice.number(0, 4)
    if dice.chance(0.4):
        options["preserved_share"] = dice.pick((0.05, 0.1, 0.3, 0.5))
    if dice.chance(0.6):
        options["threshold"] = draw_threshold(dice)
    if dice.chance(0.7):
        options["projector"] = ContextProjector(reach=draw_reach(dice, max_tokens))
    return options


def draw_threshold(dice: Dice) -> Threshold:
    """Return a threshold of either kind."""
    base, low = dice.pick(((0.7, 0.4), (0.5, 0.2), (0.9, 0.5), (0.6, 0.6), (1.0, 0.8), (0.3, 0.0)))
    if dice.chance(0.5):
        return FixedThreshold(base, low)
    return AdaptiveThreshold(base, low, minimum=dice.pick((0.3, 0.5)), maximum=dice.pick((0.8, 0.95)), progress_gain=0.3)


def draw_reach(dice: Dice, max_tokens: int) -> Reach:
    """Return how far compression may go."""
    return Reach(
        keep_recent=dice.pick((0, 1, 2, 3, 4, 6, 10)),
        keep_recent_tokens=max_tokens // 4 if dice.chance(0.2) else None,
        recent_share=dice.pick((0.0, 0.1, 0.1, 0.5)),
        newest_share=dice.pick((0.3, 0.6, 0.9)),
    )


def draw_command(dice: Dice, memory: Memory, state: ContextState, window: ContextWindow, log: tuple[str, ...]) -> Command:
    """Return the next command; what a sensible caller would do is likely, anything else is possible."""
    name = dice.weighted(_weights(state, calling=bool(window.open_calls)))
    arguments = _DRAW[name](dice, memory, window, log)
    if name == "add_call":
        name = "add_assistant_turn"
    if name not in {"signal", "round_trip"} and dice.chance(0.08):
        arguments["expected_revision"] = "stale" if dice.chance(0.4) else "current"
    return Command(name, arguments)


def _weights(state: ContextState, *, calling: bool) -> dict[str, int]:
    rare = {"add": 8, "attach": 7, "recall": 9, "promote": 6, "signal": 3, "round_trip": 3, "clear": 2, "compress": 7, "add_system": 4}
    if calling:
        return rare | {"add_tool_turn": 110, "add_user_turn": 4, "add_assistant_turn": 3, "add_call": 2}
    if state is ContextState.EMPTY:
        return rare | {"add_user_turn": 30, "add_system": 20, "add_assistant_turn": 3, "add_tool_turn": 2, "add_call": 1}
    if state is ContextState.PRESSURED:
        rare |= {"compress": 22, "clear": 4}
    return rare | {"add_user_turn": 30, "add_assistant_turn": 26, "add_call": 14, "add_tool_turn": 2}


def _system(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return _classed(dice, {"content": dice.pick(STARTS) if dice.chance(0.7) else speech(dice, memory.max_tokens // 3)})


def _user_turn(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    named = {"name": dice.pick(NAMES)} if dice.chance(0.08) else {}
    return _classed(dice, {"content": speech(dice, memory.max_tokens), **named})


def _assistant_turn(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return _classed(dice, {"content": None if dice.chance(0.02) else speech(dice, memory.max_tokens)})


def _call(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    content = speech(dice, memory.max_tokens // 2) if dice.chance(0.4) else None
    return _classed(dice, {"content": content, "tool_calls": _calls(dice, memory)})


def _any_turn(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return _classed(dice, {"turn": _turn(dice, memory, window, log)})


def _recalling(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return {"resource_ids": _ids(dice, window, log)}


def _promoting(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return {"resource_id": (_ids(dice, window, log) or ["nobody"])[0], "resource_class": dice.pick(tuple(ResourceClass))}


def _signalling(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    share = (None, 0.0, 0.5, 1.0)
    return {"signals": Signals(dice.pick(share), dice.pick(share), looping=dice.chance(0.3))}


def _nothing(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    return {}


def _classed(dice: Dice, arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "resource_class": dice.pick(tuple(ResourceClass))} if dice.chance(0.08) else arguments


def _calls(dice: Dice, memory: Memory) -> list[Any]:
    """Return calls as objects of ours or in the shapes of two providers; seldom one that nobody could read, or an id twice."""
    made: list[Any] = []
    for _ in range(dice.weighted({1: 6, 2: 3, 3: 2, 5: 1})):
        memory.calls += 1
        identity, name = f"call{memory.calls}" if dice.chance(0.97) else "call1", f"find_{dice.pick(NOUNS)}"
        wanted = {"path": path(dice), "limit": dice.number(1, 4)}
        made.append(
            dice.pick(
                (
                    ToolCall(identity, name, json.dumps(wanted)),
                    ToolCall(identity, name, '{"path": "core/lamp.py"}'),
                    {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(wanted)}},
                    {"type": "tool_use", "id": identity, "name": name, "input": wanted},
                )
            )
        )
    return [*made, {"identity": "nobody's shape"}] if dice.chance(0.02) else made


def _result(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    """Return the result of one of the open calls, in any order; seldom of a call that nobody made."""
    known = window.open_calls if dice.chance(0.94) else ()
    identity = dice.pick(known or ("call1", "unknown", f"call{memory.calls}"))
    named = {"name": f"find_{dice.pick(NOUNS)}"} if dice.chance(0.2) else {}
    return _classed(dice, {"content": answer(dice, memory.max_tokens), "tool_call_id": identity, **named})


def _turn(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> Turn:
    """Return a turn made by hand: with parts, an id or a token count of the caller's own, or as plain as can be."""
    memory.own_ids += 1
    kind = dice.weighted({"plain": 3, "own id": 2, "taken id": 1, "parts": 3, "counted": 1, "result": 2})
    if kind == "parts":
        return _turn_with_parts(dice, memory)
    if kind == "result" and window.open_calls:
        return Turn(Role.TOOL, answer(dice, memory.max_tokens), tool_call_id=dice.pick(window.open_calls))
    made: dict[str, dict[str, Any]] = {
        "own id": {"resource_id": f"own{memory.own_ids}"},
        "taken id": {"resource_id": dice.pick(log or ("t1",))},
        "counted": {"tokens": 3},
    }
    return Turn(dice.pick((Role.USER, Role.ASSISTANT, Role.SYSTEM)), speech(dice, memory.max_tokens), **made.get(kind, {}))


def _turn_with_parts(dice: Dice, memory: Memory) -> Turn:
    text = speech(dice, memory.max_tokens)
    if dice.chance(0.7):
        thought = {"type": "thinking", "thinking": passage(dice, 60), "signature": f"c2ln{memory.own_ids}"}
        return Turn(Role.ASSISTANT, text, parts=(Part("anthropic", json.dumps(thought)),))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return Turn(Role.USER, text, parts=(Part("openai", "{}", PartKind.WORDS, 0, len(text)), Part("openai", json.dumps(image))))


def _attaching(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    """Return an item: a new one, perhaps with another text of a file attached before, or one that was attached already."""
    if not memory.items or dice.chance(0.7):
        memory.items.append(_item(dice, memory))
        item = memory.items[-1]
    else:
        item = dice.pick(memory.items)
    return {"item": item, "resource_class": dice.pick(tuple(ResourceClass))} if dice.chance(0.25) else {"item": item}


def _item(dice: Dice, memory: Memory) -> ContextItem:
    kind = dice.pick((ItemType.CODE, ItemType.CODE, ItemType.TEXT, ItemType.FILE, ItemType.ERROR))
    characters = dice.number(20, 60 + memory.max_tokens)
    metadata: dict[str, Any] = {"filename": path(dice)} if dice.chance(0.8) else {}
    if metadata and dice.chance(0.3):
        metadata |= {"start_line": 3, "end_line": 40}
    match kind:
        case ItemType.CODE:
            text = "\n".join(code(dice) for _ in range(1 + characters // 120))
        case ItemType.ERROR:
            text = dice.pick(FAULTS)
        case _:
            text = passage(dice, characters) if dice.chance(0.7) else data(dice)
    return ContextItem(text, kind, metadata or None, timestamp=ITEM_TIME, id=f"ctx-{len(memory.items) + 1}")


def _compressing(dice: Dice, memory: Memory, window: ContextWindow, log: tuple[str, ...]) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if dice.chance(0.6):
        asked["target"] = dice.pick((0.0, 0.1, 0.25, 0.4, 0.6, 0.8, 1.0, 1.5, -0.1))
    if dice.chance(0.25):
        asked["query"] = f"{dice.pick(NOUNS)} {dice.pick(NOUNS)}"
    return asked


def _ids(dice: Dice, window: ContextWindow, log: tuple[str, ...]) -> list[str]:
    """Return ids: of what left the view, of gists, of anything that was said, or of nothing."""
    standing = {turn.resource_id for turn in window.all_turns()}
    gone = tuple(resource_id for resource_id in log if resource_id not in standing)
    gists = tuple(turn.resource_id for turn in window.all_turns() if turn.sources)
    match dice.weighted({"gone": 9, "gist": 6, "any": 4, "mixed": 2, "unknown": 2, "none": 1}):
        case "gone":
            return dice.several(gone or log, 1, 3)
        case "gist":
            return dice.several(gists or gone, 1, 2)
        case "any":
            return dice.several(log, 1, 4)
        case "mixed":
            return [*dice.several(log, 1, 2), *dice.several(gists, 0, 1), "t900"]
        case "unknown":
            return [dice.pick(("t0", "t999", "nobody", "own", ""))]
        case _:
            return []


_DRAW: dict[str, Callable[[Dice, Memory, ContextWindow, tuple[str, ...]], dict[str, Any]]] = {
    "add_system": _system,
    "add_user_turn": _user_turn,
    "add_assistant_turn": _assistant_turn,
    "add_call": _call,
    "add_tool_turn": _result,
    "add": _any_turn,
    "attach": _attaching,
    "compress": _compressing,
    "recall": _recalling,
    "promote": _promoting,
    "signal": _signalling,
    "clear": _nothing,
    "round_trip": _nothing,
}

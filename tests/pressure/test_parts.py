"""Pictures and thinking yield before words, and bound parts with their prefix."""

import json

import pytest
from hypothesis import given

from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, Edit, FloorError, Reach, apply_edit, check_floors
from polycontext.testing.strategies import FAST, TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow, Part, Role, ToolCall, Turn
from tests.pressure.samples import HEAD

OLDEST_FIRST = ContextProjector(HEAD.summariser, Reach(keep_recent=2))


def thought(number: int) -> Part:
    """Return signed thinking of some 50 tokens."""
    return Part(
        "anthropic",
        json.dumps({"type": "thinking", "thinking": f"step {number} " * 20, "signature": "c2ln"}),
    )


def picture(number: int) -> Part:
    """Return a picture of unknown size, which counts as a large one."""
    return Part(
        "anthropic",
        json.dumps(
            {"type": "image", "source": {"type": "url", "url": f"https://example.org/{number}.png"}}
        ),
    )


def looked_at(count: int, max_tokens: int = 100_000) -> ContextWindow:
    """Return a window with so many pictures from the user, each answered with thinking."""
    window = ContextWindow(max_tokens, counter=FAST).append(
        Turn("user", "Describe what I show you.")
    )
    for number in range(count):
        window = window.append(Turn("user", f"Picture {number}?", parts=[picture(number)]))
        window = window.append(Turn("assistant", f"It shows {number}.", parts=[thought(number)]))
    return window


def standing(window: ContextWindow, kind: str) -> list[int]:
    """Return the numbers of the pictures or thoughts that stand: the indices of their turns."""
    return [
        index
        for index, turn in enumerate(window.all_turns())
        for part in turn.parts
        if part.type == kind
    ]


@given(lived_windows(), reaches(), TARGETS)
def test_nothing_bound_stands_behind_a_change(
    window: ContextWindow, reach: Reach, target: float
) -> None:
    """It would be refused."""
    result = ContextProjector(HEAD.summariser, reach).compress(window, target)
    if result.first_changed is not None:
        behind = result.window.all_turns()[result.first_changed :]
        assert not [part for turn in behind for part in turn.parts if part.is_bound]


def test_pictures_fall_before_words_oldest_first() -> None:
    """Half of them gone, every word stands."""
    window = looked_at(20)
    result = OLDEST_FIRST.compress(window, 0.2)
    assert not result.gisted
    assert [turn.text.split("\n")[0] for turn in result.window.all_turns()] == [
        turn.text for turn in window.all_turns()
    ]
    left = standing(result.window, "image")
    assert 0 < len(left) < 20
    assert left == standing(window, "image")[-len(left) :]


def test_thinking_before_the_first_change_stands() -> None:
    """Its prefix is what it was."""
    window = looked_at(3)
    edit = Edit(bared=(window.all_turns()[3].resource_id,))
    after = apply_edit(window, edit, compressed=True)
    assert standing(after, "thinking") == [2]
    assert (after.epoch.number, after.epoch.first_changed, after.epoch.why) == (2, 3, "compress")
    assert after.epoch.fell == ("t4", "t5", "t7")
    assert after.epoch.unbound == ("anthropic",)


def test_the_picture_of_the_task_falls_and_its_words_stay() -> None:
    """A PRESERVED turn's words are preserved; its pictures are where a caller pins them."""
    shown = Turn("user", "Describe this.", parts=[picture(0)])
    talk = [Turn("assistant", "A cat. " * 30), Turn("user", "And now?")]
    window = ContextWindow(4_000, counter=FAST).append(shown)
    pinned = ContextWindow(4_000, counter=FAST).append(shown, ResourceClass.PRESERVED, pinned=True)
    for turn in talk:
        window, pinned = window.append(turn), pinned.append(turn)
    assert window.class_of(window.all_turns()[0]) is ResourceClass.PRESERVED
    assert (
        OLDEST_FIRST.compress(window, 0.0)
        .window.all_turns()[0]
        .text.startswith("Describe this.\n[image")
    )
    assert OLDEST_FIRST.compress(pinned, 0.0).window.all_turns()[0].parts
    with pytest.raises(FloorError):
        check_floors(pinned, Edit(bared=("t1",)))


def test_whoever_promotes_to_preserved_pins() -> None:
    """The caller has said so."""
    window = looked_at(2).promote("t2", ResourceClass.PRESERVED)
    assert standing(OLDEST_FIRST.compress(window, 0.0).window, "image")[0] == 1


def test_the_open_atom_keeps_its_thinking_while_its_prefix_stands() -> None:
    """It falls with the prefix, or on the last rung, where nothing else is left."""
    asked = ContextWindow(4_000, counter=FAST).append(Turn("user", "Look."))
    calling = Turn(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "look")], parts=[thought(1)])
    alone = asked.append(calling)
    assert not OLDEST_FIRST.plan_for(alone, 0.9).jobs
    assert standing(OLDEST_FIRST.compress(alone, 0.9).window, "thinking") == [1]
    least = OLDEST_FIRST.compress(alone, 0.0)
    assert standing(least.window, "thinking") == []
    assert least.window.open_calls == ("c1",)
    assert (least.first_changed, least.edit.unbound_from) == (1, 1)
    talked = asked
    for number in range(8):
        talked = talked.append(Turn("assistant", f"Step {number}. " * 20))
    with_talk = OLDEST_FIRST.compress(talked.append(calling), 0.1)
    assert with_talk.gisted
    assert standing(with_talk.window, "thinking") == []

"""Sessions that expose private data, and renderers that leak, each of which a law rejects."""

import json
from collections.abc import Callable
from typing import Any, ClassVar

from attrs import define, frozen

from polycontext.nodes import ComponentRenderer
from polycontext.nodes.props.component_renderer import MessageProps
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST
from polycontext.window import (
    ContextItem,
    ContextWindow,
    InvalidMessagesError,
    Role,
    ToolCall,
    Turn,
)
from polycontext.window.providers import Provider, Rendered, WireFormat, get_format
from tests.attack.hostile import hostile_text
from tests.laws.counterexamples import breaks, obeys
from tests.laws.internal import hosts, readers

OPENAI = get_format("openai")


def lived(session: ContextSession) -> ContextSession:
    """Return a session that holds everything a browser must not see."""
    session.add_system("Undisclosed instructions.")
    session.add_user_turn("Where is my parcel?")
    session.add_assistant_turn(None, [ToolCall("c1", "track_parcel", '{"key": "hunter22"}')])
    session.add_tool_turn("Warehouse seventeen.", tool_call_id="c1")
    session.add_assistant_turn("It is on its way.")
    session.attach(ContextItem("Confidential manifest.", "file", {"filename": "cargo.txt"}))
    return session


def squeezed() -> ContextSession:
    """Return a session whose past is a gist."""
    session = ContextSession(600, counter=FAST, auto=False)
    session.add_user_turn("task")
    for number in range(8):
        session.add_assistant_turn(
            f"Thought {number} about the way of the parcel through many lands and over seas. " * 2
        )
    session.compress(0.0)
    assert any(turn.is_gist for turn in session.window.all_turns())
    return session


# --- what leaves ------------------------------------------------------------------


class Orphaning(ContextSession):
    """Hand out calls without their results."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        return Rendered(
            [
                message
                for message in super().request(provider, allow_open=allow_open).messages
                if message["role"] != "tool"
            ]
        )


class Refusing(ContextSession):
    """Hand out nothing."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        raise InvalidMessagesError(str(provider), None, "mood", "not today", "another day")


class Verbose(ContextSession):
    """Hand out more than there is room for."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        speech = {"role": "user", "content": "word " * 2_000}
        return Rendered([*super().request(provider, allow_open=allow_open).messages, speech])


class Terse(ContextSession):
    """Hand out less than the view."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        return Rendered(super().request(provider, allow_open=allow_open).messages[:-1])


class Sharing(ContextSession):
    """Hand out the same list again and again."""

    kept: Rendered | None = None

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        self.kept = self.kept or super().request(provider, allow_open=allow_open)
        return self.kept


breaks(
    readers.what_leaves_is_valid,
    "a session that orphans calls",
    lambda law: law(lived(Orphaning(500, counter=FAST)), OPENAI),
)
breaks(
    readers.what_leaves_is_valid,
    "a session that refuses without a reason",
    lambda law: law(lived(Refusing(500, counter=FAST)), OPENAI),
)
breaks(
    readers.what_leaves_is_within_budget,
    "a session that says too much",
    lambda law: law(lived(Verbose(500, counter=FAST)), OPENAI),
)
breaks(
    readers.what_leaves_says_what_the_view_says,
    "a session that leaves a message out",
    lambda law: law(lived(Terse(500, counter=FAST)), OPENAI),
)
breaks(
    readers.what_leaves_says_what_the_view_says,
    "a session that leaves results out",
    lambda law: law(lived(Flattening(500, counter=FAST)), OPENAI),
)


class Flattening(ContextSession):
    """Hand out the view without its calls and results."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        plain = [
            m
            for m in super().request(provider, allow_open=allow_open).messages
            if m["role"] != "tool" and not m.get("tool_calls")
        ]
        return Rendered([*plain, {"role": "user", "content": "Warehouse seventeen."}])


breaks(
    readers.what_leaves_is_the_readers_own,
    "a session that shares its messages",
    lambda law: law(lived(Sharing(500, counter=FAST)), OPENAI),
)


class Unframed(ContextSession):
    """Hand out summaries in a frame that nobody knows again."""

    def request(
        self, provider: Provider | str | None = None, *, allow_open: bool = False, **_: Any
    ) -> Rendered:
        text = json.dumps(super().request(provider, allow_open=allow_open).messages)
        return Rendered(
            json.loads(
                text.replace("[Summary of earlier messages]", "Notes:").replace(
                    "[End of summary]", ""
                )
            )
        )


def counted_tins(session: ContextSession) -> ContextSession:
    """Return a session whose gist, directly behind the task, tells what a tool found."""
    session.add_user_turn("Where is my parcel?")
    session.add_assistant_turn("I shall look.")
    for number in range(8):
        session.add_assistant_turn(
            None, [ToolCall(f"c{number}", "track_parcel", f'{{"place": {number}}}')]
        )
        session.add_tool_turn(
            f"Warehouse seventeen{number}, gate nine. " * 4, tool_call_id=f"c{number}"
        )
    session.add_user_turn("And the other one?")
    session.compress(0.3)
    assert any(turn.is_gist and "seventeen" in turn.text for turn in session.window.all_turns())
    return session


def joined(made: type[ContextSession], wire: WireFormat) -> Callable[[Any], object]:
    """Return the call of a law with such a session, whose requests a host joins."""
    return lambda law: law(counted_tins(made(600, counter=FAST)), [1, 1, 2], wire)


for wire in map(get_format, Provider):
    breaks(
        hosts.provenance_survives_the_wire,
        f"a session whose summaries nobody knows again, for {wire.provider}",
        joined(Unframed, wire),
    )
    obeys(
        hosts.provenance_survives_the_wire,
        f"a session whose summaries are known again, for {wire.provider}",
        joined(ContextSession, wire),
    )

# --- props ------------------------------------------------------------------------


class Indiscreet(ComponentRenderer):
    """Show turns of one more role."""

    shown: ClassVar[frozenset[Role]] = frozenset({Role.USER, Role.ASSISTANT, Role.SYSTEM})


class Showing(ComponentRenderer):
    """Show the results of tools."""

    shown: ClassVar[frozenset[Role]] = frozenset({Role.USER, Role.ASSISTANT, Role.TOOL})


class Explaining(ComponentRenderer):
    """Show which tool was called with what."""

    def render_chat(
        self, session: ContextSession, *, answering: bool | None = None
    ) -> dict[str, Any]:
        calls = [call.arguments for turn in session.window.all_turns() for call in turn.tool_calls]
        return {**super().render_chat(session, answering=answering), "calls": calls}


class Quoting(ComponentRenderer):
    """Show gists word for word."""

    def _message(self, window: ContextWindow, turn: Turn) -> MessageProps:
        return {**super()._message(window, turn), "content": turn.text}


class Opening(ComponentRenderer):
    """Show what attachments hold."""

    def _message(self, window: ContextWindow, turn: Turn) -> MessageProps:
        props = super()._message(window, turn)
        return props if turn.is_gist else {**props, "content": turn.text}


class Clipping(ComponentRenderer):
    """Show the beginning of what was said."""

    def _message(self, window: ContextWindow, turn: Turn) -> MessageProps:
        props = super()._message(window, turn)
        return {**props, "content": props["content"][:8]}


@frozen
class Meddling:
    """Press the button while painting it."""

    def render_chat(self, session: ContextSession) -> dict[str, Any]:
        props = ComponentRenderer().render_chat(session)
        session.clear()
        return props


@define
class Numbered:
    """Number the paintings."""

    paintings: int = 0

    def render_chat(self, session: ContextSession) -> dict[str, Any]:
        self.paintings += 1
        return {**ComponentRenderer().render_chat(session), "painting": self.paintings}


breaks(
    readers.nothing_private_reaches_props,
    "a renderer that shows system turns",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Indiscreet()),
)
breaks(
    readers.nothing_private_reaches_props,
    "a renderer that shows results",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Showing()),
)
breaks(
    readers.nothing_private_reaches_props,
    "a renderer that shows arguments",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Explaining()),
)
breaks(
    readers.nothing_private_reaches_props,
    "a renderer that shows gists",
    lambda law: law(squeezed(), Quoting()),
)
breaks(
    readers.nothing_private_reaches_props,
    "a renderer that shows attached files",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Opening()),
)
breaks(
    readers.props_say_what_was_said,
    "a renderer that has the user say attached files",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Opening()),
)
breaks(
    readers.props_say_what_was_said,
    "a renderer that clips",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Clipping()),
)
breaks(
    readers.rendering_changes_nothing,
    "a renderer that clears",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Meddling()),
)
breaks(
    readers.rendering_changes_nothing,
    "a renderer that counts",
    lambda law: law(lived(ContextSession(500, counter=FAST)), Numbered()),
)


# --- the waffle ---------------------------------------------------------------------------


class Skipping(ContextSession):
    """Show a window without what was said last."""

    @property
    def window(self) -> ContextWindow:
        whole = super().window
        return whole.restored(whole.all_turns()[:-1], whole.linearity, whole.facts)


class CountingTwice(ContextSession):
    """Take tools off that are in the window besides."""

    _told_tools = 17

    @property
    def window(self) -> ContextWindow:
        return super().window.with_room(super().window.max_tokens - 17)


breaks(
    readers.a_waffle_is_what_the_guard_weighs,
    "a session that shows less than it weighs",
    lambda law: law(lived(Skipping(500, counter=FAST))),
)
breaks(
    readers.a_waffle_is_what_the_guard_weighs,
    "a session that shows another room",
    lambda law: law(lived(CountingTwice(500, counter=FAST))),
)


# --- what reading costs -----------------------------------------------------------


def quadratic(text: str) -> int:
    """Look at every character as often as there are characters."""
    return sum(one == other for one in text for other in text)


def linear(text: str) -> int:
    """Look at every character once."""
    return sum(one == "[" for one in text)


def brackets(characters: int) -> str:
    """Return so many brackets."""
    return hostile_text("open brackets", characters)


breaks(
    readers.reading_costs_in_proportion,
    "a reader that is quadratic",
    lambda law: law(quadratic, brackets, 1_000),
)
obeys(
    readers.reading_costs_in_proportion,
    "a reader that is linear",
    lambda law: law(linear, brackets, 1_000),
)

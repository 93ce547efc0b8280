"""Repeated delivery equals a fresh rendering, and the caller owns the result."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.base import PolycontextError
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.machine.step import besides_floor
from polycontext.polynomial.session.delivery import Delivery
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import Part, ToolCall, Turn
from polycontext.window.part import PartKind
from polycontext.window.providers import Provider, Rendered, get_format
from polycontext.window.tokens.counter import count_introduced
from tests.polynomial.conversations import WORDS, session_moves

PROVIDERS = st.lists(st.sampled_from(Provider), max_size=2)


@given(session_moves(), st.lists(PROVIDERS, min_size=1, max_size=30), st.sampled_from([250, 1000]))
def test_delivering_again_is_rendering_anew(
    moves: list[Move], asked: list[list[Provider]], budget: int
) -> None:
    """However often a view is delivered, the result is the rendering of its turns."""
    session = ContextSession(budget, counter=FAST)
    for number, (turn, resource_class) in enumerate(moves):
        try:
            session.add(turn, resource_class)
            if number % 7 == 6:
                session.clear()
        except PolycontextError:
            continue
        for provider in asked[number % len(asked)]:
            assert handed_out(session, provider) == anew(session, provider)


def handed_out(session: ContextSession, provider: Provider) -> Rendered | str:
    """Return what the session hands out, or why it does not."""
    try:
        return session.request(provider, allow_open=True)
    except PolycontextError as error:
        return str(error)


def anew(session: ContextSession, provider: Provider) -> Rendered | str:
    """Return what the window's turns look like, written from scratch."""
    try:
        rendered = Delivery().deliver(session.window, provider, allow_open=True)
    except PolycontextError as error:
        return str(error)
    written = get_format(provider).render(session.window.all_turns())
    assert (rendered.messages, rendered.system, rendered.leading) == (
        written.messages,
        written.system,
        written.leading,
    )
    return rendered


def spoilt(value: Any) -> None:
    """Change everything inside `value` that can be changed."""
    children = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    for child in children:
        spoilt(child)
    if isinstance(value, dict | list):
        value.clear()


def test_what_is_handed_out_is_the_callers_own() -> None:
    """A caller can change every part of a message list without affecting the next one."""
    session = ContextSession(5000, counter=WORDS)
    further = Part("openai", '{"extra": {"deep": [1]}}', PartKind.MESSAGE)
    session.add(
        Turn(
            "user",
            "look",
            parts=[
                Part(
                    "openai",
                    '{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}',
                )
            ],
        )
    )
    session.add(
        Turn("assistant", "hm", tool_calls=[ToolCall("c", "f")], parts=[further], name="bob")
    )
    session.add(Turn("tool", "found", tool_call_id="c"))
    session.add(Turn("assistant", None, tool_calls=[ToolCall("d", "f")]))
    session.add(Turn("tool", "found", tool_call_id="d"))
    for provider in Provider:
        before = session.messages(provider)
        spoilt(session.messages(provider))
        assert session.messages(provider) == before
        assert len(str(before)) > 100


SAID = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.integers(1, 40)),
    min_size=5,
    max_size=25,
)


@example(
    [
        ("user", 1),
        ("user", 1),
        ("system", 1),
        ("system", 1),
        ("system", 10),
        ("system", 40),
        ("system", 40),
        ("user", 40),
    ],
    200,
)
@example(
    [
        *[("system", words) for words in (1, 1, 9, 40, 40, 40)],
        ("user", 1),
        ("user", 1),
        ("assistant", 1),
    ],
    200,
)
@given(SAID, st.sampled_from([200, 300, 500]))
def test_there_is_room_for_what_a_provider_wants_said_between_turns(
    said: list[tuple[str, int]], budget: int
) -> None:
    """A turn that leaves no room for Anthropic's separators is refused, so a request fits.

    An answer has happened, and is taken even if nothing that could yield for it is left.
    """
    session = ContextSession(budget, counter=WORDS)
    session.add_system("You are an agent.")
    session.add_user_turn("Sort the shelves.")
    for number, (role, words) in enumerate(said):
        before = session.log()
        try:
            session.add(Turn(role, f"{number}: " + "word " * words))
        except ContextOverflowError:
            assert session.log() == before
        window, projector = session.window, session.policy.projector
        least = projector.floor(window) + besides_floor(window, projector)
        try:
            session.request(Provider.ANTHROPIC)
        except ContextOverflowError:
            assert (least > budget, session.log()[-1].role) == (True, "assistant")


def test_room_is_kept_for_what_opens_a_recalled_call() -> None:
    """A call that comes first needs an opening at some providers, which counts."""
    calls = [ToolCall("c", "look", "{}")]
    session = ContextSession(200, provider="gemini")
    session.add_user_turn("Count the plums.")
    session.add_assistant_turn(None, tool_calls=calls)
    session.add_tool_turn("7 plums", tool_call_id="c")
    session.clear()
    session.add_user_turn("Go on.")
    session.recall("t2")
    window = session.window
    rendered = get_format("gemini").render(window.all_turns())
    assert 0 < count_introduced(window.counter, rendered.introduced) <= window.introduced_tokens
    for _ in range(20):
        session.add_assistant_turn("Pears: " + "pears " * 19)
        session.request()

"""The exchange under way is read out of the machine's output, whatever came between."""

from datetime import UTC, datetime

from polycontext.linearity import ResourceClass
from polycontext.nodes.history import Exchange, open_exchange
from polycontext.polynomial import ContextSession
from polycontext.window import ContextItem, ContextWindow, Role, ToolCall, Turn


def _session(**options: object) -> ContextSession:
    return ContextSession(
        2000,
        clock=lambda: datetime(2026, 3, 1, tzinfo=UTC),
        **options,  # type: ignore[arg-type]
    )


def _open(session: ContextSession, closed_id: str = "") -> Exchange | None:
    return open_exchange(session.output.window, closed_id)


def test_nothing_is_under_way_before_anybody_spoke() -> None:
    """An empty conversation, and one with instructions only, has no exchange."""
    session = _session()
    assert _open(session) is None
    session.add_system("Be brief.")
    assert _open(session) is None


def test_an_unanswered_user_turn_has_an_empty_answer() -> None:
    """While the assistant calls tools, the exchange is the user's words alone."""
    session = _session()
    session.add_user_turn("Any soup?")
    session.add_assistant_turn("Let me look.", [ToolCall("c1", "search")])
    session.add_tool_turn("three soups", tool_call_id="c1")
    found = _open(session)
    assert found is not None
    assert (found.user, found.answer, found.last_id) == ("Any soup?", "", "t1")
    assert found.timestamp == "2026-03-01T00:00:00+00:00"


def test_an_answer_belongs_to_its_exchange_until_it_is_closed() -> None:
    """An answered exchange is there with its answer, and gone once it is closed."""
    session = _session()
    session.add_user_turn("Any soup?")
    session.add_assistant_turn("Three.")
    found = _open(session)
    assert found is not None
    assert found.answer == "Three."
    assert _open(session, closed_id=found.last_id) is None


def test_only_the_last_exchange_is_under_way() -> None:
    """A memory that begins mid-session starts with the last exchange only."""
    session = _session()
    for wish in ("Any soup?", "And a salad?"):
        session.add_user_turn(wish)
        session.add_assistant_turn("Three.")
    found = _open(session)
    assert found is not None
    assert found.user == "And a salad?"


def test_the_same_words_at_the_same_time_are_two_exchanges() -> None:
    """Exchanges are told apart by the turn, not by its text or time."""
    session = _session()
    session.add_user_turn("yes")
    session.add_assistant_turn("Done.")
    session.add_user_turn("yes")
    found = _open(session, closed_id="t1")
    assert found is not None
    assert (found.user, found.answer, found.last_id) == ("yes", "", "t3")


def test_what_a_user_says_in_pieces_is_one_exchange() -> None:
    """User turns without an answer between them belong together, in order; so do the answers."""
    window = ContextWindow(1000)
    for role, text in (
        (Role.USER, "One soup."),
        (Role.USER, "No, two."),
        (Role.ASSISTANT, "Two."),
        (Role.ASSISTANT, "Anything else?"),
    ):
        window = window.append(Turn(role, text))
    found = open_exchange(window)
    assert found is not None
    assert (found.user, found.answer, found.last_id) == (
        "One soup.\nNo, two.",
        "Two.\nAnything else?",
        "t2",
    )


def test_a_closed_turn_that_left_the_window_stays_closed() -> None:
    """If a closed turn was dropped, older turns are not taken for a new exchange."""
    window = ContextWindow(1000)
    for minute, (role, text) in enumerate(
        [(Role.USER, "Any soup?"), (Role.ASSISTANT, "Three."), (Role.ASSISTANT, "You are welcome.")]
    ):
        window = window.append(
            Turn(role, text, timestamp=datetime(2026, 3, 1, 18, minute, tzinfo=UTC)),
            ResourceClass.REQUIRED,
        )
    assert open_exchange(window) is not None
    assert open_exchange(window, "t-dropped", "2026-03-01T18:01:30+00:00") is None


def test_a_gist_before_the_question_ends_the_search() -> None:
    """Turns before a gist do not belong to the open exchange."""
    window = (
        ContextWindow(1000)
        .append(Turn(Role.USER, "old wish"))
        .append(Turn(Role.USER, "user: old", sources=("t0",)))
    )
    found = open_exchange(
        window.append(Turn(Role.USER, "new wish")).append(Turn(Role.ASSISTANT, "Yes."))
    )
    assert found is not None
    assert (found.user, found.answer) == ("new wish", "Yes.")


def test_gists_between_question_and_answer_hide_neither() -> None:
    """A question that took many calls is still what was asked, and once closed it stays closed."""
    session = _session()
    session.add_user_turn("Find every mistake.")
    for number in range(25):
        session.add_assistant_turn(
            None, [ToolCall(f"c{number}", "search", f'{{"page": {number}}}')]
        )
        session.add_tool_turn("a line of the page " * 40, tool_call_id=f"c{number}")
    session.add_assistant_turn("There are three.")
    assert [turn.is_gist for turn in session.window.all_turns()][:2] == [False, True]
    found = _open(session)
    assert found is not None
    assert (found.user, found.answer, found.last_id) == (
        "Find every mistake.",
        "There are three.",
        "t1",
    )
    assert _open(session, closed_id="t1") is None


def test_what_was_attached_is_mentioned_by_name() -> None:
    """The user said the name, not the file's whole text."""
    session = _session()
    session.attach(ContextItem("def run(): ...", "file", {"filename": "src/agent.py"}))
    item = ContextItem("some notes", "text")
    session.attach(item)
    session.add_user_turn("Explain it.")
    found = _open(session)
    assert found is not None
    assert (found.user, found.last_id) == (f"[@src/agent.py]\n[@{item.id}]\nExplain it.", "t3")

"""`session.rules`: the rules of the user in a session, its view and its journal."""

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from polycontext import ContextOverflowError, ContextSession, Turn

NEVER = "Never use tables in your replies."


def chat(session: ContextSession, exchanges: int = 40) -> None:
    """Add exchanges about trains to a session."""
    for number in range(exchanges):
        session.add_user_turn(f"When does train {number} leave for Vienna, and from where?")
        session.add_assistant_turn(f"Train {number} leaves at ten. " + "It has a buffet car. " * 20)


def view(session: ContextSession) -> str:
    """Return the texts of the view."""
    return "\n".join(turn.text for turn in session.window.all_turns())


def started(max_tokens: int = 2_000, **options: object) -> ContextSession:
    """Return a session whose rule is inside a turn that yields."""
    session = ContextSession(max_tokens=max_tokens, **options)  # type: ignore[arg-type]
    session.add_user_turn("Plan a trip to Vienna.")
    session.add_assistant_turn("Where from?")
    session.add_user_turn(f"From Ulm. {NEVER} {'The weather is fine here. ' * 20}")
    session.add_assistant_turn("I see.")
    return session


def test_a_rule_inside_a_turn_stands_first_in_the_summary() -> None:
    """It is whole, and said once, however often the session compresses."""
    session = started()
    chat(session)
    for target in (0.9, 0.5, 0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.1, 0.1):
        session.add_user_turn("And then?")
        session.add_assistant_turn("Then it stops.")
        session.compress(target)
        text = view(session)
        assert text.count(NEVER) == 1
        assert f"[Summary of earlier messages]\nStanding instructions:\nuser: {NEVER}\n" in text


def test_a_revoked_rule_is_not_printed_as_standing() -> None:
    """Neither one that a sentence revoked nor one that a caller revoked or removed."""
    session = started()
    session.add_user_turn("Always answer in English. How far is it? " + "It rains in Ulm. " * 20)
    session.add_user_turn("Never suggest a flight. How long does it take? " + "It snows. " * 20)
    chat(session, 3)
    session.add_user_turn("You may now use tables. What does it cost?")
    english, flight = session.rules.list()
    session.rules.revoke(english.id)
    session.rules.remove(flight.id)
    assert session.rules.list() == ()
    assert [rule.ended_by for rule in session.rules.list(ended=True)] == ["t13", "t14", "removed"]
    assert session.log()[-1].text == "This no longer applies: Always answer in English."
    chat(session)
    session.compress(0.1)
    assert "Standing instructions:" not in view(session)


def test_an_ended_rule_in_a_pinned_turn_is_said_to_have_ended() -> None:
    """The turn stays word for word; the summary says that the rule no longer applies."""
    session = ContextSession(max_tokens=2_000)
    session.add_user_turn("Plan a trip to Vienna.")
    session.add_user_turn(NEVER)
    session.add_user_turn("You may now use tables.")
    chat(session)
    session.compress(0.1)
    assert session.window.all_turns()[1].text == NEVER
    assert f"No longer in force:\n- {NEVER}\n" in view(session)
    assert "Standing instructions:" not in view(session)


def test_an_added_rule_is_a_turn_of_the_user() -> None:
    """It is in every view from then on, and is neither the task nor the question."""
    session = ContextSession(max_tokens=2_000)
    session.rules.add("Use metric units.", kind="preference", scope="for this session")
    assert not session.window.has_task
    session.add_user_turn("Plan a trip to Vienna.")
    session.rules.add("Answer with one word.")
    chat(session)
    session.add_user_turn("Where do I change trains?")
    session.rules.add("Say it in French.")
    session.compress(0.1)
    first, second, _ = session.rules.list()
    assert (first.text, first.kind) == ("for this session: Use metric units.", "preference")
    text = view(session)
    assert "Where do I change trains?" in text
    # Instructions come before preferences.
    assert text.index(second.text) < text.index(first.text)
    session.add_assistant_turn("Linz.")
    assert [message["content"] for message in session.messages("anthropic")]


def test_signs_tell_rules_apart() -> None:
    """Case, spaces and the punctuation around words do not."""
    session = ContextSession(max_tokens=1_000)
    rules = ["🚫🍕", "🚫🍔", "Never use C.", "Never use C++.", "Pin it to 1.5", "Pin it to 15"]
    for text in (*rules, "- never use  **C++**!", "🚫🍕"):
        session.rules.add(text)
    assert [rule.text for rule in session.rules.list()] == rules


@pytest.mark.gate
def test_rules_that_exceed_the_budget_are_an_error() -> None:
    """Up to then every one of many rules is in the view, whole; nothing is dropped before it."""
    session = ContextSession(max_tokens=3_000)
    session.add_user_turn("Tidy the folder.")
    said = [f"Never delete the file {number}." for number in range(500)]
    place = 0
    with contextlib.suppress(ContextOverflowError):
        for place, rule in enumerate(said):
            session.add_user_turn(f"{rule} {'It is needed. ' * 30}", oversize="error")
            assert all(each in view(session) for each in said[:place])
            session.add_assistant_turn("Noted down.")
    assert 100 < place < 499
    before = session.conversation
    with pytest.raises(ContextOverflowError, match=r"\(rules: [0-9,]+, .*End rules"):
        session.rules.add(said[-1])
    assert session.conversation is before
    assert [rule.text for rule in session.rules.list()] == said[:place]


def test_a_shortened_question_keeps_its_rules() -> None:
    """A message that is truncated in the view still states its rules whole."""
    session = ContextSession(max_tokens=1_000)
    session.add_user_turn("Plan a trip to Vienna.")
    session.add_user_turn(
        "The list: " + "one more item, " * 1_500 + f"end. {NEVER} And so on. " * 3
    )
    assert session.window.total_tokens <= 1_000
    assert NEVER in view(session)


def test_the_summary_of_a_model_begins_with_the_rules() -> None:
    """A rule that the model lists, too, is said once."""
    said = f"They talk about trains.\nConstraints:\n- {NEVER}"
    session = started(summariser=lambda turns, max_tokens: said)
    chat(session)
    session.compress(0.2)
    assert view(session).count(NEVER) == 1
    assert f"user: {NEVER}\nConversation:\nThey talk about trains." in view(session)


def test_rules_follow_the_history(tmp_path: Path) -> None:
    """Rewinding, editing, forking, `at`, export and reopening carry the rules."""
    path = tmp_path / "sessions.db"
    with ContextSession.open(path, "trip", max_tokens=2_000) as session:
        session.add_user_turn("Plan a trip to Vienna.")
        session.add_user_turn(NEVER)
        stated = session.history.revision
        session.add_user_turn("Always answer in English.")
        session.rules.revoke("t2:1")
        chat(session, 80)
        standing = session.rules.list(ended=True)
        assert [rule.stands for rule in standing] == [False, True]
        assert session.history.at(stated).rules.list()[0].text == NEVER
        assert session.history.fork("other").rules.list(ended=True) == standing
        lines = list(session.history.export())
    loaded = ContextSession.history.load(lines)
    assert loaded.rules.list(ended=True) == standing
    with ContextSession.open(path, "trip") as session:
        assert session.rules.list(ended=True) == standing
        session.history.rewind("t3")
        assert [rule.text for rule in session.rules.list()] == [NEVER, "Always answer in English."]
        session.rules.remove("t3:1")
        session.history.rewind("t3")
        session.history.edit("t2", "Never use lists in your replies.")
        assert [rule.text for rule in session.rules.list()] == ["Never use lists in your replies."]
    with ContextSession.open(path, "trip") as session:
        assert [rule.text for rule in session.rules.list()] == ["Never use lists in your replies."]


def test_forgetting_a_turn_erases_its_rules() -> None:
    """They are in no summary, no event and no revision; the ending of a rule goes with it."""
    session = started()
    session.rules.revoke("t3:1")
    session.add_user_turn("Always answer in English. " + "It rains in Ulm. " * 20)
    chat(session)
    session.compress(0.1)
    assert "Always answer in English." in view(session)
    session.history.forget("t3")
    assert [rule.text for rule in session.rules.list(ended=True)] == ["Always answer in English."]
    assert "tables" not in repr([*session.history.events()]) + view(session)
    assert "Always answer in English." in view(session)
    session.history.forget("t6")
    assert session.rules.list(ended=True) == ()
    assert "answer in English" not in repr([*session.history.events()]) + view(session)


def test_an_expired_turn_takes_its_rules_with_it() -> None:
    """`retain` erases what the view no longer shows; a rule that it shows still stands."""
    days = iter(range(10_000))
    session = started(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=next(days)))
    session.add_user_turn("Always answer in English. How far is it? " + "It rains in Ulm. " * 20)
    session.rules.revoke("t5:1")
    chat(session)
    session.compress(0.1)
    assert session.history.retain(days=1) > 10
    assert [rule.text for rule in session.rules.list(ended=True)] == [NEVER]
    assert "answer in English" not in repr(session.history.events())
    for _ in range(3):
        chat(session, 5)
        session.compress(0.1)
        assert f"Standing instructions:\nuser: {NEVER}\n" in view(session)


def test_a_synced_list_keeps_rules_that_were_added_beside_it() -> None:
    """The list of a framework does not have them; an edit of it keeps them, too."""
    session = ContextSession(max_tokens=2_000)
    turns = [Turn("user", "Plan a trip."), Turn("assistant", "Where from?")]
    session.sync(turns)
    session.rules.add("Never suggest a flight.")
    turns += [Turn("user", "From Ulm.")]
    session.sync(turns)
    assert session.sync(turns).window == session.window
    assert [turn.text for turn in session.log()][2:] == ["Never suggest a flight.", "From Ulm."]
    session.sync([turns[0], Turn("assistant", "From which town?")])
    assert [rule.text for rule in session.rules.list()] == ["Never suggest a flight."]


def test_another_answer_is_to_the_question_and_not_to_a_rule() -> None:
    """`regenerate` keeps rules that were added after the question."""
    session = started()
    session.add_user_turn("How far is it?")
    session.rules.add("Be brief.")
    revision = session.history.revision
    session.history.regenerate()
    assert session.history.revision == revision
    session.add_assistant_turn("It is far, and the road is long.")
    session.rules.revoke("t3:1")
    session.history.regenerate()
    texts = [turn.text for turn in session.log()][-3:]
    assert texts == ["How far is it?", "Be brief.", f"This no longer applies: {NEVER}"]
    assert [rule.text for rule in session.rules.list()] == ["Be brief."]

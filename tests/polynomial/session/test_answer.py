"""A streamed answer: part of the output while it is written, one commit once it ends."""

import asyncio

import pytest

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession, SessionWriteError
from tests.polynomial.conversations import session_of, texts


def asked() -> ContextSession:
    """Return a session that waits for an answer."""
    session = session_of(600)
    session.add_user_turn("Where is my parcel?")
    return session


def said(session: ContextSession) -> str | None:
    """Return what has been said of the open answer."""
    return session.output.answering


def test_the_output_holds_what_has_been_said_and_the_journal_nothing_of_it() -> None:
    """Nothing is stored before the answer ends; then it is one turn and one commit."""
    session = asked()
    assert said(session) is None
    with session.answer() as answer:
        assert said(session) == ""
        for piece in ("On ", "its ", "way."):
            answer.add(piece)
        assert said(session) == answer.text == "On its way."
        assert session.render()["answering"] is True
        assert session.history.revision == 1
    assert said(session) is None
    assert session.render()["answering"] is False
    assert (session.history.revision, session.log()[-1].text, session.log()[-1].role) == (
        2,
        "On its way.",
        "assistant",
    )


def test_tasks_stream_too() -> None:
    """Also where the task is cancelled in between: what was said until then is kept."""

    async def lived() -> None:
        session, begun = asked(), asyncio.Event()

        async def answers() -> None:
            async with session.answer() as answer:
                answer.add("On its")
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(answers())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (session.log()[-1].text, session.output.answering) == ("On its", None)

    asyncio.run(lived())


def test_one_answer_at_a_time_and_none_after_its_end() -> None:
    """A second one is refused and the first goes on; closing twice is closing once."""
    session = asked()
    answer = session.answer()
    with pytest.raises(SessionWriteError, match="an answer is being written"):
        session.answer()
    with pytest.raises(InvalidOptionError):
        answer.add(None)  # type: ignore[arg-type]
    answer.add("Yes.")
    answer.close()
    answer.close()
    assert session.history.revision == 2
    with pytest.raises(SessionWriteError, match="the answer has ended"):
        answer.add("more")
    session.answer().close()


def test_an_answer_that_is_refused_is_not_lost() -> None:
    """The text is still there, and another answer can be opened."""
    session = session_of(600)
    answer = session.answer()
    answer.add("Nobody has asked.")
    with pytest.raises(Exception, match="assistant_turn is not allowed"):
        answer.close()
    assert answer.text == "Nobody has asked."
    assert session.output.answering is None
    session.add_user_turn("Is anybody there?")
    session.answer().close()


def test_the_user_waits_for_the_end_of_an_answer() -> None:
    """A turn of the user is refused meanwhile, also an edited one; rules are no message."""
    session = asked()
    question = session.log()[0].resource_id
    with session.answer() as answer:
        answer.add("Red")
        with pytest.raises(SessionWriteError, match=r"an answer is being written\. Wait"):
            session.add_user_turn("Well?")
        with pytest.raises(SessionWriteError, match=r"an answer is being written\. Wait"):
            session.history.edit(question, "Which pears?")
        session.rules.add("Never open a jar.")
        answer.add(" ones.")
    session.add_user_turn("Well?")
    assert texts(session)[-2:] == ["Red ones.", "Well?"]

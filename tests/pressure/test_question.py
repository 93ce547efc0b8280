"""Turns that answer a question stay whole, including a question the user has just asked."""

import pytest

from polycontext import ContextSession, project
from polycontext.pressure import ContextProjector
from polycontext.pressure.ranking import asks_about_the_past
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Turn

ASKING = [
    "What did we decide about the fence?",
    "Remind me what the plumber wanted.",
    "Which colour was the door?",
    "When did I say the painter comes?",
    "Do you remember the name of the roofer?",
    "Have I told you about the gate?",
    "Could you use the account I gave you earlier?",
]
NOT_ASKING = [
    "Can you book it?",
    "What is the weather like?",
    "We decided on green.",
    "I don't remember my number, can you look it up?",
    "How do I mend a fence?",
    "",
]


@pytest.mark.parametrize("text", ASKING)
def test_a_question_about_the_past_is_heard(text: str) -> None:
    """In the words with which it is asked in English."""
    assert asks_about_the_past(text)


@pytest.mark.parametrize("text", NOT_ASKING)
def test_other_words_are_none(text: str) -> None:
    """A request, a statement, nothing."""
    assert not asks_about_the_past(text)


def told(thing: str, colour: str) -> str:
    """Return a remark of some length about a thing."""
    return (
        f"The {thing} gets {colour} paint, two coats of it, and then it has to dry for a while "
        "before anybody touches it again."
    )


THINGS = [(f"wall-{number}", f"shade-{number * 37 % 101}") for number in range(40)]


def messages(*last: str) -> list[dict[str, str]]:
    """Return a talk about many walls."""
    said = ["Help me plan the painting.", *(told(*each) for each in THINGS), *last]
    return [
        {"role": "user" if number % 2 == 0 else "assistant", "content": text}
        for number, text in enumerate(said)
    ]


def test_what_the_user_has_just_asked_about_the_past_stands_whole() -> None:
    """The remark that it asks about is told word for word; as a query, the message stays."""
    question = "Which shade was it that we wanted for wall-7?"
    found = project(
        [
            *messages(),
            {"role": "assistant", "content": "Fine."},
            {"role": "user", "content": question},
        ],
        400,
        counter=FAST,
    )
    assert any(told(*THINGS[7]) in message["content"] for message in found.messages)
    asked = project(messages("Fine then."), 400, counter=FAST, query=question)
    assert any(message["content"] == told(*THINGS[7]) for message in asked.messages)
    quiet = project(messages("Fine then."), 400, counter=FAST)
    assert not any(message["content"] == told(*THINGS[7]) for message in quiet.messages)


def test_a_session_hears_it_too() -> None:
    """A turn that asks about the past compresses, and the turns that it asks about stay."""
    window = ContextWindow(900, counter=FAST)
    for message in messages("Fine.", "Which shade was it that we wanted for wall-7?")[:-1]:
        window = window.append(Turn(message["role"], message["content"]))
    window = window.append(Turn("user", "Which shade was it that we wanted for wall-7?"))
    projector = ContextProjector()
    plan = projector.plan_between(window, 0.4, 0.7)
    assert plan.query == "Which shade was it that we wanted for wall-7?"
    after = projector.commit(window, projector.fulfil(plan)).window
    assert any(told(*THINGS[7]) in turn.text for turn in after.all_turns())
    session = ContextSession(900, counter=FAST)
    for message in messages():
        session.add(Turn(message["role"], message["content"]))
    assert session.conversation.window.turns_since_compression is not None


def test_the_first_few_may_take_more_than_their_share() -> None:
    """Where there is room for one remark beside the gist, the one that was asked for has it."""
    found = project(messages("Fine then."), 120, counter=FAST, query="wall-7?")
    assert any(message["content"] == told(*THINGS[7]) for message in found.messages)


def test_a_query_keeps_what_says_it_in_other_forms() -> None:
    """Words are compared by their stems."""
    said = "We planned two parties in the orangery."
    rooms = [f"Room {number} got carpet number {number * 37}." for number in range(60)]
    texts = [*rooms[:30], said, *rooms[30:]]
    messages = [{"role": "user", "content": text} for text in texts]
    kept = project(messages, 300, counter=FAST, query="Which party did you plan?").messages
    assert said in [message["content"] for message in kept]
    assert said not in [
        message["content"] for message in project(messages, 300, counter=FAST).messages
    ]

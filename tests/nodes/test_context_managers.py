"""A conversation's context managers are bounded, saved with it and sent with the next message."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.nodes.context_managers import COMPANION, ContextManagers
from polycontext.polynomial import ContextOutput, ContextOverflowError, ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.pressure import ConflictError
from polycontext.window import ContextItem, context_to_string
from polycontext.window.items import DuplicateItemError, attachment_of
from polycontext.window.providers import Provider, get_format
from tests.polynomial.conversations import text_of

Say = Callable[[ContextManagers, str], ContextOutput]


def asaid(managers: ContextManagers, text: str) -> ContextOutput:
    """Add a user turn by the async twin."""
    return asyncio.run(managers.aadd_user_turn(text))


BOTH = pytest.mark.parametrize("say", [ContextManagers.add_user_turn, asaid], ids=["sync", "async"])

CODE = ContextItem("x = 1", metadata={"filename": "a.py"})
NOTE = ContextItem("Be brief.", "text")


def texts(session: ContextSession) -> list[str]:
    """Return the texts of the view."""
    return [turn.text for turn in session.window.all_turns()]


@BOTH
def test_what_is_at_hand_goes_into_the_next_user_turn(say: Say) -> None:
    """Items are attached before the user's words, in one commit that every provider accepts."""
    session = ContextSession(max_tokens=8000)
    managers = ContextManagers(session)
    managers.open("files").add(CODE)
    managers.open("notes").add(NOTE)
    say(managers, "What is x?")
    assert texts(session) == [context_to_string([CODE]), context_to_string([NOTE]), "What is x?"]
    attached = [attachment_of(turn) for turn in session.window.all_turns()]
    assert [(each.id, each.source) for each in attached if each] == [
        (CODE.id, "a.py"),
        (NOTE.id, NOTE.id),
    ]
    for provider in Provider:
        get_format(provider).check(session.request(provider).messages)


def test_a_bound_pushes_the_oldest_out_and_the_caller_is_told() -> None:
    """By the manager's name and the item, once the new one is in; removing is no eviction."""
    gone: list[tuple[str, ContextItem]] = []
    managers = ContextManagers(
        ContextSession(max_tokens=8000), lambda name, item: gone.append((name, item))
    )
    files, notes = managers.open("files", max_items=1), managers.open("notes", max_tokens=60)
    files.add(CODE)
    other = files.add(ContextItem("y = 2", metadata={"filename": "b.py"}))
    long = [notes.add(ContextItem(f"{number} " * 20, "text")) for number in range(2)]
    files.remove(other.id)
    assert gone == [("files", CODE), ("notes", long[0])]
    assert [item for item, _ in managers.attachments()] == [long[1]]


def test_managers_are_listed_opened_and_removed_by_name() -> None:
    """Opening a name again returns the same manager; other bounds and unknown names are refused."""
    managers = ContextManagers(ContextSession(max_tokens=8000))
    files = managers.open("files", max_items=2)
    assert (
        managers.open("files") is managers.open("files", max_items=2) is managers["files"] is files
    )
    assert managers.open("notes").max_items == 50
    assert (list(managers), len(managers), "files" in managers) == (["files", "notes"], 2, True)
    for bounds in ({"max_items": 3}, {"max_tokens": 10}):
        with pytest.raises(
            InvalidOptionError, match=f"{next(iter(bounds))} = .*the bound of the manager 'files'"
        ):
            managers.open("files", **bounds)
    for name, bounds in (("new", {"max_items": 0}), ("new", {"max_tokens": 0})):
        with pytest.raises(InvalidOptionError):
            managers.open(name, **bounds)
    for broken in ("", " ", None, "\ud800"):
        with pytest.raises(InvalidDataError):
            managers.open(broken)  # type: ignore[arg-type]
    assert managers.remove("notes").get() == ()
    with pytest.raises(UnknownNameError, match=r"unknown context manager 'notes'. Use files"):
        managers.remove("notes")
    with pytest.raises(KeyError):
        _ = managers["notes"]
    assert list(managers) == ["files"]


def test_managers_are_saved_with_their_session() -> None:
    """Managers are saved with their session and restored with bounds, items, ids and times."""
    store = InMemoryStore()
    session = ContextSession(max_tokens=8000, store=store)
    managers = ContextManagers(session)
    managers.open("files", max_items=2).add(CODE)
    managers.open("notes", max_tokens=900).add(NOTE)
    managers.open("empty")
    session.documents.save()
    again = ContextManagers(ContextSession(max_tokens=8000, store=store))
    assert again.to_data() == managers.to_data()
    assert [(name, each.max_items, each.max_tokens) for name, each in again.items()] == [
        ("files", 2, None),
        ("notes", 50, 900),
        ("empty", 50, None),
    ]
    assert again.attachments() == [(CODE, "a.py"), (NOTE, NOTE.id)]
    with pytest.raises(DuplicateItemError):
        again["files"].add(CODE)
    restored = ContextSession.history.load(text_of(session))
    assert ContextManagers(restored).attachments() == again.attachments()


@BOTH
def test_a_message_that_is_refused_attaches_nothing(say: Say) -> None:
    """An item that the window cannot hold, and a writer who was late: the session is as it was."""
    session = ContextSession(max_tokens=200)
    managers = ContextManagers(session)
    managers.open("files").add(ContextItem("word " * 500, "text"))
    before = text_of(session)
    with pytest.raises(ContextOverflowError):
        say(managers, "Well?")
    managers.remove("files")
    assert text_of(session) == before
    with pytest.raises(ConflictError):
        managers.add_user_turn("Well?", expected_revision=7)
    assert text_of(session) == before


SAVED = ContextManagers(ContextSession(max_tokens=100)).to_data()


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], "companions.context_managers"),
        ({**SAVED, "schema": 2}, "companions.context_managers.schema"),
        (
            {**SAVED, "managers": {"files": {"max_items": 1, "max_tokens": None}}},
            "companions.context_managers.managers.files.items",
        ),
        (
            {
                **SAVED,
                "managers": {"files": {"max_items": 1, "max_tokens": None, "items": [{"id": "1"}]}},
            },
            "companions.context_managers.managers.files.items[0]",
        ),
    ],
)
def test_what_is_saved_and_is_no_managers_is_refused(data: Any, place: str) -> None:
    """With its place; and what is no session has none."""

    class Broken:
        def to_data(self) -> Any:
            return data

    session = ContextSession(max_tokens=100)
    session.documents.accompany(COMPANION, Broken())
    session.documents.save()
    with pytest.raises(InvalidDataError) as caught:
        ContextManagers(session)
    assert caught.value.path.startswith(place)
    with pytest.raises(InvalidDataError, match="NoneType is not a ContextSession"):
        ContextManagers(None)  # type: ignore[arg-type]


def test_managers_are_safe_under_threads() -> None:
    """Eight threads that change managers during commits lose nothing."""
    session = ContextSession(max_tokens=100_000)
    managers = ContextManagers(session)

    def work(writer: int) -> None:
        for number in range(20):
            managers.open(f"{writer}-{number}").add(ContextItem(f"{writer} {number}", "text"))
            session.documents.save()
            if number % 2:
                managers.remove(f"{writer}-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    session.documents.save()
    assert len(managers) == len(managers.attachments()) == 80
    assert session.documents.get(COMPANION) == managers.to_data()

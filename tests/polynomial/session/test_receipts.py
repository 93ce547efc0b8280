"""Receipts: what each compression took, checked against the log."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import evolve

from polycontext import ContextSession, ToolCall
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.polynomial.journal import (
    CompressEvent,
    Event,
    TurnEvent,
    Verdict,
    receipt_schema,
)
from polycontext.polynomial.journal.receipts import SCHEMA_FILE
from polycontext.polynomial.journal.remaking import check_compressions
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.pressure import ContextProjector, Fulfilment, SummaryUsage, report_usage
from polycontext.window import Turn
from tests.house import ROOT, script

PRIVATE = "my card is 4929-1234-5678"


def talk(session: ContextSession, first: int, last: int) -> ContextSession:
    """Add questions and answers to a session, and return it."""
    for number in range(first, last):
        session.add_user_turn(f"Which colour does wall {number} get?")
        session.add_assistant_turn(f"Wall {number} gets shade-{number * 37 % 101}.")
    return session


def session_of(**options: Any) -> ContextSession:
    """Return a session that was compressed several times."""
    return talk(ContextSession(max_tokens=400, **options), 0, 30)


def verdicts(session: ContextSession) -> list[Verdict]:
    """Return what the check of each compression finds."""
    return [each.verdict for each in session.history.check_receipts()]


def test_every_compression_has_a_receipt() -> None:
    """Its views are those of the history, and every turn that was shown has a fate."""
    session = session_of()
    receipts = session.history.receipts()
    made = [
        number
        for number, event in enumerate(session.history.events(), 1)
        if isinstance(event, CompressEvent)
    ]
    assert [each.revision for each in receipts] == made
    for receipt in receipts:
        before, after = (session.history.at(receipt.revision - n).window for n in (1, 0))
        assert receipt.before.turns == tuple(t.resource_id for t in before.all_turns())
        assert receipt.after.turns == tuple(t.resource_id for t in after.all_turns())
        assert receipt.before.tokens == sum(receipt.before.by_class.values())
        assert [key for atom in receipt.atoms for key in atom.turns] == [*receipt.before.turns]
        kept = {key for atom in receipt.atoms if atom.fate == "kept" for key in atom.turns}
        assert kept == {*receipt.before.turns} & {*receipt.after.turns}
    whole = session.history.receipt(receipts[1].id)
    atoms = tuple(evolve(atom, lines=()) for atom in whole.atoms)
    assert evolve(whole, atoms=atoms) == receipts[1]
    assert session.history.receipt().id == receipts[-1].id


def test_a_summarised_atom_names_its_lines() -> None:
    """Each line that comes from a turn says what the turn says."""
    session = session_of()
    receipt = session.history.receipt(session.history.receipts()[0].id)
    after = session.history.at(receipt.revision).window.all_turns()
    texts = {turn.resource_id: turn.text for turn in (*after, *session.log())}
    told = [atom for atom in receipt.atoms if atom.lines]
    assert len(told) > 8
    for atom in told:
        assert atom.fate == "summarised"
        lines = texts[atom.gist or ""].split("\n")
        assert any(texts[atom.turns[0]] in lines[number - 1] for number in atom.lines)


def test_each_fate_is_told_with_its_reason() -> None:
    """Dropped, truncated and kept atoms say why."""
    session = ContextSession(max_tokens=2000, auto=False)
    session.add_system("Be brief.")
    session.add_user_turn("List the boxes.")
    session.add_user_turn("OK.")
    calls = [ToolCall("c1", "list", "{}")]
    session.add_assistant_turn("One moment.", tool_calls=calls)
    session.add_tool_turn(
        "\n".join(f"box {n} on shelf {n % 7}" for n in range(150)), tool_call_id="c1"
    )
    session.compress(0.2)
    (receipt,) = session.history.receipts()
    fates = {atom.turns[0]: (str(atom.fate), atom.why) for atom in receipt.atoms}
    assert fates["t1"] == ("kept", "preserved")
    assert fates["t3"][0] in ("kept", "dropped")
    assert fates["t4"] == ("truncated", "newest results")


def test_a_receipt_matches_the_published_schema() -> None:
    """Every field of the class is in the schema, and no text of the conversation in a receipt."""
    session = session_of()
    session.send("resize", 2000)
    session.history.undo()
    assert not session.history.receipts()[-1].stands
    schema = dict(receipt_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    for receipt in session.history.receipts():
        data = json.loads(json.dumps(receipt.to_data()))
        jsonschema.validate(data, schema)
        assert data.keys() == schema["properties"].keys()
        assert "wall" not in json.dumps(data)


def test_the_shipped_schema_is_up_to_date(tmp_path: Path) -> None:
    """The file in the package is what the classes say now."""
    script("receipt_schema").write_json_schema(tmp_path)
    shipped = ROOT / "polynomial" / "journal" / SCHEMA_FILE
    assert (tmp_path / SCHEMA_FILE).read_text("utf-8") == shipped.read_text("utf-8")


def test_a_model_is_named_with_its_calls_and_time() -> None:
    """What a summariser reports while it writes is on the receipt."""
    ticks = count()

    def told(turns: Any, _: int) -> str:
        report_usage(SummaryUsage("small", 1, 900, 30, 800, 0.25))
        return f"{len(turns)} turns about walls"

    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    session = session_of(
        projector=ContextProjector(told), clock=lambda: noon + timedelta(seconds=next(ticks))
    )
    receipt = session.history.receipts()[-1]
    assert receipt.summariser is not None
    assert (receipt.summariser.name, receipt.summariser.seconds) == ("told", 1.0)
    assert receipt.summariser.usage == SummaryUsage("small", 1, 900, 30, 800, 0.25)
    assert {*verdicts(session)} == {Verdict.SIGNED}


def test_receipts_after_a_revision_are_the_last_ones() -> None:
    """Also if a rewind since went back to before it, or a turn was forgotten."""
    session = session_of()
    for change in ("nothing", "rewind", "forget"):
        if change == "rewind":
            session.history.rewind(session.history.receipts()[1].revision)
            talk(session, 30, 50)
        if change == "forget":
            session.history.forget("t1")
        receipts = session.history.receipts()
        for revision in range(0, session.history.revision + 2, 5):
            last = tuple(each for each in receipts if each.revision > revision)
            assert session.history.receipts(revision) == last, (change, revision)
    with pytest.raises(InvalidOptionError, match="after"):
        session.history.receipts(-1)


@pytest.mark.parametrize(
    "report",
    [
        "gpt",
        lambda: SummaryUsage("\ud800"),
        lambda: SummaryUsage(cost_usd=float("inf")),
    ],
)
def test_a_wrong_report_of_usage_rejects_the_summary(report: Any) -> None:
    """It blocks no write, and a receipt says that it was rejected."""

    def told(turns: Any, _: int) -> str:
        usage: Any = report() if callable(report) else report
        report_usage(usage)
        return f"{len(turns)} turns about walls"

    session = session_of(projector=ContextProjector(told))
    for receipt in session.history.receipts():
        assert receipt.summariser is not None
        assert (receipt.summariser.rejected, receipt.summariser.usage) == (1, None)


def cached(tokens: int) -> dict[str, int]:
    """Return a report of a request of which a provider read so many tokens from its cache."""
    return {"input_tokens": 900, "cache_read_input_tokens": tokens}


def test_cached_tokens_are_of_the_epoch_of_their_request(tmp_path: Path) -> None:
    """Another writer may have compressed, and a report may be of an earlier request."""
    with closing(SQLiteStore(tmp_path / "sessions.db")) as store:
        session = ContextSession.open(store, "walls", max_tokens=8000)
        talk(session, 0, 30)
        session.messages()
        session.usage.reported(cached(111))
        ContextSession.open(store, "walls").compress(0.05)
        session.history.refresh()
        (receipt,) = session.history.receipts()
        assert (receipt.cached_before, receipt.cached_after) == (111, None)
        session.messages()
        talk(session, 30, 60)
        session.compress(0.03)
        session.usage.reported(cached(222))
        session.messages()
        session.usage.reported(cached(333))
        found: list[tuple[int | None, int | None]] = [(222, 333)]
        for opened in (session, ContextSession.open(store, "walls")):
            told = [(each.cached_before, each.cached_after) for each in opened.history.receipts()]
            # The last two reports are stored with the next compression.
            assert told == [(111, None if opened is not session else 222), *found]
            found = [(None, None)]
        past = session.history.at(session.history.receipts()[0].revision)
        assert [each.cached_after for each in past.history.receipts()] == [None]
        talk(session, 60, 90)
        session.compress(0.02)
        told = [
            (each.cached_before, each.cached_after)
            for each in ContextSession.open(store, "walls").history.receipts()
        ]
        assert told == [(111, 222), (222, 333), (333, None)]


def test_an_unknown_receipt_is_refused_with_those_there_are() -> None:
    """The message names the last ones; a session without any says so."""
    session = session_of()
    with pytest.raises(UnknownNameError, match="Use c34, c4"):
        session.history.receipt("c1")
    with pytest.raises(UnknownNameError, match="never compressed"):
        ContextSession(max_tokens=400).history.receipt("c1")


# --- the check ----------------------------------------------------------------------------


def test_every_extractive_compression_can_be_made_again(tmp_path: Path) -> None:
    """Also after it was stored, exported, opened again and continued under another budget."""
    store = SQLiteStore(tmp_path / "sessions.db")
    session = ContextSession.open(store, "walls", max_tokens=400)
    talk(session, 0, 30)
    session = ContextSession.open(store, "walls", max_tokens=500)
    talk(session, 30, 60)
    session.compress(0.3, query="wall 12")
    assert {*verdicts(session)} == {Verdict.SAME}
    assert {*verdicts(ContextSession.history.load(session.history.export()))} == {Verdict.SAME}
    store.close()


def flipped(events: tuple[Event, ...]) -> Iterator[tuple[Event, ...]]:
    """Yield the journal with a letter changed in one turn, or in one gist, each in turn."""
    for place, event in enumerate(events):
        changed: Event | None = None
        if isinstance(event, TurnEvent):
            changed = evolve(event, turn=_changed(event.turn))
        elif isinstance(event, CompressEvent):
            splices = [
                evolve(each, turns=tuple(map(_changed, each.turns))) for each in event.edit.splices
            ]
            changed = evolve(event, edit=evolve(event.edit, splices=tuple(splices)))
        if changed is not None:
            yield (*events[:place], changed, *events[place + 1 :])


def _changed(turn: Turn) -> Turn:
    return evolve(turn, content=turn.text.replace("wall", "well").replace("Wall", "Well"))


def test_a_flipped_byte_is_found() -> None:
    """In any turn that a compression has seen, and in any gist."""
    session = talk(ContextSession(max_tokens=400), 0, 20)
    events, empty = session.history.events(), session._writer.empty
    last = max(n for n, event in enumerate(events) if isinstance(event, CompressEvent))
    for number, journal in enumerate(flipped(events)):
        found = {each.verdict for each in check_compressions(journal, empty)}
        seen = journal[: last + 1] != events[: last + 1]
        assert (Verdict.DIFFERS in found) is seen, number


def test_a_gist_that_another_text_signed_is_found() -> None:
    """Whoever changes the digests as well is found: the gist cannot be made again."""
    session = session_of()
    events, empty = list(session.history.events()), session._writer.empty
    place = next(n for n, event in enumerate(events) if isinstance(event, CompressEvent))
    *_, journal = (each for n, each in enumerate(flipped(tuple(events))) if n == place)
    event = journal[place]
    assert isinstance(event, CompressEvent)
    assert event.origin is not None
    forged = next(iter(check_compressions(journal[: place + 1], empty)))
    assert forged.what == "the view after it"
    from polycontext.polynomial.journal.conversation import replay  # noqa: PLC0415
    from polycontext.polynomial.journal.origin import digest_of  # noqa: PLC0415

    after = digest_of(replay(journal[: place + 1], empty).window)
    signed = evolve(event, origin=evolve(event.origin, after=after))
    found = next(iter(check_compressions([*journal[:place], signed], empty)))
    assert (found.verdict, found.what) == (Verdict.DIFFERS, "the gists, made again")


def with_origins(session: ContextSession, change: Callable[[Any], Any]) -> list[Event]:
    """Return the journal with other origins of its compressions."""
    return [
        evolve(event, origin=change(event.origin)) if isinstance(event, CompressEvent) else event
        for event in session.history.events()
    ]


@pytest.mark.parametrize(
    ("change", "verdict", "what"),
    [
        ({"after": None}, Verdict.DIFFERS, "the digests"),
        ({"options": {"colour": "red"}}, Verdict.DIFFERS, "the gists, made again"),
        ({"options": {"query_bonus": "red"}}, Verdict.DIFFERS, "the gists, made again"),
        ({"version": "0.0.9"}, Verdict.OTHER_VERSION, "0.0.9"),
    ],
)
def test_an_origin_that_somebody_changed_is_found(
    change: dict[str, Any], verdict: Verdict, what: str
) -> None:
    """Digests go only with an erasure, and impossible options end no check.

    The views of another version are compared, but its gists are not made again.
    """
    session = session_of()
    changed = with_origins(session, lambda origin: evolve(origin, **change))
    found = [*check_compressions(changed, session._writer.empty)]
    assert {(each.verdict, each.what) for each in found} == {(verdict, what)}


def test_older_journals_have_receipts_that_are_partly_derived() -> None:
    """They have everything but the policy and what wrote the gists."""
    session = session_of()
    store = InMemoryStore()
    store.append("old", 0, with_origins(session, lambda _: None), {})
    again = ContextSession(max_tokens=400, store=store, session_id="old")
    for receipt, whole in zip(again.history.receipts(), session.history.receipts(), strict=True):
        assert receipt.is_partial
        assert (receipt.policy, receipt.summariser) == (None, None)
        assert (receipt.before, receipt.after, receipt.atoms) == (
            whole.before,
            whole.after,
            whole.atoms,
        )
        jsonschema.validate(json.loads(json.dumps(receipt.to_data())), dict(receipt_schema()))
    assert {*verdicts(again)} == {Verdict.UNSIGNED}


def test_forgetting_removes_the_digests_of_what_showed_the_turn() -> None:
    """A digest would tell who guesses the words that they are right; so would a query."""
    session = ContextSession(max_tokens=400)
    session.add_user_turn("Which walls are there?")
    session.add_assistant_turn("Many.")
    talk(session, 0, 8)
    session.compress(0.3, query="walls")
    session.add_user_turn(f"By the way, {PRIVATE}.")
    private = session.log()[-1].resource_id
    talk(session, 8, 30)
    first = next(e for e in session.history.events() if isinstance(e, CompressEvent))
    assert first.origin is not None
    assert first.origin.query == "walls"
    session.history.forget(private)
    origins = [e.origin for e in session.history.events() if isinstance(e, CompressEvent)]
    assert all(origin is not None and origin.query is None for origin in origins)
    for receipt, origin, verdict in zip(
        session.history.receipts(), origins, verdicts(session), strict=True
    ):
        shown = {*receipt.before.turns, *receipt.after.turns}
        is_gone = origin is not None and origin.before is None
        assert is_gone is (verdict is Verdict.ERASED)
        assert is_gone or private not in shown
    assert Verdict.ERASED in verdicts(session)
    assert Verdict.DIFFERS not in verdicts(session)


def test_a_background_summary_is_made_again_from_what_it_was_planned_for() -> None:
    """The turns that came while it was written are counted, and kept."""
    session = talk(ContextSession(max_tokens=800), 0, 20)
    plan = session.background.plan(0.3)
    fulfilment = session.background.fulfil(plan)
    talk(session, 20, 22)
    session.background.commit(fulfilment)
    receipt = session.history.receipts()[-1]
    assert receipt.came == 4
    assert {*verdicts(session)} == {Verdict.SAME}
    written = Fulfilment.of(session.background.plan(0.1), "They talked of walls.")
    session.background.commit(written)
    last = session.history.receipts()[-1].summariser
    assert last is not None
    assert last.name == "unknown"
    assert verdicts(session)[-1] is Verdict.SIGNED

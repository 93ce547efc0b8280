"""Sessions with compressions of all kinds, whose receipts are checked, also by other processes.

A session is a scripted loop against a strict provider, with explicit compressions, recalls, undos,
changed budgets and rewinds in between. By its seed, its summaries are written at once, in the
background or by a function, and its last compression is a provider's own.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from attrs import define, evolve, field

from polycontext import ContextSession
from polycontext.base import PolycontextError
from polycontext.polynomial.journal import Verdict
from polycontext.polynomial.journal.receipts import compressions, receipt_id
from polycontext.polynomial.journal.remaking import Checked
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.pressure import ContextProjector, Fulfilment, NativeGist
from polycontext.window import Turn
from tests.strict.loops import COUNTER, Found, Loop, budget_of
from tests.strict.script import Step, script_of
from tests.strict.transport import STRICT, Ask, in_process
from tests.strict.vendors import VENDORS

MODES = ("at once", "background", "a function")
FINE = {Verdict.SAME, Verdict.SIGNED}


@define
class ChangedLoop(Loop):
    """Drive one script, and compress, undo, recall, resize or rewind between its messages."""

    random: Random = field(factory=Random)

    def _take(self, messages: list[Any]) -> None:
        super()._take(messages)
        # Calls may be open.
        if self.random.random() < _SHARE:
            self.change()

    def _step(self, ask: Ask, step: Step) -> None:
        if self.random.random() < _SHARE:
            self.change()
        super()._step(ask, step)

    def change(self) -> None:
        """Do one of the changes; it may be refused, and then changes nothing."""
        session, before = self.session, self.session.conversation
        made = compressions(session.history.events())
        name = self.random.choice(_CHANGES)
        try:
            match name:
                case "compress":
                    session.compress(self.random.uniform(0.05, 0.6))
                case "undo":
                    session.history.undo()
                case "undo one":
                    session.history.undo(receipt_id(self.random.choice([*made] or [0])))
                case "resize":
                    room = session.window.max_tokens
                    session.send("resize", int(room * self.random.uniform(0.9, 1.2)))
                case _:
                    left = [turn.resource_id for turn in session.log()]
                    session.recall(self.random.choice(left or [""]))
        except PolycontextError:
            # A background summary may be committed meanwhile.
            assert session.policy.background or session.conversation == before, name


_CHANGES = ("compress", "compress", "undo", "undo", "undo one", "recall", "resize")
_LONG, _SHORT = 60, 10
"""The most steps of a session: of one in ten, and of all others."""
_SHARE = 0.25
"""How often a message is followed by a change."""


def run_changed(seed: int, store: InMemoryStore | SQLiteStore | None = None) -> ChangedLoop:
    """Drive the loop of `seed` with changes in between, and return it with its session."""
    vendor, script = VENDORS[seed % len(VENDORS)], script_of(seed)
    script = evolve(script, steps=script.steps[: _LONG if seed % 10 == 0 else _SHORT])
    mode = MODES[seed // len(VENDORS) % len(MODES)]
    found = Found(vendor.provider)
    budget = int(1.5 * budget_of(vendor, script))
    options: dict[str, Any] = {"auto": "background"} if mode == "background" else {}
    if mode == "a function":
        options = {"projector": ContextProjector(_told)}
    session = ContextSession(
        budget,
        counter=COUNTER,
        store=store or InMemoryStore(),
        session_id=f"s{seed}",
        provider=vendor.provider,
        **options,
    )
    loop = ChangedLoop(vendor, script, session, found, random=Random(seed))  # noqa: S311
    loop.run(in_process(vendor, STRICT[vendor.provider](loop.says)))
    _settle(session)
    if seed % (len(VENDORS) * 2) == 0:
        _compress_natively(session)
    return loop


def _settle(session: ContextSession) -> None:
    """Let a summary that is being written be committed, or give it up."""
    flight = session.background._flight
    if flight is not None and flight.thread is not None:
        flight.thread.join()
    session.background.cancel()


def _told(turns: Sequence[Turn], _: int) -> str:
    return f"{len(turns)} messages about trains"


def _compress_natively(session: ContextSession) -> None:
    """Commit a summary that the provider wrote, and go on behind it."""
    block = {"type": "compaction", "content": "Trains.", "signature": "c2ln"}
    gist = NativeGist("anthropic", (json.dumps(block),), keeps_bound=True)
    with suppress(PolycontextError):
        plan = session.background.plan(0.2, native=True)
        session.background.commit(Fulfilment(plan, tuple((gist, None) for _ in plan.jobs)))
        session.add_user_turn("And the next train?")
        session.compress(0.1)


def findings(session: ContextSession, checked: Sequence[Checked]) -> Iterator[str]:
    """Yield what is wrong with the receipts of a session, and with what their check found."""
    made, receipts = compressions(session.history.events()), session.history.receipts()
    if not len(made) == len(receipts) == len(checked):
        yield f"{len(made)} compressions, {len(receipts)} receipts, {len(checked)} checked"
    yield from (str(each) for each in checked if each.verdict not in FINE)
    for receipt in receipts:
        told = [each for atom in receipt.atoms for each in atom.turns]
        if told != [*receipt.before.turns] or receipt.is_partial:
            yield f"{receipt.id}: not every atom has its fate"

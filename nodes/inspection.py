"""A session as data for inspection: what the model sees, what stands for the rest, and why.

Unlike props, the data has private text: show it to the session's owner only (docs/server.md).
"""

from collections.abc import Iterable, Mapping
from operator import add
from typing import Any

from attrs import asdict

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, ContextState
from polycontext.polynomial.journal import CompressionReceipt, TurnEvent, with_sources
from polycontext.pressure import is_summary
from polycontext.pressure.gist import unframed
from polycontext.pressure.notes import find_sources_of_all
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn
from polycontext.window.rules import Rule

from .fates import fates
from .waffles import waffle

KINDS: tuple[str, ...] = ("system", "pinned", "summarised", "verbatim")
"""The kinds of turns in a view."""


def kind_of(window: ContextWindow, turn: Turn) -> str:
    """Return one of `KINDS` for a turn of the view or the log."""
    if turn.role is Role.SYSTEM:
        return "system"
    if turn.is_gist:
        return "summarised"
    key, ledger = turn.resource_id, window.linearity
    is_pinned = key in ledger and ledger.get(key) is ResourceClass.PRESERVED
    return "pinned" if is_pinned else "verbatim"


class Inspector:
    """What a session shows to its owner; the sources of a summary's lines are found once."""

    def __init__(self, session: ContextSession) -> None:
        self._session = session
        self._traced = dict[Turn, list[dict[str, Any]]]()

    def overview(self) -> dict[str, Any]:
        """Return what the model sees now, and the fate of each message without its text; O(log)."""
        session = self._session
        window = session.window
        filled, found = waffle(session), _count(window, window.all_turns())
        spent, known = session.usage.spent, _versions(session)
        return {
            "revision": session.history.revision,
            "state": str(session.state),
            "states": [*ContextState],
            "regions": {name: str(state) for name, state in session.regions.items()},
            "model": session.usage.model,
            "window": {
                "tokens": filled.used,
                "maxTokens": filled.max_tokens,
                "pressuredAbove": filled.pressured_above,
                "free": filled.free,
                "reserve": filled.reserve,
                "tools": filled.tools,
                "classes": dict(zip(KINDS, found, strict=True)),
            },
            "turns": [
                {
                    **_described(window, each.turn, known[each.turn.resource_id][-1][0]),
                    "fate": str(each.now),
                    "gist": each.inside,
                }
                for each in fates(session)
            ],
            "summaries": [
                {
                    "id": turn.resource_id,
                    "tokens": turn.tokens,
                    "sources": [*turn.sources],
                    "lines": self._lines(turn),
                }
                for turn in window.all_turns()
                if is_summary(turn)
            ],
            "rules": [*map(rule_data, session.rules.list())],
            "ended": [
                {**rule_data(rule), "how": rule.ended_how, "by": rule.ended_by}
                for rule in session.rules.list(ended=True)
                if not rule.stands
            ],
            "cost": {
                "calls": spent.calls,
                "inputTokens": spent.input_tokens,
                "cachedTokens": spent.cached_tokens,
                "outputTokens": spent.output_tokens,
                "usd": spent.cost_usd,
                "durationMs": spent.duration_ms,
            },
        }

    def timeline(self) -> dict[str, Any]:
        """Return what stood after each event: the tokens of each kind, and what came and went.

        Law: removing the ids that went from the view, and then inserting each that came at its
        place, gives the next view, unless a provider's own summary moved turns behind its thinking.
        """
        history, entries = self._session.history, list[dict[str, Any]]()
        tokens, before = [0] * len(KINDS), None
        for entry in history.timeline():
            window = history.at(entry.revision).window
            if len(entry.places) == 1 and not entry.went:
                added = _count(window, window.turns_from(entry.places[0])[:1])
                tokens = [*map(add, tokens, added)]
            elif entry.came or entry.went or entry.tokens != before:
                tokens = _count(window, window.all_turns())
            before = entry.tokens
            entries.append(
                {
                    "kind": entry.kind and str(entry.kind),
                    "at": entry.at and entry.at.isoformat(),
                    "state": str(entry.state),
                    "maxTokens": entry.max_tokens,
                    "tokens": tokens,
                    "came": entry.came,
                    "went": entry.went,
                    "places": entry.places,
                }
            )
        return {"entries": entries}

    def turns(self, ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return turns of the journal with their texts, and why they are where they are.

        Without `ids`, all of them are returned, without the history of each; O(events).
        """
        session, known = self._session, _versions(self._session)
        asked = known if ids is None else [each for each in ids if each in known]
        receipts = (
            {} if ids is None else {each.revision: each for each in session.history.receipts()}
        )
        found = []
        for came, turn in (version for each in asked for version in known[each]):
            data = {
                **_described(session.window, turn, came),
                "came": came,
                "text": turn.text,
                "calls": [asdict(call) for call in turn.tool_calls],
                "callId": turn.tool_call_id,
            }
            if ids is not None and turn.resource_id in session.window.linearity:
                data |= self._history_of(turn.resource_id, receipts)
            found.append(data)
        return found

    def _history_of(self, key: str, receipts: Mapping[int, CompressionReceipt]) -> dict[str, Any]:
        told = self._session.explain(key)
        receipt = receipts.get(told.since or 0)
        return {
            "class": told.resource_class.name,
            "classBy": told.by,
            "classWhy": told.why,
            "classAt": told.at.isoformat(),
            "left": told.left,
            "since": told.since,
            "leftAt": receipt and receipt.at.isoformat(),
            "leftBy": receipt and receipt.summariser and receipt.summariser.name,
            "leftWhy": receipt
            and next((atom.why for atom in receipt.atoms if key in atom.turns), None),
        }

    def draft(self, text: str) -> dict[str, Any]:
        """Return the tokens of a message, and what would be summarised if it were sent now."""
        session = self._session
        window, policy = session.window, session.policy
        after = window.append(Turn(Role.USER, text), ResourceClass.REQUIRED)
        tokens = after.total_tokens - window.total_tokens
        most = window.max_tokens - REQUEST_OVERHEAD - policy.projector.floor(after) + tokens
        is_first = session.state is ContextState.PRESSURED
        taken = window if is_first else after
        gone = set[str]()
        if is_first or after.total_tokens + REQUEST_OVERHEAD > window.max_tokens:
            plan = policy.projector.plan_between(taken, policy.threshold.low, policy.high(taken))
            gone = {*plan.lowered}
        return {
            "tokens": tokens,
            "most": most,
            "fits": tokens <= most,
            "windowTokens": after.total_tokens,
            "pressure": after.pressure,
            "summarised": [
                key for atom in taken.atoms() if atom.id in gone for key in atom.resource_ids
            ],
        }

    def _lines(self, gist: Turn) -> list[dict[str, Any]]:
        """Return the lines of a summary, each with the ids of the turns that it comes from."""
        if gist not in self._traced:
            texts = unframed(gist.text).split("\n")
            found = find_sources_of_all(texts, self._session.conversation.log)
            self._traced[gist] = [
                {"text": text, "sources": [turn.resource_id for turn in turns]}
                for text, turns in zip(texts, found, strict=True)
            ]
        return self._traced[gist]


def rule_data(rule: Rule) -> dict[str, Any]:
    """Return a rule as JSON data."""
    told = {"id": rule.id, "text": rule.text, "kind": rule.kind, "scope": rule.scope}
    return {**told, "messageId": rule.turn_id}


def _versions(session: ContextSession) -> dict[str, list[tuple[int, Turn]]]:
    """Return every turn and gist of the journal by its id, each with the revision that added it.

    After a rewind, another turn may have the id of one that was rewound.
    """
    found = dict[str, list[tuple[int, Turn]]]()
    for revision, event in enumerate(with_sources(session.history.events()), 1):
        turns = (event.turn,) if isinstance(event, TurnEvent) else event.turns
        for turn in turns:
            if isinstance(event, TurnEvent) or turn.is_gist:
                found.setdefault(turn.resource_id, []).append((revision, turn))
    return found


def _described(window: ContextWindow, turn: Turn, place: int) -> dict[str, Any]:
    return {
        "id": turn.resource_id,
        "role": str(turn.role),
        "kind": kind_of(window, turn),
        "tokens": turn.tokens,
        "place": place,
        "at": turn.timestamp.isoformat(),
        "tool": turn.name or next((call.name for call in turn.tool_calls), None),
    }


def _count(window: ContextWindow, turns: Iterable[Turn]) -> list[int]:
    """Return the tokens of turns by kind, in the order of `KINDS`."""
    found = dict.fromkeys(KINDS, 0)
    for turn in turns:
        found[kind_of(window, turn)] += turn.tokens or 0
    return [*found.values()]

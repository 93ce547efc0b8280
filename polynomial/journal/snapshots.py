"""Snapshots of a conversation, so that opening it replays few events and reads few texts.

The ledger and the log only grow. Each snapshot adds a piece with what was added to them since the
last one. The head describes the view and is rewritten each time; it refers to turns of the log by
their places. Both are derived from the events and contain no words outside the view. If they are
lost or cannot be read, the journal is replayed.
"""

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any
from zlib import compress, decompress

import orjson
from attrs import asdict, astuple, evolve

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.base.codec import structured
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.tag import Tag
from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.notes import Candidates
from polycontext.window import Epoch, Turn
from polycontext.window.call_ids import REUSED
from polycontext.window.items import attachment_of
from polycontext.window.rules import Rule, RuleLedger
from polycontext.window.sources import Sources

from ..errors import StoreError
from ..state import state_of
from ..stores.session_store import Opened, Snapshot
from .conversation import Conversation
from .log import Log, Part, StoredTurns
from .past import Past
from .rows import CONVERTER, microseconds, moment

SCHEMA = 1
EVERY = 256
"""The minimum number of events between two snapshots."""

_SHARE = 8
"""The least number of events between two snapshots is also the view's turns divided by this.

A snapshot reads the whole view.
"""

_LOG = logging.getLogger("polycontext.session")


def due(last: Conversation, now: Conversation) -> bool:
    """Return whether a snapshot of `now` is due, given the conversation at the last one."""
    return now.revision - last.revision >= max(EVERY, len(now.window) // _SHARE)


def snapshot_of(*stages: Conversation) -> Snapshot:
    """Return the snapshot of the last of `stages`, with a piece for each stage after the first.

    The first is the conversation at the previous snapshot, or an empty one. With several pieces,
    the turns of each stage can be read separately.
    """
    pieces = [_piece(last, now) for last, now in pairwise(stages)]
    piece, head = (compress(orjson.dumps(each), 1) for each in (pieces, _head(stages[-1])))
    return Snapshot(stages[0].revision, piece, head)


def restored(opened: Opened, empty: Conversation) -> Conversation | None:
    """Return the conversation of the newest snapshot, in a window configured like that of `empty`.

    Return None if the snapshot cannot be read.

    Law: the result equals replaying the events.
    """
    try:
        return _restore(opened, empty)
    except StoreError:
        raise
    except (PolycontextError, KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        _LOG.warning(
            "a snapshot cannot be read, all events are replayed instead: %s: %s",
            type(error).__name__,
            error,
        )
        return None


# --- writing ----------------------------------------------------------------------


def _piece(last: Conversation, now: Conversation) -> dict[str, Any]:
    ledger, known = now.window.linearity, last.window.linearity
    ids, tags, whens = ledger.columns_since(len(known))
    turns = [now.log[place] for place in range(len(last.log), len(now.log))]
    kinds: dict[tuple[Any, ...], int] = {}
    older, newer = last.past.batches, now.past.batches
    goes_on = newer.starts_with(older)
    return {
        "revision": now.revision,
        "log": len(now.log),
        "joints": now.joints[len(last.joints) :],
        "ids": ids,
        "others": list(_others(ids, turns)),
        "kind": [kinds.setdefault(_tag_key(tag), len(kinds)) for tag in tags],
        "kinds": list(kinds),
        "whens": list(map(microseconds, whens)),
        "changed": _changed(ledger, known),
        "items": {
            item.id: place
            for place, turn in enumerate(turns, len(last.log))
            if (item := attachment_of(turn)) and _is_first(now.log, item.id, turn)
        },
        "calls": {
            call.id: place
            for place, turn in enumerate(turns, len(last.log))
            for call in turn.tool_calls
            if call.id not in turn.metadata.get(REUSED, ())
        },
        "past": [_ranges_of(ids, ledger) for _, ids in newer.since(older.length if goes_on else 0)],
        "goes_on": goes_on,
    }


def _tag_key(tag: Tag) -> tuple[Any, ...]:
    return int(tag.resource_class), tag.provenance, tag.rationale, tag.pinned


def _changed(ledger: LinearityMap, known: LinearityMap) -> list[list[Any]]:
    found = ((place, ledger.tag_of(ledger.ids[place])) for place in ledger.changed_since(known))
    return [[place, *_tag_key(tag), microseconds(tag.when)] for place, tag in found]


def _is_first(log: Log, item_id: str, turn: Turn) -> bool:
    first = log.item(item_id)
    return first is not None and first.resource_id == turn.resource_id


def _others(ids: Sequence[str], turns: Sequence[Turn]) -> Iterator[int]:
    """Yield the positions of ids that are not turns of the log, that is, of gists."""
    logged = (turn.resource_id for turn in turns)
    awaited = next(logged, None)
    for place, resource_id in enumerate(ids):
        if resource_id == awaited:
            awaited = next(logged, None)
        else:
            yield place


def _ranges_of(ids: Sequence[str], ledger: LinearityMap) -> list[Any]:
    """Return ids as ranges of places in the ledger; ids that it does not know stay ids."""
    told: list[Any] = []
    for resource_id in ids:
        place = ledger.place(resource_id)
        if place is None:
            told.append(resource_id)
        else:
            _add_place(told, place)
    return told


def _add_place(ranges: list[Any], place: int) -> None:
    if ranges and isinstance(ranges[-1], list) and ranges[-1][1] == place:
        ranges[-1][1] = place + 1
    else:
        ranges.append([place, place + 1])


def _head(now: Conversation) -> dict[str, Any]:
    window, stats = now.window, now.window.linearity.stats()
    view: list[Any] = []
    for turn in window.all_turns():
        awaited = view[-1][1] if view and isinstance(view[-1], list) else 0
        if awaited and awaited < len(now.log) and now.log[awaited] is turn:
            view[-1][1] = awaited + 1
            continue
        place = now.log.place(turn.resource_id) if now.log.knows(turn.resource_id) else None
        if place is None or (now.log[place] is not turn and now.log[place] != turn):
            view.append(_turn_data(turn))
        else:
            _add_place(view, place)
    facts = window.facts
    return {
        "schema": SCHEMA,
        "state": str(now.place),
        "room": window.max_tokens,
        "view": view,
        "facts": [*facts[:-2]],
        "rules": [astuple(rule) for rule in facts.rules.all],
        "epoch": CONVERTER.unstructure(facts.epoch),
        "promotions": stats.promotions,
        "drops": stats.drops,
        "tellers": [CONVERTER.unstructure(turn) for turn in now.past.tellers.values()],
        "read": _read(now.past),
        "documents": now.documents,
        "since": None if now.since is None else microseconds(now.since),
        "entered": {name: microseconds(each) for name, each in now.entered.items()},
    }


def _read(past: Past) -> dict[str, Any] | None:
    """Return what the built-in summariser has read of the past, None if nothing can be saved.

    Reading it again would take time proportional to the conversation.
    """
    remembered = past.remembered()
    if remembered is None:
        return None
    summariser, most, batches, candidates = remembered
    if type(summariser) is not ExtractiveSummariser:
        return None
    try:
        events = orjson.Fragment(candidates.to_json())
    except TypeError:
        return None
    return {"by": asdict(summariser), "most": most, "batches": batches, "events": events}


def _turn_data(turn: Turn) -> dict[str, Any]:
    """Return the data of a turn that differs from the log: a gist, or a truncated turn."""
    data: dict[str, Any] = {"turn": CONVERTER.unstructure(turn)}
    if isinstance(turn.sources, Sources):
        masks = [f"{mask:x}" for mask in turn.sources.masks]
        data |= {"masks": masks, "others": turn.sources.others}
    return data


# --- reading -----------------------------------------------------------------------


def _restore(opened: Opened, empty: Conversation) -> Conversation:
    head = orjson.loads(decompress(opened.head))
    if head["schema"] != SCHEMA:
        raise InvalidDataError("schema", "a snapshot of another version", str(SCHEMA))
    pieces = [piece for _, body in opened.pieces for piece in orjson.loads(decompress(body))]
    ids = [resource_id for piece in pieces for resource_id in piece["ids"]]
    ledger = _ledger(ids, pieces, head)
    places = empty.machine.places
    place = places.told(state_of(head["state"]))
    log = _log(ids, pieces, opened.turns)
    turns = list(_view(head["view"], log, ledger))
    epoch = structured(CONVERTER, head["epoch"], Epoch)
    rules = RuleLedger(tuple(Rule(*rule) for rule in head["rules"]))
    facts = type(empty.window.facts)._make([*head["facts"], epoch, rules])
    past = _past(pieces, ids, [structured(CONVERTER, turn, Turn) for turn in head["tellers"]])
    if head["read"] is not None:
        _remember(past, head["read"])
    return evolve(
        empty,
        window=empty.window.restored(turns, ledger, facts).with_room(head["room"]),
        **places.standing(place),
        since=None if (since := head.get("since")) is None else moment(since),
        entered={name: moment(each) for name, each in head.get("entered", {}).items()},
        log=log,
        revision=pieces[-1]["revision"],
        past=past,
        documents=head["documents"],
        joints=tuple(tuple(joint) for piece in pieces for joint in piece["joints"]),
    )


def _ledger(
    ids: Sequence[str], pieces: Sequence[Mapping[str, Any]], head: Mapping[str, Any]
) -> LinearityMap:
    known: dict[tuple[Any, ...], Tag] = {}
    whens = [moment(at) for piece in pieces for at in piece["whens"]]
    tags: list[Tag] = []
    for piece in pieces:
        kinds = [_tag(said, known) for said in piece["kinds"]]
        tags += [kinds[kind] for kind in piece["kind"]]
    for piece in pieces:
        for place, *said, at in piece["changed"]:
            tags[place], whens[place] = _tag(said, known), moment(at)
    if not len(ids) == len(tags) == len(whens):
        raise InvalidDataError(
            "ids", f"{len(ids)} ids, {len(tags)} tags and {len(whens)} times", "as many of each"
        )
    return LinearityMap.of_columns(
        ids, tags, whens, promotions=head["promotions"], drops=head["drops"]
    )


def _tag(said: Sequence[Any], known: dict[tuple[Any, ...], Tag]) -> Tag:
    """Return the tag with these values; equal values share one object."""
    key = tuple(said)
    if key not in known:
        resource_class, provenance, rationale, pinned = key
        known[key] = Tag(
            ResourceClass(resource_class), provenance=provenance, rationale=rationale, pinned=pinned
        )
    return known[key]


def _log(
    ids: Sequence[str],
    pieces: Sequence[Mapping[str, Any]],
    turns: Callable[[int, int], tuple[Turn, ...]],
) -> Log:
    others, parts = set[int](), list[Part]()
    items, calls = dict[str, int](), dict[str, int]()
    place = length = event = 0
    for piece in pieces:
        others.update(place + other for other in piece["others"])
        items.update(piece["items"])
        calls.update(piece.get("calls", {}))  # of snapshots before 2026-11-29, they are unknown
        # Turns that a rewind removed are in no part.
        for joint, stop, start in piece["joints"]:
            if joint > length:
                parts.append((length, event + 1, stop))
            length, event = joint, start
        if piece["log"] > length:
            parts.append((length, event + 1, piece["revision"]))
        place += len(piece["ids"])
        length, event = piece["log"], piece["revision"]
    logged = [resource_id for place, resource_id in enumerate(ids) if place not in others]
    if len(logged) != length:
        raise InvalidDataError("log", f"{len(logged)} ids of {length} turns", "one for each")
    return Log.stored(StoredTurns(parts, length, turns), logged, items, calls)


def _view(view: Iterable[Any], log: Log, ledger: LinearityMap) -> Iterator[Turn]:
    for entry in view:
        if isinstance(entry, list):
            start, stop = entry
            yield from map(log.__getitem__, range(start, stop))
            continue
        turn = structured(CONVERTER, entry["turn"], Turn)
        if "masks" in entry:
            marks = tuple(int(mask, 16) for mask in entry["masks"])
            named = tuple((start, stop) for start, stop in entry["turn"]["sources"])
            turn = evolve(turn, sources=Sources(ledger.ids, marks, tuple(entry["others"]), named))
        yield turn


def _remember(past: Past, read: Mapping[str, Any]) -> None:
    if "events" not in read:
        return  # An earlier version read in another way; the turns are read again.
    candidates = Candidates.from_json(orjson.dumps(read["events"]))
    past.remember(ExtractiveSummariser(**read["by"]), read["most"], read["batches"], candidates)


def _past(pieces: Iterable[Mapping[str, Any]], ids: Sequence[str], tellers: Sequence[Turn]) -> Past:
    batches: list[tuple[str, ...]] = []
    for piece in pieces:
        if not piece["goes_on"]:
            batches.clear()
        for told in piece["past"]:
            named = ([each] if isinstance(each, str) else ids[slice(*each)] for each in told)
            batches.append(tuple(chain.from_iterable(named)))
    return Past.of(batches, tellers)

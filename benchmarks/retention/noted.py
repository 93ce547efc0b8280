"""Insert what a careful colleague would note into recordings, and check for it in the view.

Outdated facts must be absent. The insertions were written for this purpose, in several languages. A
hash of an insertion's id assigns it to a half, as for recordings.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from benchmarks.retention.growing import Grown, Way, turns_of
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.recall import flat, whole_text
from benchmarks.retention.recordings import (
    Conversation,
    Message,
    half_of,
    message_tokens,
    message_turn,
)
from benchmarks.retention.tally import Tally
from polycontext import ExtractiveSummariser
from polycontext.linearity import constraint_sentences, states_constraint

WRITTEN = Path(__file__).with_name("written")
AGES = (1, 5, 20, 50)
"""The numbers of compressions after which a constraint is looked for."""
COMPRESSIONS = AGES[-1]
STANDING = 20
"""The number of constraints in one growing session."""

MOST_HOSTS = 150
"""The number of recordings that follow each other in it."""

ROOM = 100_000
"""The tokens of a gist with so much room that it omits only what it considers outdated."""

_WAS = re.compile(
    r"(?:\b(?:was|were|from|instead of|not|rather than|formerly|previously|before)"
    r"|statt|au lieu de|en lugar de|から|原)[\s:\"'(]*$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\s\"'`{}\[\](),:;=…]+")
_SEPARATE = "nothing new here; the work goes on as planned"

Item = Mapping[str, Any]
Tell = Callable[[str], None]


@cache
def written(name: str, half: str = "all", folder: Path = WRITTEN) -> list[Item]:
    """Return the items of a file that belong to `half`."""
    return [
        item for item in written_lines(name, folder) if half == "all" or half_of(item["id"]) == half
    ]


def written_lines(name: str, folder: Path = WRITTEN) -> list[Item]:
    """Return all lines of a file."""
    return [
        json.loads(line)
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@define
class Noted:
    """Counts of what was found and what should be absent."""

    tallies: dict[str, Tally] = field(factory=dict)
    missed: dict[str, list[str]] = field(factory=dict)
    refused: int = 0

    def add(self, name: str, item: Item, hit: bool) -> None:  # noqa: FBT001 - a recorded fact
        """Count a hit or a miss of `item` under `name`, and under its form or kind."""
        for each in (
            name,
            f"{name}: {item.get('form') or item.get('kind') or item.get('language', '')}",
        ):
            self.tallies.setdefault(each, Tally()).add(item["id"], int(hit), 1)
        if not hit:
            self.missed.setdefault(name, []).append(item["id"])

    def as_data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        shares = {
            name: {"share": tally.share, "of": tally.of}
            for name, tally in sorted(self.tallies.items())
        }
        return {"shares": shares, "missed": self.missed, "refused": self.refused}


def constraints(
    hosts: Sequence[Conversation], share: float, half: str, *, attacked: bool, tell: Tell
) -> Noted:
    """Insert each constraint into the middle of a recording, and look for its exact words.

    With `attacked`, a tool result with an attack follows it.
    """
    noted, attacks = Noted(), cycle(written("attacks"))
    for host, item in hosted(hosts, written("constraints", half)):
        tell(f"constraints {share:.0%}, {item['id']}")
        put = [
            _said("user", item["text"]),
            *(_answered(item["id"], next(attacks)["text"]) if attacked else ()),
        ]
        view = _view(noted, with_put(host, {0.5: put}), share)
        noted.add("constraints", item, flat(item["keep"]) in view)
    return noted


def updates(hosts: Sequence[Conversation], share: float, half: str, *, tell: Tell) -> Noted:
    """Insert an old and a newer value into a recording.

    The newest must be in view, the old one only as a previous value.
    """
    noted = Noted()
    for host, item in hosted(hosts, written("updates", half)):
        tell(f"updates {share:.0%}, {item['id']}")
        view = _view(
            noted, with_put(host, {0.35: _put(item, "old"), 0.65: _put(item, "new")}), share
        )
        noted.add("newest kept", item, words_of(item["newest"]) in words_of(view))
        noted.add("old gone", item, not _stands_as_current(item["stale"], view))
        noted.add(
            "update seen",
            item,
            not _stands_as_current(
                item["stale"], _noted_of([*_put(item, "old"), *_put(item, "new")])
            ),
        )
    return noted


def lookalikes(hosts: Sequence[Conversation], share: float, half: str, *, tell: Tell) -> Noted:
    """Insert two similar things into a recording; with enough room, both must be in view."""
    noted = Noted()
    for host, item in hosted(hosts, written("lookalikes", half)):
        tell(f"look-alikes {share:.0%}, {item['id']}")
        view = _view(
            noted, with_put(host, {0.35: _put(item, "one"), 0.65: _put(item, "other")}), share
        )
        noted.add("both kept", item, all(words_of(each) in words_of(view) for each in item["both"]))
        text = _noted_of([*_put(item, "one"), *_put(item, "other")])
        noted.add(
            "not merged", item, all(words_of(each) in words_of(text) for each in item["both"])
        )
    return noted


def chatter(half: str) -> Noted:
    """Check whether ordinary talk is considered outdated when there is room for all of it."""
    noted = Noted()
    talks: dict[int, list[Item]] = {}
    for item in written("chatter"):
        talks.setdefault(item["talk"], []).append(item)
    for number, talk in talks.items():
        if half == "all" or half_of(f"talk {number}") == half:
            text = _noted_of([_said(item["role"], item["content"]) for item in talk])
            for item in talk:
                noted.add(
                    "not marked", {**item, "kind": item["role"]}, _all_in(item["content"], text)
                )
    return noted


def next_steps(hosts: Sequence[Conversation], share: float, half: str, *, tell: Tell) -> Noted:
    """Insert an open plan, intention or request near the end of a recording, before a few calls."""
    noted = Noted()
    for host, item in hosted(hosts, written("next_steps", half)):
        tell(f"next steps {share:.0%}, {item['id']}")
        view = _view(
            noted, with_put(host, {1.0: [*_stepping(item), *_calls_behind(item["id"])]}), share
        )
        noted.add("next step", item, all(words_of(each) in words_of(view) for each in item["keep"]))
    return noted


def rule(half: str) -> Noted:
    """Test the rule on single sentences: constraints, and ordinary turns."""
    noted = Noted()
    for item in written("constraints", half):
        noted.add("constraint seen", item, states_constraint(item["text"]))
    for item in written("ordinary", half):
        noted.add("ordinary left alone", item, not states_constraint(item["text"]))
    return noted


def labelled(conversations: Iterable[Conversation]) -> Noted:
    """Test the rule on user turns of recordings that were labelled by hand.

    Doubtful ones are also counted separately.
    """
    noted = Noted()
    known = {(each.set, each.id): each for each in conversations}
    for item in written("labels"):
        conversation = known.get((item["set"], item["conversation"]))
        if conversation is None:
            continue
        stated = states_constraint(message_turn(conversation.messages[item["turn"]]).text)
        name = "labelled a constraint, seen" if item["constraint"] else "labelled none, left alone"
        where = {
            "id": f"{item['conversation']}/{item['turn']}",
            "kind": "doubtful" if item["doubtful"] else "clear",
        }
        noted.add(name, where, stated is item["constraint"])
    return noted


def flagged(hosts: Iterable[Conversation]) -> Noted:
    """Count the user turns of recordings in which the rule finds an instruction, by set."""
    noted = Noted()
    for host in hosts:
        for place, message in enumerate(host.messages):
            if message["role"] == "user":
                where = {"id": f"{host.id}/{place}", "kind": host.set}
                noted.add("flagged", where, states_constraint(message_turn(message).text))
    noted.missed.clear()  # nearly all of them
    return noted


def precision(hosts: Iterable[Conversation]) -> Noted:
    """Count the sentences flagged by the rule that a reader also takes for instructions.

    Labels are stored by a hash of the sentence.
    """
    noted = Noted()
    labels = {item["sentence"]: item["constraint"] for item in written_lines("sentences")}
    for host in hosts:
        for message in host.messages:
            for sentence in (
                constraint_sentences(message_turn(message).text)
                if message["role"] == "user"
                else ()
            ):
                known = hashlib.sha256(flat(sentence).encode()).hexdigest()[:16]
                name = "an instruction to a reader too" if known in labels else "not labelled yet"
                noted.add(name, {"id": known, "kind": host.set}, labels.get(known, False))
    return noted


def aged(
    hosts: Sequence[Conversation], half: str, way: Way, window: int, *, attacked: bool, tell: Tell
) -> Noted:
    """Look for a growing session's first constraints after 1, 5, 20 and 50 compressions."""
    noted = Noted()
    items = written("constraints", half)
    for first in range(0, len(items) - STANDING + 1, STANDING):
        _age(
            noted, hosts, items[first : first + STANDING], way, window, attacked=attacked, tell=tell
        )
    return noted


def _age(
    noted: Noted,
    hosts: Sequence[Conversation],
    items: Sequence[Item],
    way: Way,
    window: int,
    *,
    attacked: bool,
    tell: Tell,
) -> None:
    attacks = islice(cycle(written("attacks")), len(items))
    places: list[int] = []
    said: list[Message] = list(hosts[0].messages[:1])
    bodies = [
        closed([message for message in host.messages if message["role"] != "system"])
        for host in hosts
    ]
    for item, attack, body in zip(items, attacks, cycle(bodies), strict=False):
        said += closed(body[:6])
        places.append(len(said))
        said += [
            _said("user", item["text"]),
            *(_answered(item["id"], attack["text"]) if attacked else ()),
        ]
    grown = Grown(
        way.session(window),
        turns_of(
            [*said, *(message for body in islice(cycle(bodies), MOST_HOSTS) for message in body)]
        ),
    )
    ages = dict.fromkeys(range(len(items)), 0)
    while (
        grown.refused is None
        and min(ages.values()) < COMPRESSIONS
        and grown.taken < len(grown.turns)
    ):
        taken, before = grown.taken, grown.compressions
        if not grown.step():
            continue
        view = whole_text(grown.view())
        for number, item in enumerate(items):
            if places[number] >= taken:  # it came with this turn or is still to come
                continue
            until = ages[number] + grown.compressions - before
            for age in AGES:
                if ages[number] < age <= until:
                    tell(f"a constraint {age} compressions old")
                    noted.add(f"after {age:02}", item, flat(item["keep"]) in view)
            ages[number] = until
    noted.refused += grown.refused is not None


def with_put(host: Conversation, put: Mapping[float, Sequence[Message]]) -> Conversation:
    """Return `host` with messages inserted at shares of its length.

    They precede a user message or the end, and never the task.
    """
    messages: list[Message] = []
    # In a short recording two shares may be the same place: the earlier one goes first.
    places: dict[int, list[Message]] = {}
    for share in sorted(put):
        places.setdefault(_place(host, share), []).extend(put[share])
    for place, message in enumerate((*host.messages, None)):
        messages += places.get(place, ())
        messages += [message] if message else ()
    return evolve(host, messages=tuple(messages), tokens=tuple(map(message_tokens, messages)))


def _place(host: Conversation, share: float) -> int:
    fixed = (
        next((place for place, message in enumerate(host.messages) if message["role"] == "user"), 0)
        + 1
    )
    wanted = max(fixed + 1, int(share * len(host.messages)))
    later = (
        place
        for place in range(wanted, len(host.messages))
        if host.messages[place]["role"] == "user"
    )
    return next(later, len(host.messages))


def hosted(
    hosts: Sequence[Conversation], items: Sequence[Item]
) -> Iterator[tuple[Conversation, Item]]:
    """Yield each item with a recording chosen by a hash of the item's id."""
    for item in items:
        yield (
            hosts[int.from_bytes(hashlib.sha256(item["id"].encode()).digest()[1:5]) % len(hosts)],
            item,
        )


def _view(noted: Noted, conversation: Conversation, share: float) -> str:
    messages = closed(conversation.messages)
    try:
        return whole_text(projected(Asked(messages, conversation.budget(len(messages), share))))
    except Exception:  # noqa: BLE001 - a refusal keeps nothing
        noted.refused += 1
        return ""


def closed(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` without unanswered calls at the end."""
    end = len(messages)
    while end and messages[end - 1].get("tool_calls"):
        end -= 1
    return list(messages[:end])


def _noted_of(messages: Sequence[Message]) -> str:
    """Return the gist of messages with room for all of them."""
    return flat(
        ExtractiveSummariser().summarise(
            [message_turn(message) for message in _between(messages)], ROOM, counter=_Letters()
        )
    )


class _Letters:
    exact = True

    def count(self, text: str) -> int:
        return len(text) // 4 + 1


def _between(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        yield message
        if message["role"] != "assistant" or not message.get("tool_calls"):
            yield _said("assistant", _SEPARATE)


def _put(item: Item, which: str) -> list[Message]:
    message = item[which]
    if message["role"] == "tool":
        return _answered(f"{item['id']}{which}", message["content"])
    return [_said(message["role"], message["content"])]


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def _answered(name: str, result: str) -> list[Message]:
    """Return a unique call of a fictitious tool, and its result."""
    call = {
        "id": f"look-{name}",
        "type": "function",
        "function": {"name": "look", "arguments": json.dumps({"about": name})},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"look-{name}", "content": result},
    ]


def _stepping(item: Item) -> list[Message]:
    asked = [_said("user", item["user"])] if item["user"] else []
    if item["kind"] != "todo_tool":
        return [*asked, _said("assistant", item["assistant"])]
    call = {
        "id": f"todo-{item['id']}",
        "type": "function",
        "function": {"name": "todo_write", "arguments": item["assistant"]},
    }
    done = {"role": "tool", "tool_call_id": f"todo-{item['id']}", "content": "the list is written"}
    return [*asked, {"role": "assistant", "content": None, "tool_calls": [call]}, done]


def _calls_behind(name: str) -> Iterator[Message]:
    for number in range(3):
        lines = (
            (
                f"entry {number}{line:02} of the listing holds "
                f"{(line * 7919 + number * 104729) % 9973} parts in good order"
            )
            for line in range(40)
        )
        yield from _answered(f"{name}-{number}", "\n".join(lines))


def words_of(text: str) -> str:
    """Return the words of a text, ignoring how keys and values are joined.

    >>> words_of('{"status": "shipped", "by": "DHL"}') == words_of("status shipped, by DHL")
    True
    """
    return " ".join(_WORDS.findall(text))


def _stands_as_current(stale: str, view: str) -> bool:
    """Return whether an old value occurs without a word before it that marks it as previous."""
    said = words_of(view)
    return any(
        not _WAS.search(said[max(0, match.start() - 30) : match.start()])
        for match in re.finditer(re.escape(words_of(stale)), said)
    )


def _all_in(text: str, view: str) -> bool:
    pieces = re.split(r"(?<=[.!?。！？])\s+|\n+", text)
    return all(flat(piece) in view for piece in pieces)


def measure(
    hosts: Sequence[Conversation],
    shares: Mapping[str, float],
    half: str,
    *,
    way: Way,
    window: int,
    tell: Tell,
) -> dict[str, Noted]:
    """Return all figures of this module by their subject."""
    found = {
        "the rule": rule(half),
        "turns of recordings": flagged(hosts),
        "turns labelled by hand": labelled(hosts),
        "flagged sentences": precision(hosts),
        "ordinary talk": chatter(half),
    }
    for label, share in shares.items():
        for name, attacked in (("constraints", False), ("constraints, attacked", True)):
            found[f"{name}, {label}"] = constraints(
                hosts, share, half, attacked=attacked, tell=tell
            )
        found[f"updates, {label}"] = updates(hosts, share, half, tell=tell)
        found[f"look-alikes, {label}"] = lookalikes(hosts, share, half, tell=tell)
        found[f"next steps, {label}"] = next_steps(hosts, share, half, tell=tell)
    for name, attacked in (
        ("constraints of one session", False),
        ("constraints of one session, attacked", True),
    ):
        found[name] = aged(hosts, half, way, window, attacked=attacked, tell=tell)
    return found

"""Call a method for every probe of every conversation and budget, and count what is left."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any

from attrs import define, field, frozen

from benchmarks.retention.bound import sources_of, view_of
from benchmarks.retention.gates import broken_again, broken_by, lost, written
from benchmarks.retention.methods import Asked, Method, tail_start
from benchmarks.retention.recall import Wanted, answers_of, evidence_kept, needles_of, whole_text
from benchmarks.retention.recordings import AGENTS, Conversation, Message, Probe, request_tokens
from benchmarks.retention.tally import Tally, middle, percentile
from polycontext.polynomial import ContextOverflowError

RECALLS = ("bound", "with record", "long range", "answers", "answers, asked", "evidence, asked")


@define
class Figures:
    """The totals of one method on one set at one budget."""

    recalls: dict[str, Tally] = field(factory=lambda: {name: Tally() for name in RECALLS})
    gates: Counter[str] = field(factory=Counter)
    asked_again: bool = False
    calls: int = 0
    refusals: int = 0
    used: list[float] = field(factory=list)
    room_used: list[float] = field(factory=list)
    seconds: float = 0.0
    errors: Counter[str] = field(factory=Counter)

    def as_data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data, with the 95 % interval of each share."""
        recalls = {
            name: {"share": tally.share, "interval": tally.interval(), "of": tally.of}
            for name, tally in self.recalls.items()
        }
        return {
            "recalls": {name: recall for name, recall in recalls.items() if recall["of"]},
            "gates": dict(self.gates),
            "asked again": self.asked_again,
            "calls": self.calls,
            "refusals": self.refusals / self.calls if self.calls else None,
            "used": _spread(self.used),
            "room used": _spread(self.room_used),
            "ms": 1000 * self.seconds / self.calls if self.calls else None,
            "errors": dict(self.errors),
        }


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    return {
        "median": middle(values),
        "p10": percentile(values, 0.1) if values else None,
        "of": len(values),
    }


@frozen
class Call:
    """One call of a method: a place in a conversation, its probes, and optionally a question."""

    conversation: Conversation
    at: int
    query: str | None
    probes: tuple[Probe, ...]

    @property
    def messages(self) -> Sequence[Message]:
        """Return the messages that the method gets."""
        return self.conversation.messages[: self.at]

    def wanted(self) -> list[Wanted]:
        """Return the things that the probes look for."""
        if self.conversation.set in AGENTS:
            return [each for probe in self.probes for each in needles_of(probe, self.messages)]
        by_word = self.conversation.set == "qmsum"
        return [
            each
            for probe in self.probes
            for each in answers_of(probe, self.messages, by_word=by_word)
        ]


def calls_of(conversation: Conversation, *, asked: bool = True) -> Iterator[Call]:
    """Yield the calls of a conversation: one for all probes of a place, and one per question."""
    places = dict.fromkeys(probe.at for probe in conversation.probes)
    for at in places:
        yield Call(
            conversation, at, None, tuple(probe for probe in conversation.probes if probe.at == at)
        )
    if asked:
        for probe in conversation.probes:
            if probe.question:
                yield Call(conversation, probe.at, probe.question, (probe,))


def measure(
    method: Method,
    conversations: Sequence[Conversation],
    share: float,
    *,
    gates: bool = True,
    asked: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Figures:
    """Return the figures of a method over conversations at a share of their tokens.

    With `gates`, each call is made three times. With `asked`, each question is a call of its own.
    """
    figures = Figures(asked_again=gates)
    for number, conversation in enumerate(conversations):
        tell(f"{conversation.set} {share:.0%}, conversation {number + 1} of {len(conversations)}")
        for call in calls_of(conversation, asked=asked):
            _add(figures, method, call, share, gates=gates)
    return figures


def _add(figures: Figures, method: Method, call: Call, share: float, *, gates: bool) -> None:
    messages = list(call.messages)
    wanted = call.wanted()
    max_tokens = call.conversation.budget(call.at, share)

    def cut(given: Sequence[Message]) -> list[Message]:
        return method(Asked(given, max_tokens, call.query, wanted, call.conversation.id))

    before = written(messages)
    began = process_time()
    view = _view(figures, cut, messages)
    figures.seconds += process_time() - began
    figures.calls += 1
    if view is not None:
        figures.gates.update(broken_by(view, messages, max_tokens))
        if gates:
            figures.gates.update(broken_again(cut, view, messages, before))
        if request_tokens(messages) > max_tokens:
            figures.used.append(request_tokens(view) / max_tokens)
            pinned = call.conversation.pinned_tokens(call.at)
            if not lost(view, messages):
                figures.room_used.append(
                    (request_tokens(view) - pinned) / max(1, max_tokens - pinned)
                )
    _look(
        figures,
        call,
        wanted,
        view or [],
        tail_start(call.conversation.tokens[: call.at], max_tokens),
    )


def _view(
    figures: Figures, cut: Callable[[Sequence[Message]], list[Message]], messages: Sequence[Message]
) -> list[Message] | None:
    try:
        return cut(messages)
    except ContextOverflowError as refusal:
        figures.errors[type(refusal).__name__] += 1
    except Exception as error:  # noqa: BLE001 - every error is counted
        figures.gates["exception"] += 1
        figures.errors[f"{type(error).__name__}: {error}"[:200]] += 1
    figures.refusals += 1
    return None


def _look(
    figures: Figures, call: Call, wanted: Sequence[Wanted], view: Sequence[Message], tail: int
) -> None:
    text, cluster = whole_text(view), call.conversation.id
    found = [each for each in wanted if each.stands_in(text)]
    if call.conversation.set not in AGENTS:
        figures.recalls["answers, asked" if call.query else "answers"].add(
            cluster, len(found), len(wanted)
        )
        if call.query:
            kept, of = evidence_kept(call.probes[0], call.messages, view)
            figures.recalls["evidence, asked"].add(cluster, kept, of)
        return
    figures.recalls["bound"].add(cluster, len(found), len(wanted))
    sources = sources_of(call.messages)
    read = view_of(view, sources)
    figures.recalls["with record"].add(
        cluster, sum(read.binds(each, sources) for each in wanted), len(wanted)
    )
    far = [each for each in wanted if all(place < tail for place in each.places)]
    figures.recalls["long range"].add(cluster, sum(each in found for each in far), len(far))

"""What the compactions of a host took out of its view: older rows compared with what was left."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from polycontext.linearity import constraint_sentences
from polycontext.pressure.notes import identifiers_of

from .transcript import Transcript, texts_in


class LossKind(StrEnum):
    """What a fact is, in the order in which a report tells of it."""

    RULE = "rules"
    DECISION = "decisions"
    COMMAND = "commands"
    PATH = "paths"
    ID = "ids"


@frozen
class Loss:
    """A fact that is no longer in the view, with the line on which it was said first."""

    kind: LossKind
    text: str
    line: int


@frozen
class Losses:
    """What compactions took out of a view.

    Attributes:
        host: the name of the host.
        compactions: how many compactions its file has.
        facts: how many facts of each kind were said.
        gone: those that are no longer in the view, by kind and in the order of the file.
    """

    host: str
    compactions: int
    facts: Mapping[LossKind, int]
    gone: Sequence[Loss] = field(repr=False)

    def as_message(self) -> str:
        """Return what is gone as a message to paste into the session; "" if nothing is gone."""
        lines = list[str]()
        for kind in LossKind:
            told = [each.text for each in self.gone if each.kind is kind]
            if told:
                lines += ["", f"{kind.capitalize()}:", *(f"- {text}" for text in told)]
        head = "Earlier in this session, before it was compacted. It still holds:"
        return "\n".join([head, *lines]) if lines else ""


def losses_of(transcript: Transcript) -> Losses:
    """Return what the compactions of a session took out of its view.

    A rule or a decision is in the view if most of its words stand together there; everything else
    must stand there as it was written. Facts are what the user and the assistant said, and the
    arguments of calls; results can be looked up again. Laws: without a compaction nothing is gone;
    a view to which `as_message` is added has lost nothing.

    >>> from polycontext.transcripts.transcript import Transcript
    >>> said = {"role": "user", "content": [{"type": "text", "text": "Never edit a.py."}]}
    >>> told = Transcript("pi", [said], [2], {}, compactions=1, view=["We fixed the price."])
    >>> [(str(each.kind), each.text) for each in losses_of(told).gone]
    [('rules', 'Never edit a.py.'), ('paths', 'a.py')]
    """
    found = dict[tuple[LossKind, str], int]()
    for message, line in zip(transcript.messages, transcript.lines, strict=True):
        for fact in _facts(message):
            found.setdefault(fact, line)
    view = _View(transcript.view)
    gone = [
        Loss(kind, text, line)
        for (kind, text), line in found.items()
        if transcript.compactions and not view.has(kind, text)
    ]
    order = [*LossKind]
    facts = {kind: sum(each is kind for each, _ in found) for kind in order}
    gone.sort(key=lambda loss: order.index(loss.kind))
    return Losses(transcript.host, transcript.compactions, facts, gone)


_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_SENTENCE = re.compile(r"\n|(?<=[.!?])\s")
_ENOUGH = 0.75
"""The share of a sentence's words by which it is told in other words."""

_NEGATIONS = frozenset({"no", "not", "never", "don't", "don’t", "avoid", "without", "nothing"})

_DECISION = re.compile(
    r"\b(?:decid(?:e|ed|ing)|decision|agreed?|chose|settled? (?:on|for)|go(?:ing)? with"
    r"|instead of|rather than|let['’]s use|we(?:['’]ll| will) use)\b",
    re.IGNORECASE,
)
_COMMANDS = ("command", "cmd", "script")
_LONGEST = 400
"""The most characters of a decision or command; longer texts are pasted or programs."""


class _View:
    """What the model sees."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _plain("\n".join(texts))
        self._names = "\n".join(
            {name.casefold() for each in texts for name in identifiers_of(each)}
        )
        self._sentences: list[set[str]] | None = None
        self._texts = texts

    def has(self, kind: LossKind, text: str) -> bool:
        if kind in (LossKind.PATH, LossKind.ID):
            # A part of a longer name is another name.
            return bool(re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", self._names))
        if _plain(text) in self._text:
            return True
        return kind is not LossKind.COMMAND and self._is_told(text)

    def _is_told(self, text: str) -> bool:
        if self._sentences is None:
            said = (part for each in self._texts for part in _SENTENCE.split(each))
            self._sentences = [_words(part) for part in said]
        wanted = _words(text)
        is_negative, wanted = bool(wanted & _NEGATIONS), wanted - _NEGATIONS
        names = {name.casefold() for name in identifiers_of(text)}
        return any(
            len(wanted & said) >= _ENOUGH * len(wanted)
            and is_negative <= bool(said & _NEGATIONS)
            and all(name in self._names for name in names)
            for said in self._sentences
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _facts(message: Mapping[str, Any]) -> Iterator[tuple[LossKind, str]]:
    """Yield the facts in a message with their kinds."""
    for block in message["content"]:
        if block["type"] == "text":
            text = block["text"]
            if message["role"] != "assistant":
                yield from ((LossKind.RULE, rule) for rule in constraint_sentences(text))
            for sentence in _SENTENCE.split(text):
                if len(sentence) <= _LONGEST and _DECISION.search(sentence):
                    yield LossKind.DECISION, sentence.strip()
            yield from _names(text)
        elif block["type"] == "tool_use":
            command = next(
                (block["input"][name] for name in _COMMANDS if name in block["input"]), ""
            )
            told = command if isinstance(command, str) else " ".join(texts_in(command))
            if told.strip() and len(told) <= _LONGEST:
                yield LossKind.COMMAND, " ".join(told.split())
            yield from _names("\n".join(texts_in(block["input"])))


def _names(text: str) -> Iterator[tuple[LossKind, str]]:
    for name, is_path in identifiers_of(text).items():
        yield (LossKind.PATH if is_path else LossKind.ID), name

"""Whether what is wanted still says what it is: a value with its key and its record, or in its sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from attrs import frozen

from benchmarks.retention.entries import (
    Entry,
    Pair,
    entries_of,
    pairs_of,
    parsed,
    record_of,
    said_pairs,
    spelled,
    values_in,
)
from benchmarks.retention.recall import Wanted, flat
from benchmarks.retention.recordings import Message

SENTENCE_CHARS = 20
"""How many characters of its sentence a value needs: to its left, and where there are fewer, the
rest to its right."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(\[*-])|(?<=[。！？])|\n")


@frozen
class Sources:
    """Hold what the sources say: the pairs of each value, the texts that are no JSON, and every key, record and tool."""

    pairs: Mapping[str, frozenset[Pair]]
    texts: tuple[str, ...]
    keys: frozenset[str]
    records: frozenset[str]
    names: frozenset[str]


@lru_cache(5_000)
def _pairs(text: str, record: str | None) -> tuple[Pair, ...]:
    return tuple(pairs_of(parsed(text), record)) if parsed(text) is not None else ()


def sources_of(messages: Sequence[Message]) -> Sources:
    """Return what a list says."""
    entries = [*entries_of(messages)]
    said = [pair for entry in entries for pair in _pairs(entry.said or entry.text, _asked(entry))]
    found: dict[str, set[Pair]] = {}
    for pair in said:
        if not isinstance(pair.value, dict | list):
            found.setdefault(spelled(pair.value), set()).add(
                pair._replace(value=spelled(pair.value))
            )
    texts = tuple(
        dict.fromkeys(entry.said for entry in entries if entry.said and not _is_json(entry.said))
    )
    records = frozenset(pair.record for pair in said if pair.record)
    names = frozenset(entry.name for entry in entries if entry.name)
    return Sources(
        {value: frozenset(pairs) for value, pairs in found.items()},
        texts,
        frozenset(pair.key for pair in said),
        records,
        names,
    )


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and parsed(text) is not None


def _asked(entry: Entry) -> str | None:
    """Return the record that a result is about.

    Arguments of a call are about nothing but the call.
    """
    return record_of(entry.arguments) if entry.said else None


@lru_cache(50_000)
def in_sentences(needle: str, text: str) -> frozenset[str]:
    """Return each occurrence of `needle` in a text with what stands beside it in its sentence or line.

    >>> sorted(in_sentences("B7", "We wait at gate B7. It is late. B7 opens at nine o'clock."))
    ["B7 opens at nine o'clo", 'We wait at gate B7.']
    """
    found = set[str]()
    for unit in _SENTENCE_END.split(text) if needle in text else ():
        sentence = flat(unit)
        for match in re.finditer(re.escape(needle), sentence):
            left = min(match.start(), SENTENCE_CHARS)
            found.add(sentence[match.start() - left : match.end() + SENTENCE_CHARS - left].strip())
    return frozenset(found)


@frozen
class View:
    """Hold a view, read: the pairs of each value and the flat text of each entry."""

    pairs: Mapping[str, frozenset[Pair]]
    texts: tuple[str, ...]

    def binds(self, wanted: Wanted, sources: Sources) -> bool:
        """Tell whether something wanted stands with its key and record in one entry, or in its sentence."""
        if any(map(self.says, sources.pairs.get(wanted.name, ()))):
            return True
        spellings = {
            spelling for text in sources.texts for spelling in in_sentences(wanted.name, text)
        }
        return any(spelling in text for text in self.texts for spelling in spellings)

    def says(self, source: Pair) -> bool:
        """Tell whether a pair of the sources stands with its key and record.

        What names a record may head it.
        """
        return any(
            (pair.names and source.names)
            or (pair.key == source.key and source.record in (None, pair.record))
            for pair in self.pairs.get(source.value, ())
        )


def view_of(messages: Sequence[Message], sources: Sources) -> View:
    """Return a view, read with the keys, records and tools that its sources know."""
    return read_entries([*entries_of(messages, sources.names)], sources)


def read_entries(entries: Sequence[Entry], sources: Sources) -> View:
    """Return the view that entries make."""
    found: dict[str, set[Pair]] = {}
    for entry in entries:
        for pair in _told(entry, sources):
            found.setdefault(str(pair.value), set()).add(pair)
    return View(
        {value: frozenset(pairs) for value, pairs in found.items()},
        tuple(flat(entry.text) for entry in entries),
    )


def _told(entry: Entry, sources: Sources) -> Iterator[Pair]:
    if not entry.is_gist:
        yield from (
            pair._replace(value=spelled(pair.value))
            for pair in _pairs(entry.said or entry.text, _asked(entry))
            if not isinstance(pair.value, dict | list)
        )
        return
    for pair in said_pairs(entry, sources.keys, sources.records):
        if not isinstance(pair.value, dict | list):
            yield from (pair._replace(value=each) for each in values_in(spelled(pair.value)))

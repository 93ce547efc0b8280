"""The sentences that the classifier of rules learns from, and those that measure it.

A record of the shared data is unseen if the first byte of the SHA-256 of its `source` is odd; of a
recording, or of an item in ``benchmarks/retention/written``, if that of its id is odd. Nothing is
fitted to unseen records. The sentences in ``benchmarks/rules/written`` were written to train with.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from polycontext.linearity.classification.prose import sentences

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
WRITTEN = Path(__file__).with_name("written")
RETENTION = Path(__file__).parents[1] / "retention" / "written"
RECORDINGS = ("qmsum", "bfcl_memory", "tau_airline_gpt4o", "swebench_mini")
NO_RULES = ("preference", "preference_question", "budget_or_limit")
"""The forms of items in ``constraints.jsonl`` that state a wish or a fact."""
LONGEST = 400
_NO_BRACES = str.maketrans("", "", "{}")
MOST_SENTENCES = 40
"""The most sentences of one turn that are learnt from."""


@frozen
class Turn:
    """A text, where it comes from, and whether it states a rule.

    `group` is the source: turns of one source are never split between learning and choosing.
    """

    text: str
    set: str
    group: str
    language: str = "en"
    is_rule: bool = False
    kind: str = ""
    stated: str = ""
    """The part of the text that states the rule; empty if it is all of it."""


def is_unseen(source: str) -> bool:
    """Return whether the records of a source may only be measured."""
    return hashlib.sha256(source.encode()).digest()[0] % 2 == 1


def shared(*, unseen: bool) -> Iterator[Turn]:
    """Yield a half of the shared rules and of the turns without a rule."""
    for record in _lines(DATA / "rules_positive.jsonl"):
        if is_unseen(record["source"]) is unseen:
            yield _turn(record, "rules", is_rule=True, kind=record["kind"])
    for record in _lines(DATA / "rules_negative.jsonl"):
        if is_unseen(record["source"]) is unseen:
            yield _turn(record, "hard" if record["hard"] else "easy", is_rule=False)


def recorded(*, unseen: bool) -> Iterator[Turn]:
    """Yield the user turns of a half of the recordings."""
    for name in RECORDINGS:
        for record in _lines(DATA / f"{name}.jsonl"):
            if is_unseen(record["id"]) is unseen:
                for message in record["messages"]:
                    if message["role"] == "user" and isinstance(message["content"], str):
                        yield Turn(message["content"], name, record["id"])


def written() -> Iterator[Turn]:
    """Yield the sentences that were written to train with.

    A section of a file is a source; a file without sections is divided into ten.
    """
    for path in sorted(WRITTEN.glob("*.txt")):
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# section: "):
                section = line
            elif line[:2] in ("+ ", "~ ", "- ", "& "):
                part = section or str(hashlib.sha256(line.encode()).digest()[0] % 10)
                said, stated = line[2:], ""
                if line[0] == "&":
                    stated = " ".join(re.findall(r"{(.*?)}", said))
                    said = said.translate(_NO_BRACES)
                kind = "prefer" if line[0] == "~" else ""
                is_rule = line[0] != "-"
                yield Turn(said, "written", path.stem + part, path.stem[:2], is_rule, kind, stated)


def noted() -> Iterator[Turn]:
    """Yield the tuning half of what the benchmark of retention inserts into recordings."""
    for item in _lines(RETENTION / "constraints.jsonl"):
        if not is_unseen(item["id"]) and item["form"] not in NO_RULES:
            yield Turn(item["keep"], "noted", item["id"][-1], item["language"], is_rule=True)
    for item in _lines(RETENTION / "ordinary.jsonl"):
        if not is_unseen(item["id"]):
            yield Turn(item["text"], "noted", item["id"][-1], item["language"])
    for item in _lines(RETENTION / "chatter.jsonl"):
        if not is_unseen(item["id"]) and item["role"] == "user":
            yield Turn(item["content"], "noted", item["id"][-1], item["language"])
    for item in _lines(RETENTION / "updates.jsonl"):
        for said in (item.get("old", {}), item.get("new", {})):
            if not is_unseen(item["id"]) and said.get("role") == "user":
                yield Turn(said["content"], "noted", item["id"][-1], item["language"])


def learnt() -> Iterator[Turn]:
    """Yield everything that the classifier learns from, of the meetings a quarter."""
    yield from shared(unseen=False)
    for turn in recorded(unseen=False):
        if turn.set != "qmsum" or hashlib.sha256(turn.text.encode()).digest()[2] % 4 == 0:
            yield turn
    yield from written()
    yield from noted()


def sentences_of(turn: Turn) -> list[str]:
    """Return the sentences of a turn that are learnt from.

    A text with a rule is one or two of them: not each sentence of a longer text states it.
    """
    said = [each for each in sentences(turn.text) if len(each) <= LONGEST][:MOST_SENTENCES]
    return said if not turn.is_rule or len(said) in (1, 2) else [turn.text]


def _turn(record: Mapping[str, Any], name: str, *, is_rule: bool, kind: str = "") -> Turn:
    return Turn(record["text"], name, record["source"], record["lang"], is_rule, kind)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())

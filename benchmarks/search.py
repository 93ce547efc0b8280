"""What a search finds: the share of a question's evidence among the first ten turns.

Plain BM25 over words stands beside `history.search`, and beside that with an embedder if the extra
`semantic` is installed. Questions are split by a hash of their conversation and id; the weights of
neighbours were chosen on the tuned half.
"""

import argparse
import hashlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.retention.methods import bm25_scores
from benchmarks.retention.recall import whole_text
from benchmarks.retention.recordings import DATA, Conversation, load
from polycontext import ContextSession
from polycontext.base import is_installed
from polycontext.models import WordLlamaEmbedder
from polycontext.polynomial.session import Embedder
from polycontext.testing import FAST
from polycontext.window import Turn

FIRST = 10
HALVES = ("tuned", "unseen")
SETS = ("bfcl", "qmsum")

Search = Callable[[str], Sequence[int]]
"""Return the places of the turns that match a text best."""


def plain(texts: Sequence[str]) -> Search:
    """Return a search by BM25 over words alone; of equal matches, the newest comes first."""

    def search(question: str) -> list[int]:
        scores = bm25_scores(question, texts)
        return sorted(range(len(texts)), key=lambda place: (-scores[place], -place))[:FIRST]

    return search


def ours(texts: Sequence[str], embedder: Embedder | None = None) -> Search:
    """Return the search of a session."""
    session = ContextSession(100_000_000, counter=FAST, embedder=embedder)
    session.extend([Turn("user", text or " ") for text in texts])
    places = {turn.resource_id: place for place, turn in enumerate(session.log())}

    def search(question: str) -> list[int]:
        return [places[found.resource_id] for found in session.history.search(question, FIRST)]

    return search


def semantic(texts: Sequence[str]) -> Search:
    """Return the search of a session with an embedder."""
    return ours(texts, WordLlamaEmbedder())


METHODS = {"BM25": plain, "history.search": ours}
if is_installed("wordllama"):
    METHODS["with semantic"] = semantic


def half_of(conversation: str, probe: str) -> str:
    """Return the half of a question."""
    return HALVES[int(hashlib.sha256((conversation + probe).encode()).hexdigest(), 16) % 2]


def shares(
    conversation: Conversation, method: Callable[[Sequence[str]], Search]
) -> Iterator[tuple[str, float]]:
    """Yield, for each question, its half and the share of its evidence that a method finds.

    Of more than ten turns of evidence, ten are all that can be found.
    """
    search = method([whole_text([message]) for message in conversation.messages])
    for probe in conversation.probes:
        if probe.question and probe.evidence:
            found = {*search(probe.question)} & {*probe.evidence}
            half = half_of(conversation.id, probe.id)
            yield half, len(found) / min(FIRST, len(probe.evidence))


def main(arguments: Sequence[str]) -> int:
    """Print a line for each set and half."""
    parser = argparse.ArgumentParser("search", description=__doc__)
    parser.add_argument("--set", choices=SETS, action="append", help="all sets by default")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the recordings")
    asked = parser.parse_args(arguments)
    print(f"{'evidence among the first ten':<32}" + "".join(f"{each:>16}" for each in METHODS))
    for name in asked.set or SETS:
        conversations = load(name, "all", folder=asked.data)
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for called, method in METHODS.items():
            for conversation in conversations:
                for half, share in shares(conversation, method):
                    found[half][called].append(share)
        for half in HALVES:
            rows = found[half]
            title = f"{name}, {half} ({len(rows['BM25'])} questions)"
            print(f"{title:<32}" + "".join(f"{fmean(rows[each]):>16.3f}" for each in METHODS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

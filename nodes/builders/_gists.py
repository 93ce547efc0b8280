"""What stands for the pieces that yield: their short forms, as many as there is room for, or an extract."""

import re
from collections.abc import Sequence

from attrs import field, frozen

from polycontext.nodes._quoting import MARK, quoted
from polycontext.pressure import ExtractiveSummariser, Summariser
from polycontext.window import TokenCounter, Turn

SHORT = "short"
"""The metadata key of a piece's short form."""

_SPEAKER = re.compile(r"^assistant: ", re.MULTILINE)


@frozen
class ShortForms:
    """Summarise pieces by their short forms, the latest first where not all fit; pieces without one by an extract."""

    otherwise: Summariser = field(factory=ExtractiveSummariser)

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return at most `max_tokens` tokens that stand for `turns`."""
        shorts = [str(turn.metadata.get(SHORT, "")) for turn in turns]
        if not all(shorts):
            return _SPEAKER.sub("", self.otherwise.summarise(turns, max_tokens, counter=counter, query=query))
        return _joined(shorts, max_tokens, counter)


def _joined(shorts: Sequence[str], max_tokens: int, counter: TokenCounter) -> str:
    """Return the most of the latest short forms that fits, and how many are not among them."""
    room = max_tokens - counter.count(f"({len(shorts)} more); ")
    kept: list[str] = []
    for short in reversed(shorts):
        room -= counter.count(f"; {short}")
        if room < 0:
            break
        kept.append(short)
    more = [f"({len(shorts) - len(kept)} more)"] if len(kept) < len(shorts) else []
    return "; ".join([*more, *reversed(kept)])


def gist_note(gist: Turn) -> str:
    """Return the text of `gist` as a node reads it: how many entries it stands for, and what is left of them, quoted."""
    _, _, body = gist.text.partition("\n")
    said = "\n".join(line.strip().removeprefix(MARK) for line in body.splitlines())
    return f"[{len(gist.sources)} earlier, cut] {quoted(said)}"

"""Quotes: a summary that a model writes also lists standing instructions, and each counts only where the user said it word for word."""

import re
from collections.abc import Iterable
from typing import Self

from attrs import frozen

from polycontext.linearity.classification import sentences, unquoted
from polycontext.window import Role, Turn

from .gist import attachment_in
from .notes.facts import Fact
from .notes.units import TITLES, Head

LEAST, LONGEST, MOST = 4, 400, 100
"""How many characters a quote has at least and at most, and how many quotes of a summary are looked for."""
TITLE = f"{Head.CONSTRAINTS.value}:"
USER = "user: "
"""How a line under `TITLE` begins that holds the user's own words: a later summary keeps it."""

_MARKUP = re.compile(r"\A(?:[-*•+>]|\d{1,3}[.)])\s+")
_LABELS = re.compile(r"\A(?:(?:\[[^\]\s]{1,80}\] )?user(?: [^:\n]{1,64})?:\s*)+")
_MARKS = " \"'`*“”„«»「」『』‘’"


@frozen
class Quotes:
    """Look for quotes in what was said: each text as prose, and with what it quotes itself blanked out."""

    said: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, turns: Iterable[Turn], facts: Iterable[Fact] = ()) -> Self:
        """Return what looks in the prose of the user's `turns` (no code, nothing pasted, no attachment, no gist), and in the demands among `facts`."""
        texts = [turn.text for turn in turns if turn.role is Role.USER and not turn.is_gist and attachment_in(turn) is None]
        texts += [fact.text for fact in facts if fact.head is Head.CONSTRAINTS]
        prose = (" ".join(" ".join(sentences(text)).split()) for text in texts)
        return cls(tuple((text, unquoted(text)) for text in prose))

    def marked(self, summary: str) -> str:
        r"""Return `summary` with the lines under `TITLE` that quote the user marked as the user's, each once, and no other line there.

        >>> Quotes.of([Turn("user", "Hello! Never  push.")]).marked("Constraints:\n- \"Never push.\"\n- user: Push daily.")
        'Constraints:\nuser: Never push.\nPush daily.'
        """
        lines, under, left = dict[object, str](), "", MOST
        for number, line in enumerate(summary.splitlines()):
            title = line.strip().strip("#*: ") + ":"
            if title in TITLES:
                lines[number] = under = title
            elif under != TITLE:
                lines[number] = line
            elif bare := _LABELS.sub("", _MARKUP.sub("", " ".join(line.split()))):
                quote, left = bare.strip(_MARKS), left - 1
                is_own = left >= 0 and LEAST <= len(quote) <= LONGEST and self._hold(quote)
                lines[quote if is_own else number] = USER + quote if is_own else bare
        return "\n".join(lines.values())

    def _hold(self, quote: str) -> bool:
        for prose, own in self.said:
            start = prose.find(quote)
            if start >= 0 and own[start : start + len(quote)].count("_") * 2 < len(quote) + quote.count("_") * 2:
                return True
        return False

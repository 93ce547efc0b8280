"""Quotes: a summary that a model writes also lists standing instructions, and each counts only where the user said it word for word."""

import re
from collections.abc import Iterable
from typing import Self

from attrs import frozen

from polycontext.linearity.classifying.prose import sentences, unquoted

LEAST, LONGEST, MOST = 4, 400, 100
"""How many characters a quote has at least and at most, and how many quotes of a summary are looked for."""
TITLE = "Constraints:"
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
    def of(cls, texts: Iterable[str]) -> Self:
        """Return what looks in `texts` of the user, without the code, logs and mail pasted into them."""
        prose = (" ".join(" ".join(sentences(text)).split()) for text in texts)
        return cls(tuple((text, unquoted(text)) for text in prose))

    def marked(self, summary: str, titles: Iterable[str]) -> str:
        r"""Return `summary` with the lines under `TITLE` that quote the user marked as the user's, each once, and no other line there.

        >>> Quotes.of(["Hello! Never  push."]).marked("Constraints:\n- \"Never push.\"\n- user: Push daily.", ["Constraints:"])
        'Constraints:\nuser: Never push.\nPush daily.'
        """
        known, lines, under, left = {*titles}, dict[object, str](), "", MOST
        for number, line in enumerate(summary.splitlines()):
            title = line.strip().strip("#*: ") + ":"
            if title in known:
                under = title
            if title in known or under != TITLE:
                lines[number] = title if title in known else line
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

"""Questions about the past: the turns that answer one stay whole."""

import re

from polycontext.window import ContextWindow, Role

_ASKED_BEFORE = re.compile(
    r"\b(?:remind me|(?:do|can|could) you (?:still )?(?:remember|recall)"
    r"|(?:what|which|who|whose|when|where|why|how)\b[^.?!\n]{0,60}?\b(?:(?:did|had|have) (?:i|we"
    r"|you)\b"
    r"|(?:i|we|you) (?:said|say|told|tell|mention(?:ed)?|agreed?|decided?|chose|discuss(?:ed)?)\b"
    r"|(?:was|were)\b)"
    r"|(?:did|have) (?:i|we|you) (?:already |ever )?(?:say|said|tell|told|mention(?:ed)?|agreed?"
    r"|decided?|discuss(?:ed)?)\b"
    r"|(?:earlier|previously|last time|back then|at the (?:start|beginning))\b)",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?\uff1f]|\bremind me\b", re.IGNORECASE)


def asks_about_the_past(text: str) -> bool:
    """Return whether `text` asks in English what was said, done or decided before.

    >>> asks_about_the_past("Which seat did we agree on?"), asks_about_the_past("Can you book it?")
    (True, False)
    """
    return _ASKING.search(text) is not None and _ASKED_BEFORE.search(text) is not None


def asked_by(window: ContextWindow) -> str | None:
    """Return the last user message if the window ends with it and it asks about the past."""
    last = window.peek(window.last)
    if last is None or last.role is not Role.USER:
        return None
    return last.text if asks_about_the_past(last.text) else None

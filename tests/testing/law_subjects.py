"""Objects for the laws, some that obey them and some with one fault each."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen
from statemachine import State

from polycontext.agents import AgentMachine, Form
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextMachine, ContextSession
from polycontext.pressure import ContextProjector
from polycontext.window import ContextWindow, TokenCounter, Turn


class Chatty:
    """Repeat all that it reads, whatever its budget."""

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return what is said."""
        return self.said(turns)

    def said(self, turns: Sequence[Turn]) -> str:
        """Return every word."""
        return " ".join(turn.text for turn in turns)


class Silent(Chatty):
    """Say nothing, which is within any budget."""

    def said(self, turns: Sequence[Turn]) -> str:
        """Return no word."""
        return ""


class Away(Chatty):
    """Stand for a model that cannot be reached."""

    def said(self, turns: Sequence[Turn]) -> str:
        """Fail."""
        raise TimeoutError("the model is away")


def moody(role: str, content: str, metadata: Mapping[str, Any]) -> ResourceClass:
    """Throw dice for the class."""
    return random.choice(list(ResourceClass))  # noqa: S311 - dice, no secrets


class MinusOne:
    """Count words, and one too few."""

    exact = True

    def count(self, text: str) -> int:
        """Return the words of `text` less one."""
        return len(text.split()) - 1


@frozen
class Made:
    """Hold a compressed window."""

    window: ContextWindow


class Losing:
    """Compress by losing the ledger: the window is made anew from its turns."""

    def compress(self, window: ContextWindow, target: float) -> Made:
        """Return a window whose classes are all REQUIRED."""
        result = ContextProjector().compress(window, target)
        made = ContextWindow(window.max_tokens, counter=window.counter)
        for turn in result.window.all_turns():
            made = made.append(turn, ResourceClass.REQUIRED)
        return Made(made)


session = ContextSession(1000)
number = 42


class Demanding:
    """Be nothing that can be made without arguments."""

    def __init__(self, name: str) -> None:
        self.name = name


def short(
    turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None
) -> str:
    """Summarise as a function: the first words, as many as fit."""
    words = " ".join(turn.text for turn in turns).split()
    while words and counter.count(" ".join(words)) > max_tokens:
        del words[len(words) // 2 :]
    return " ".join(words) or "-"


class Paused(ContextMachine):
    """A machine with a state of its own."""

    pause = State("PAUSED", value="PAUSED")
    hold = ContextMachine.accumulating.to(pause)
    go = pause.to(ContextMachine.accumulating)


class Answering(AgentMachine):
    """An agent's machine as it is."""


def _louder(words: str) -> str:
    return f"{words}!"


@frozen
class Shouting(Form):
    """An answer that grows whenever it is read."""

    event = "shouted"

    words: str = field(converter=_louder)

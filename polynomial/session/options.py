"""Options of a session: each is checked once, when it is given, with an error that helps."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from polycontext import window
from polycontext.base import (
    InvalidOptionError,
    UnknownNameError,
    is_whole,
    require,
    whole_number,
)
from polycontext.base.json_data import copy_json
from polycontext.linearity import Classifier, ToolRule, constraint_sentences
from polycontext.pressure import ContextProjector, Threshold
from polycontext.window import TokenCounter
from polycontext.window.providers import Provider, as_provider

from ..errors import ContextOverflowError
from ..machine.context_machine import ContextMachine
from ..stores.session_store import SessionStore

if TYPE_CHECKING:
    from polycontext.pressure import Summariser
    from polycontext.pressure.schedule import Prices, Schedule
    from polycontext.window import ModelProfile

    from .embedding import Embedder

Place = str | Path | SessionStore
"""The place of sessions: the path of a SQLite file, the URL of a store, or a store itself."""
Model: TypeAlias = "int | str | ModelProfile | None"
"""A model by name or profile, or the number of tokens that its window holds."""
Format = Provider | str
"""The format of requests: a provider, or its name."""
Auto = Literal["background"] | bool
Clock = Callable[[], datetime]

_SURROGATE = re.compile("[\ud800-\udfff]")

_NUMBER = re.compile(r"\s*[\d_.,]+\s*[kKmM]?\s*")
"""A number of tokens that is given as a text, which is not the name of a model."""

NAME = "a text that is not empty and encodes as UTF-8"


def is_name(value: object) -> bool:
    """Return whether `value` can be the id of a session or the name of a document."""
    return isinstance(value, str) and value != "" and not _SURROGATE.search(value)


def is_list(value: object) -> bool:
    """Return whether `value` is a sequence, but no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


class SessionOptions(TypedDict, total=False):
    """Keyword options of every session, however it is created; see `ContextSession`."""

    max_tokens: int | None
    auto: Auto
    reserve: int | None
    tools: Sequence[Mapping[str, Any]] | None
    projector: ContextProjector | None
    summariser: "Summariser | None"
    summarizer: "Summariser | None"
    threshold: Threshold | float | None
    cooldown: int
    counter: TokenCounter | None
    classifier: Classifier
    preserved_share: float
    rules: Sequence[ToolRule]
    clock: Clock
    listeners: Sequence[object]
    prices: "Prices | None"
    schedule: "Schedule | None"
    machine: type[ContextMachine]
    embedder: "Embedder | None"


class NewOptions(SessionOptions, total=False):
    """Additional options of a new session."""

    store: Place | None
    session_id: str


class OpenOptions(SessionOptions, total=False):
    """Additional options of a session that is opened."""

    provider: Provider | str | None


class Room(NamedTuple):
    """The budget of requests, what takes tokens of it before any turn, and how it is counted."""

    max_tokens: int
    reserve: int
    counter: TokenCounter
    provider: Provider
    model: str | None
    tools: tuple[Mapping[str, Any], ...]
    tool_tokens: int

    @property
    def overhead(self) -> int:
        """Return the tokens that are subtracted from the window before it holds any turn."""
        return self.reserve + self.tool_tokens


def room_of(
    model: Model,
    max_tokens: int | None,
    reserve: int | None,
    counter: TokenCounter | None,
    *,
    provider: Provider | str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = (),
) -> Room:
    """Return the room of a model or a number of tokens; explicit arguments override the profile.

    Raises:
        InvalidOptionError: an option is out of range, or nothing gives the budget.
        UnknownNameError: the provider is unknown, or the model is and there is no `max_tokens`.
    """
    profile = _profile(model, is_needed=max_tokens is None)
    name, counting = None if profile is None else profile.name, None
    if profile is not None:
        max_tokens = profile.window if max_tokens is None else max_tokens
        provider = profile.provider if provider is None else provider
    elif isinstance(model, str):
        from polycontext.window.model_profiles import unlisted_counter  # noqa: PLC0415 - rare

        name, counting = model, unlisted_counter(model)
        provider = provider or counting.profile.provider
    elif model is not None:
        legal = "one number of tokens; the first argument gave one"
        require("max_tokens", max_tokens, max_tokens is None, legal)
        max_tokens = model  # type: ignore[assignment]  # checked below
    legal = 'a whole number of tokens, such as 8000, or name a model, such as "gpt-5"'
    require("max_tokens", max_tokens, max_tokens is not None, legal)
    budget = whole_number("max_tokens", max_tokens, 1)
    if reserve is None:
        reserve = 0 if profile is None else profile.reserve(budget)
    if counter is not None:
        check_counter(counter)
    elif profile is not None:
        counter = profile.counter()
    else:
        counter = counting or window.default_counter()
    checked = check_tools(tools)
    return Room(
        budget,
        whole_number("reserve", reserve, 0),
        counter,
        as_provider(provider or Provider.OPENAI),
        name,
        checked,
        window.count_tools(counter, checked),
    )


def check_room(room: Room) -> None:
    """Raise `ContextOverflowError` if reserve and tools leave no room for turns."""
    if room.overhead >= room.max_tokens:
        raise ContextOverflowError(
            room.overhead,
            room.max_tokens,
            f"the reserve ({room.reserve:,}) with the tools ({room.tool_tokens:,})",
            advice="Lower reserve, pass fewer tools, or raise max_tokens.",
        )


def _profile(model: object, *, is_needed: bool = True) -> "ModelProfile | None":
    """Return a model's profile, or None for a number or, unless `is_needed`, an unknown name."""
    if model is None or isinstance(model, int | float):
        return None
    legal = 'a whole number of tokens, at least 1, or the name of a model, such as "gpt-5"'
    is_text = isinstance(model, str) and _NUMBER.fullmatch(model) is not None
    require("max_tokens", model, not is_text, legal)
    require(
        "model", model, isinstance(model, str | window.ModelProfile), f"{legal}, or a ModelProfile"
    )
    try:
        return window.find_model(model)  # type: ignore[arg-type]  # checked above
    except UnknownNameError:
        if is_needed or not str(model).strip():
            raise
        return None


def check_counter(counter: object) -> None:
    """Call `counter.count` once, and raise `InvalidOptionError` if it does not count tokens."""
    legal = 'an object with count(text) -> tokens, for example TiktokenCounter("o200k_base")'
    if isinstance(counter, type):
        legal += f"; this is a class, so write {counter.__name__}(...)"
        raise InvalidOptionError("counter", counter, legal)
    count: Any = getattr(counter, "count", None)
    require(
        "counter", counter, callable(count) and not isinstance(counter, str | list | tuple), legal
    )
    try:
        tokens: Any = count("one two")
    except Exception as error:
        raise InvalidOptionError(
            "counter", counter, f"{legal}; this one raised {type(error).__name__}: {error}"
        ) from error
    require(
        "counter",
        counter,
        is_whole(tokens) and tokens >= 0,
        f"{legal}; this one counted {tokens!r} tokens",
    )


def check_tools(tools: Any) -> tuple[Mapping[str, Any], ...]:
    """Return tool definitions as a tuple, empty for None.

    Raise `InvalidOptionError` unless it is a list of them, `InvalidDataError` if one is not JSON.
    """
    if tools is None:
        return ()
    legal = (
        "a list of tools such as "
        '[{"type": "function", "function": {"name": "search", "parameters": {}}}]'
    )
    require("tools", tools, is_list(tools), legal)
    for index, tool in enumerate(tools):
        # Definitions have a name or a type, or something nested, as those of Google do.
        is_tool = isinstance(tool, Mapping) and (
            not tool.keys().isdisjoint(("type", "name"))
            or any(isinstance(value, list | Mapping) for value in tool.values())
        )
        require(f"tools[{index}]", tool, is_tool, legal)
        copy_json(tool, f"tools[{index}]")
    return tuple(tools)


def check_rules(rules: Any) -> tuple[ToolRule, ...]:
    """Return `rules`; raise `InvalidOptionError` if it is not a list of rules."""
    legal = (
        'a list of rules about tools, such as [keep_last("read_file", per="path")]; for a '
        "standing instruction, session.rules.add(text)"
    )
    require("rules", rules, isinstance(rules, list | tuple), legal)
    for index, rule in enumerate(rules):
        require(f"rules[{index}]", rule, isinstance(rule, ToolRule), legal)
    return tuple(rules)


def load_ahead(counter: TokenCounter) -> None:
    """Load the vocabulary and phrase tables that the first turns need, off the main thread."""
    if is_in_loop():
        asyncio.get_running_loop().run_in_executor(None, _loaded, counter)
    elif current_thread() is not main_thread():
        _loaded(counter)


def _loaded(counter: TokenCounter) -> None:
    constraint_sentences("Please always answer in English.")
    with suppress(Exception):
        getattr(counter, "exact", None)  # loads the vocabulary; if it fails, the first turn raises


def is_in_loop() -> bool:
    """Return whether an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

"""The settings of a saved session, and the reader of sessions saved as one document.

Loading replays the journal, so no model, classifier or clock is called. Objects that cannot be
serialised (your own summariser, classifier or counter) and the marks of the threshold must be
passed again.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

from attrs import field, fields, frozen

from polycontext.base import InvalidDataError, PolycontextError, UnknownNameError
from polycontext.base.codec import structured
from polycontext.pressure import ContextProjector, Reach, Signals
from polycontext.pressure.threshold import NO_SIGNALS
from polycontext.window import ContextWindow, TiktokenCounter, TokenCounter, find_model
from polycontext.window.model_profiles import UNLISTED, ModelCounter
from polycontext.window.providers import Provider
from polycontext.window.tokens import SHA256

from ..machine.step import ContextPolicy
from ..state import ContextState
from .events import Event
from .rows import CONVERTER
from .source_ranges import with_sources

SCHEMA = 4
CUSTOM = "custom"


@frozen
class Settings:
    """The settings of a session as plain data.

    `taken` is how many of the `max_tokens` are reserved for the reply, the tools and the rest of
    the request.
    """

    max_tokens: int
    taken: int
    auto: bool
    cooldown: int
    preserved_share: float
    counter: str
    reach: Reach
    signals: Signals = NO_SIGNALS
    provider: str = Provider.OPENAI
    background: bool = False

    @classmethod
    def of(
        cls,
        window: ContextWindow,
        policy: ContextPolicy,
        *,
        taken: int,
        provider: Provider = Provider.OPENAI,
    ) -> Self:
        """Return the settings of a session."""
        return cls(
            window.max_tokens + taken,
            taken,
            policy.auto,
            policy.cooldown,
            window.preserved_share,
            _counter_name(window.counter),
            policy.projector.reach,
            policy.signals,
            str(provider),
            policy.background,
        )

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments that create the session again, except the counter."""
        return {
            "max_tokens": self.max_tokens,
            "auto": "background" if self.background else self.auto,
            "reserve": self.taken,
            "projector": ContextProjector(reach=self.reach),
            "cooldown": self.cooldown,
            "preserved_share": self.preserved_share,
            "provider": self.provider,
        }

    def loaded_counter(self) -> TokenCounter:
        """Return the saved counter.

        Raise `InvalidDataError` if it was the caller's own, or that of an unknown model.
        """
        if self.counter == CUSTOM:
            raise InvalidDataError(
                "settings.counter", "a counter of the caller's own", "the same counter= again"
            )
        if self.counter in SHA256:
            return TiktokenCounter(self.counter)
        try:
            return find_model(UNLISTED.get(self.counter, self.counter)).counter()
        except UnknownNameError as error:
            raise InvalidDataError(
                "settings.counter",
                str(error),
                "register_model first, or counter= again",
            ) from None

    @contextmanager
    def checked(self) -> Generator[None]:
        """Raise `InvalidDataError` for errors about a setting that was read."""
        try:
            yield
        except InvalidDataError:
            raise
        except PolycontextError as error:
            raise InvalidDataError(
                "settings", f"{type(error).__name__}: {error}", "the settings of a session"
            ) from None


def read_document(data: dict[str, Any]) -> tuple[Settings, list[Event], dict[str, str]]:
    """Read a session saved as one document of any schema: settings, journal and companions.

    Raises:
        InvalidDataError: names the path of the first fault.
    """
    for schema, upgrade in enumerate((_of_schema_1, _of_schema_2, _of_schema_3), 1):
        if data.get("schema") == schema:
            data = upgrade(data)
    if data.get("schema") != SCHEMA:
        raise InvalidDataError(
            "$.schema", f"schema {data.get('schema')!r} is unknown", f"1 to {SCHEMA}"
        )
    # Older documents contain the marks. They are ignored: the session uses the current or given
    # ones.
    saved = structured(
        CONVERTER,
        {name: value for name, value in data.items() if name != "threshold"},
        _Document,
        legal="a saved session",
    )
    settings = {each.name: getattr(saved, each.name) for each in fields(Settings)}
    return Settings(**settings), list(with_sources(saved.events)), saved.companions


@frozen(kw_only=True)
class _Document(Settings):
    schema: int
    events: list[Event]
    companions: dict[str, str] = field(factory=dict)


def _counter_name(counter: TokenCounter) -> str:
    """Return the name under which a counter is found again: its encoding or its model."""
    if type(counter) is TiktokenCounter:
        return counter.encoding
    return counter.profile.name if type(counter) is ModelCounter else CUSTOM


def _of_schema_1(data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a document from schema 1 to 2.

    The engine is removed, since it is not part of a session. Promotions in EMPTY are moved, since
    schema 2 does not allow them there.
    """
    if data.get("engine") not in ("machine", "table"):
        raise InvalidDataError("$.engine", f"engine {data.get('engine')!r}", "machine, table")
    events = data.get("events")
    moved = _move_promotions(events) if isinstance(events, list) else events
    kept = {name: value for name, value in data.items() if name != "engine"}
    return {**kept, "schema": 2, "events": moved}


def _of_schema_2(data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a document from schema 2 to 3, which represents the parts of turns differently."""
    return {**upgraded(data), "schema": 3}


def _of_schema_3(data: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a document from schema 3 to 4, which has no `gist_share` and `fan_in`."""
    reach = data.get("reach")
    if isinstance(reach, dict):
        data = {
            **data,
            "reach": {
                name: value for name, value in reach.items() if name not in ("gist_share", "fan_in")
            },
        }
    return {**data, "schema": 4}


def _move_promotions(events: list[Any]) -> list[Any]:
    """Move promotions in EMPTY before the clear that led there; the ledger stays the same."""
    moved: list[Any] = []
    for event in events:
        kind, state = (
            (event.get("event"), event.get("state")) if isinstance(event, dict) else (None, None)
        )
        place = len(moved)
        if kind == "PromoteEvent" and state == ContextState.EMPTY:
            place = next(
                (i for i in range(len(moved) - 1, 0, -1) if moved[i].get("event") == "ClearEvent"),
                len(moved),
            )
        moved.insert(
            place, event if place == len(moved) else {**event, "state": moved[place - 1]["state"]}
        )
    return moved


# --- turns of schema 2 -----------------------------------------------------------------

Data = dict[str, Any]
_MOVED = ("openai", "custom_calls", "wire_role")


def upgraded(value: Any) -> Any:
    """Return JSON data with every turn of schema 2 converted to schema 3.

    >>> upgraded(
    ...     {"role": "system", "content": "Be brief.", "metadata": {"wire_role": "developer"}}
    ... )["parts"]
    [{'provider': 'openai', 'data': '{"role":"developer"}', 'kind': 'message'}]
    """
    if isinstance(value, list):
        return [upgraded(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "role" in value and "content" in value:
        return _turn(value)
    return {name: upgraded(inner) for name, inner in value.items()}


def _turn(turn: Data) -> Data:
    metadata, parts = turn.get("metadata"), turn.get("parts")
    kept = dict(turn)
    ordered = (
        _order_parts(parts, turn["content"])
        if isinstance(parts, list) and _are_objects(parts)
        else []
    )
    if isinstance(metadata, dict) and metadata.keys() & set(_MOVED):
        kept["metadata"] = {name: inner for name, inner in metadata.items() if name not in _MOVED}
        ordered = [*_message(turn, metadata), *ordered, *_custom_calls(turn, metadata)]
    # Invalid parts are kept, so that the codec rejects them.
    return {**kept, "parts": ordered} if ordered else kept


def _are_objects(parts: list[Any]) -> bool:
    return all(isinstance(part, dict) for part in parts)


def _order_parts(parts: list[Data], content: object) -> list[Data]:
    blocks = [
        {name: inner for name, inner in part.items() if name != "before_text"} for part in parts
    ]
    before = [
        block for block, part in zip(blocks, parts, strict=True) if part.get("before_text", True)
    ]
    behind = [
        block
        for block, part in zip(blocks, parts, strict=True)
        if not part.get("before_text", True)
    ]
    if not behind or not isinstance(content, str):
        return before + behind
    words = [
        _part("words", {}, provider=name) | {"stop": len(content)}
        for name in {part.get("provider"): None for part in behind}
    ]
    return before + words + behind


def _message(turn: Data, metadata: Data) -> list[Data]:
    fields = metadata.get("openai")
    further: Data = dict(fields) if isinstance(fields, dict) else {}
    if metadata.get("wire_role") == "developer" and turn["role"] == "system":
        further["role"] = "developer"
    # Without content, the refusal was read as the text.
    if "refusal" in further and further["refusal"] == turn["content"]:
        further |= {"content": None, "refusal": ""}
    return [_part("message", further)] if further else []


def _custom_calls(turn: Data, metadata: Data) -> list[Data]:
    ids, calls = metadata.get("custom_calls"), turn.get("tool_calls")
    if not isinstance(ids, list) or not isinstance(calls, list) or not _are_objects(calls):
        return []
    numbers = [number for number, call in enumerate(calls) if call.get("id") in ids]
    return [_part("call", {"type": "custom"}) | {"start": number} for number in numbers]


def _part(kind: str, data: Data, *, provider: object = "openai") -> Data:
    return {
        "provider": provider,
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")),
        "kind": kind,
    }

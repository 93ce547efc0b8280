"""The memory of the closed exchanges, with its archive, its theme and its strict JSON form.

See docs/nodes.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import orjson
from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.base import InvalidDataError, UnknownNameError
from polycontext.base.codec import json_object, strict_converter, structured
from polycontext.base.json_data import freeze, thaw
from polycontext.polynomial import ContextSession, Event
from polycontext.polynomial.journal import ClearEvent, TurnEvent, standing
from polycontext.pressure import ContextProjector
from polycontext.window import Role, TokenCounter, Turn

from ..checks import are_texts, check_instance, is_a, is_text, texts, whole_from
from ..condensation import condense
from ..entities import SessionIdRegistry
from ..history import ANSWER_TOKENS, ConversationTurn, Exchange, PendingState, exchanges
from ..prompt_text import one_line
from ..reasoning import TurnCuration, TurnExecutionSummary
from .digest import Digest

SCHEMA = 1


class Storable:
    """A mixin that stores a memory record as JSON.

    Laws: ``from_data(r.to_data()) == r``, ``from_json(r.to_json()) == r``.
    """

    __slots__ = ()

    def to_data(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with a schema version.

        The data contain entity ids: store them, but never put them in a prompt.
        """
        return {"schema": SCHEMA, **_CONVERTER.unstructure(self)}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Restore a record from the data that `to_data` returned.

        Raises:
            InvalidDataError: Another schema, or a wrong, missing or unknown field. The error names
                the path of the first fault.
        """
        legal = f"what {cls.__name__}.to_data returned"
        if not isinstance(data, Mapping):
            raise InvalidDataError("$", f"{type(data).__name__} is not an object", legal)
        fields = dict(data)
        schema = fields.pop("schema", None)
        # True == 1, so compare the types as well.
        if type(schema) is not int or schema != SCHEMA:
            raise InvalidDataError("$.schema", f"schema {schema!r:.60} is unknown", str(SCHEMA))
        return structured(_CONVERTER, fields, cls, legal=legal)

    def to_json(self) -> str:
        """Return the record as JSON text; equal records give equal texts."""
        return orjson.dumps(self.to_data()).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Restore a record from the text that `to_json` returned.

        Raise `InvalidDataError` as `from_data` does, and for text that is not a JSON object.
        """
        return cls.from_data(json_object(text, legal=f"what {cls.__name__}.to_json returned"))


def _registry(value: object, _: object) -> SessionIdRegistry:
    try:
        return SessionIdRegistry.from_dict(value)
    except InvalidDataError as error:
        # The registry is the root of its own document, but a field of this one.
        raise InvalidDataError(
            error.path.removeprefix("$").removeprefix("."), error.what, error.legal
        ) from None


_CONVERTER = strict_converter(complete=True)
_CONVERTER.register_structure_hook(SessionIdRegistry, _registry)
_CONVERTER.register_unstructure_hook(SessionIdRegistry, SessionIdRegistry.to_dict)


RECENT_TURNS = 5
USER_TOKENS = 300
"""The most tokens of the user's text in a closed exchange."""


def _content(value: Any) -> Any:
    return freeze(value, "content")


@frozen
class ArchivedContent:
    """An archived piece of immutable JSON data with its key: a ref, or ``turn_4_step_1``."""

    key: str = field(validator=is_text)
    content: Any = field(converter=_content, hash=False)

    @cached_property
    def size(self) -> int:
        """Return the size of the content in bytes of JSON."""
        return len(orjson.dumps(self.content, default=thaw))


@frozen
class ContentArchive(Mapping[str, Any]):
    """A mapping of keys to content, oldest first, bounded in number and in bytes of JSON.

    The oldest content is evicted when there is no room. Content too large for the whole archive is
    not stored; the session's log still has it.

    >>> archive = (
    ...     ContentArchive(limit=2).put("gen_recipe_1", {"name": "Soup"}).put("a", 1).put("b", 2)
    ... )
    >>> dict(archive)
    {'a': 1, 'b': 2}
    """

    limit: int = field(default=50, validator=whole_from(1))
    max_bytes: int = field(default=100_000, validator=whole_from(1))
    entries: tuple[ArchivedContent, ...] = field(default=(), converter=tuple[ArchivedContent, ...])

    def __attrs_post_init__(self) -> None:
        if len({entry.key for entry in self.entries}) < len(self.entries):
            raise InvalidDataError("entries", "a key stands there twice", "every key once")

    def put(self, key: str, content: Any) -> "ContentArchive":
        """Return the archive with `content` as its newest entry, replacing one of the same key.

        Raises:
            InvalidDataError: The content is not JSON data, or the key cannot be stored.
        """
        entry = ArchivedContent(key, content)
        # Content that is too large still removes its older version: a stale result is worse than
        # none.
        others = [old for old in self.entries if old.key != key]
        if entry.size > self.max_bytes:
            return evolve(self, entries=others)
        newest = [entry, *reversed(others)][: self.limit]
        fit = sum(size <= self.max_bytes for size in accumulate(held.size for held in newest))
        return evolve(self, entries=reversed(newest[:fit]))

    def __getitem__(self, key: str) -> Any:
        return {entry.key: entry.content for entry in self.entries}[key]

    def __iter__(self) -> Iterator[str]:
        return (entry.key for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)


MAX_GOALS = 3
MAX_EXPRESSED = 5
ITEM_TOKENS = 30
"""The most tokens of one goal, or of one thing that the user expressed."""
STATED_TOKENS = 120


@frozen
class Engagement:
    """The last goals of a conversation and what the user expressed, each oldest first.

    `stated` is a summary in other words, such as a model's. It replaces the derived summary until
    the next exchange is closed.

    >>> summary = TurnExecutionSummary(
    ...     1, "plan_direct", "Find a soup", user_expressed="wants quick meals"
    ... )
    >>> Engagement().after(summary).text
    'Goals: Find a soup. The user: wants quick meals.'
    """

    goals: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    expressed: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    stated: str = field(default="", validator=is_text)

    def after(
        self,
        summary: TurnExecutionSummary,
        stated: str = "",
        *,
        counter: TokenCounter | None = None,
    ) -> "Engagement":
        """Return the engagement after a closed exchange; a repeated item moves to the end."""
        goal, expressed = (
            condense(one_line(text), ITEM_TOKENS, counter=counter)
            for text in (summary.think_goal, summary.user_expressed)
        )
        return Engagement(
            _append_unique(self.goals, goal)[-MAX_GOALS:],
            _append_unique(self.expressed, expressed)[-MAX_EXPRESSED:],
            condense(stated, STATED_TOKENS, counter=counter),
        )

    @property
    def text(self) -> str:
        """Return the summary as one line, or an empty text before anything is known."""
        parts = (("Goals", "; ".join(self.goals)), ("The user", "; ".join(self.expressed)))
        return self.stated or " ".join(f"{label}: {said}." for label, said in parts if said)


def _append_unique(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return (*(other for other in items if other != item), item) if item else items


@frozen
class ConversationContext(Storable):
    """The memory of the closed exchanges of one conversation; immutable.

    Its size does not grow with the conversation, except for entities that are never dropped.

    `recent_turns` are the last five exchanges, and `history` is the digest of the earlier ones.
    `turn_summaries` cover the last two exchanges, and `reasoning` is the digest of the earlier
    ones. `closed_id` is the resource id of the last user turn that was closed. `close_turn`
    maintains all of these.

    >>> conversation = ConversationContext()
    >>> conversation.next_turn_num, conversation.history_summary
    (1, '')
    >>> ConversationContext.from_json(conversation.to_json()) == conversation
    True
    """

    recent_turns: tuple[ConversationTurn, ...] = field(default=(), validator=is_a(tuple))
    history: Digest = field(factory=Digest)
    engagement: Engagement = field(factory=Engagement)
    pending: PendingState | None = field(default=None, validator=optional(is_a(PendingState)))
    id_registry: SessionIdRegistry = field(
        factory=SessionIdRegistry, validator=is_a(SessionIdRegistry)
    )
    turn_summaries: tuple[TurnExecutionSummary, ...] = field(default=(), validator=is_a(tuple))
    reasoning: Digest = field(factory=lambda: Digest(bound=400))
    content_archive: ContentArchive = field(factory=ContentArchive)
    understand_decision_log: tuple[TurnCuration, ...] = field(default=(), validator=is_a(tuple))
    closed_id: str = field(default="", validator=is_text)

    @classmethod
    def from_session(
        cls, session: ContextSession, *, projector: ContextProjector | None = None
    ) -> "ConversationContext":
        """Return the memory of an existing session, as if each answered exchange had been closed.

        Only exchanges since the last clear count. A session's journal does not record what nodes
        decided and did, so steps, goals, entities and results begin with the next exchange.
        `projector` compresses the digest. The cost grows with the journal.

        Raises:
            InvalidDataError: `session` is not a `ContextSession`.
        """
        check_instance(session, ContextSession, "session")
        conversation = cls()
        answered = [
            found for found in exchanges(_since_clear(session.history.events())) if found.answer
        ]
        for found in answered:
            conversation = conversation.after(
                found, counter=session.window.counter, projector=projector
            )
        summaries = [TurnExecutionSummary(len(answered))] if answered else []
        return evolve(conversation, turn_summaries=tuple(summaries))

    def after(
        self,
        exchange: Exchange,
        *,
        routing: Mapping[str, Any] | None = None,
        counter: TokenCounter | None = None,
        projector: ContextProjector | None = None,
        digests: bool = True,
    ) -> "ConversationContext":
        """Return the memory after `exchange`, condensed as the newest of the recent ones.

        The oldest recent exchange moves to the digest, unless `digests` is false. `close_turn` also
        remembers what was done.
        """
        closed = ConversationTurn(
            user=condense(exchange.user, USER_TOKENS, role=Role.USER, counter=counter),
            assistant_summary=condense(exchange.answer, ANSWER_TOKENS, counter=counter),
            routing=routing,
            timestamp=exchange.timestamp,
        )
        turns = (*self.recent_turns, closed)
        left = [turn.lines for turn in turns[:-RECENT_TURNS] if turn.lines and digests]
        return evolve(
            self,
            recent_turns=turns[-RECENT_TURNS:],
            history=self.history.add_all(left, counter=counter, projector=projector),
            closed_id=exchange.last_id,  # the next exchange is found after it
        )

    @property
    def history_summary(self) -> str:
        """Return the digest of the exchanges before the recent ones."""
        return self.history.text

    @property
    def reasoning_summary(self) -> str:
        """Return the digest of the reasoning before the last exchanges."""
        return self.reasoning.text

    @property
    def engagement_summary(self) -> str:
        """Return the theme of the whole conversation."""
        return self.engagement.text

    @property
    def closed_at(self) -> str:
        """Return when the last closed exchange began, or an empty text before the first."""
        return self.recent_turns[-1].timestamp if self.recent_turns else ""

    @property
    def next_turn_num(self) -> int:
        """Return the number of the next exchange, which is 1 for the first."""
        return self.turn_summaries[-1].turn_num + 1 if self.turn_summaries else 1

    def with_registry(self, registry: SessionIdRegistry) -> "ConversationContext":
        """Return a copy with this registry of entities."""
        return evolve(self, id_registry=registry)

    def archive(self, key: str, content: Any) -> "ConversationContext":
        """Return a copy with `content`, JSON data, archived under `key`.

        Raises:
            InvalidDataError: The content is not JSON data, or the key cannot be stored.
        """
        return evolve(self, content_archive=self.content_archive.put(key, content))

    def retrieve(self, key: str, type: str = "") -> Any:
        """Return the content archived under `key`, with known ids replaced by refs.

        Give the `type` of the content's entities to replace their short ids as well (see
        `SessionIdRegistry.hide_ids`).

        Raises:
            UnknownNameError: Nothing is archived under `key` any more or yet; the error lists
                similar keys.

        >>> memory = ConversationContext().archive("turn_1_step_1", [{"name": "Miso soup"}])
        >>> memory.retrieve("turn_1_step_1")
        [{'name': 'Miso soup'}]
        """
        if key not in self.content_archive:
            raise UnknownNameError(
                "archived content",
                str(key),
                near=tuple(get_close_matches(str(key), self.content_archive)),
            )
        return self.id_registry.hide_ids(self.content_archive[key], type)


def _since_clear(events: Iterable[Event]) -> Iterable[Turn]:
    turns: list[Turn] = []
    for _, event in standing(events):
        if isinstance(event, ClearEvent):
            turns.clear()
        elif isinstance(event, TurnEvent):
            turns.append(event.turn)
    return turns

"""What is remembered of the closed exchanges: ``ConversationContext``, its archive, its theme, and its strict JSON form (docs/nodes.md)."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import accumulate
from typing import Any, Self

import orjson
from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.linearity import InvalidDataError, UnknownNameError
from polycontext.linearity.codec import json_object, strict_converter, structured
from polycontext.linearity.json_data import freeze, thaw
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
    """Give a record of the memory its written forms.

    Laws: ``from_data(r.to_data()) == r``, ``from_json(r.to_json()) == r``.
    """

    __slots__ = ()

    def to_data(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with a schema version.

        Ids of entities are in them: for a store, never for a prompt.
        """
        return {"schema": SCHEMA, **_CONVERTER.unstructure(self)}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Restore what `to_data` returned.

        Raises:
            InvalidDataError: another schema, or a wrong, missing or unknown field; names the path
                of the first fault.
        """
        legal = f"what {cls.__name__}.to_data returned"
        if not isinstance(data, Mapping):
            raise InvalidDataError("$", f"{type(data).__name__} is no object", legal)
        fields = dict(data)
        schema = fields.pop("schema", None)
        # True == 1: the types have to be the same as well.
        if type(schema) is not int or schema != SCHEMA:
            raise InvalidDataError("$.schema", f"schema {schema!r:.60} is unknown", str(SCHEMA))
        return structured(_CONVERTER, fields, cls, legal=legal)

    def to_json(self) -> str:
        """Return the record as JSON text, which is the same for equal records."""
        return orjson.dumps(self.to_data()).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Restore what `to_json` returned.

        Raise `InvalidDataError` as `from_data`, and for what is no JSON object.
        """
        return cls.from_data(json_object(text, legal=f"what {cls.__name__}.to_json returned"))


def _registry(value: object, _: object) -> SessionIdRegistry:
    try:
        return SessionIdRegistry.from_dict(value)
    except InvalidDataError as error:
        # The registry is the root of its own document, here it is a field.
        raise InvalidDataError(
            error.path.removeprefix("$").removeprefix("."), error.what, error.legal
        ) from None


_CONVERTER = strict_converter(complete=True)
_CONVERTER.register_structure_hook(SessionIdRegistry, _registry)
_CONVERTER.register_unstructure_hook(SessionIdRegistry, SessionIdRegistry.to_dict)


RECENT_TURNS = 5
USER_TOKENS = 300
"""How many tokens of what the user said stay in a closed exchange."""


def _content(value: Any) -> Any:
    return freeze(value, "content")


@frozen
class ArchivedContent:
    """Hold one piece of content, immutable JSON data, under its key: a ref, or ``turn_4_step_1``."""

    key: str = field(validator=is_text)
    content: Any = field(converter=_content, hash=False)

    @property
    def size(self) -> int:
        """Return how many bytes the content takes as JSON."""
        return len(orjson.dumps(self.content, default=thaw))


@frozen
class ContentArchive(Mapping[str, Any]):
    """Map keys to content, oldest first, bounded in number and in bytes of JSON.

    What does not fit any more leaves, oldest first; content too large for the whole
    archive is not taken. The log of the session keeps what was said about it.

    >>> archive = ContentArchive(limit=2).put("gen_recipe_1", {"name": "Soup"}).put("a", 1).put("b", 2)
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
        """Return the archive with `content` as its newest.

        An older one of the same key is replaced.

        Raises:
            InvalidDataError: content that is no JSON data, a key that cannot be stored.
        """
        entry = ArchivedContent(key, content)
        # What is too large replaces its older version all the same: a stale result is worse than
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
"""How many tokens one goal, or one thing that the user expressed, may take."""
STATED_TOKENS = 120


@frozen
class Engagement:
    """Hold a conversation's last goals and what the user expressed; each oldest first.

    `stated` is a summary in somebody's own words, such as a model's; it stands in
    place of the derived one until the next exchange is closed.

    >>> summary = TurnExecutionSummary(1, "plan_direct", "Find a soup", user_expressed="wants quick meals")
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
        """Return the engagement after a closed exchange.

        What is repeated moves to the end instead of standing twice.
        """
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
        """Return the summary as one line; empty before anything is known."""
        parts = (("Goals", "; ".join(self.goals)), ("The user", "; ".join(self.expressed)))
        return self.stated or " ".join(f"{label}: {said}." for label, said in parts if said)


def _append_unique(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return (*(other for other in items if other != item), item) if item else items


@frozen
class ConversationContext(Storable):
    """Hold what is remembered of the closed exchanges of one conversation; immutable.

    Its size does not grow with the conversation, but for entities that nobody dropped.

    `recent_turns` are the last five exchanges, `history` what is left of those before;
    `turn_summaries` are the last two exchanges, `reasoning` what is left of those before.
    `closed_id` is the resource id of the last user turn that was closed. `close_turn` keeps all
    of it up.

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
        """Return what would be remembered of an existing session, had every answered exchange since the last clear been closed as it ended.

        What nodes decided and did is not in a session's journal: steps, goals, entities and results
        begin with the next exchange. `projector` compresses the digest. O(journal).

        Raises:
            InvalidDataError: it is no session.
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
    ) -> "ConversationContext":
        """Return what is remembered after `exchange`: it joins the recent ones, condensed, and the oldest of them moves to the digest.

        `close_turn` remembers what was done in it as well.
        """
        closed = ConversationTurn(
            user=condense(exchange.user, USER_TOKENS, role=Role.USER, counter=counter),
            assistant_summary=condense(exchange.answer, ANSWER_TOKENS, counter=counter),
            routing=routing,
            timestamp=exchange.timestamp,
        )
        turns = (*self.recent_turns, closed)
        left = [turn.lines for turn in turns[:-RECENT_TURNS] if turn.lines]
        return evolve(
            self,
            recent_turns=turns[-RECENT_TURNS:],
            history=self.history.add_all(left, counter=counter, projector=projector),
            closed_id=exchange.last_id,  # the next exchange is looked for behind it
        )

    @property
    def history_summary(self) -> str:
        """Return what is left of the exchanges before the recent ones."""
        return self.history.text

    @property
    def reasoning_summary(self) -> str:
        """Return what is left of the reasoning before the last exchanges."""
        return self.reasoning.text

    @property
    def engagement_summary(self) -> str:
        """Return what the conversation is about as a whole."""
        return self.engagement.text

    @property
    def closed_at(self) -> str:
        """Return when the exchange closed last began, empty before the first."""
        return self.recent_turns[-1].timestamp if self.recent_turns else ""

    @property
    def next_turn_num(self) -> int:
        """Return the number of the next exchange, 1 for the first."""
        return self.turn_summaries[-1].turn_num + 1 if self.turn_summaries else 1

    def with_registry(self, registry: SessionIdRegistry) -> "ConversationContext":
        """Return the same memory with this registry of entities."""
        return evolve(self, id_registry=registry)

    def archive(self, key: str, content: Any) -> "ConversationContext":
        """Return the memory that holds `content`, JSON data, for retrieval under `key`.

        Raises:
            InvalidDataError: content that is no JSON data, a key that cannot be stored.
        """
        return evolve(self, content_archive=self.content_archive.put(key, content))

    def retrieve(self, key: str, type: str = "") -> Any:
        """Return what is archived under `key` as a node may read it: refs stand for the ids that the registry knows.

        Content of entities of one `type` (see `SessionIdRegistry.hide_ids`) hides their short ids
        as well.

        Raises:
            UnknownNameError: nothing is archived under `key`, or not any more; names keys that are
                like it.

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

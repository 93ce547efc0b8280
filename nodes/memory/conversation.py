"""The memory of the closed exchanges: their summaries, theme, entities and results.

See docs/nodes.md.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from typing import Any

import orjson
from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.base import InvalidDataError, UnknownNameError, similar
from polycontext.base.codec import strict_converter, structured
from polycontext.base.json_data import freeze, thaw
from polycontext.window import TokenCounter

from ..checks import are_texts, is_a, is_text, texts, whole_from
from ..condensation import condense
from ..entities.names import EntityId, check_id
from ..entities.registry import SessionIdRegistry
from ..history import ConversationTurn, PendingState
from ..prompt_text import one_line
from ..reasoning import TurnCuration, TurnExecutionSummary


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
SUMMARY_TOKENS = 300
"""The most tokens of a summary in a model's words."""


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
        self, summary: TurnExecutionSummary, *, counter: TokenCounter | None = None
    ) -> "Engagement":
        """Return the engagement after a closed exchange; a repeated item moves to the end."""
        goal, expressed = (
            condense(one_line(text), ITEM_TOKENS, counter=counter)
            for text in (summary.think_goal, summary.user_expressed)
        )
        return Engagement(
            _append_unique(self.goals, goal)[-MAX_GOALS:],
            _append_unique(self.expressed, expressed)[-MAX_EXPRESSED:],
        )

    @property
    def text(self) -> str:
        """Return the summary as one line, or an empty text before anything is known."""
        parts = (("Goals", "; ".join(self.goals)), ("The user", "; ".join(self.expressed)))
        return self.stated or " ".join(f"{label}: {said}." for label, said in parts if said)


def _append_unique(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return (*(other for other in items if other != item), item) if item else items


@frozen
class ConversationContext:
    """The memory of the closed exchanges of one conversation; immutable.

    Its size does not grow with the conversation, except for entities that are never dropped.

    `recent_turns` are the last five exchanges, and `turn_summaries` tell what was done in the last
    two. `history_summary` and `reasoning_summary` stand for the earlier ones: what Summarize wrote,
    and the exchanges since then, of which the oldest are dropped. `close_exchange` maintains all of
    these.
    """

    recent_turns: tuple[ConversationTurn, ...] = field(default=(), validator=is_a(tuple))
    history_summary: str = field(default="", validator=is_text)
    engagement: Engagement = field(factory=Engagement)
    pending: PendingState | None = field(default=None, validator=optional(is_a(PendingState)))
    id_registry: SessionIdRegistry = field(
        factory=SessionIdRegistry, validator=is_a(SessionIdRegistry)
    )
    turn_summaries: tuple[TurnExecutionSummary, ...] = field(default=(), validator=is_a(tuple))
    reasoning_summary: str = field(default="", validator=is_text)
    content_archive: ContentArchive = field(factory=ContentArchive)
    understand_decision_log: tuple[TurnCuration, ...] = field(default=(), validator=is_a(tuple))

    @property
    def engagement_summary(self) -> str:
        """Return the theme of the whole conversation."""
        return self.engagement.text

    def with_registry(self, registry: SessionIdRegistry) -> "ConversationContext":
        """Return a copy with this registry of entities."""
        return evolve(self, id_registry=registry)

    def summarize(
        self,
        engagement: str,
        history: str = "",
        reasoning: str = "",
        *,
        counter: TokenCounter | None = None,
    ) -> "ConversationContext":
        """Return a copy with the theme and the summaries in other words, such as a model's.

        An empty text leaves the summary as it is. The theme holds until an exchange is closed.
        """
        theme, told, done = (
            condense(text, SUMMARY_TOKENS, counter=counter)
            for text in (engagement, history, reasoning)
        )
        return evolve(
            self,
            engagement=evolve(self.engagement, stated=theme),
            history_summary=told or self.history_summary,
            reasoning_summary=done or self.reasoning_summary,
        )

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
                near=similar(key, self.content_archive),
            )
        return self.id_registry.hide_ids(self.content_archive[key], type)

    def to_data(self) -> dict[str, Any]:
        """Return the memory as JSON data. They hold ids: store them, never show them to a model.

        Law: ``ConversationContext.from_data(memory.to_data()) == memory``.
        """
        data: dict[str, Any] = thaw(_CONVERTER.unstructure(self))
        return data

    @classmethod
    def from_data(cls, data: object) -> "ConversationContext":
        """Return the memory that `to_data` returned as data.

        Raises:
            InvalidDataError: A wrong, missing or unknown field, with the path of the first one, or
                a registry that contradicts itself.
        """
        memory = structured(_CONVERTER, data, cls)
        for ref in memory.id_registry.records.contradictions():
            problem = f"{ref!r:.60} contradicts the other tables"
            raise InvalidDataError("$.id_registry.records", problem, "what to_data returned")
        return memory


_CONVERTER = strict_converter(complete=True)
_CONVERTER.register_structure_hook_func(
    lambda kind: kind in (EntityId, EntityId | None),
    lambda value, _: None if value is None else check_id(value, ""),
)

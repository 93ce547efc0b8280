"""The contents of a context window: its constant settings, its turns, and further facts."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from typing import Any, NamedTuple, Self

from attrs import evolve, frozen

from polycontext.base import Column
from polycontext.linearity import Classifier, LinearityMap, ResourceClass, states_constraint
from polycontext.linearity.classification.prose import is_by_host
from polycontext.linearity.tag import number_of

from .atoms import open_after, open_calls
from .call_ids import OpenCalls
from .errors import InvalidTurnError, PluginError
from .filler import Introduced, is_opening
from .items.attachment import attachment_of
from .part import PartKind
from .rules import NO_RULES, RuleLedger, is_rule
from .sources import Sources
from .tokens.counter import TokenCounter, count_turn, counted_parts
from .turn import Role, Turn

_QUESTION_MARKS = "?？؟\u037e"
_END = 200
"""How many characters at the end of a turn are searched for a question mark."""


@frozen
class WindowSettings:
    """The settings of a window: budget, counter, classifier and share of standing constraints."""

    max_tokens: int
    counter: TokenCounter
    classifier: Classifier
    preserved_share: float


@frozen
class Epoch:
    """The period in which requests only grow, and the effects of the change that began it.

    Providers cache prefixes and verify them: a signed thinking block is rejected once anything
    before it has changed
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks).

    `number` counts from 1. `first_changed` is the index (from 0) of the first turn of the view that
    differs from what was sent before. `why` is the input that changed it. `fell` lists the ids of
    turns that remain but lost images or bound parts. `unbound` names the providers whose bound
    parts have been removed, now or earlier. `undone` is the number of turns in the view that an
    undo restored, None after another change.

    Law: within an epoch, the content blocks of each request are a prefix of the next one's, for
    every provider.
    """

    number: int = 1
    first_changed: int | None = None
    why: str | None = None
    fell: tuple[str, ...] = ()
    unbound: tuple[str, ...] = ()
    undone: int | None = None

    def next(
        self, first_changed: int, why: str, fell: Iterable[str] = (), unbound: Iterable[str] = ()
    ) -> Self:
        """Return the epoch that begins with a change at `first_changed`.

        >>> Epoch().next(2, "compress").number
        2
        """
        return type(self)(
            self.number + 1,
            first_changed,
            why,
            tuple(fell),
            tuple(sorted({*self.unbound, *unbound})),
        )


FIRST_EPOCH = Epoch()


class WindowFacts(NamedTuple):
    """The state of a window that does not follow from its turns and its ledger."""

    serial: int = 0
    has_task: bool = False
    fixed_tokens: int = 0
    """Tokens of the system turns and the task; standing constraints may use a share of the rest."""
    constraint_tokens: int = 0
    turns_since_compression: int | None = None
    epoch: Epoch = FIRST_EPOCH
    rules: RuleLedger = NO_RULES
    """The rules of the user since the last `clear`."""


class WindowContents(NamedTuple):
    """The contents that change with every turn; windows that differ only in focus share them.

    This is a tuple for speed, since every turn creates one.
    """

    turns: Column[Turn] = Column()
    sums: Column[int] = Column.of([0])
    """The tokens of the first 0, 1, 2 ... turns."""
    linearity: LinearityMap = LinearityMap()
    last_atom: int = 0
    """The index of the first turn of the last atom."""
    open_calls: tuple[str, ...] = ()
    introduced: Introduced = Introduced()
    facts: WindowFacts = WindowFacts()

    @classmethod
    def of(
        cls,
        turns: Sequence[Turn],
        linearity: LinearityMap,
        facts: WindowFacts,
        counter: TokenCounter,
    ) -> Self:
        """Return the contents of a window of `turns`, which are counted and in `linearity`; O(n).

        Raises:
            OrderError: A call is separated from its result.
        """
        sums = Column.of(accumulate((turn.tokens or 0 for turn in turns), initial=0))
        places = range(len(turns) - 1, -1, -1)
        return cls(
            Column.of(turns),
            sums,
            linearity,
            next((place for place in places if turns[place].role is not Role.TOOL), 0),
            open_calls(turns),
            Introduced().after(turns, counter),
            facts,
        )

    def append(
        self,
        turn: Turn,
        settings: WindowSettings,
        resource_class: ResourceClass | None,
        *,
        pinned: bool,
    ) -> Self:
        """Return the contents with `turn` appended (see `ContextWindow.append`)."""
        # Everything that may raise comes first, before anything is created.
        turn = self.answering(turn)
        still_open = open_after(turn, self.open_calls)
        turn = self._admit(turn, settings.counter)
        tokens, old = turn.tokens or 0, self.facts
        if resource_class is None:
            resource_class = self.classify(turn, settings)
        speaks = _speaks_for_the_user(turn)
        pins = (
            resource_class is ResourceClass.PRESERVED
            and old.has_task
            and speaks
            and states_constraint(turn.text)
        )
        since = old.turns_since_compression
        facts = WindowFacts(
            # An id given by a caller may be ahead of the serial, so continue after it.
            max(old.serial + 1, (turn.resource_id[0] == "t" and number_of(turn.resource_id)) or 0),
            old.has_task or speaks or _tells_the_task(turn),
            old.fixed_tokens + tokens
            if resource_class is ResourceClass.PRESERVED
            and (turn.role is Role.SYSTEM or (speaks and not old.has_task))
            else old.fixed_tokens,
            old.constraint_tokens + tokens if pins else old.constraint_tokens,
            None if since is None else since + 1,
            old.epoch,
            old.rules.after(turn) if speaks or _states_rules(turn) else old.rules,
        )
        return type(self)(
            self.turns.appended(turn),
            self.sums.appended(self.sums[self.turns.length] + tokens),
            self.linearity.tag(
                turn.resource_id,
                resource_class,
                provenance="append",
                when=turn.timestamp,
                pinned=pinned,
            ),
            self.last_atom if turn.role is Role.TOOL else self.turns.length,
            still_open,
            self.introduced.after((turn,), settings.counter),
            facts,
        )

    def answering(self, turn: Turn) -> Turn:
        """Return a result with the id of the open call that it answers."""
        if turn.tool_call_id is None or turn.tool_call_id in self.open_calls:
            return turn
        return self.awaited_calls.answering(turn)

    @property
    def awaited_calls(self) -> OpenCalls:
        """Return the open calls of the last atom."""
        caller = self.turns[self.last_atom] if self.open_calls else None
        return OpenCalls(dict.fromkeys(self.open_calls), caller)

    def classify(self, turn: Turn, settings: WindowSettings) -> ResourceClass:
        """Return the class that `turn` would be given if it were appended now.

        An attachment is REQUIRED: its name and text are not the user's words. The classifier
        decides about all other turns.
        """
        if turn.metadata and attachment_of(turn) is not None:
            return ResourceClass.REQUIRED
        facts: dict[str, Any] = {
            **turn.metadata,
            "first_user": not self.facts.has_task and _speaks_for_the_user(turn),
            "gist": turn.is_gist,
            "has_calls": bool(turn.tool_calls),
            "has_parts": bool(turn.parts)
            and any(part.kind is PartKind.BLOCK for part in turn.parts),
            "answers_question": self._has_asked(turn.role),
            "tools": self._tool_names(turn),
            "tokens": turn.tokens
            if turn.tokens is not None
            else count_turn(settings.counter, turn),
            "constraint_tokens": self.facts.constraint_tokens,
            "preserved_share_tokens": int(
                settings.preserved_share * max(0, settings.max_tokens - self.facts.fixed_tokens)
            ),
        }
        answer = settings.classifier(turn.role, turn.content or "", facts)
        try:
            return ResourceClass(answer)
        except ValueError:
            problem, legal = (
                f"it returned {answer!r:.60}",
                "a function that returns a ResourceClass",
            )
            raise PluginError("the classifier", str(turn.role), problem, legal) from None

    def _has_asked(self, role: Role) -> bool:
        """Return whether the last turn has another role than `role` and ends with a question."""
        before = self.turns.last
        return (
            before is not None
            and before.role is not role
            and any(map(before.text[-_END:].__contains__, _QUESTION_MARKS))
        )

    def _tool_names(self, turn: Turn) -> tuple[str, ...]:
        """Return the names of the tools that `turn` calls, or of the tool whose call it answers."""
        if turn.role is not Role.TOOL:
            return tuple([call.name for call in turn.tool_calls])
        calls = self.turns[self.last_atom].tool_calls if self.turns.length else ()
        return tuple(call.name for call in calls if call.id == turn.tool_call_id)

    def _admit(self, turn: Turn, counter: TokenCounter) -> Turn:
        """Return `turn` with its token count and an id that is unique in this conversation."""
        resource_id = turn.resource_id
        if not resource_id:
            # The serial keeps counting through splices and clearing, so the ledger never sees an id
            # twice.
            resource_id = next(
                made
                for number in count(self.facts.serial + 1)
                if (made := f"t{number}") not in self.linearity
            )
        elif resource_id in self.linearity:
            raise InvalidTurnError(
                "resource_id",
                f"{resource_id!r} is taken",
                "an id that no turn of this conversation has",
            )
        if type(turn.sources) is Sources:
            # Its places refer to the ledger of the conversation that the gist was made in.
            turn = evolve(turn, sources=tuple(turn.sources))
        if turn.tokens is not None:
            return turn if turn.resource_id else turn.admitted(resource_id, turn.tokens)
        if turn.parts:
            turn = counted_parts(counter, turn)
        return turn.admitted(resource_id, count_turn(counter, turn))


def _tells_the_task(turn: Turn) -> bool:
    """Return whether `turn` is a summary read from a list, which already covers the task.

    One that a host wrote need not.
    """
    says = turn.role in (Role.USER, Role.ASSISTANT) and turn.is_gist and not turn.sources
    return says and not turn.metadata.get("by_host")


def _states_rules(turn: Turn) -> bool:
    """Return whether `turn` may state rules of the user beside what `_speaks_for_the_user`."""
    return turn.role is Role.USER and (is_rule(turn) or (turn.is_gist and not turn.sources))


def _speaks_for_the_user(turn: Turn) -> bool:
    """Return whether the user wrote `turn`.

    It is then neither filler, gist nor attachment, no change of the rules alone, and not a
    message that a host wrote in the user's name.
    """
    if is_opening(turn):
        return False
    return (
        turn.role is Role.USER
        and not turn.is_gist
        and (not turn.metadata or (attachment_of(turn) is None and not is_rule(turn)))
        and (bool(turn.parts) or not is_by_host(turn.text))
    )

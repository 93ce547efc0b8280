"""The context window: the Store comonad of a conversation, immutable and structurally shared.

Position 0 is before the first turn; position p > 0 focuses turn p. Appending is amortised O(1).
Seeking and pressure are O(1); the trajectory ``window.extend(lambda w: w.pressure)`` is O(n).
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Self

from attrs import evolve

from polycontext.base import guided, is_number, require, whole_number
from polycontext.linearity import (
    UNIX_EPOCH,
    Classifier,
    LinearityMap,
    ResourceClass,
    default_classifier,
)

from .atoms import Atom, AtomColumns, Splice, atom_columns, check_splices, open_after, spliced
from .call_ids import OpenCalls
from .part_removal import fell, unbound
from .rules import RuleLedger
from .store import StoreComonad
from .tokens.counter import TokenCounter
from .tokens.tiktoken_counter import default_counter
from .turn import Turn
from .window_contents import Epoch, WindowContents, WindowFacts, WindowSettings


@guided
class ContextWindow(StoreComonad[Turn | None]):
    """The view that the model sees, as a ``Store[Turn | None]`` of a conversation.

    See docs/window.md, "A comonad with a focus". ``len(window)`` is the number of turns; positions
    are ``0..len(window)``.

    Args:
        max_tokens: The budget in tokens.
        counter: Counts the tokens of each turn once, when it is appended.
        classifier: Assigns each turn its resource class.
        preserved_share: Share of the budget, less system turns and task, that constraints may pin.

    >>> from polycontext.window import ContextWindow, Turn
    >>> window = ContextWindow(1000).append(Turn("user", "hello")).append(Turn("assistant", "hi"))
    >>> len(window), window.position, window.extract().content
    (2, 2, 'hi')
    >>> window.seek(0).extract() is None
    True
    """

    __slots__ = ("_contents", "_position", "_settings")

    _settings: WindowSettings
    _contents: WindowContents
    _position: int

    def __init__(
        self,
        max_tokens: int,
        *,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        preserved_share: float = 0.2,
    ) -> None:
        whole_number("max_tokens", max_tokens, 1)
        require("preserved_share", preserved_share, is_number(preserved_share, 0, 1), "0.0 to 1.0")
        counter = default_counter() if counter is None else counter
        self._settings = WindowSettings(max_tokens, counter, classifier, preserved_share)
        self._contents = WindowContents()
        self._position = 0

    # --- the store -------------------------------------------------------

    @property
    def pos(self) -> int:
        """Return the focused position."""
        return self._position

    position = pos

    @property
    def last(self) -> int:
        """Return the last position, the number of turns."""
        return self._contents.turns.length

    def peek(self, position: int) -> Turn | None:
        """Return the turn at `position`, or None at position 0."""
        self._check(position)
        return self._contents.turns[position - 1] if position else None

    def seek(self, position: int) -> Self:
        """Return the same window focused on `position`; O(1)."""
        return self._with(self._contents, self._check(position))

    @property
    def value(self) -> Turn | None:
        """Return the focused turn, or None at position 0."""
        return self.extract()

    def __len__(self) -> int:
        return self._contents.turns.length

    # --- reading ---------------------------------------------------------

    @property
    def max_tokens(self) -> int:
        """Return the budget in tokens."""
        return self._settings.max_tokens

    @property
    def counter(self) -> TokenCounter:
        """Return the counter that counts the turns."""
        return self._settings.counter

    @property
    def preserved_share(self) -> float:
        """Return the share of the budget, less system turns and task, that constraints may pin."""
        return self._settings.preserved_share

    @property
    def tokens(self) -> int:
        """Return the tokens of the turns up to the focus, in O(1)."""
        return self._contents.sums[self._position]

    @property
    def total_tokens(self) -> int:
        """Return the tokens of all turns, regardless of the focus, in O(1)."""
        return self._contents.sums[self._contents.turns.length]

    @property
    def introduced_tokens(self) -> int:
        """Return the most tokens that a provider's filler text between turns adds, in O(1)."""
        return self._contents.introduced.tokens

    @property
    def pressure(self) -> float:
        """Return the tokens up to the focus divided by the budget, in O(1)."""
        return self._contents.sums[self._position] / self._settings.max_tokens

    @property
    def linearity(self) -> LinearityMap:
        """Return the ledger of resource classes, which survives every compression."""
        return self._contents.linearity

    @property
    def rules(self) -> RuleLedger:
        """Return the ledger of the user's rules since the last `clear`, in the view or not."""
        return self._contents.facts.rules

    @property
    def classifier(self) -> Classifier:
        """Return the classifier that assigns turns their classes."""
        return self._settings.classifier

    @property
    def has_task(self) -> bool:
        """Return whether the window has a task: the user's own message, or a summary of one."""
        return self._contents.facts.has_task

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Return the ids of the last atom's calls that have no result yet."""
        return self._contents.open_calls

    @property
    def awaited_calls(self) -> OpenCalls:
        """Return the open calls with all the ids that their results may name."""
        return self._contents.awaited_calls

    @property
    def turns_since_compression(self) -> int | None:
        """Return the number of turns since the last compression, or None before the first one."""
        return self._contents.facts.turns_since_compression

    @property
    def epoch(self) -> Epoch:
        """Return the current epoch, which records the last change before the view's end."""
        return self._contents.facts.epoch

    @property
    def serial(self) -> int:
        """Return the number of resource ids that this window and its ancestors have issued."""
        return self._contents.facts.serial

    @property
    def facts(self) -> WindowFacts:
        """Return the state that `restored` needs in addition to the turns and the ledger."""
        return self._contents.facts

    def has_contents_of(self, other: "ContextWindow") -> bool:
        """Return whether both windows share the same contents, regardless of the focus; O(1)."""
        return self._contents is other._contents

    def has_rules_of(self, other: "ContextWindow", *, any_size: bool = False) -> bool:
        """Return whether budget (unless `any_size`), counter, classifier and share are equal."""
        mine, theirs = self._settings, other._settings
        return (evolve(mine, max_tokens=theirs.max_tokens) if any_size else mine) == theirs

    def all_turns(self) -> tuple[Turn, ...]:
        """Return every turn, in order, regardless of the focus."""
        return tuple(self._contents.turns)

    def atoms(self) -> tuple[Atom, ...]:
        """Return the turns grouped into atoms, in order; O(n)."""
        columns = self.atom_columns()
        runs = zip(pairwise(columns.bounds), columns.tokens, strict=True)
        end = len(self) if self.open_calls else None
        return tuple(
            Atom(start, stop, tuple(columns.turns[start:stop]), tokens, stop == end)
            for (start, stop), tokens in runs
        )

    def atom_columns(self) -> AtomColumns:
        """Return the atoms as columns; O(n), for planning."""
        return atom_columns(list(self._contents.turns), list(self._contents.sums))

    def class_of(self, turn: Turn) -> ResourceClass:
        """Return the resource class of a turn of this window."""
        return self.linearity.get(turn.resource_id)

    # --- deriving --------------------------------------------------------

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        """Return the window with `turn` appended and in focus; amortised O(1).

        The turn gets its token count and, if it has none, a resource id. Without a
        `resource_class`, the classifier decides. `pinned` marks the class as set by the caller: a
        pinned PRESERVED turn keeps even its images.

        Law: ``w.append(t).seek(len(w))`` shows the turns of w; ``len(w.append(t)) == len(w) + 1``.

        Raises:
            OrderError: A result for no open call or a second one, or another turn with calls open.
            InvalidTurnError: The resource id is taken.
        """
        contents = self._contents.append(turn, self._settings, resource_class, pinned=pinned)
        return self._with(contents, contents.turns.length)

    def classify(self, turn: Turn) -> ResourceClass:
        """Return the class that the classifier would give `turn` if it were appended now."""
        return self._contents.classify(turn, self._settings)

    def check_order(self, turn: Turn) -> None:
        """Raise `OrderError` for a result of no open call, or another turn while calls are open."""
        open_after(self._contents.answering(turn), self._contents.open_calls)

    def extends(self, other: "ContextWindow") -> bool:
        """Return whether the turns begin with those of `other`; O(1) if it grew from `other`."""
        return self._contents.turns.starts_with(other._contents.turns)

    def turns_from(self, index: int) -> list[Turn]:
        """Return the turns from index `index` on (0 is the first), in O(len(result))."""
        return self._contents.turns.since(index)

    def last_atom(self) -> list[Turn]:
        """Return the turns of the last atom, in O(len(result)); of an empty window, none."""
        return self.turns_from(self._contents.last_atom)

    def promote(
        self,
        resource_id: str,
        resource_class: ResourceClass,
        *,
        rationale: str = "",
        when: datetime = UNIX_EPOCH,
    ) -> Self:
        """Return the window whose ledger holds `resource_id` in a higher class.

        Raises:
            UnknownResourceError: The ledger does not know the id.
            DemotionError: The class is not higher.
        """
        ledger = self.linearity.promote(
            resource_id, resource_class, provenance="promote", rationale=rationale, when=when
        )
        return self._with(self._contents._replace(linearity=ledger))

    def resized(self, max_tokens: int) -> Self:
        """Return a resized window, with all but PRESERVED turns and gists reclassified; O(n)."""
        window = type(self)(
            max_tokens,
            counter=self.counter,
            classifier=self._settings.classifier,
            preserved_share=self.preserved_share,
        )
        for turn in self.all_turns():
            tag = self.linearity.tag_of(turn.resource_id)
            kept = (
                tag.resource_class
                if tag.resource_class is ResourceClass.PRESERVED or turn.sources
                else None
            )
            window = window.append(turn, kept, pinned=tag.pinned)
        return window.with_facts(rules=self.rules)

    def with_room(self, max_tokens: int) -> Self:
        """Return the same window with the budget `max_tokens`, without classifying again; O(1)."""
        if max_tokens == self.max_tokens:
            return self
        window = self._with(self._contents)
        window._settings = evolve(self._settings, max_tokens=max_tokens)
        return window

    def splice(
        self,
        splices: Sequence[Splice],
        *,
        linearity: LinearityMap | None = None,
        compressed: bool = False,
        epoch: Epoch | None = None,
    ) -> Self:
        """Return the window with runs of turns replaced and the focus at the end; O(n).

        `splices` are disjoint and in order. New turns need an id and a token count, and `linearity`
        must hold their classes. `compressed` resets the count of turns since the last compression.
        `epoch` is the epoch that the change begins; it defaults to the current one.

        Raises:
            InvalidOptionError: Runs overlap or lie outside, or turns lack an id, count or class.
            OrderError: A call would be separated from its result.
        """
        old = self._contents.facts
        ledger = self.linearity if linearity is None else linearity
        check_splices(splices, len(self), ledger)
        facts = old._replace(
            serial=old.serial + sum(len(splice.turns) for splice in splices),
            turns_since_compression=0 if compressed else old.turns_since_compression,
            epoch=old.epoch if epoch is None else epoch,
        )
        if not splices:
            return self._with(self._contents._replace(linearity=ledger, facts=facts), len(self))
        return self.restored(spliced(self.all_turns(), splices), ledger, facts)

    def restored(self, turns: Sequence[Turn], linearity: LinearityMap, facts: WindowFacts) -> Self:
        """Return the window of `turns`, unchecked, with these settings and the focus at the end.

        Law: ``w.restored(v.all_turns(), v.linearity, v.facts) == v`` for windows of the same rules.
        """
        return self._with(WindowContents.of(turns, linearity, facts, self.counter), len(turns))

    def cleared(self) -> Self:
        """Return the empty window in a new epoch, keeping the ledger and the count of ids."""
        epoch = (
            self.epoch.next(
                0,
                "clear",
                unbound={each for turn in self.all_turns() for each in turn.bound_providers},
            )
            if len(self)
            else self.epoch
        )
        return self._with(
            WindowContents(linearity=self.linearity, facts=WindowFacts(self.serial, epoch=epoch)), 0
        )

    def with_facts(self, **facts: Any) -> Self:
        """Return the same window with some of its facts replaced, such as its epoch or rules."""
        return self._with(self._contents._replace(facts=self.facts._replace(**facts)))

    def standing_again(self, later: Self) -> Self:
        """Return this window as the successor of `later`, for a rewind, with the focus at the end.

        It begins a new epoch, has the budget of `later`, and issues no id of either window again.

        Law: turns, ledger and facts except the epoch and the count of ids are this window's.
        """
        turns, gone = self.all_turns(), later.all_turns()
        common = _common(turns, gone)
        fallen = {each for turn in gone[common:] for each in turn.bound_providers}
        epoch = later.epoch.next(common, "rewind", unbound={*fallen, *self.epoch.unbound})
        facts = self.facts._replace(serial=max(self.serial, later.serial), epoch=epoch)
        return later._with(self._contents._replace(facts=facts), len(self))  # the budget of `later`

    def with_earlier(self, earlier: Self, came: Sequence[Turn]) -> Self:
        """Return this window with the turns of an `earlier` one before those that `came` since.

        It begins a new epoch, with the focus at the end. Turns that came since lose their bound
        parts, as what is before them has changed. The ledger stays.

        Law: if none came since, the turns are those of `earlier`, with all their parts.
        """
        since = [unbound(turn, self.counter) for turn in came]
        turns, gone = (*earlier.all_turns(), *since), self.all_turns()
        common = _common(turns, gone)
        fallen = {each for turn in gone[common:] for each in turn.bound_providers}
        stood = {turn.resource_id: turn for turn in gone[common:]}
        lost = [
            turn.resource_id
            for turn in since
            if turn.resource_id in stood and fell(stood[turn.resource_id], turn)
        ]
        quiet = earlier.turns_since_compression
        epoch = self.epoch.next(common, "undo", lost, {*fallen, *earlier.epoch.unbound})
        facts = self.facts._replace(
            turns_since_compression=None if quiet is None else quiet + len(came),
            epoch=evolve(epoch, undone=len(turns)),
        )
        return self.restored(turns, self.linearity, facts)

    def _with(self, contents: WindowContents, position: int | None = None) -> Self:
        window = object.__new__(type(self))
        window._settings = self._settings
        window._contents = contents
        window._position = self._position if position is None else position
        return window

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextWindow):
            return NotImplemented
        return self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]

    def _key(self) -> tuple[object, ...]:
        return (self._position, self.max_tokens, self.facts, self.all_turns(), self.linearity)

    def __repr__(self) -> str:
        return (
            f"ContextWindow(turns={len(self)}, position={self.position}, "
            f"tokens={self.tokens}/{self.max_tokens})"
        )


def _common(turns: Sequence[Turn], others: Sequence[Turn]) -> int:
    """Return how many turns both begin with."""
    pairs = enumerate(zip(turns, others, strict=False))
    different = (place for place, (one, other) in pairs if one != other)
    return next(different, min(len(turns), len(others)))

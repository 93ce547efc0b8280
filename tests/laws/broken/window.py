"""Broken windows, each of which a law rejects."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

from attrs import evolve

from polycontext.base import Column
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.testing import FAST
from polycontext.window import Atom, ContextWindow, Role, Splice, Store, ToolCall, Turn
from tests.laws.counterexamples import breaks, obeys
from tests.laws.internal import stores, windows

USER, ANSWER = Turn("user", "Weather in Paris?"), Turn("assistant", "21 degrees.")
CALLS = Turn("assistant", None, tool_calls=(ToolCall("a", "weather"), ToolCall("b", "hotels")))
RESULTS = (
    Turn("tool", "none free", tool_call_id="b"),
    Turn("tool", "21 degrees", tool_call_id="a"),
)


def window_of(kind: type[ContextWindow], *turns: Turn) -> ContextWindow:
    """Return a window of a broken kind with these turns in it."""
    window = kind(1_000, counter=FAST)
    for turn in turns:
        window = window.append(turn)
    return window


class Cropped(ContextWindow):
    """Lose the newest turn when extended."""

    def extend(self, function: Callable[[Self], Any]) -> Store[Any]:
        return Store(
            lambda position: function(self.seek(position)),
            self.last - 1,
            min(self.pos, self.last - 1),
        )


class Trimming(ContextWindow):
    """Silently cut what is appended, to ten characters."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        return super().append(evolve(turn, content=turn.text[:10]), resource_class, pinned=pinned)


class Evicting(ContextWindow):
    """Keep the last two turns, as a message buffer does."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        return (
            super()
            .append(turn, resource_class, pinned=pinned)
            .splice([Splice(0, max(0, len(self) - 1))])
        )


class Mutable(ContextWindow):
    """Append in place."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        after = super().append(turn, resource_class, pinned=pinned)
        self._contents, self._position = after._contents, after._position
        return self


class Rewinding(ContextWindow):
    """Go on from the focus, dropping what is behind it."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        return self.splice([Splice(self.pos, len(self))])._really_append(turn, resource_class)

    def _really_append(self, turn: Turn, resource_class: ResourceClass | None) -> Self:
        return super().append(turn, resource_class)


class OneFuture(Column[Turn]):
    """Write where the window ends, over what another has written there."""

    written: ClassVar[list[Turn]] = []

    def appended(self, item: Turn) -> Self:
        self.written[self.length :] = [item]
        return super().appended(item)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.written[: self.length])


class Lax(ContextWindow):
    """Take a result that nobody waits for as something the user said."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        orphan = turn.role is Role.TOOL and turn.tool_call_id not in self.open_calls
        return super().append(
            Turn(Role.USER, turn.text) if orphan else turn, resource_class, pinned=pinned
        )


class Stumbling(ContextWindow):
    """Fall back to the start when something is refused."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        self._position = 0
        return super().append(turn, resource_class, pinned=pinned)


class Repeating(ContextWindow):
    """Show the first turn twice."""

    def all_turns(self) -> tuple[Turn, ...]:
        return super().all_turns()[:1] * 2


class Lost(ContextWindow):
    """Begin a new ledger at each compression, as a published original did."""

    def splice(self, splices: Sequence[Splice], **options: Any) -> Self:
        after = super().splice(splices, **options)
        return after._with(after._contents._replace(linearity=LinearityMap()))


class Greedy(ContextWindow):
    """Cut one turn more than asked for."""

    def splice(self, splices: Sequence[Splice], **options: Any) -> Self:
        longer = [evolve(each, stop=len(self)) for each in splices]
        return super().splice(longer, **options)


class Drifting(ContextWindow):
    """Bill one token too much from the second turn on."""

    @property
    def tokens(self) -> int:
        return super().tokens + (self.pos > 1)


class Flat(ContextWindow):
    """Count every turn as one token."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> Self:
        return super().append(turn.with_tokens(1), resource_class, pinned=pinned)


class Uncounted(ContextWindow):
    """Bill nothing for an atom."""

    def atoms(self) -> tuple[Atom, ...]:
        return tuple(evolve(atom, tokens=0) for atom in super().atoms())


class Skipping(ContextWindow):
    """Leave out the last atom."""

    def atoms(self) -> tuple[Atom, ...]:
        return super().atoms()[:-1]


class Splitting(ContextWindow):
    """Make an atom of every turn."""

    def atoms(self) -> tuple[Atom, ...]:
        return tuple(
            Atom(index, index + 1, (turn,), turn.tokens or 0, is_open=False)
            for index, turn in enumerate(self.all_turns())
        )


class Closing(ContextWindow):
    """Call every atom complete."""

    def atoms(self) -> tuple[Atom, ...]:
        return tuple(evolve(atom, is_open=False) for atom in super().atoms())


class Amnesiac(ContextWindow):
    """Forget everything when cleared, so that ids return."""

    def cleared(self) -> Self:
        return type(self)(self.max_tokens, counter=self.counter)


breaks(
    stores.extend_extract_is_identity,
    "a window whose extend drops the last position",
    lambda law: law(window_of(Cropped, USER, ANSWER)),
)
breaks(
    windows.append_shows_the_turn,
    "a window that trims what is said",
    lambda law: law(window_of(Trimming), USER),
)
breaks(
    windows.append_keeps_what_was_there,
    "an append that evicts or mutates",
    lambda law: law(window_of(Evicting, USER, ANSWER), USER),
    lambda law: law(window_of(Mutable, USER, ANSWER), USER),
)
breaks(
    windows.append_ignores_the_focus,
    "an append that drops what is behind the focus",
    lambda law: law(window_of(Rewinding, USER, ANSWER), USER, 1),
)


def forgetful_of_forks() -> ContextWindow:
    """Return a window whose futures are written into one list."""
    window = ContextWindow(1_000, counter=FAST)
    window._contents = window._contents._replace(turns=OneFuture())
    return window


breaks(
    windows.forks_share_nothing_but_the_past,
    "two futures in one list",
    lambda law: law(forgetful_of_forks(), USER, ANSWER),
)
breaks(
    windows.calls_are_answered_before_anything_else,
    "an orphan that is let in",
    lambda law: law(window_of(Lax, USER), RESULTS[0]),
)
breaks(
    windows.calls_are_answered_before_anything_else,
    "a refusal that leaves a trace",
    lambda law: law(window_of(Stumbling, USER), RESULTS[0]),
)
breaks(
    windows.every_turn_has_an_id_of_its_own_and_a_class,
    "a turn that is there twice",
    lambda law: law(window_of(Repeating, USER)),
)
breaks(
    windows.every_turn_has_an_id_of_its_own_and_a_class,
    "turns whose classes were lost",
    lambda law: law(window_of(Lost, USER, ANSWER).splice([Splice(0, 1)])),
)
breaks(
    windows.sums_equal_recounting,
    "sums that drift",
    lambda law: law(window_of(Drifting, USER, ANSWER)),
)
breaks(
    windows.a_turn_is_counted_once,
    "a window that counts messages",
    lambda law: law(window_of(Flat), USER),
)
breaks(
    windows.atoms_partition_the_turns,
    "atoms that leave out a turn or its bill",
    lambda law: law(window_of(Skipping, USER, ANSWER)),
    lambda law: law(window_of(Uncounted, USER, ANSWER)),
)
breaks(
    windows.atoms_are_never_split,
    "atoms that part calls from results",
    lambda law: law(window_of(Splitting, USER, CALLS, *RESULTS)),
)
breaks(
    windows.atoms_are_never_split,
    "an open atom that passes for closed",
    lambda law: law(window_of(Closing, USER, CALLS, RESULTS[0])),
)
breaks(
    windows.splicing_cuts_the_run_alone,
    "a splice that loses the ledger or more turns",
    lambda law: law(window_of(Lost, USER, ANSWER), 0),
    lambda law: law(window_of(Greedy, USER, ANSWER), 0),
)
breaks(
    windows.clearing_keeps_the_ledger,
    "a clear that forgets",
    lambda law: law(window_of(Amnesiac, USER)),
)


TOOLS = (USER, CALLS, RESULTS[0])
obeys(
    windows.calls_are_answered_before_anything_else,
    "a sound window",
    lambda law: law(window_of(ContextWindow, *TOOLS), RESULTS[0]),
)
obeys(
    windows.atoms_are_never_split,
    "a sound window",
    lambda law: law(window_of(ContextWindow, *TOOLS)),
)
obeys(
    windows.splicing_cuts_the_run_alone,
    "a sound window",
    lambda law: law(window_of(ContextWindow, *TOOLS), 0),
)

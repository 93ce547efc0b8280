"""A step: one input to the machine, with the answers of its guards, validators and actions.

Guards run before actions, so a guard must compute the window that the input *would* produce. The
step computes it once and caches every answer, so that performing it asks for nothing again. A step
changes nothing outside itself.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen
from statemachine.transition import Transition

from polycontext.base import InvalidOptionError
from polycontext.linearity import UNIX_EPOCH, ResourceClass
from polycontext.pressure import (
    AdaptiveThreshold,
    CompressionResult,
    ContextProjector,
    Edit,
    Signals,
    Threshold,
    apply_edit,
    check_floors,
    pressure_of,
)
from polycontext.pressure.gist import least_digest
from polycontext.pressure.threshold import NO_SIGNALS, is_looping, mark_above
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn

from ..errors import ContextOverflowError
from ..inputs import (
    Arguments,
    ContextInput,
    ContextOutput,
    InputKind,
    Kind,
    Promotion,
    Standing,
)
from ..state import State

if TYPE_CHECKING:
    from polycontext.pressure.schedule import Prices, Schedule

_TRIES = 16
_ASKED = frozenset({InputKind.USER_TURN, InputKind.SYSTEM})


@frozen
class ContextPolicy:
    """The parameters of the machine's guards and actions.

    `projector` compresses. `threshold` gives the high mark for the current `signals`. `cooldown` is
    how many turns after a compression the machine stays COMPRESSED. The session uses the others:
    `auto` compresses automatically, `background` allows summaries to be written while the
    conversation continues, `prices` also compresses when that is cheaper than continuing, and
    `schedule` in idle time and at boundaries.
    """

    projector: ContextProjector = field(factory=ContextProjector)
    threshold: Threshold = field(factory=AdaptiveThreshold)
    cooldown: int = 2
    signals: Signals = NO_SIGNALS
    auto: bool = True
    background: bool = False
    prices: "Prices | None" = None
    schedule: "Schedule | None" = None

    def high(self, window: ContextWindow) -> float:
        """Return the high mark for `window`; a loop at its end always counts as signalled."""
        return self.threshold.high(_looping(self.signals) if is_looping(window) else self.signals)

    def is_above(self, window: ContextWindow) -> bool:
        """Return whether the pressure of `window` is above its high mark.

        The expensive checks run only near the mark.
        """
        pressure, marks = (
            pressure_of(window),
            (self.threshold.high(self.signals), self.threshold.high(_looping(self.signals))),
        )
        if pressure <= min(marks):
            return False
        return pressure > self.high(window) and pressure > self.mark(window)

    def mark(self, window: ContextWindow) -> float:
        """Return the pressure above which `window` is pressured.

        With `auto`, the high mark is a share of the free budget.
        """
        return self._above_floor(window, self.high(window))

    def low(self, window: ContextWindow) -> float:
        """Return the pressure that automatic compression aims at, and refilling stays below."""
        return self._above_floor(window, self.threshold.low)

    def _above_floor(self, window: ContextWindow, share: float) -> float:
        # As a share of the whole window, a few turns that can yield would compress at every turn.
        floor = self.projector.floor(window) / window.max_tokens
        return mark_above(floor, share) if self.auto else share

    def begins(self, window: ContextWindow, share: float) -> bool:
        """Return whether a background summary should start.

        It starts once the pressure is `share` of the way from the low mark to the high mark.
        """
        pressure, low, high = pressure_of(window), self.threshold.low, self.high(window)
        if pressure <= low + share * (high - low):
            return False
        floor = self.projector.floor(window) / window.max_tokens
        return pressure > mark_above(floor, low + share * (high - low))


def allow_truncation(policy: ContextPolicy, *, beside: bool = True) -> ContextPolicy:
    """Return a policy that may truncate the last user turn in the view.

    With `beside`, it may also cut results beside PRESERVED ones, and remove pictures of that turn.
    """
    projector = policy.projector
    return evolve(
        policy,
        projector=evolve(
            projector, reach=evolve(projector.reach, cuts_question=True, cuts_beside=beside)
        ),
    )


@cache
def _looping(signals: Signals) -> Signals:
    return evolve(signals, looping=True)


@cache
def default_policy() -> ContextPolicy:
    """Return the default policy, created on first use: it loads the extractive summariser."""
    return ContextPolicy(auto=False)


_NONE: Mapping[str, Any] = {}

Action = Callable[["Step"], ContextWindow | Edit]
"""What an event does to the view: the window, or an edit, that a step leads to."""


@define
class Step:
    """An input at time `at`, with its window, the policy, and every answer computed so far.

    `since` is the time when the region that decides entered its state, if known; `region` is its
    number, `entered` has those times of the regions beside the context's. Nothing is computed or
    counted twice. `after` is the window that the input leads to by `action`, which is a user's if
    it `is_own`; `edit` is the edit that it returned, if any. `moves` are the transitions that the
    machine selected, each with its region, the state it starts in and its event.
    """

    input: ContextInput
    window: ContextWindow
    policy: ContextPolicy
    at: datetime = UNIX_EPOCH
    since: datetime | None = None
    entered: Mapping[str, datetime] = _NONE
    compression: CompressionResult | None = None
    edit: Edit | None = None
    action: Action | None = None
    is_own: bool = False
    moves: "tuple[tuple[Any, State, Transition, Kind | None], ...]" = ()
    region: int = 0
    _after: ContextWindow | None = None
    is_recorded: bool = False

    @classmethod
    def recorded(
        cls,
        context_input: ContextInput,
        window: ContextWindow,
        policy: ContextPolicy,
        after: ContextWindow,
    ) -> "Step":
        """Return a step with the answer of a journal: the window `after`."""
        step = cls(context_input, window, policy)
        step._after, step.is_recorded = after, True
        return step

    @property
    def args(self) -> tuple[Any, ...]:
        """Return the positional arguments of an event that a subclass of the machine adds."""
        return self.input.payload.args if isinstance(self.input.payload, Arguments) else ()

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Return the keyword arguments of an event that a subclass of the machine adds."""
        return self.input.payload.kwargs if isinstance(self.input.payload, Arguments) else {}

    @property
    def after(self) -> ContextWindow:
        """Return the window that the input leads to.

        Raises:
            Any error of an impossible input, such as `OrderError`.
        """
        if self._after is None:
            made = self.window if self.action is None else self.action(self)
            is_added = isinstance(self.input.payload, Arguments)
            if isinstance(made, Edit):
                if is_added:
                    check_floors(self.window, made)
                self.edit = None if made.is_empty else made
                made = apply_edit(self.window, made, compressed=False)
            elif made is not self.window and (is_added or not isinstance(made, ContextWindow)):
                window = "step.window to change nothing" if is_added else "a window"
                legal = f"an Edit, which the journal can store, or {window}"
                raise InvalidOptionError(f"action of {self.input.kind}", made, legal)
            self._after = made
        return self._after

    def attempt(self, action: Action | None, *, is_own: bool) -> None:
        """Let `action` say where the input leads."""
        self.action, self.is_own, self.compression, self.edit = action, is_own, None, None
        self._after = None

    def stood_in(self, state: State) -> bool:
        """Return whether the input is a rewind to a moment when the machine was in `state`."""
        states = self.input.payload.states if isinstance(self.input.payload, Standing) else ()
        return self.region < len(states) and states[self.region] == state

    def output(self, state: State, regions: Mapping[str, State] = _NONE) -> ContextOutput:
        """Return the output of the step once the machine is in `state`."""
        return ContextOutput(self.after, state, self.compression, regions=regions)


def check_room(step: Step) -> None:
    """Raise `ContextOverflowError` for what can never fit.

    That is also what leaves no room for a summary beside what is PRESERVED. Assistant turns and
    tool results have already happened: they are accepted, and truncated in the view if necessary,
    unless they are PRESERVED.
    """
    after = step.after
    if _AMPLE * (after.total_tokens + _AMPLE_LEAST) < after.max_tokens:
        return
    if _is_preserving(step):
        # Neither yields later, so a gist of all that follows has to fit beside them.
        projector = allow_truncation(step.policy).projector
        _check_fits(after, projector, projector.ladder(after).coming_gist)
    if step.input.kind in _ASKED and is_over_budget(after, _least_of_coming(after)):
        _check_fits(after, step.policy.projector)


_AMPLE, _AMPLE_LEAST = 3, 50
"""Where a window is this many times as large as what it holds and this many tokens, a summary and
the results of open calls fit for certain."""


def _is_preserving(step: Step) -> bool:
    """Return whether the input adds PRESERVED turns or rules, or leaves them less room."""
    payload, before, after = step.input.payload, step.window, step.after
    if isinstance(payload, Promotion):
        return payload.resource_class is ResourceClass.PRESERVED
    if step.input.kind is InputKind.RESIZE:
        return after.max_tokens < before.max_tokens
    rules, known = after.rules, before.rules
    is_new = rules is not known and rules.standing != known.standing
    return is_new or _last_is_preserved(after)


def _last_is_preserved(window: ContextWindow) -> bool:
    """Return whether the last atom is PRESERVED: one such turn preserves the whole atom."""
    ids = [turn.resource_id for turn in window.last_atom()]
    return ResourceClass.PRESERVED in window.linearity.classes_of(ids)


def is_over_budget(window: ContextWindow, coming: int = 0) -> bool:
    """Return whether the window, with `coming` more tokens, takes more than a request may."""
    return request_tokens(window) + coming > window.max_tokens


def request_tokens(window: ContextWindow) -> int:
    """Return the tokens of a request with the view of `window`."""
    return window.total_tokens + window.introduced_tokens + REQUEST_OVERHEAD


def _check_fits(window: ContextWindow, projector: ContextProjector, more: int = 0) -> None:
    """Raise `ContextOverflowError` if `window` cannot fit even after everything has yielded.

    The results of its open calls and `more` tokens need room, too.
    """
    besides = besides_floor(window, projector) + _least_of_coming(window) + more
    if projector.floor(window) > window.max_tokens - besides:
        raise overflow(window, projector, "the turn", besides, window.max_tokens)


def _least_of_coming(window: ContextWindow) -> int:
    """Return the fewest tokens that the results of the open calls can be truncated to; O(1)."""
    if not window.open_calls:
        return 0
    result = Turn(
        Role.TOOL, "", tool_call_id=window.open_calls[0], resource_id=f"t{10 * len(window)}"
    )
    return least_digest(result, window.counter) * len(window.open_calls)


def besides_floor(window: ContextWindow, projector: ContextProjector) -> int:
    """Return the tokens of a request beside the floor of `window`.

    These are the request overhead and the turns that a provider requires in between.
    """
    return REQUEST_OVERHEAD + projector.plan_within(window, 0).introduced_tokens


def overflow(
    window: ContextWindow, projector: ContextProjector, what: str, besides: int, max_tokens: int
) -> ContextOverflowError:
    """Return the error that names a sufficient number of tokens and what takes the room.

    `besides` is the number of tokens that the request takes beside the window.
    """
    needed = projector.floor(window) + besides
    for _ in range(_TRIES):
        # A larger window preserves more standing instructions, so it needs more again.
        larger = projector.floor(window.resized(max(1, needed))) + besides
        if larger <= needed:
            break
        needed = larger
    rows = projector.plan_within(window, 0).explain().rows
    return ContextOverflowError(
        needed, max_tokens, what, {row.what: row.after for row in rows if row.after}
    )

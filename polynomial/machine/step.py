"""A step: one input to the machine, with the answers of its guards, validators and actions.

Guards run before actions, so a guard must compute the window that the input *would* produce. The
step computes it once and caches every answer, so that performing it asks for nothing again. A step
changes nothing outside itself.
"""

from collections.abc import Mapping
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
    ConflictError,
    ContextProjector,
    Edit,
    Fulfilment,
    Signals,
    Threshold,
    apply_edit,
    check_floors,
    pressure_of,
)
from polycontext.pressure.gist import least_digest
from polycontext.pressure.threshold import NO_SIGNALS, is_looping, mark_above, tokens_at
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn

from ..errors import ContextOverflowError
from ..inputs import (
    KIND_OF_ROLE,
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
    from polycontext.pressure.schedule import Prices

_TRIES = 16
_ASKED = frozenset({InputKind.USER_TURN, InputKind.SYSTEM})
_TURNS = frozenset(KIND_OF_ROLE.values())


@frozen
class ContextPolicy:
    """The parameters of the machine's guards and actions.

    `projector` compresses. `threshold` gives the high mark for the current `signals`. `cooldown` is
    how many turns after a compression the machine stays COMPRESSED. The session uses the others:
    `auto` compresses automatically, `background` allows summaries to be written while the
    conversation continues, and `prices` also compresses when that is cheaper than continuing.
    """

    projector: ContextProjector = field(factory=ContextProjector)
    threshold: Threshold = field(factory=AdaptiveThreshold)
    cooldown: int = 2
    signals: Signals = NO_SIGNALS
    auto: bool = True
    background: bool = False
    prices: "Prices | None" = None

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
        high = self.high(window)
        # As a share of the whole window, a few turns that can yield would compress at every turn.
        return (
            mark_above(self.projector.floor(window) / window.max_tokens, high)
            if self.auto
            else high
        )

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


@define
class Step:
    """An input at time `at`, with its window, the policy, and every answer computed so far.

    `since` is the time when the machine entered its state, if known. Nothing is computed or counted
    twice. `after` is the window that the input leads to. `moves` are
    the transitions that the machine selected, each with the state it starts in and its event.
    """

    input: ContextInput
    window: ContextWindow
    policy: ContextPolicy
    at: datetime = UNIX_EPOCH
    since: datetime | None = None
    compression: CompressionResult | None = None
    moves: "tuple[tuple[State, Transition, Kind | None], ...]" = ()
    _after: ContextWindow | None = None
    _checked: bool = False
    _pressured: bool | None = None
    _cooling: bool | None = None

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
        step._after, step._checked = after, True
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
            self._after = self._make()
        return self._after

    def check(self) -> None:
        """Raise if the input cannot be accepted in this state.

        Raises:
            OrderError: the turn is not allowed now.
            ContextOverflowError: the input can never fit, what is PRESERVED leaves no room for a
                summary, or a recall would make the window pressured. Assistant turns and tool
                results have already happened: they are accepted and truncated in the view if
                necessary, unless they are PRESERVED.
            ConflictError: a fulfilment was planned on another window.
            FloorError: the compression takes an atom below the floor of its class.
        """
        if self._checked:
            return
        kind = self.input.kind
        if kind is InputKind.COMPRESS:
            self._check_compression()
        elif kind is InputKind.RECALL:
            if self.is_pressured():
                most = tokens_at(self.policy.mark(self.after), self.window.max_tokens)
                raise ContextOverflowError(
                    self.after.total_tokens,
                    most,
                    "the view with what is recalled",
                    advice="Recall fewer turns, or compress first.",
                )
        else:
            if self._is_preserving():
                # Neither yields later, so a gist of all that follows has to fit beside them.
                projector = allow_truncation(self.policy).projector
                _check_fits(self.after, projector, projector.ladder(self.after).coming_gist)
            if kind in _ASKED and is_over_budget(self.after, _least_of_coming(self.after)):
                _check_fits(self.after, self.policy.projector)
        _ = self.after
        self._checked = True

    def is_empty(self) -> bool:
        """Return whether the view is empty."""
        return len(self.after) == 0

    def is_pressured(self) -> bool:
        """Return whether the window is over its high mark; a view over its budget always is."""
        if self._pressured is None:
            self._pressured = is_over_budget(self.after) or self.policy.is_above(self.after)
        return self._pressured

    def is_cooling(self) -> bool:
        """Return whether fewer turns than the cooldown followed the last compression."""
        if self._cooling is None:
            since = self.after.turns_since_compression
            self._cooling = since is not None and since < self.policy.cooldown
        return self._cooling

    def stood_in(self, state: State) -> bool:
        """Return whether the input is a rewind to a moment when the machine was in `state`."""
        return isinstance(self.input.payload, Standing) and self.input.payload.state == state

    def output(self, state: State) -> ContextOutput:
        """Return the output of the step once the machine is in `state`."""
        return ContextOutput(self.after, state, self.compression)

    def _make(self) -> ContextWindow:
        window, payload = self.window, self.input.payload
        match payload:
            case Turn() | str():
                given = self.input.resource_class
                window = window.append(
                    self.input.turn, given, pinned=given is ResourceClass.PRESERVED
                )
            case Edit():
                window = apply_edit(window, payload, compressed=False)
            case Promotion(resource_id, resource_class, rationale, at):
                window = window.promote(resource_id, resource_class, rationale=rationale, when=at)
            case Standing():
                window = payload.window
            case Arguments():
                pass
            case Fulfilment():
                self.compression = self.policy.projector.commit(window, payload)
                window = self.compression.window
            case int() if self.input.kind is InputKind.RESIZE:
                window = window.with_room(payload)
            case int() | float():
                self.compression = self.policy.projector.compress(window, payload)
                window = self.compression.window
            case None:
                window = window.cleared()
        return window

    def _is_preserving(self) -> bool:
        """Return whether the input adds PRESERVED turns or rules, or leaves them less room."""
        match self.input.payload:
            case Promotion(resource_class=resource_class):
                return resource_class is ResourceClass.PRESERVED
            case int() if self.input.kind is InputKind.RESIZE:
                return self.after.max_tokens < self.window.max_tokens
            case _:
                return self.input.kind in _TURNS and (
                    self.after.rules.standing != self.window.rules.standing
                    or _last_is_preserved(self.after)
                )

    def _check_compression(self) -> None:
        payload = self.input.payload
        if isinstance(payload, Fulfilment) and not payload.plan.fits(self.window):
            raise ConflictError("compression plan", payload.plan.window, self.window)
        after, compression = self.after, self.compression
        assert compression is not None
        check_floors(self.window, compression.edit)
        again = apply_edit(self.window, compression.edit, compressed=True)
        if after.all_turns() != again.all_turns():
            # The journal replays the edit: a window that it does not produce is lost after a
            # restart.
            raise InvalidOptionError("compression", compression, "a window that its own edit makes")


def _last_is_preserved(window: ContextWindow) -> bool:
    """Return whether the last atom is PRESERVED: one such turn preserves the whole atom."""
    ids = [turn.resource_id for turn in window.last_atom()]
    return ResourceClass.PRESERVED in window.linearity.classes_of(ids)


def is_over_budget(window: ContextWindow, coming: int = 0) -> bool:
    """Return whether the window, with `coming` more tokens, takes more than a request may."""
    tokens = window.total_tokens + window.introduced_tokens + coming
    return tokens + REQUEST_OVERHEAD > window.max_tokens


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

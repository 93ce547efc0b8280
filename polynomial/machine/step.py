"""One input on its way through the machine: what guards and validators ask of it, and what the actions make.

Guards run before actions, so a guard must compute the window that the input *would* make. It is
made once,
here, and every answer is remembered: whoever asks the same step again (the live machine, after the
table has decided) hears the same and pays nothing. Nothing outside changes until somebody takes the
result.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from polycontext.linearity import UNIX_EPOCH, InvalidOptionError, ResourceClass
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
    is_looping,
    pressure_of,
)
from polycontext.pressure.threshold import NO_SIGNALS, mark_above, tokens_at
from polycontext.pressure.view import splices_of
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn
from polycontext.window.atoms import spliced

from ..errors import ContextOverflowError
from ..inputs import (
    KIND_OF_ROLE,
    Arguments,
    ContextInput,
    ContextOutput,
    InputKind,
    Promotion,
    Standing,
)
from ..state import ContextState, State

if TYPE_CHECKING:
    from polycontext.pressure.cache import Prices

_TRIES = 16
_TURNS = frozenset(KIND_OF_ROLE.values())
_ASKED = frozenset({InputKind.USER_TURN, InputKind.SYSTEM})


@frozen
class ContextPolicy:
    """Inject what the machine's guards and actions call.

    `projector` compresses, `threshold` says what is pressured (and is asked with `signals`),
    `cooldown` is for how many turns after a compression the machine stays COMPRESSED. `auto` is the
    session's: make room by itself; `background` is its, too: let summaries be written while the
    conversation goes on. With `prices` it makes room also where that is cheaper than going on.
    """

    projector: ContextProjector = field(factory=ContextProjector)
    threshold: Threshold = field(factory=AdaptiveThreshold)
    cooldown: int = 2
    signals: Signals = NO_SIGNALS
    auto: bool = True
    background: bool = False
    prices: "Prices | None" = None

    def high(self, window: ContextWindow) -> float:
        """Return the high mark for `window`: a loop at its end is signalled whatever the caller knows of it."""
        return self.threshold.high(_looping(self.signals) if is_looping(window) else self.signals)

    def is_above(self, window: ContextWindow) -> bool:
        """Tell whether the pressure of `window` is above its high mark.

        What costs more to know is asked only where it would matter.
        """
        pressure, marks = (
            pressure_of(window),
            (self.threshold.high(self.signals), self.threshold.high(_looping(self.signals))),
        )
        if pressure <= min(marks):
            return False
        return pressure > self.high(window) and pressure > self.mark(window)

    def mark(self, window: ContextWindow) -> float:
        """Return the pressure above which `window` counts as pressured: its high mark, of the free room where room is made by itself."""
        high = self.high(window)
        # Of the whole room, hardly anything that can yield would do so at every turn.
        return (
            mark_above(self.projector.floor(window) / window.max_tokens, high)
            if self.auto
            else high
        )

    def begins(self, window: ContextWindow, share: float) -> bool:
        """Tell whether a summary is to be begun in the background: `share` of the way from where compressing aims to where `window` is pressured."""
        pressure, low, high = pressure_of(window), self.threshold.low, self.high(window)
        if pressure <= low + share * (high - low):
            return False
        floor = self.projector.floor(window) / window.max_tokens
        return pressure > mark_above(floor, low + share * (high - low))


@cache
def _looping(signals: Signals) -> Signals:
    return evolve(signals, looping=True)


@cache
def default_policy() -> ContextPolicy:
    """Return the policy that is used when nobody brings another.

    Made when first needed, since it brings the extractive summariser.
    """
    return ContextPolicy(auto=False)


@define
class Step:
    """Hold an input at time `at`, the window it meets, the policy, and every answer so far: nothing is made or counted twice.

    `after` is the window that the input leads to; guards and validators are given the step.
    """

    input: ContextInput
    window: ContextWindow
    policy: ContextPolicy
    at: datetime = UNIX_EPOCH
    compression: CompressionResult | None = None
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
        state: State,
    ) -> "Step":
        """Return a step whose answers are those that led to `state` with the window `after`, as a journal has them."""
        step = cls(context_input, window, policy)
        step._after, step._checked = after, True
        step._pressured, step._cooling = (
            state is ContextState.PRESSURED,
            state is ContextState.COMPRESSED,
        )
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

        Raise what makes that impossible, such as `OrderError`.
        """
        if self._after is None:
            self._after = self._make()
        return self._after

    def check(self) -> None:
        """Refuse an input that cannot be taken here.

        Raises:
            OrderError: the turn may not come now.
            ContextOverflowError: what is asked could never fit, or a recall would press the window.
                What the model said and what a tool
                answered has happened already: it gets in, and is truncated in the view if need be,
                    unless it is PRESERVED.
            ConflictError: a fulfilment was planned on another window.
            FloorError: the compression takes an atom below the floor of its class, whoever planned
                it.
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
        elif kind in _TURNS and (kind in _ASKED or _last_is_preserved(self.after)):
            check_fits(self.after, self.policy.projector)
        _ = self.after
        self._checked = True

    def is_empty(self) -> bool:
        """Return whether nothing stands in the view."""
        return len(self.after) == 0

    def is_pressured(self) -> bool:
        """Return whether the window is over its high mark; a view over its budget always is."""
        if self._pressured is None:
            self._pressured = self.policy.is_above(self.after) or is_over_budget(self.after)
        return self._pressured

    def is_cooling(self) -> bool:
        """Return whether the last compression is fewer turns away than the cooldown."""
        if self._cooling is None:
            since = self.after.turns_since_compression
            self._cooling = since is not None and since < self.policy.cooldown
        return self._cooling

    def stood_in(self, state: State) -> bool:
        """Return whether a rewind goes back to where the machine was in `state`."""
        return isinstance(self.input.payload, Standing) and self.input.payload.state == state

    def output(self, state: State) -> ContextOutput:
        """Return what goes out once the machine is in `state`."""
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
                window = window.promote(
                    resource_id, ResourceClass(resource_class), rationale=rationale, when=at
                )
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

    def _check_compression(self) -> None:
        payload = self.input.payload
        if isinstance(payload, Fulfilment) and not payload.plan.fits(self.window):
            raise ConflictError("compression plan", payload.plan.window, self.window)
        after, compression = self.after, self.compression
        assert compression is not None
        check_floors(self.window, compression.edit)
        if after.all_turns() != tuple(
            spliced(self.window.all_turns(), splices_of(self.window, compression.edit))
        ):
            # The journal repeats the edit: a window that it does not make would be lost by a
            # restart.
            raise InvalidOptionError("compression", compression, "a window that its own edit makes")


def _last_is_preserved(window: ContextWindow) -> bool:
    """Tell whether the last atom can never yield: a class of any of its turns is that of all."""
    for place in range(len(window), 0, -1):
        turn = window.peek(place)
        assert turn is not None  # only position 0 has none
        if window.class_of(turn) is ResourceClass.PRESERVED:
            return True
        if turn.role is not Role.TOOL:
            break
    return False


def is_over_budget(window: ContextWindow) -> bool:
    """Tell whether the whole window takes more than a request may."""
    return window.total_tokens + window.introduced_tokens + REQUEST_OVERHEAD > window.max_tokens


def check_fits(window: ContextWindow, projector: ContextProjector) -> None:
    """Raise `ContextOverflowError` if `window` could not fit even after compressing everything that may yield."""
    if not is_over_budget(window):
        return
    besides = besides_floor(window, projector)
    if projector.floor(window) > window.max_tokens - besides:
        raise overflow(window, projector, "the turn", besides, window.max_tokens)


def besides_floor(window: ContextWindow, projector: ContextProjector) -> int:
    """Return the tokens that a request takes besides the floor of `window`: what every one takes, and what a provider wants said between the turns."""
    return REQUEST_OVERHEAD + projector.plan_within(window, 0).introduced_tokens


def overflow(
    window: ContextWindow, projector: ContextProjector, what: str, besides: int, max_tokens: int
) -> ContextOverflowError:
    """Return the error that names a number of tokens which suffices, `besides` the window, and what takes the room."""
    needed = projector.floor(window) + besides
    for _ in range(_TRIES):
        # A larger window preserves more of what the user demands: what it needs then is more again.
        larger = projector.floor(window.resized(max(1, needed))) + besides
        if larger <= needed:
            break
        needed = larger
    rows = projector.plan_within(window, 0).explain().rows
    return ContextOverflowError(
        needed, max_tokens, what, {row.what: row.after for row in rows if row.after}
    )

"""One input on its way through the machine: what guards and validators ask of it, and what the actions make.

Guards run before actions, so a guard must compute the window that the input *would* make. It is made once,
here, and every answer is remembered: whoever asks the same step again (the live machine, after the table
has decided) hears the same and pays nothing. Nothing outside changes until somebody takes the result.
"""

from functools import cache
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.inputs import ContextInput, ContextOutput, Promotion
from polycontext.polynomial.state import ContextState, InputKind
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
from polycontext.pressure.threshold import NO_SIGNALS, marked, tokens_at
from polycontext.pressure.view import splices_of
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role
from polycontext.window.splice import spliced

if TYPE_CHECKING:
    from polycontext.pressure.cache.prices import Prices

_TRIES = 16
_ASKED = frozenset({InputKind.USER_TURN, InputKind.SYSTEM})


@frozen
class ContextPolicy:
    """Inject what the machine's guards and actions call.

    `projector` compresses, `threshold` says what is pressured (and is asked with `signals`), `cooldown` is for how
    many turns after a compression the machine stays COMPRESSED. `auto` is the session's: make room by itself; `background` is its, too: let summaries
    be written while the conversation goes on. With `prices` it makes room also where that is cheaper than going on.
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
        """Tell whether the pressure of `window` is above its high mark; what costs more to know is asked only where it would matter."""
        pressure, marks = pressure_of(window), (self.threshold.high(self.signals), self.threshold.high(_looping(self.signals)))
        if pressure <= min(marks):
            return False
        return pressure > self.high(window) and pressure > self.mark(window)

    def mark(self, window: ContextWindow) -> float:
        """Return the pressure above which `window` counts as pressured: its high mark, of the free room where room is made by itself."""
        high = self.high(window)
        # Of the whole room, hardly anything that can yield would do so at every turn.
        return marked(self.projector.floor(window) / window.max_tokens, high) if self.auto else high

    def begins(self, window: ContextWindow, share: float) -> bool:
        """Tell whether a summary is to be begun in the background: `share` of the way from where compressing aims to where `window` is pressured."""
        pressure, low, high = pressure_of(window), self.threshold.low, self.high(window)
        if pressure <= low + share * (high - low):
            return False
        floor = self.projector.floor(window) / window.max_tokens
        return pressure > marked(floor, low + share * (high - low))


@cache
def _looping(signals: Signals) -> Signals:
    return evolve(signals, looping=True)


@cache
def default_policy() -> ContextPolicy:
    """Return the policy that is used when nobody brings another; made when first needed, since it brings the extractive summariser."""
    return ContextPolicy(auto=False)


@define
class Step:
    """Carry an input, the window it meets and the policy; remember every answer, and the window it makes."""

    input: ContextInput
    window: ContextWindow
    policy: ContextPolicy
    result: ContextWindow | None = None
    compression: CompressionResult | None = None
    _appended: ContextWindow | None = None
    _recalled: ContextWindow | None = None
    _fits: bool = False
    _pressured: bool | None = None
    _cooling: bool | None = None
    _holds_floors: bool = False

    @classmethod
    def recorded(
        cls, context_input: ContextInput, window: ContextWindow, policy: ContextPolicy, result: ContextWindow, state: ContextState
    ) -> "Step":
        """Return a step whose answers are those that led to `state` with `result`, as a journal has them."""
        step = cls(context_input, window, policy, result)
        step._appended = step._recalled = result
        step._fits = step._holds_floors = True
        step._pressured, step._cooling = state is ContextState.PRESSURED, state is ContextState.COMPRESSED
        return step

    # --- validators: raise, or let pass -----------------------------------

    def in_order(self) -> None:
        """Raise `OrderError` if the turn may not come now."""
        _ = self.appended

    def fits(self) -> None:
        """Raise `ContextOverflowError` for what is asked and could never fit, or for a recall that would press the window.

        What the model said and what a tool answered has happened already: it gets in, and is cut in the view if need be, unless it is PRESERVED.
        """
        if self._fits:
            return
        if self.input.kind is InputKind.RECALL:
            if self.policy.is_above(self.recalled) or is_over_budget(self.recalled):
                most = tokens_at(self.policy.mark(self.recalled), self.window.max_tokens)
                raise ContextOverflowError(self.recalled.total_tokens, most, "the view with what is recalled")
        elif self.input.kind in _ASKED or _last_is_preserved(self.appended):
            check_fits(self.appended, self.policy.projector)
        self._fits = True

    def is_current(self) -> None:
        """Raise `ConflictError` unless a fulfilment was planned on the window it meets, or on what that has grown from."""
        payload = self.input.payload
        if isinstance(payload, Fulfilment) and not payload.plan.fits(self.window):
            raise ConflictError("compression plan", payload.plan.window, self.window)

    def keeps_floors(self) -> None:
        """Raise `FloorError` if the compression takes an atom below the floor of its class, whoever planned it."""
        if not self._holds_floors:
            result = self.compressed
            check_floors(self.window, result.edit)
            if result.window.all_turns() != tuple(spliced(self.window.all_turns(), splices_of(self.window, result.edit))):
                # The journal repeats the edit: a window that it does not make would be lost by a restart.
                raise InvalidOptionError("compression", result, "a window that its own edit makes")
            self._holds_floors = True

    # --- guards: tell ------------------------------------------------------

    def is_pressured(self) -> bool:
        """Tell whether the turn takes the window above the high mark; a view over its budget always is."""
        if self._pressured is None:
            window = self.appended
            self._pressured = self.policy.is_above(window) or is_over_budget(window)
        return self._pressured

    def is_cooling(self) -> bool:
        """Tell whether the last compression is fewer turns away than the cooldown."""
        if self._cooling is None:
            self._cooling = (self.appended.turns_since_compression or 0) < self.policy.cooldown
        return self._cooling

    # --- actions: make the window ------------------------------------------

    def append_turn(self) -> ContextWindow:
        """Make the window with the turn."""
        return self._made(self.appended)

    def compress_window(self) -> ContextWindow:
        """Make the compressed window."""
        return self._made(self.compressed.window if self.result is None else self.result)

    def recall_atoms(self) -> ContextWindow:
        """Make the window in which the recalled turns stand again."""
        return self._made(self.recalled)

    def raise_class(self) -> ContextWindow:
        """Make the window whose ledger holds a turn in a higher class."""
        payload = self.input.payload
        assert isinstance(payload, Promotion)
        if self.result is None:
            class_ = ResourceClass(payload.resource_class)
            self.result = self.window.promote(payload.resource_id, class_, rationale=payload.rationale, when=payload.at)
        return self.result

    def clear_window(self) -> ContextWindow:
        """Make the empty window."""
        # An empty window is false: `or` would make a second one.
        return self._made(self.window.cleared() if self.result is None else self.result)

    # --- what they are made of ----------------------------------------------

    @property
    def appended(self) -> ContextWindow:
        """Return the window with the input's turn; raise `OrderError` if the turn may not come now."""
        if self._appended is None:
            pinned = self.input.resource_class is ResourceClass.PRESERVED
            self._appended = self.window.append(self.input.turn, self.input.resource_class, pinned=pinned)
        return self._appended

    @property
    def compressed(self) -> CompressionResult:
        """Return what compressing to the input's target, or by its fulfilled plan, makes of the window."""
        if self.compression is None:
            payload, projector = self.input.payload, self.policy.projector
            if isinstance(payload, Fulfilment):
                self.compression = projector.commit(self.window, payload)
            else:
                assert isinstance(payload, int | float)
                self.compression = projector.compress(self.window, payload)
        return self.compression

    @property
    def recalled(self) -> ContextWindow:
        """Return the window with the input's edit applied."""
        if self._recalled is None:
            payload = self.input.payload
            assert isinstance(payload, Edit)
            self._recalled = apply_edit(self.window, payload, compressed=False)
        return self._recalled

    def output(self, state: ContextState) -> ContextOutput:
        """Return what goes out once the machine is in `state`."""
        assert self.result is not None
        return ContextOutput(self.result, state, self.compression)

    def _made(self, window: ContextWindow) -> ContextWindow:
        self.result = window
        return window


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


def check_fits(window: ContextWindow, projector: ContextProjector, what: str = "the turn") -> None:
    """Raise `ContextOverflowError` if `window` could not fit even after compressing everything that may yield."""
    if not is_over_budget(window):
        return
    besides = REQUEST_OVERHEAD + projector.plan_within(window, 0).introduced_tokens
    if projector.floor(window) > window.max_tokens - besides:
        raise overflow(window, projector, what, besides, window.max_tokens)


def overflow(window: ContextWindow, projector: ContextProjector, what: str, besides: int, max_tokens: int) -> ContextOverflowError:
    """Return the error that names a number of tokens which suffices, `besides` the window, and what takes the room."""
    needed = projector.floor(window) + besides
    for _ in range(_TRIES):
        # A larger window preserves more of what the user demands: what it needs then is more again.
        larger = projector.floor(window.resized(max(1, needed))) + besides
        if larger <= needed:
            break
        needed = larger
    rows = projector.plan_within(window, 0).explain().rows
    return ContextOverflowError(needed, max_tokens, what, {row.what: row.after for row in rows if row.after})

"""One input on its way through the machine: what the guards look at and what the action makes.

Guards run before actions, so a guard must compute the window that the turn
*would* make. It is made once, here, and nothing outside changes until the
action has assigned it.
"""

from attrs import define, field, frozen

from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.state import ContextState
from polycontext.pressure import NO_SIGNALS, AdaptiveThreshold, CompressionResult, ContextProjector, Fulfilment, Signals, Threshold
from polycontext.window import REQUEST_OVERHEAD, ContextWindow


@frozen
class ContextPolicy:
    """Inject what the machine's guards and actions call.

    `projector` compresses, `threshold` says what is pressured (and is asked with `signals`),
    `cooldown` is for how many turns after a compression the machine stays COMPRESSED.
    """

    projector: ContextProjector = field(factory=ContextProjector)
    threshold: Threshold = field(factory=AdaptiveThreshold)
    cooldown: int = 2
    signals: Signals = NO_SIGNALS


DEFAULT_POLICY = ContextPolicy()


@define
class Step:
    """Carry an input, the window it meets and the policy; collect the window it makes."""

    input: ContextInput
    window: ContextWindow
    policy: ContextPolicy
    result: ContextWindow | None = None
    compression: CompressionResult | None = None
    _appended: ContextWindow | None = None

    @property
    def appended(self) -> ContextWindow:
        """Return the window with the input's turn, made once; raise `OrderError` if the turn may not come now."""
        if self._appended is None:
            self._appended = self.window.append(self.input.turn, self.input.resource_class)
        return self._appended

    def compressed(self) -> ContextWindow:
        """Return the window compressed to the input's target, or by its fulfilled plan."""
        payload, projector = self.input.payload, self.policy.projector
        if isinstance(payload, Fulfilment):
            self.compression = projector.commit(self.window, payload)
        else:
            assert isinstance(payload, int | float)
            self.compression = projector.compress(self.window, payload)
        return self.compression.window

    def output(self, state: ContextState) -> ContextOutput:
        """Return what goes out once the machine is in `state`."""
        assert self.result is not None
        return ContextOutput(self.result, state, self.compression)


def is_over_budget(window: ContextWindow) -> bool:
    """Tell whether the whole window takes more than a request may."""
    return window.seek(len(window)).tokens + REQUEST_OVERHEAD > window.max_tokens


def check_fits(window: ContextWindow, projector: ContextProjector, what: str = "the turn") -> None:
    """Raise `ContextOverflowError` if `window` could not fit even after compressing everything that may yield."""
    if not is_over_budget(window):
        return
    room = window.max_tokens - REQUEST_OVERHEAD
    floor = projector.floor(window)
    if floor > room:
        raise ContextOverflowError(floor + REQUEST_OVERHEAD, window.max_tokens, what)

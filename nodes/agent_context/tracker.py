"""Who changed what, one agent after the other (seed 002, Change Tracking)."""

from collections.abc import Callable
from datetime import datetime

from polycontext.nodes.agent_context.context import AgentContext, utc_now
from polycontext.nodes.agent_context.context_patch import ContextPatch, diff


class DiffTracker:
    """Remember a context, and tell what an agent made of it.

    >>> from polycontext.nodes.agent_context import ContextValidator, Intent
    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> tracker = DiffTracker(ctx)
    >>> after = ContextValidator.default().safe_set(ctx, "intent_detection", "reasoning", "intents", [Intent("query", 0.95)])
    >>> tracker.capture("intent_detection", after).summary()
    '[intent_detection] Changes: reasoning.intents_added=1'
    """

    def __init__(self, context: AgentContext, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._context = context
        self._clock = clock

    def capture(self, agent_id: str, context: AgentContext, *, timestamp: datetime | None = None) -> ContextPatch:
        """Return what changed since the last capture; the next one starts from here. The trail itself is left out.

        Without a `timestamp` the clock is asked.

        Raises:
            ContextFormatError: the name is no text, or the time naive.
        """
        patch = diff(self._context, context, agent_id=agent_id, timestamp=timestamp or self._clock()).without_trail()
        self._context = context
        return patch

"""Telemetry of compressions: a listener of a session's machine (docs/telemetry.md).

OpenTelemetry's conventions for GenAI have no compaction: the span has the name that other agent
libraries use, and what has no name there begins with ``polycontext``.
"""

from collections.abc import Iterator
from time import time_ns
from typing import Any

from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.trace import SpanKind, TracerProvider, get_tracer

from polycontext.base import guided, require
from polycontext.pressure import Fulfilment, is_summary

_NAME = "polycontext"
_SECOND = 1_000_000_000
"""Nanoseconds."""


@guided
class CompressionTelemetry:
    """A listener that records every compression of one session, as a span and in two histograms.

    Pass it to the session as a listener. Instruments made before a provider is set work after it.
    Spans have numbers, the name of the summariser and of its model, and `session_id`, but no text
    of the conversation.

    Args:
        session_id: the value of ``gen_ai.conversation.id``.
        texts: also records the text of the summaries, as ``polycontext.summary``.
        tracer_provider, meter_provider: the global ones by default.

    >>> from polycontext import ContextSession
    >>> telemetry = CompressionTelemetry("trip")
    >>> session = ContextSession(max_tokens=8000, session_id="trip", listeners=[telemetry])
    """

    def __init__(
        self,
        session_id: str,
        *,
        texts: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        require("session_id", session_id, isinstance(session_id, str), "the id of a session")
        self._session_id, self._texts = session_id, texts
        self._tracer = get_tracer(_NAME, tracer_provider=tracer_provider)
        meter = get_meter(_NAME, meter_provider=meter_provider)
        self._tokens = meter.create_histogram(
            "polycontext.compaction.tokens", "{token}", "Tokens of the view around a compression"
        )
        self._duration = meter.create_histogram(
            "polycontext.compaction.duration", "s", "Duration of writing the summary"
        )

    def after_compress(self, step: Any) -> None:
        """Record a compression; python-statemachine calls it once the event is stored."""
        made, given = step.compression, step.input.payload
        # Another process records what it compressed; a compression that changes nothing is none.
        if made is None or made.edit.is_empty:
            return
        seconds = given.seconds if isinstance(given, Fulfilment) else None
        end = time_ns()
        start = end - int((seconds or 0) * _SECOND)
        span = self._tracer.start_span("compact_messages", kind=SpanKind.INTERNAL, start_time=start)
        if span.is_recording():
            span.set_attributes(dict(self._attributes(made, given)))
        span.end(end)
        for when, tokens in (("before", made.tokens_before), ("after", made.tokens_after)):
            self._tokens.record(tokens, {"polycontext.compaction.when": when})
        if seconds is not None:
            self._duration.record(seconds)

    def _attributes(self, made: Any, given: Any) -> Iterator[tuple[str, str | int | float]]:
        yield "gen_ai.conversation.id", self._session_id
        yield "polycontext.tokens.before", made.tokens_before
        yield "polycontext.tokens.after", made.tokens_after
        for name in ("kept", "gisted", "dropped", "rejections"):
            yield f"polycontext.{name}", len(getattr(made, name))
        if (usage := getattr(given, "usage", None)) is not None:
            yield "gen_ai.request.model", usage.model
            yield "gen_ai.usage.input_tokens", usage.input_tokens
            yield "gen_ai.usage.output_tokens", usage.output_tokens
        if self._texts:
            turns = (turn for splice in made.edit.splices for turn in splice.turns)
            yield "polycontext.summary", "\n".join(turn.text for turn in turns if is_summary(turn))

"""Every compression is a span and two measurements, without a word of the conversation."""

import json
from random import Random
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal.receipts import Fate
from polycontext.pressure import ContextProjector
from polycontext.telemetry import CompressionTelemetry
from polycontext.testing import FAST


class Collector:
    """The real SDK with exporters in memory."""

    def __init__(self) -> None:
        self._exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracer = TracerProvider()
        self.tracer.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meter = MeterProvider([self.reader])

    def telemetry(self, session_id: str = "trip", **options: Any) -> CompressionTelemetry:
        """Return a listener that exports here."""
        return CompressionTelemetry(
            session_id, tracer_provider=self.tracer, meter_provider=self.meter, **options
        )

    @property
    def spans(self) -> list[ReadableSpan]:
        """Return the spans so far."""
        return [*self._exporter.get_finished_spans()]

    def said(self) -> str:
        """Return all that was exported as text, and forget it."""
        texts = [span.to_json() for span in self.spans]
        self._exporter.clear()
        data = self.reader.get_metrics_data()
        return "\n".join([*texts, "" if data is None else data.to_json()])


def test_a_compression_is_a_span_that_agrees_with_its_receipt() -> None:
    """Tokens, turns and duration are those of the receipt; each measurement is there."""
    collector = Collector()
    session = ContextSession(600, counter=FAST, listeners=[collector.telemetry()])
    for number in range(12):
        session.add_user_turn(f"Wall {number} " + "gets one more layer of paint, " * 4)
    session.compress(0.4)
    for number in range(12):
        session.add_user_turn(f"Hall {number} " + "gets one more layer of paint, " * 4)
    receipts = session.history.receipts()
    assert len(receipts) == len(collector.spans) > 1
    for span, receipt in zip(collector.spans, receipts, strict=True):
        told = dict(span.attributes or {})
        assert (span.name, span.kind) == ("compact_messages", SpanKind.INTERNAL)
        assert told["gen_ai.conversation.id"] == "trip"
        assert told["polycontext.tokens.before"] == receipt.before.tokens
        assert told["polycontext.tokens.after"] == receipt.after.tokens
        fates = [atom.fate for atom in receipt.atoms for _ in atom.turns]
        assert told["polycontext.kept"] == fates.count(Fate.KEPT)
        assert told["polycontext.gisted"] == fates.count(Fate.SUMMARISED)
        assert receipt.summariser is not None
        assert span.end_time is not None
        assert span.start_time is not None
        lasted = (span.end_time - span.start_time) / 1e9
        assert lasted == pytest.approx(receipt.summariser.seconds, abs=1e-6)


def test_the_histograms_count_every_compression() -> None:
    """Tokens before and after, and seconds."""
    collector = Collector()
    session = ContextSession(600, counter=FAST, listeners=[collector.telemetry()])
    for number in range(6):
        session.add_user_turn(f"Wall {number} " + "gets one more layer of paint, " * 4)
    session.compress(0.2)
    session.compress(0.2)  # nothing is left to take
    data = collector.reader.get_metrics_data()
    assert data is not None
    metrics = {
        metric.name: (metric.unit, [point.count for point in metric.data.data_points])  # type: ignore[union-attr]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert metrics == {
        "polycontext.compaction.tokens": ("{token}", [1, 1]),
        "polycontext.compaction.duration": ("s", [1]),
    }


def test_the_text_of_a_summary_is_recorded_if_it_is_asked_for() -> None:
    """By name, and only then."""
    for texts in (False, True):
        collector = Collector()
        session = ContextSession(600, counter=FAST, listeners=[collector.telemetry(texts=texts)])
        for number in range(12):
            session.add_user_turn(
                f"Wall {number} " + "gets one more layer of vermilion paint, " * 4
            )
        session.compress(0.5)
        assert ("vermilion" in collector.said()) is texts


def test_the_text_of_a_summary_is_not_that_of_a_truncated_result() -> None:
    """A result that is too long keeps its words to itself."""
    collector = Collector()
    session = ContextSession(600, counter=FAST, listeners=[collector.telemetry(texts=True)])
    for number in range(8):
        session.add_user_turn(f"Wall {number} " + "gets one more layer of vermilion paint, " * 2)
    session.add_assistant_turn(tool_calls=[{"id": "c", "name": "look", "arguments": "{}"}])
    session.add_tool_turn("The password is swordfish. " * 80, tool_call_id="c", oversize="truncate")
    session.compress(0.5)
    assert any("swordfish" in turn.text for turn in session.window.all_turns())
    said = collector.said()
    assert "vermilion" in said
    assert "swordfish" not in said


def test_a_wrong_id_is_refused() -> None:
    """The session itself is no id."""
    with pytest.raises(InvalidOptionError, match="session_id"):
        CompressionTelemetry(ContextSession())  # type: ignore[arg-type]


def fuzz(seed: int, collector: Collector) -> list[str]:
    """Drive a session at random, and return the words that were said in it."""
    random = Random(seed)  # noqa: S311 - nothing here is a secret
    said: list[str] = []

    def words(count: int) -> str:
        fresh = [f"{random.choice('bdfgkl')}{random.getrandbits(40):x}z" for _ in range(count)]
        said.extend(fresh)
        return " ".join(fresh)

    def model(turns: object, max_tokens: int) -> str:
        if random.random() < 0.2:
            raise ValueError(words(2))
        return words(random.choice([0, 3, 400]))

    projector = ContextProjector(model) if seed % 3 == 0 else ContextProjector()
    size, listeners = 200 if seed % 8 == 0 else 4_000, [collector.telemetry(f"s{seed}")]
    session = ContextSession(size, counter=FAST, projector=projector, listeners=listeners)
    for number in range(random.randrange(1, 4)):
        session.add_user_turn(words(8), name=words(1))
        call = {"id": f"c{number}", "name": words(1), "arguments": json.dumps({"of": words(2)})}
        session.add_assistant_turn(words(3), tool_calls=[call])
        session.add_tool_turn(words(12), tool_call_id=f"c{number}")
    session.compress(random.random() / 50, query=words(2) if seed % 2 else None)
    return said


@pytest.mark.parametrize(
    "count",
    [
        40,
        pytest.param(150, marks=pytest.mark.gate),
        pytest.param(10_000, marks=pytest.mark.deep),
    ],
)
def test_no_word_of_a_conversation_is_in_a_span(count: int) -> None:
    """Whatever is said, called, returned, summarised or raised."""
    collector, spans = Collector(), 0
    for seed in range(count):
        said = fuzz(seed, collector)
        spans += len(collector.spans)
        told = collector.said()
        assert not [word for word in said if word in told], seed
    assert spans > count / 2

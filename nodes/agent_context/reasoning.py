"""The namespace of reasoning: intents, hypotheses, conclusions (seed 002 §2)."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._kinds import Confidence
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class Intent(Record):
    """Hold what the user seems to want, how surely (0..1), and the entities it is about."""

    type: str = ""
    confidence: Confidence = 0.0
    entities: tuple[str, ...] = ()


@frozen(field_transformer=checked)
class Hypothesis(Record):
    """Hold an assumption and the ids of the hypotheses it depends on."""

    id: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()


@frozen(field_transformer=checked)
class Conclusion(Record):
    """Hold what was concluded, how surely (0..1), and the ids of the hypotheses and facts it rests on."""

    id: str = ""
    content: str = ""
    confidence: Confidence = 0.0
    based_on: tuple[str, ...] = ()


@frozen(field_transformer=checked)
class ReasoningContext(Record):
    """Hold the reasoning; `dependency_map` is any JSON data, `confidence_scores` are 0..1."""

    intents: tuple[Intent, ...] = ()
    entities: Mapping[str, Any] = EMPTY
    hypotheses: tuple[Hypothesis, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    dependency_map: Any = None
    confidence_scores: Mapping[str, Confidence] = EMPTY
    summary: str = ""

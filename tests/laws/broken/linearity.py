"""Broken ledgers and classifiers, each of which a law rejects."""

from collections.abc import Mapping
from typing import Any

from polycontext.linearity import Classifier, ResourceClass
from polycontext.linearity.laws import classifiers
from tests.laws.counterexamples import breaks

DROPPABLE, REQUIRED, PRESERVED = ResourceClass


def moody() -> Classifier:
    """Return a classifier that keeps count of its answers."""
    answers = iter(ResourceClass)
    return lambda role, content, metadata: next(answers)


def numbers(role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
    """Answer with a number that compares equal to a class."""
    return 1  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - the fault


def marking(role: str, content: str, metadata: Any, /) -> ResourceClass:
    """Mark the turn that was seen."""
    metadata["seen"] = True
    return REQUIRED


breaks(
    classifiers.classification_repeats,
    "a moody classifier",
    lambda law: law(moody(), "user", "hello", {}),
)
breaks(
    classifiers.classification_repeats,
    "an answer that is not a resource class",
    lambda law: law(numbers, "user", "hello", {}),
)
breaks(
    classifiers.classification_repeats,
    "a classifier that writes on the turn",
    lambda law: law(marking, "user", "hello", {}),
)

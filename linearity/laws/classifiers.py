"""The law of classification."""

from collections.abc import Mapping
from typing import Any

from polycontext.base.law import agree, holds, law

from ..classification.classifier import Classifier
from ..resource_class import ResourceClass


@law('docs/linearity.md, "The rule that classifies"')
def classification_repeats(
    classifier: Classifier, role: str, content: str, metadata: Mapping[str, Any]
) -> None:
    """A classifier gives the same turn the same class again and does not change the metadata."""
    before = dict(metadata)
    first = classifier(role, content, metadata)
    again = classifier(role, content, metadata)
    holds(isinstance(first, ResourceClass), "a resource class", first, metadata=before)
    agree((again, dict(metadata)), (first, before), metadata=before)

"""What a user states of tools: which results never yield, which yield first, and which a later call replaces."""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from attrs import frozen

from ..errors import InvalidOptionError
from ..resource_class import ResourceClass
from .classifier import Classifier, default_classifier


class Yielding(Enum):
    """Say when the calls of a tool yield, with their results."""

    NEVER = "never"
    FIRST = "first"
    REPLACED = "replaced"
    """As soon as a later call has the current result."""


@frozen
class ToolRule:
    """State how the calls of `tools` yield; made by `keep_last`, `never_yield` and `yield_first`.

    `per` names the arguments that two calls must share for the later one to replace the earlier.
    """

    yielding: Yielding
    tools: tuple[str, ...]
    per: tuple[str, ...] = ()

    def replaces(self, arguments: str) -> tuple[str, ...]:
        """Return what a call with these `arguments` shares with those that it replaces: the values of `per`, as JSON text."""
        try:
            called = json.loads(arguments or "{}")
        except ValueError:
            called = None
        # What is no JSON object shares its arguments as a whole, where they matter at all.
        if not isinstance(called, dict):
            return (arguments,) if self.per else ()
        return tuple(json.dumps(called.get(name), sort_keys=True) for name in self.per)


def keep_last(*tools: str, per: str | Sequence[str] = ()) -> ToolRule:
    """State that a later call of a tool replaces the earlier ones, those alone that share the arguments `per` with it.

    What is replaced yields before other results do, to a line that says so; the log keeps it.

    Raises:
        InvalidOptionError: no tool is named, or `per` holds no names.

    >>> keep_last("read_file", per="path").replaces('{"path": "a.py", "from": 10}')
    ('"a.py"',)
    """
    return ToolRule(Yielding.REPLACED, _names("tools", tools, least=1), _names("per", (per,) if isinstance(per, str) else tuple(per)))


def never_yield(*tools: str) -> ToolRule:
    """State that the calls of `tools` and their results stay word for word: they are PRESERVED, as far as the window can hold them.

    Raises:
        InvalidOptionError: no tool is named.
    """
    return ToolRule(Yielding.NEVER, _names("tools", tools, least=1))


def yield_first(*tools: str) -> ToolRule:
    """State that the calls of `tools` and their results go before all else, without a trace in the view: they are DROPPABLE.

    A call beside which something was said, or another tool called, stays REQUIRED.

    Raises:
        InvalidOptionError: no tool is named.
    """
    return ToolRule(Yielding.FIRST, _names("tools", tools, least=1))


def _names(option: str, names: tuple[str, ...], least: int = 0) -> tuple[str, ...]:
    if len(names) < least or not all(isinstance(name, str) and name for name in names):
        raise InvalidOptionError(option, names, "names, none of them empty")
    return names


@frozen
class ClassifierByTool:
    """Classify turns that call or answer the tools of `rules` as these say, all others as `rest` does."""

    rules: tuple[ToolRule, ...]
    rest: Classifier

    def __call__(self, role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        """Return the class of the turn; ``metadata["tools"]`` names what it calls or answers."""
        tools = set(metadata.get("tools", ()))
        if tools & self._named(Yielding.NEVER):
            return ResourceClass.PRESERVED
        if tools and tools <= self._named(Yielding.FIRST) and (role == "tool" or not content.strip()):
            return ResourceClass.DROPPABLE
        return self.rest(role, content, metadata)

    def _named(self, yielding: Yielding) -> set[str]:
        return {tool for rule in self.rules if rule.yielding is yielding for tool in rule.tools}


def classified_by(rules: Sequence[ToolRule], rest: Classifier = default_classifier) -> Classifier:
    """Return the classifier that obeys `rules` and asks `rest` about everything else."""
    return ClassifierByTool(tuple(rules), rest) if rules else rest

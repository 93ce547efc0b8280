"""What prompts refuse, and what they warn of."""

from collections.abc import Iterable
from difflib import get_close_matches

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class TemplateError(CallerError, ValueError):
    """Refuse a template when it is loaded; `source` is its file, `line` and `column` count from 1 (0: the template as a whole)."""

    source: str
    line: int
    column: int
    problem: str
    legal: str

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        return f"{where}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class MissingValueError(CallerError, KeyError):
    """Say which value a template names and nobody gave; `known` are those that were given."""

    key: str
    template: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"template {self.template} names {{{self.key}}}, but no such value is given; legal: {self.key}=..., beside {', '.join(self.known)}"


@define(slots=False, eq=False)
class EigenvectorError(CallerError, ValueError):
    """Refuse a coordinate of a persona."""

    name: object
    value: object

    def __str__(self) -> str:
        return f"eigenvector {self.name!r:.60} = {self.value!r:.60}; legal: a name, and a number from 0 to 1"


class UnknownAgentTypeWarning(UserWarning):
    """Warn that an agent type has no template and the one called `default` stands in."""


def unknown_agent_type(agent_type: str, known: Iterable[str]) -> UnknownAgentTypeWarning:
    """Return the warning, with what the name may have been meant to be."""
    names = sorted(known)
    near = " or ".join(map(repr, get_close_matches(agent_type, names)))
    meant = f"; did you mean {near}?" if near else ""
    return UnknownAgentTypeWarning(f"no template for agent type {agent_type!r:.60}, 'default' stands in{meant}; legal: {', '.join(names)}")

"""Rules that assign a resource class to a turn, with the default rule.

A classifier sees one turn: its role, its content and a few facts as metadata. It must be a pure
function, so that replaying a journal yields the same classes as the first run.

By default, only bare acknowledgements, blank turns and empty tool results can be dropped without a
trace. An answer is not an acknowledgement: yes, no, a number, a choice and words of consent such as
"sure" or "go ahead" all decide something.

With a `ToolRule` you state which tools' results are never compressed, which are dropped first, and
which are replaced by a later call.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Protocol

from attrs import frozen

from polycontext.base import require, with_usage

from ..resource_class import ResourceClass
from .constraints import states_mostly
from .vocabulary import own_lists


class Classifier(Protocol):
    """A callable that assigns a resource class to a turn; any function of this shape works.

    `metadata` holds the turn's own metadata and these facts, each of them optional: `first_user`
    (bool: the first user turn), `has_calls` (bool), `has_parts` (bool: the turn has
    provider-specific blocks), `gist` (bool), `answers_question` (bool: the previous turn asked a
    question), `tools` (names of the tools it calls or answers), `tokens` (of this turn),
    `constraint_tokens` (of all constraint turns preserved so far) and `preserved_share_tokens` (the
    most tokens those turns may take together).
    """

    def __call__(self, role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        """Return the class of the turn."""
        ...


def default_classifier(role: str, content: str, metadata: Mapping[str, Any]) -> ResourceClass:
    """Return the class of a turn by the default rule.

    See docs/linearity.md, "The rule that classifies".

    Gists are always REQUIRED. System turns and the first user turn are PRESERVED, and so are user
    turns of at most 280 characters if standing constraints make up at least half of the text and
    the share for such turns is not used up. Acknowledgements that do not answer a question, blank
    turns without tool calls and empty results are DROPPABLE unless they have parts. Everything else
    is REQUIRED, including turns with an unknown role.

    >>> default_classifier("user", "Book a flight to Oslo.", {"first_user": True}).name
    'PRESERVED'
    >>> default_classifier("user", "thanks!", {}).name
    'DROPPABLE'
    """
    if metadata.get("gist") is True:
        return ResourceClass.REQUIRED
    if role == "system" or (role == "user" and metadata.get("first_user") is True):
        return ResourceClass.PRESERVED
    if _says_nothing(role, content, metadata):
        has_parts = metadata.get("has_parts") is True
        return ResourceClass.REQUIRED if has_parts else ResourceClass.DROPPABLE
    if role == "user" and _share_lasts(metadata) and states_mostly(content):
        return ResourceClass.PRESERVED
    return ResourceClass.REQUIRED


def _says_nothing(role: str, content: str, metadata: Mapping[str, Any]) -> bool:
    if role == "tool":
        return is_empty_result(content)
    if role != "user" and (role != "assistant" or metadata.get("has_calls") is True):
        return False
    if is_acknowledgement(content):
        return metadata.get("answers_question") is not True
    return not content.strip()


def _share_lasts(metadata: Mapping[str, Any]) -> bool:
    known: list[Any] = [
        metadata.get(key) for key in ("constraint_tokens", "tokens", "preserved_share_tokens")
    ]
    if None in known:
        return True
    spent, tokens, share = known
    return bool(spent + tokens <= share)


_LONGEST = 80
_LONGEST_EMPTY_RESULT = 16

_EMOJI = "👍👌🙏😊🙂😀😄😁😃🎉👏💯🙌🤝❤💙🥳😎"
_EMOJI_MODIFIERS = "\ufe0f\u200d🏻🏼🏽🏾🏿"
_PUNCTUATION = " \t\r\n.,!;:~…-–—()\"'’*_。、，！；："
_SPOKEN_WORD = re.compile(r"[\w'’]+")
_EMPTY_RESULT = re.compile(
    r"|null|none|nil|undefined|n/a|\[(?:\[\]|\{\})?\]|\{(?:\[\])?\}|\(\)|\"\"|''|(?:```){1,2}"
)
_DROP_EMOJI = str.maketrans("", "", _EMOJI + _EMOJI_MODIFIERS)
_DROP_PUNCTUATION = str.maketrans("", "", _PUNCTUATION)


def is_acknowledgement(content: str) -> bool:
    """Return whether `content` only expresses thanks, confirmation or praise.

    Blank text is not an acknowledgement.

    >>> is_acknowledgement("Great, thank you so much! 👍")
    True
    >>> is_acknowledgement("yes"), is_acknowledgement("ok?"), is_acknowledgement("ok, do it")
    (False, False, False)
    """
    text = content.strip()
    if len(text) > _LONGEST:
        return False
    said = " ".join([*_SPOKEN_WORD.findall(text.lower().replace("’", "'")), ""])
    signs = _SPOKEN_WORD.sub("", text).translate(_DROP_PUNCTUATION)
    is_thanks = _only_thanks().fullmatch(said) is not None if said else bool(signs)
    return is_thanks and not signs.translate(_DROP_EMOJI)


@cache
def _only_thanks() -> re.Pattern[str]:
    lists = own_lists("acknowledgements")
    thanks, filler = ("|".join(lists[name]) for name in ("thanks", "filler"))
    return re.compile(rf"(?:(?:{filler}) )*(?:(?:{thanks}) (?:(?:{filler}) )*)+")


def is_empty_result(content: str) -> bool:
    """Return whether a tool's result is empty: blank, ``null``, ``[]``, ``{}`` or similar.

    0 and false are not empty.

    >>> is_empty_result(" [ ] "), is_empty_result("0")
    (True, False)
    """
    text = content.strip()
    return len(text) <= _LONGEST_EMPTY_RESULT and bool(
        _EMPTY_RESULT.fullmatch("".join(text.split()).lower())
    )


class Yielding(Enum):
    """When the calls of a tool and their results give up their space."""

    NEVER = "never"
    FIRST = "first"
    REPLACED = "replaced"
    """As soon as a later call has the current result."""


@frozen
class ToolRule:
    """A rule for when the calls of `tools` give up their space.

    Create one with `keep_last`, `never_yield` or `yield_first`. `per` names the arguments that two
    calls must share for the later one to replace the earlier.
    """

    yielding: Yielding
    tools: tuple[str, ...]
    per: tuple[str, ...] = ()

    def replaces(self, arguments: str) -> tuple[str, ...]:
        """Return the values of `per`, as JSON text, that replaced and replacing calls share."""
        try:
            called = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            called = None
        # Arguments that are not a JSON object are compared as a whole, and only if `per` is set.
        if not isinstance(called, dict):
            return (arguments,) if self.per else ()
        return tuple(json.dumps(called.get(name), sort_keys=True) for name in self.per)


@with_usage
def keep_last(*tools: str, per: str | Sequence[str] = ()) -> ToolRule:
    """Return a rule by which a later call of a tool replaces the earlier ones.

    With `per`, a call replaces only earlier calls that have the same values for those arguments.
    Replaced calls are shortened before other results, to a line that says so; the log keeps them.

    Raises:
        InvalidOptionError: no tool is named, or `per` contains an empty name.

    >>> keep_last("read_file", per="path").replaces('{"path": "a.py", "from": 10}')
    ('"a.py"',)
    """
    legal = "the name of an argument, or a list of names"
    require("per", per, isinstance(per, str | list | tuple), legal)
    return ToolRule(
        Yielding.REPLACED,
        _names("tools", tools, least=1),
        _names("per", (per,) if isinstance(per, str) else tuple(per)),
    )


@with_usage
def never_yield(*tools: str) -> ToolRule:
    """Return a rule that keeps the calls of `tools` and their results verbatim.

    They are PRESERVED, as far as the window has room for them.

    Raises:
        InvalidOptionError: no tool is named.
    """
    return ToolRule(Yielding.NEVER, _names("tools", tools, least=1))


@with_usage
def yield_first(*tools: str) -> ToolRule:
    """Return a rule that drops the calls of `tools` and their results before anything else.

    They are DROPPABLE and leave no trace in the view. A call stays REQUIRED if its turn also has
    text or calls another tool.

    Raises:
        InvalidOptionError: no tool is named.
    """
    return ToolRule(Yielding.FIRST, _names("tools", tools, least=1))


def _names(option: str, names: tuple[str, ...], least: int = 0) -> tuple[str, ...]:
    fits = len(names) >= least and all(isinstance(name, str) and name for name in names)
    require(option, names, fits, "names of tools or arguments, each a text of its own")
    return names


@frozen
class ClassifierByTool:
    """A classifier that applies `rules` to turns with tools and passes other turns to `rest`."""

    rules: tuple[ToolRule, ...]
    rest: Classifier

    def __call__(self, role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        """Return the class of the turn; ``metadata["tools"]`` lists the tools it uses."""
        tools = set(metadata.get("tools", ()))
        if tools & self._named(Yielding.NEVER):
            return ResourceClass.PRESERVED
        if (
            tools
            and tools <= self._named(Yielding.FIRST)
            and (role == "tool" or not content.strip())
        ):
            return ResourceClass.DROPPABLE
        return self.rest(role, content, metadata)

    def _named(self, yielding: Yielding) -> set[str]:
        return {tool for rule in self.rules if rule.yielding is yielding for tool in rule.tools}


def classified_by(rules: Sequence[ToolRule], rest: Classifier = default_classifier) -> Classifier:
    """Return a classifier that applies `rules` first and `rest` to all other turns."""
    return ClassifierByTool(tuple(rules), rest) if rules else rest

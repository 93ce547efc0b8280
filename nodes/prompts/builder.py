"""The prompt builder, which assembles templates, persona, constraints and the view.

A prompt goes to a model, never to a browser: `ComponentRenderer` shows what a browser may see
(docs/server.md).
"""

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from attrs import field, frozen

from polycontext.base import InvalidDataError, InvalidOptionError, did_you_mean, similar
from polycontext.base.json_data import check_text
from polycontext.polynomial import ContextOutput, ContextOverflowError
from polycontext.pressure import ContextProjector
from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError, Role, Turn, count_turn

from ..condensation import write_within
from ..prompt_text import one_line
from .template import (
    FRAME,
    INSTRUCTIONS,
    Library,
    Template,
    describe_persona,
    library_of,
    merge,
    package_library,
    read_folder,
)

Value = str | int | float
"""A value for a template: text or a number."""

DEFAULT = "default"
"""The agent type that replaces unknown ones."""

_PROJECTOR = ContextProjector()


def _paths(folders: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    return tuple(map(Path, [folders] if isinstance(folders, str | os.PathLike) else folders))


@frozen(eq=False)
class PromptBuilder:
    r"""Assemble complete prompts from context components (docs/nodes.md).

    Args:
        system_templates: Templates by agent type.
        persona_templates: Sentences by eigenvector and band, such as ``warmth.high``.
        section_templates: The sections around what is filled in, such as ``task``, and the
            instructions of nodes, such as ``node_think``.
        folders: Folders to search for further templates; the first hit wins.

    Missing templates come from the package, which has the agent types kgent, builder, citizen and
    default. The first three fields then hold all templates. Law: a value is in the prompt verbatim
    and is never read as a template.

    Raises:
        TemplateError: A template is invalid; the error names file, line and column.

    >>> print(
    ...     PromptBuilder(
    ...         system_templates={"guide": "You guide through {city}.\n\n{persona}"}
    ...     ).build_system_prompt("guide", {"joy": 0.9}, ["Never suggest a flight."], city="Vienna")
    ... )
    You guide through Vienna.
    <BLANKLINE>
    You enjoy this, and it shows: play with words and ideas where there is room for it.
    <BLANKLINE>
    ## Constraints
    <BLANKLINE>
    These hold throughout, whatever else is said:
    <BLANKLINE>
    - Never suggest a flight.
    """

    system_templates: Mapping[str, str] = field(factory=dict)
    persona_templates: Mapping[str, str] = field(factory=dict)
    section_templates: Mapping[str, str] = field(factory=dict, kw_only=True)
    folders: Sequence[Path] = field(default=(), converter=_paths, kw_only=True)
    _library: Library = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # The class is frozen, but these fields show all templates in place of the caller's own.
        kinds = ("system", "persona", "section")
        given = library_of({kind: getattr(self, f"{kind}_templates") for kind in kinds})
        library = merge([given, *map(read_folder, self.folders), package_library()])
        object.__setattr__(self, "_library", library)
        for kind, templates in library.items():
            texts = {key: template.text for key, template in templates.items()}
            object.__setattr__(self, f"{kind}_templates", MappingProxyType(texts))

    def build_system_prompt(
        self,
        agent_type: str,
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        **values: Value,
    ) -> str:
        """Return the system prompt of an agent; show it to the model only.

        An unknown `agent_type` falls back to ``default`` with a warning. Values that the template
        does not name are ignored. Constraints are appended to a template that has no place for
        them.

        Raises:
            MissingValueError: The template names a value that is not given.
            InvalidOptionError: A coordinate is not a number from 0 to 1.
            InvalidDataError: A value or a constraint is not text that can be stored.
        """
        return self._system_prompt(
            self._template(agent_type), eigenvectors, constraints, _texts(values)
        )

    def build_prompt(
        self,
        output: ContextOutput,
        /,
        agent_type: str = DEFAULT,
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        *,
        task: str | None = None,
        system_only: bool = False,
        **values: Value,
    ) -> str:
        """Return one text for a model to complete: system prompt, view and task (docs/nodes.md).

        If the template names ``{task}``, the task is not repeated at the end. `system_only` leaves
        the conversation out, for use beside `ContextSession.messages`. The text is within the
        window's budget: if it would be over, the conversation in it is compressed by the window's
        own plans. The window itself does not change.

        Raises:
            InvalidMessagesError: Calls are open.
            ContextOverflowError: The text is over budget even after compression.
            MissingValueError, InvalidOptionError, InvalidDataError: As for `build_system_prompt`.
        """
        template = self._template(agent_type)
        texts = _texts(values if task is None else {**values, "task": task})
        system = self._system_prompt(template, eigenvectors, constraints, texts)
        closing = self.section("task", **texts) if task and "task" not in template.names else ""
        if system_only:
            return _join(system, closing)
        window = output.window
        # The model continues after the end of a prompt, so results must be there already.
        if window.open_calls:
            calls = ", ".join(window.open_calls)
            raise InvalidMessagesError(
                "prompt",
                len(window) - 1,
                "unanswered-call",
                f"calls without results: {calls}",
                "their results, or close_open_calls",
            )

        def write(turns: Iterable[Turn]) -> str:
            return _join(
                system,
                self.section("conversation", **{**texts, "conversation": transcript(turns)}),
                closing,
            )

        def count(prompt: str) -> int:
            return count_turn(window.counter, Turn(Role.USER, prompt)) + REQUEST_OVERHEAD

        written = write_within(window, window.max_tokens, write, count, _PROJECTOR)
        if written.tokens > window.max_tokens:
            raise ContextOverflowError(written.tokens, window.max_tokens, "the prompt")
        return written.text

    def _template(self, agent_type: str) -> Template:
        templates = self._library["system"]
        if check_text(agent_type, "agent_type") not in templates:
            names = sorted(templates)
            meant = did_you_mean(similar(agent_type, names))
            warning = (
                f"no template for agent type {agent_type!r:.60}, 'default' is used.{meant} Use "
                f"{', '.join(names)}."
            )
            # Warn at the caller's line: two frames up, past the method that builds a prompt.
            warnings.warn(warning, stacklevel=3)
        return templates.get(agent_type, templates[DEFAULT])

    def describe(self, eigenvectors: Mapping[str, float]) -> str:
        """Return the sentences of a persona; see `build_system_prompt`."""
        return describe_persona(eigenvectors, self._library["persona"])

    def _system_prompt(
        self,
        template: Template,
        eigenvectors: Mapping[str, float] | None,
        constraints: Sequence[str],
        texts: Mapping[str, str],
    ) -> str:
        listed = self.section("constraints", **{**texts, "constraints": _list(constraints)})
        persona = self.describe(eigenvectors or {})
        prompt = template.fill({**texts, "persona": persona, "constraints": listed})
        return prompt if "constraints" in template.names else _join(prompt, listed)

    def section(self, name: str, /, **texts: str) -> str:
        """Return a section with its texts, or an empty text if its own is empty."""
        return self._library["section"][name].fill(texts) if texts[name] else ""

    @property
    def frame(self) -> Template:
        """Return the template of a node's prompt: the sections, and the task."""
        return self._library["section"][FRAME]

    def instructions(self, node: str, task: str = "") -> str:
        """Return the instructions of a node, with a task for the moment.

        Raises:
            InvalidOptionError: There is no template for the node.
        """
        template = self._library["section"].get(f"{INSTRUCTIONS}{node}")
        legal = f"a node with a task, or a template _{INSTRUCTIONS}{node}.md"
        if template is None:
            raise InvalidOptionError("node", node, legal)
        filled = template.fill({"task": task})
        return filled if "task" in template.names else "\n".join(filter(None, (filled, task)))


@cache
def package_prompts() -> PromptBuilder:
    """Return a builder of the package's own templates."""
    return PromptBuilder()


def _texts(values: Mapping[str, Value]) -> dict[str, str]:
    """Return `values` as text; refuse ``persona``, which the builder fills in."""
    if "persona" in values:
        raise InvalidDataError("persona", "is filled in by the builder", "a value of another name")
    return {
        name: check_text(str(value) if isinstance(value, int | float) else value, name)
        for name, value in values.items()
    }


def _list(constraints: Sequence[str]) -> str:
    """Return one line per constraint, so that none can pose as a heading or as another one."""
    if isinstance(constraints, str):
        raise InvalidDataError(
            "constraints", "one text, which is a sequence of letters", "a sequence of texts"
        )
    lines = [
        one_line(check_text(constraint, f"constraints[{index}]"))
        for index, constraint in enumerate(constraints)
    ]
    return "\n".join(f"- {line}" for line in lines if line)


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


# --- the conversation ---------------------------------------------------------------------
# A fence of tildes (CommonMark 0.31 §4.5) is longer than any run of tildes inside: a text is
# verbatim and cannot end its turn or begin another.

_SHORTEST = 3


def transcript(turns: Iterable[Turn]) -> str:
    r"""Return `turns` as fenced blocks, each headed by its kind.

    The kinds are system, user, assistant, summary, call and result. A call shows its arguments, and
    a result names the call it answers. Opaque parts are counted, not shown. Classes, ids and times
    are omitted.

    Law: a CommonMark reader gets every text back unchanged, except for its line ends.

    >>> print(transcript([Turn("user", "Where is ~~~ it?"), Turn("assistant", "In hall B.")]))
    ~~~~user
    Where is ~~~ it?
    ~~~~
    ~~~assistant
    In hall B.
    ~~~
    """
    return "\n".join(_block(head, text) for head, text in _blocks(turns))


def _blocks(turns: Iterable[Turn]) -> Iterator[tuple[str, str]]:
    labels: dict[str, str] = {}
    for turn in turns:
        if turn.tool_calls:
            # Number the calls of a turn that makes several, because ids are long and meaningless.
            several = len(turn.tool_calls) > 1
            labels = {
                call.id: _name(call.name) + f" #{number}" * several
                for number, call in enumerate(turn.tool_calls, 1)
            }
        if turn.text or not turn.tool_calls:
            yield _head(turn, labels), turn.text
        for call in turn.tool_calls:
            yield f"call {labels[call.id]}", call.arguments


def _block(head: str, text: str) -> str:
    longest = max(map(len, re.findall("~+", text)), default=0)
    fence = "~" * max(_SHORTEST, longest + 1)
    return f"{fence}{head}\n{text}\n{fence}"


def _head(turn: Turn, labels: Mapping[str, str]) -> str:
    if turn.role is Role.TOOL:
        words = ["result", labels.get(turn.tool_call_id or "") or _name(turn.name or "unknown")]
    elif turn.is_gist:
        words = ["summary"]
    else:
        words = [turn.role.value, *([_name(turn.name)] if turn.name else [])]
    if turn.parts:
        words.append(f"(and {len(turn.parts)} not shown)")
    return " ".join(words)


def _name(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]{1,64}", name) else json.dumps(name)

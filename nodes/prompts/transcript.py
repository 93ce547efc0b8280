"""Print the conversation as text that cannot be mistaken for the prompt around it.

Each turn is in a CommonMark fence of tildes (0.31 §4.5). A fence is longer than any run of tildes
inside, so texts are verbatim and cannot end their turn or begin another.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from polycontext.window import Role, Turn

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

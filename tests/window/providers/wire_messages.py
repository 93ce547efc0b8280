"""Hypothesis strategies for message lists in every form that a provider accepts."""

from typing import Any

from hypothesis import strategies as st

from polycontext.window.providers import Provider

Message = dict[str, Any]
LONG = "Every word of this leaves with the message and is billed. " * 40
TEXTS = st.sampled_from(["hi", "one\ntwo", " lead", "trail ", "\n\nx\n", "日本", "a\n\nb", LONG])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**70) | TEXTS,
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
FURTHER: Any = st.sampled_from([{}, {"annotations": []}]) | st.dictionaries(
    st.sampled_from(["citations", "caller", "x_new"]), VALUES, max_size=2
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=2)
OPAQUE = st.builds(
    lambda kind, more: {"type": kind, **more},
    st.sampled_from(["image", "from_2030", "compaction"]),
    FURTHER,
)


def with_more(block: st.SearchStrategy[Message]) -> st.SearchStrategy[Message]:
    """Draw `block` with further fields."""
    return st.builds(lambda more, own: {**more, **own}, FURTHER, block)


@st.composite
def conversations(draw: st.DrawFn, provider: Provider) -> list[Message]:
    """Draw a message list that `provider` takes, ending on no open calls and on no white space."""
    makers = {
        Provider.ANTHROPIC: _anthropic_step,
        Provider.OPENAI: _chat_step,
        Provider.RESPONSES: _items_step,
        Provider.GEMINI: _contents_step,
    }
    messages = list(draw(st.lists(_SYSTEMS[provider], max_size=2)))
    said = draw(TEXTS)
    is_gemini = provider is Provider.GEMINI
    messages.append(
        {"role": "user", **({"parts": [{"text": said}]} if is_gemini else {"content": said})}
    )
    for number in range(draw(st.integers(0, 5))):
        messages += draw(makers[provider](number))
    return messages


# --- Anthropic ------------------------------------------------------------

_MARKS: Any = st.sampled_from([{}, {}, {"cache_control": None}])
_CITED: Any = st.sampled_from([{}, {}, {"citations": [{"cited_text": "x"}]}])
_TEXT = st.builds(lambda mark, text: {**mark, "type": "text", "text": text}, _MARKS, TEXTS)
_SAID = st.builds(lambda more, block: {**more, **block}, _CITED, _TEXT)
"""Text of the assistant, which may cite: the user's does not."""
_OPAQUE = st.builds(lambda more: {"type": "from_2030", **more}, FURTHER)
_ADDED = st.just({"type": "tool_addition", "tool": {"type": "tool_reference"}})
_PLAIN = st.builds(lambda text: [{"type": "text", "text": text}], TEXTS)
_THINKING = st.builds(
    lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}, TEXTS
)
_BLOCKS: Any = {
    role: TEXTS | _PLAIN | st.lists(text | _OPAQUE, min_size=1, max_size=4)
    for role, text in {"user": _TEXT, "assistant": _SAID}.items()
}


@st.composite
def _anthropic_step(draw: st.DrawFn, number: int) -> list[Message]:
    kind = draw(st.sampled_from(["user", "assistant", "system", "calls", "calls"]))
    if kind == "system":
        said = [
            {
                "role": "system",
                "content": draw(TEXTS | st.lists(_TEXT | _ADDED, min_size=1, max_size=2)),
            }
        ]
        return [_closing(), *said, {"role": "assistant", "content": "well"}, _closing()]
    if kind != "calls":
        return [
            {"role": kind, "content": draw(_BLOCKS[kind])},
            *([_closing()] if kind == "assistant" else []),
        ]
    ids = [f"c{number}_{each}" for each in range(draw(st.integers(1, 3)))]
    calls = [{**draw(_CALLERS), **_tool_use(call_id, draw(ARGUMENTS))} for call_id in ids]
    beside = draw(st.lists(_SAID | _OPAQUE | _THINKING, max_size=4))
    blocks: list[Any] = list(draw(st.permutations([*calls, *beside])))
    if blocks[-1]["type"] == "thinking":
        blocks.append({"type": "text", "text": "so"})
    cut = draw(st.integers(0, len(blocks)))
    made: list[Message] = [
        {"role": "assistant", "content": part} for part in (blocks[:cut], blocks[cut:]) if part
    ]
    results = [draw(_tool_result(call_id)) for call_id in draw(st.permutations(ids))]
    if not any(block["type"] == "tool_use" for block in made[0]["content"]):
        # Without a call of its own it is a message of its own turn, and may not end on white space
        # alone.
        made[0]["content"].append({"type": "text", "text": "so"})
    split = draw(st.integers(1, len(results)))
    behind = draw(st.just([]) | st.lists(_TEXT | _OPAQUE, max_size=2))
    answers = [results[:split], results[split:] + behind]
    return [*made, *({"role": "user", "content": part} for part in answers if part)]


_CALLERS: Any = st.sampled_from([{}, {"caller": {"type": "direct"}}, {"cache_control": None}])


def _may_fail(content: Any) -> bool:
    return bool(content) and (
        isinstance(content, str) or all(block["type"] == "text" for block in content)
    )


def _closing() -> Message:
    return {"role": "user", "content": [{"type": "text", "text": "go on"}]}


def _tool_use(call_id: str, arguments: Message) -> Message:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": arguments}


@st.composite
def _tool_result(draw: st.DrawFn, call_id: str) -> Message:
    result = {**draw(_MARKS), "type": "tool_result", "tool_use_id": call_id}
    content: Any = draw(
        st.sampled_from(["absent", "null", "empty", "none"])
        | TEXTS
        | _PLAIN
        | st.lists(_TEXT | _OPAQUE, min_size=1, max_size=3)
    )
    forms: Message = {
        "absent": {},
        "null": {"content": None},
        "empty": {"content": []},
        "none": {"content": ""},
    }
    own = forms[content] if isinstance(content, str) and content in forms else {"content": content}
    error: Any = draw(
        st.sampled_from([{}, {"is_error": False}, {"is_error": None}])
        | st.just({"is_error": True}).filter(lambda _: _may_fail(own.get("content")))
    )
    return {**result, **own, **error}


# --- OpenAI chat ----------------------------------------------------------

_CHAT_TEXT = with_more((TEXTS | st.just("")).map(lambda text: {"type": "text", "text": text}))
_CHAT_BLOCKS = st.lists(_CHAT_TEXT | OPAQUE, min_size=1, max_size=4) | _PLAIN
_CHAT_MORE = FURTHER | st.dictionaries(
    st.sampled_from(["reasoning_content", "reasoning_details", "prefix", "tool_calls", "name"]),
    st.none(),
)
_SPOKEN: Any = st.one_of(
    st.builds(lambda content: {"content": content}, TEXTS | _CHAT_BLOCKS | st.just("")),
    st.sampled_from([{"content": None}, {}]).flatmap(
        lambda form: st.sampled_from(
            [
                {**form, "refusal": "no"},
                {**form, "refusal": None, "audio": {"id": "a"}},
            ]
        )
    ),
    st.builds(
        lambda content, refusal: {"content": content, "refusal": refusal},
        TEXTS,
        st.sampled_from(["", "no", None]),
    ),
)


@st.composite
def _chat_step(draw: st.DrawFn, number: int) -> list[Message]:
    kind = draw(st.sampled_from(["user", "assistant", "system", "developer", "calls", "calls"]))
    more = draw(_CHAT_MORE)
    if kind == "assistant":
        return [{**more, "role": kind, **draw(_SPOKEN)}]
    if kind != "calls":
        return [{**more, "role": kind, "content": draw(TEXTS | _CHAT_BLOCKS)}]
    ids = [f"c{number}_{each}" for each in range(draw(st.integers(1, 3)))]
    calls = [draw(_chat_call(call_id)) for call_id in ids]
    content: Any = draw(
        st.sampled_from([{}, {"content": None}, {"content": []}, {"content": ""}])
        | _CHAT_BLOCKS.map(lambda blocks: {"content": blocks})
    )
    refusal: Any = draw(
        st.sampled_from([{}, {"refusal": None}, {"refusal": ""}, {"refusal": "no"}])
    )
    results = [
        {
            **draw(FURTHER),
            "role": "tool",
            "tool_call_id": call_id,
            "content": draw(TEXTS | st.just("") | _CHAT_BLOCKS),
        }
        for call_id in draw(st.permutations(ids))
    ]
    return [{**more, "role": "assistant", **content, **refusal, "tool_calls": calls}, *results]


@st.composite
def _chat_call(draw: st.DrawFn, call_id: str) -> Message:
    kind, body = draw(st.sampled_from([("function", "arguments"), ("custom", "input")]))
    inner = {
        **draw(FURTHER),
        "name": "look",
        body: draw(st.sampled_from(["{}", "", "not json", '{"b": 1, "a": 2}'])),
    }
    return {**draw(FURTHER), "id": call_id, "type": kind, kind: inner}


# --- OpenAI Responses -----------------------------------------------------

_STATUS: Any = st.sampled_from([{}, {"status": "completed"}])


def _content(kind: str) -> st.SearchStrategy[Any]:
    text = with_more((TEXTS | st.just("")).map(lambda words: {"type": kind, "text": words}))
    plain = st.builds(lambda words: [{"type": kind, "text": words}], TEXTS | st.just(""))
    if kind == "output_text":
        refusal = with_more(TEXTS.map(lambda words: {"type": "refusal", "refusal": words}))
        return TEXTS | st.just("") | plain | st.lists(text | refusal, min_size=1, max_size=3)
    image = with_more(st.just({"type": "input_image", "image_url": "https://example.org/a.png"}))
    return TEXTS | st.just("") | plain | st.lists(text | image, min_size=1, max_size=3)


def _message(role: str) -> st.SearchStrategy[Message]:
    more = (
        FURTHER
        | st.just({"type": "message"})
        | st.just({"type": "message", "status": "completed", "phase": "final_answer"})
    )
    own = st.builds(
        lambda content: {"role": role, "content": content},
        _content("output_text" if role == "assistant" else "input_text"),
    )
    return st.builds(lambda further, message: {**further, **message}, more, own)


_CALLED: Any = st.sampled_from(
    [
        {"type": "function_call", "name": "look", "arguments": '{"b": 1}'},
        {"type": "custom_tool_call", "name": "shell", "input": "ls"},
        {"type": "computer_call", "action": {"type": "screenshot"}, "pending_safety_checks": []},
        {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
    ]
)
_BESIDE: Any = st.sampled_from(
    [
        {
            "type": "web_search_call",
            "action": {"type": "search", "query": "x"},
            "status": "completed",
        },
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "compaction", "encrypted_content": "AA"},
    ]
)


@st.composite
def _items_step(draw: st.DrawFn, number: int) -> list[Message]:
    kind = draw(st.sampled_from(["user", "system", "developer", "run", "run", "run"]))
    if kind != "run":
        return [draw(_message(kind))]
    ids = [f"c{number}_{each}" for each in range(draw(st.integers(0, 3)))]
    calls = [
        {**draw(_STATUS), **draw(_CALLED), "id": f"fc_{call_id}", "call_id": call_id}
        for call_id in ids
    ]
    beside = [
        {**each, "id": f"it_{number}_{place}"}
        for place, each in enumerate(draw(st.lists(_BESIDE, max_size=2)))
    ]
    said = draw(st.lists(_message("assistant"), max_size=3))
    run = draw(st.permutations([*calls, *beside, *said])) or [draw(_message("assistant"))]
    if draw(st.booleans()) and (calls or beside):
        # Reasoning is followed by what it led to.
        place = run.index(draw(st.sampled_from([*calls, *beside])))
        run = [
            *run[:place],
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "AA"},
            *run[place:],
        ]
    return [*run, *(draw(_item_output(call)) for call in draw(st.permutations(calls)))]


@st.composite
def _item_output(draw: st.DrawFn, call: Message) -> Message:
    item = {**draw(_STATUS), "type": f"{call['type']}_output", "call_id": call["call_id"]}
    match call["type"]:
        case "computer_call":
            return {
                **item,
                "output": {"type": "computer_screenshot", "image_url": "https://example.org/a.png"},
            }
        case "local_shell_call":
            return {**item, "id": call["id"] + "o", "output": draw(TEXTS)}
        case _:
            return {**item, "output": draw(_content("input_text"))}


# --- Gemini ---------------------------------------------------------------

_SIGNED: Any = st.sampled_from([{}, {}, {"thoughtSignature": "AA=="}, {"partMetadata": {"a": 1}}])
_WORDS = st.builds(lambda more, text: {"text": text, **more}, _SIGNED, TEXTS)
_FILES: Any = st.sampled_from(
    [
        {"inlineData": {"mimeType": "image/gif", "data": "R0lGODlhAgADAAAAADs="}},
        {"inlineData": {"mimeType": "video/mp4", "data": "AA=="}, "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
        {"fileData": {"fileUri": "gs://cellar/plums.pdf", "displayName": "Plums"}},
        {"fileData": {"fileUri": "https://example.org/a.png"}},
    ]
)
_MODELS: Any = st.sampled_from(
    [
        {"text": "Hm.", "thought": True, "thoughtSignature": "AA=="},
        {"executableCode": {"code": "1 + 1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH"}, "thoughtSignature": "AA=="},
        {"from2030": {"a": [1]}},
    ]
)
_EMPTY: Any = st.just([{"text": ""}])
_RESPONSES: Any = st.sampled_from(
    [
        {"result": "one\ntwo"},
        {"output": "hi"},
        {"error": "no"},
        {"result": [1]},
        {},
        {"a": 1, "b": {"c": None}},
        {"return_value": ""},
    ]
)


@st.composite
def _contents_step(draw: st.DrawFn, number: int) -> list[Message]:
    kind = draw(st.sampled_from(["user", "model", "calls", "calls"]))
    if kind == "user":
        parts = draw(_EMPTY | st.lists(_WORDS | _FILES, min_size=1, max_size=3))
        return [{"role": "user", "parts": parts}]
    if kind == "model":
        parts = draw(_EMPTY | st.lists(_WORDS | _MODELS, min_size=1, max_size=3))
        return [{"role": "model", "parts": parts}, _asking("go on")]
    named = draw(st.booleans())
    calls = [
        {
            **draw(_SIGNED),
            "functionCall": {
                **({"id": f"c{number}_{each}"} if named else {}),
                "name": f"look{each}",
                **draw(st.just({}) | ARGUMENTS.map(lambda given: {"args": given})),
            },
        }
        for each in range(draw(st.integers(1, 3)))
    ]
    beside = draw(st.lists(_WORDS | _MODELS, max_size=2))
    run = draw(st.permutations([*calls, *beside]))
    cut = draw(st.integers(0, len(run)))
    made = [part for part in (run[:cut], run[cut:]) if part]
    if not all(any("functionCall" in part for part in parts) for parts in made):
        made = [run]
    results = [
        {
            **draw(st.sampled_from([{}, {"partMetadata": {"a": 1}}])),
            "functionResponse": {
                **{key: value for key, value in call["functionCall"].items() if key != "args"},
                "response": draw(_RESPONSES),
                **draw(st.just({}) | _FILES.map(lambda file: {"parts": [file]})),
            },
        }
        for call in draw(st.permutations(calls))
    ]
    behind = draw(st.just([]) | st.lists(_WORDS | _FILES, max_size=2))
    return [
        _asking("look"),
        *({"role": "model", "parts": part} for part in made),
        {"role": "user", "parts": [*results, *behind]},
    ]


def _asking(text: str) -> Message:
    return {"role": "user", "parts": [{"text": text}]}


_SYSTEMS: dict[Provider, st.SearchStrategy[Message]] = {
    Provider.ANTHROPIC: st.builds(
        lambda content: {"role": "system", "content": content},
        TEXTS | _PLAIN | st.lists(_TEXT, min_size=1, max_size=2),
    ),
    Provider.OPENAI: st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["system", "developer"]),
        TEXTS | _CHAT_BLOCKS,
    ),
    Provider.RESPONSES: _message("developer") | _message("system"),
    Provider.GEMINI: st.builds(
        lambda parts: {"role": "system", "parts": parts}, st.lists(_WORDS, min_size=1, max_size=2)
    ),
}

"""Shapes that vendors, compatible servers and clients really send, from their published types.

Each shape names what it is and the words that must not get lost on the way.
"""

from typing import Any

from attrs import frozen

Message = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC = "openai", "openai-responses", "anthropic"


@frozen
class Shape:
    """A list that a vendor accepts, or an answer (with results for its calls) that it gives."""

    name: str
    provider: str
    value: Any
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def user(content: Any) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def assistant(content: Any, **further: Any) -> Message:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": content, **further}


def function_call(call_id: str, **further: Any) -> Message:
    """Return an item that calls a function."""
    name, arguments = "reserve", '{"table": 4}'
    call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return {**call, **further}


def output(call_id: str, said: Any) -> Message:
    """Return the output of a function."""
    return {"type": "function_call_output", "call_id": call_id, "output": said}


def called(name: str, arguments: Any = "{}", **further: Any) -> Message:
    """Return a call of a chat message."""
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{name}", "type": "function", "function": function, **further}


def choice(reason: str = "stop", **message: Any) -> Message:
    """Return a chat completion."""
    said = {"role": "assistant", **message}
    choices = [{"index": 0, "finish_reason": reason, "message": said}]
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}


def chunk(reason: str | None = None, **delta: Any) -> Message:
    """Return a chunk of a chat stream."""
    choices = [{"index": 0, "finish_reason": reason, "delta": delta}]
    kind = "chat.completion.chunk"
    return {"id": "c", "object": kind, "created": 1, "model": "m", "choices": choices}


def claude(*blocks: Message, reason: str = "end_turn", **further: Any) -> Message:
    """Return an answer of Anthropic."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [*blocks],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 3},
        **further,
    }


def response(*items: Message, status: str = "completed") -> Message:
    """Return an answer of Responses."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": status,
        "output": [*items],
    }


def text(words: str, **further: Any) -> Message:
    """Return a text block."""
    return {"type": "text", "text": words, **further}


def said(words: str, **further: Any) -> Message:
    """Return a message item of the model."""
    block = {"type": "output_text", "text": words, "annotations": []}
    own = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {**own, "content": [block], **further}


def tool_use(call_id: str, **further: Any) -> Message:
    """Return a call of Anthropic."""
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **further}


ASK = user("Reserve a table, please.")
NOTE = {"role": "developer", "content": "The guest agreed."}

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}
LEGACY_CALL = {"name": "reserve", "arguments": '{"table": 4}'}

BY_PROGRAM = {"caller": {"type": "program", "caller_id": "p1"}}
PROGRAM = [
    {
        "type": "program",
        "id": "cm_1",
        "call_id": "p1",
        "status": "completed",
        "code": "text(await tools.reserve())",
        "fingerprint": "ZmY=",
    },
    function_call("a", **BY_PROGRAM),
    {**output("a", "RX-90"), **BY_PROGRAM},
    {"type": "program_output", "id": "co_1", "call_id": "p1", "status": "completed", "result": "1"},
]
BY_CODE = {"caller": {"type": "code_execution_20250825", "tool_id": "s1"}}
CODE = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "x"}}
RAN = {
    "type": "code_execution_result",
    "stdout": "1",
    "stderr": "",
    "return_code": 0,
    "content": [],
}
CODE_RESULT = {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": RAN}


def result(call_id: str, said: Any) -> Message:
    """Return the result of a call of Anthropic."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


CLIENT_CALLS = {
    "local_shell": {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "c1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "shell": {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "c1",
        "status": "completed",
        "action": {"commands": ["ls"]},
    },
    "apply_patch": {
        "type": "apply_patch_call",
        "id": "apc_1",
        "call_id": "c1",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "a.txt"},
    },
    "computer": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c1",
        "status": "completed",
        "action": {"type": "wait"},
        "pending_safety_checks": [],
    },
}
"""Calls of OpenAI's tools that the client answers, by the name of the tool."""

APPROVAL: list[Message] = [
    {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "name": "reserve",
        "arguments": "{}",
        "server_label": "inn",
    },
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
]

UNCHANGED = (
    [
        Shape("an approval", RESPONSES, [ASK, *APPROVAL, assistant("Done."), ASK], ("mcpr_1",)),
        Shape(
            "a local shell",
            RESPONSES,
            [
                ASK,
                CLIENT_CALLS["local_shell"],
                {"type": "local_shell_call_output", "id": "c1", "output": "RX-90"},
                ASK,
            ],
            ("RX-90",),
        ),
        Shape(
            "a program", RESPONSES, [ASK, *PROGRAM, assistant("One."), ASK], ("RX-90", "program")
        ),
        Shape("a program under way", RESPONSES, [ASK, *PROGRAM[:3]], ("RX-90", "program")),
        Shape(
            "code that calls",
            ANTHROPIC,
            [
                user([text("Reserve.")]),
                assistant([CODE, tool_use("t1", **BY_CODE)]),
                user([result("t1", "RX-90")]),
                assistant([tool_use("t2", **BY_CODE)]),
                user([result("t2", "RX-91")]),
                assistant([CODE_RESULT, text("Done.")]),
                user([text("Thanks.")]),
            ],
            ("RX-90", "RX-91", "code_execution_tool_result"),
        ),
        Shape(
            "code that waits for its call",
            ANTHROPIC,
            [
                user([text("Reserve.")]),
                assistant([CODE, tool_use("t1", **BY_CODE)]),
                user([result("t1", "RX-90")]),
            ],
            ("RX-90", "server_tool_use"),
        ),
    ]
    + [
        Shape(
            f"an output behind {what}",
            RESPONSES,
            [
                ASK,
                function_call("a"),
                *between,
                output("a", "Reserved: RX-90."),
                user("Which number?"),
            ],
            ("RX-90", "Which number?"),
        )
        for what, between in {
            "a message of the user": [user("Quickly, please.")],
            "a note of the developer": [NOTE],
            "several messages": [NOTE, user("Quickly, please."), NOTE],
        }.items()
    ]
    + [
        Shape(
            "outputs of two turns that overlap",
            RESPONSES,
            [
                *(ASK, function_call("a"), user("And table 5.")),
                *(function_call("b"), output("b", "RX-91"), output("a", "RX-90"), user("Thanks.")),
            ],
            ("RX-90", "RX-91", "And table 5."),
        ),
        Shape(
            "a greeting of the assistant",
            ANTHROPIC,
            [assistant("Welcome to the inn."), ASK],
            ("Welcome to the inn.",),
        ),
        Shape(
            "a greeting in blocks",
            ANTHROPIC,
            [assistant([text("Welcome.")]), ASK],
            ("Welcome.",),
        ),
        Shape(
            "a paused search",
            ANTHROPIC,
            [
                ASK,
                assistant(
                    [
                        text("Looking."),
                        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                    ]
                ),
            ],
            ("Looking.", "server_tool_use"),
        ),
        Shape(
            "a call in the deprecated form",
            CHAT,
            [
                ASK,
                {"role": "assistant", "content": None, "function_call": LEGACY_CALL},
                {"role": "function", "name": "reserve", "content": "Reserved: RX-90."},
                user("Which number?"),
            ],
            ("RX-90", "function_call"),
        ),
        Shape(
            "calls in the deprecated form, one without a result",
            CHAT,
            [
                ASK,
                {"role": "assistant", "content": "So.", "function_call": LEGACY_CALL},
                user("Well?"),
                {"role": "assistant", "content": None, "function_call": LEGACY_CALL},
                {"role": "function", "name": "reserve", "content": "RX-91"},
            ],
            ("RX-91",),
        ),
        Shape(
            "a result in the deprecated form without its call",
            CHAT,
            [ASK, {"role": "function", "name": "reserve", "content": "RX-92"}, user("Well?")],
            ("RX-92",),
        ),
        Shape(
            "integers of more than 64 bits",
            CHAT,
            [
                {**ASK, "seed": 2**70},
                assistant(None, tool_calls=[called("look", '{"n": 36893488147419103232}')]),
                {"role": "tool", "tool_call_id": "call_look", "content": "RX-90", "n": 10**100},
            ],
            ("36893488147419103232", "RX-90"),
        ),
    ]
)
"""Lists that a vendor accepts: they stay as they are where they fit."""

REWRITTEN = [
    Shape(
        "an empty list of calls",
        CHAT,
        [ASK, assistant("Gladly.", tool_calls=[]), user("When?")],
        ("Gladly.",),
    ),
    Shape(
        "a call without its type",
        CHAT,
        [
            ASK,
            assistant("", tool_calls=[{"id": "a1", "function": LEGACY_CALL}]),
            {"role": "tool", "tool_call_id": "a1", "content": "RX-90"},
        ],
        ("RX-90", "a1"),
    ),
    Shape(
        "calls and results without ids",
        CHAT,
        [
            ASK,
            assistant(None, tool_calls=[called("look", id=""), called("ask", id="")]),
            {"role": "tool", "content": "RX-90"},
            {"role": "tool", "tool_call_id": "", "content": "RX-91"},
        ],
        ("RX-90", "RX-91"),
    ),
    Shape(
        "an output without an id",
        RESPONSES,
        [ASK, function_call("", id="fc_1"), output("", "RX-90")],
        ("RX-90",),
    ),
    Shape("an answer without content", CHAT, [ASK, assistant(None), user("When?")], ("When?",)),
    Shape(
        "an empty block beside a call",
        ANTHROPIC,
        [
            ASK,
            assistant([text(""), tool_use("t1")]),
            user([{"type": "tool_result", "tool_use_id": "t1", "content": "RX-90"}]),
        ],
        ("RX-90", "t1"),
    ),
    Shape(
        "unknown fields of blocks and messages",
        ANTHROPIC,
        [
            {**user([text("Reserve.", parsed=None)]), "id": "m1"},
            assistant([text("Gladly.", new=1), tool_use("t1", index=0)]),
            user([{"type": "tool_result", "tool_use_id": "t1", "content": [text("RX-90", x=1)]}]),
        ],
        ("Reserve.", "Gladly.", "RX-90"),
    ),
    Shape(
        "reasoning alone",
        RESPONSES,
        [ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, user("Go on.")],
        ("Go on.",),
    ),
    Shape(
        "an approval without its request",
        RESPONSES,
        [ASK, APPROVAL[1], user("And now?")],
        ("And now?",),
    ),
    Shape(
        "an interrupted program",
        RESPONSES,
        [ASK, *PROGRAM[:3], user("Stop. How much is it?")],
        ("RX-90", "How much is it?"),
    ),
    Shape(
        "interrupted code",
        ANTHROPIC,
        [
            ASK,
            assistant([CODE, tool_use("t1", **BY_CODE)]),
            user([result("t1", "RX-90"), text("Stop. How much is it?")]),
        ],
        ("RX-90", "How much is it?"),
    ),
    Shape(
        "an interrupted search",
        ANTHROPIC,
        [
            ASK,
            assistant(
                [
                    text("Looking."),
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                ]
            ),
            user("Stop. How much is it?"),
        ],
        ("Looking.", "How much is it?"),
    ),
]
"""Lists of servers and clients that a strict vendor refuses: they are sent in a valid form."""

PIECES: list[dict[str, Any]] = [
    {"tool_calls": [called("look", '{"n": 1}', index=0)]},
    {"tool_calls": [called("ask", '{"n": 2}', index=0)]},
]
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "inn"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
VOICE = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "Table four."}


def claude_events(
    *blocks: tuple[Message, list[Message]], reason: str = "end_turn"
) -> list[Message]:
    """Return the events of a stream of Anthropic: each block with its deltas."""
    start = {**claude(), "stop_reason": None}
    events: list[Message] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        change = {"type": "content_block_delta", "index": index}
        events += ({**change, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 3}
    end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [*events, end, {"type": "message_stop"}]


def text_delta(words: str) -> Message:
    """Return a piece of a text block."""
    return {"type": "text_delta", "text": words}


def json_delta(piece: str) -> Message:
    """Return a piece of a call's input."""
    return {"type": "input_json_delta", "partial_json": piece}


def response_events(*items: Message, end: str = "completed") -> list[Message]:
    """Return the events of a stream of Responses."""
    events: list[Message] = [{"type": "response.created", "response": response()}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*events, {"type": f"response.{end}", "response": response(*items, status=end)}]


ANSWERS = [
    Shape("a completion", CHAT, choice(content="Table four."), ("Table four.",)),
    Shape("empty calls", CHAT, choice(content="Table four.", tool_calls=[]), ("Table four.",)),
    Shape("null calls", CHAT, choice(content="Table four.", tool_calls=None), ("Table four.",)),
    Shape("no content", CHAT, choice("length", content=None)),
    Shape("no field content", CHAT, choice("content_filter")),
    Shape("an empty text", CHAT, choice(content="")),
    Shape("an empty list", CHAT, choice(content=[])),
    Shape("an empty refusal", CHAT, choice(content=None, refusal="")),
    Shape("a refusal", CHAT, choice(content=None, refusal="I cannot."), ("I cannot.",)),
    Shape(
        "reasoning alone", CHAT, choice("length", content=None, reasoning_content="Hm."), ("Hm.",)
    ),
    Shape("reasoning as null", CHAT, choice(content="Four.", reasoning=None), ("Four.",)),
    Shape(
        "details of reasoning",
        CHAT,
        choice(content="Four.", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]),
        ("Four.", "Hm."),
    ),
    Shape(
        "citations and annotations",
        CHAT,
        choice(content="Four.", annotations=[{"type": "url_citation"}], citations=["e.org"]),
        ("Four.", "e.org"),
    ),
    Shape(
        "parts of text and thinking",
        CHAT,
        choice(content=[{"type": "thinking", "thinking": [text("Hm.")]}, text("Four.")]),
        ("Hm.", "Four."),
    ),
    Shape("speech", CHAT, choice(content=None, audio=VOICE), ("Table four.",)),
    Shape("speech beside text", CHAT, choice(content="Four.", audio=VOICE), ("Four.",)),
    Shape(
        "speech without an id", CHAT, choice(content="Four.", audio={**VOICE, "id": ""}), ("Four.",)
    ),
    Shape(
        "a call", CHAT, choice("tool_calls", content=None, tool_calls=[called("look")]), ("look",)
    ),
    Shape(
        "a call without its type",
        CHAT,
        choice("tool_calls", content="", tool_calls=[{"id": "a", "function": LEGACY_CALL}]),
        ("reserve",),
    ),
    Shape(
        "a call of a type null",
        CHAT,
        choice(content="", tool_calls=[{"id": "a", "type": None, "function": LEGACY_CALL}]),
        ("reserve",),
    ),
    Shape("a call with an index", CHAT, choice(tool_calls=[called("look", index=0)]), ("look",)),
    Shape("arguments as an object", CHAT, choice(tool_calls=[called("look", {"a": 1})]), ("look",)),
    Shape("empty arguments", CHAT, choice(tool_calls=[called("look", "")]), ("look",)),
    Shape("arguments as null", CHAT, choice(tool_calls=[called("look", None)]), ("look",)),
    Shape("arguments that are no JSON", CHAT, choice(tool_calls=[called("look", "{a")]), ("look",)),
    Shape(
        "a call with a signature",
        CHAT,
        choice(
            tool_calls=[called("look", extra_content={"google": {"thought_signature": "c2ln"}})]
        ),
        ("c2ln",),
    ),
    Shape(
        "a call of a custom tool",
        CHAT,
        choice(
            tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "say", "input": "hi"}}]
        ),
        ("say",),
    ),
    Shape("a long id", CHAT, choice(tool_calls=[called("look", id="x" * 60)]), ("x" * 60,)),
    Shape("a deprecated call", CHAT, choice(content=None, function_call=LEGACY_CALL), ("reserve",)),
    Shape(
        "a stream",
        CHAT,
        [chunk(role="assistant"), chunk(content="Table "), chunk("stop", content="four.")],
        ("Table four.",),
    ),
    Shape("a stream of one chunk", CHAT, chunk("stop", content="Table four."), ("Table four.",)),
    Shape("a stream that says nothing", CHAT, [chunk(role="assistant", content=""), chunk("stop")]),
    Shape(
        "a stream of lists",
        CHAT,
        [
            chunk(content=[text("Table ")]),
            chunk(content=[text("four.")]),
            chunk("stop", content=""),
        ],
        ("Table four.",),
    ),
    Shape(
        "a stream of a text and a list",
        CHAT,
        [chunk(content="Table "), chunk("stop", content=[text("four.")])],
        ("Table four.",),
    ),
    Shape(
        "calls that are all number 0",
        CHAT,
        [*(chunk(**each) for each in PIECES), chunk("stop")],
        ("look", "ask"),
    ),
    Shape(
        "calls of one chunk that are all number 0",
        CHAT,
        [chunk("stop", tool_calls=[each["tool_calls"][0] for each in PIECES])],
        ("look", "ask"),
    ),
    Shape(
        "calls without a number",
        CHAT,
        [chunk(tool_calls=[called("look")]), chunk("stop", tool_calls=[called("ask")])],
        ("look", "ask"),
    ),
    Shape(
        "a picture of the model",
        CHAT,
        choice(
            content=[text("Four."), {"type": "image_url", "image_url": {"url": "https://e.org/a"}}]
        ),
        ("Four.", "left out"),
    ),
    Shape(
        "unsigned thinking of another server",
        ANTHROPIC,
        claude({"type": "thinking", "thinking": "Hm.", "signature": ""}, tool_use("t1")),
        ("look", "left out"),
    ),
    Shape(
        "an item without what the vendor wants back",
        RESPONSES,
        response({"type": "web_search_call", "status": "completed"}, said("Four.")),
        ("Four.", "left out"),
    ),
    Shape(
        "reasoning without a summary",
        RESPONSES,
        response({"type": "reasoning", "id": "x1", "content": []}, said("Four.")),
        ("Four.",),
    ),
    Shape(
        "calls without ids",
        CHAT,
        choice(tool_calls=[called("look", id=""), called("ask", id=None)]),
        ("look", "ask"),
    ),
    Shape("an item without an id", RESPONSES, response(function_call("")), ("reserve",)),
    Shape(
        "an item with an empty call_id",
        RESPONSES,
        response({"type": "web_search_call", "id": "ws_1", "call_id": ""}, said("Four.")),
        ("Four.",),
    ),
    Shape("a message", ANTHROPIC, claude(text("Table four.")), ("Table four.",)),
    Shape("no blocks", ANTHROPIC, claude()),
    Shape("an empty block", ANTHROPIC, claude(text(""))),
    Shape("a blank block", ANTHROPIC, claude(text("\n\n"))),
    Shape("text that ends in white space", ANTHROPIC, claude(text("Four. ")), ("Four.",)),
    Shape(
        "an empty block and a call",
        ANTHROPIC,
        claude(text(""), tool_use("t1"), reason="tool_use"),
        ("look",),
    ),
    Shape("thinking and an empty block", ANTHROPIC, claude(THOUGHT, text(""))),
    Shape("thinking alone", ANTHROPIC, claude(THOUGHT, reason="max_tokens")),
    Shape(
        "hidden thinking",
        ANTHROPIC,
        claude({"type": "redacted_thinking", "data": "ZW5j"}, text("Four.")),
        ("Four.",),
    ),
    Shape(
        "thinking, a call", ANTHROPIC, claude(THOUGHT, tool_use("t1"), reason="tool_use"), ("look",)
    ),
    Shape("null citations", ANTHROPIC, claude(text("Four.", citations=None)), ("Four.",)),
    Shape(
        "fields from 2030",
        ANTHROPIC,
        claude(text("Four.", from_2030=1), container=None),
        ("Four.",),
    ),
    Shape("a block from 2030", ANTHROPIC, claude({"type": "from_2030"}, text("Four.")), ("Four.",)),
    Shape(
        "a call with its caller",
        ANTHROPIC,
        claude(tool_use("t1", caller={"type": "direct"})),
        ("look",),
    ),
    Shape("a search", ANTHROPIC, claude(text("So."), SEARCH, FOUND, text("Four.")), ("Four.",)),
    Shape("a paused search", ANTHROPIC, claude(text("So."), SEARCH, reason="pause_turn"), ("So.",)),
    Shape("the result of an earlier search", ANTHROPIC, claude(FOUND, text("Four.")), ("Four.",)),
    Shape(
        "a message without a reason",
        ANTHROPIC,
        {"type": "message", "id": "m", **assistant([text("Four.")])},
        ("Four.",),
    ),
    Shape(
        "a stream",
        ANTHROPIC,
        claude_events((text(""), [text_delta("Table "), text_delta("four.")])),
        ("Table four.",),
    ),
    Shape(
        "a stream of a call",
        ANTHROPIC,
        claude_events(
            (tool_use("t1"), [json_delta('{"n":'), json_delta(" 4}")]), reason="tool_use"
        ),
        ("look", '"n": 4'),
    ),
    Shape(
        "a stream of a call without input",
        ANTHROPIC,
        claude_events((tool_use("t1"), [json_delta("")])),
        ("look",),
    ),
    Shape(
        "a stream that was cut in a call",
        ANTHROPIC,
        claude_events((tool_use("t1"), [json_delta('{"n":')])),
        ("look",),
    ),
    Shape(
        "a stream of thinking",
        ANTHROPIC,
        claude_events(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": "Hm."},
                    {"type": "signature_delta", "signature": "c2ln"},
                ],
            ),
            (text(""), [text_delta("Four.")]),
        ),
        ("Four.",),
    ),
    Shape("a response", RESPONSES, response(said("Table four.")), ("Table four.",)),
    Shape("a response without items", RESPONSES, response()),
    Shape("a response of reasoning", RESPONSES, response(REASONING, status="incomplete")),
    Shape("reasoning and words", RESPONSES, response(REASONING, said("Four.")), ("Four.",)),
    Shape("reasoning and a call", RESPONSES, response(REASONING, function_call("a")), ("reserve",)),
    Shape("a message without words", RESPONSES, response(said("", content=[]))),
    Shape(
        "a refusal in Responses",
        RESPONSES,
        response(said("", content=[{"type": "refusal", "refusal": "I cannot."}])),
        ("I cannot.",),
    ),
    Shape(
        "an item from 2030",
        RESPONSES,
        response({"type": "from_2030", "id": "x1"}, said("Four.")),
        ("Four.",),
    ),
    Shape(
        "a search of the platform",
        RESPONSES,
        response({"type": "web_search_call", "id": "ws_1", "status": "completed"}, said("Four.")),
        ("Four.",),
    ),
    Shape(
        "a stream of a response", RESPONSES, response_events(said("Table four.")), ("Table four.",)
    ),
    Shape(
        "a stream that stopped",
        RESPONSES,
        response_events(said("Four."), end="incomplete"),
        ("Four.",),
    ),
    Shape("a stream without its end", RESPONSES, response_events(said("Four."))[:-1], ("Four.",)),
    Shape(
        "a response of another server", RESPONSES, response(said("Four.", id="abc-1")), ("Four.",)
    ),
]
"""Answers that vendors and servers give: none is lost, and the next request is valid."""

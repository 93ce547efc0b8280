"""Tokens of open models: margins by the model's name, and exact counts with the extra."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from benchmarks.margins import main, measured
from polycontext import ContextSession, project
from polycontext.base import UnknownNameError
from polycontext.window import tokenizer_families as module
from polycontext.window.model_profiles import ModelProfile, find_model, unlisted_counter
from polycontext.window.model_table import listed_models
from polycontext.window.tokenizer_families import (
    families,
    family_of,
    measured_vocabularies,
)
from polycontext.window.tokens.open_vocabulary import OpenVocabulary
from tests.house import ROOT
from tests.window.languages import LANGUAGES, MODEL_NAMES

CHANCE = random.Random(65)  # noqa: S311 - no secrets
TEXTS = {
    **LANGUAGES,
    "code": (ROOT / "window/tokens/counter.py").read_text(encoding="utf-8"),
    "numbers": "\n".join(str(CHANCE.random()) for _ in range(200)),
    "JSON": json.dumps(
        [{"id": number, "price": number * 1.5, "name": f"part {number}"} for number in range(99)]
    ),
}


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count as where the extra `tokenizers` is not installed."""
    monkeypatch.setattr(module, "has_open_vocabularies", lambda: False)


def test_the_margins_bound_what_the_tokenizers_count() -> None:
    """In every language, in code and in numbers, no tokenizer finds more than its margin says."""
    for name, shares in measured([*TEXTS.items()]):
        assert max(shares.values()) <= 1, (name, {k: v for k, v in shares.items() if v > 1})
        assert shares["English"] > 0.55, (name, "a window of English is wasted")


@pytest.mark.gate
def test_the_benchmark_finds_every_margin_wide_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """On this project's code and pages and on recordings, too."""
    assert main([]) == 0
    assert "qwen (qwen3)" in capsys.readouterr().out


@pytest.mark.parametrize(("model", "family", "vocabulary"), MODEL_NAMES["tokenizers"])
def test_the_name_of_a_model_leads_to_its_tokenizer(
    model: str, family: str, vocabulary: str
) -> None:
    """Snapshots and hosts aside; of a newer model, whose vocabulary is not known, the margin."""
    assert tuple(family_of(model)) == (family, vocabulary)


def test_every_name_of_the_table_has_margins() -> None:
    """Every family that a pattern names has a row, and the table says when it was measured."""
    table = module._table()
    assert {family for _, family, _ in table["models"]} <= families().keys()
    assert date.fromisoformat(table["read"]) >= date(2026, 11, 28)
    assert all(row["source"] for row in table["families"].values())
    assert all(family_of(name).name in families() for name in listed_models())


def test_the_page_shows_the_margins() -> None:
    """The table of docs/models.md has the figures of the data."""
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    for name, row in module._table()["families"].items():
        (line,) = (each for each in page.splitlines() if each.startswith(f"| `{name}` "))
        cells = [cell.strip() for cell in line.split("|")[3:-2]]
        assert [float(cell or 0) for cell in cells] == row["margins"], name
        own = {vocabulary for family, vocabulary in measured_vocabularies() if family == name}
        assert set(re.findall("`([^`]+)`", line)) >= own


@pytest.mark.usefixtures("without_extra")
def test_without_the_extra_counts_are_bounds() -> None:
    """They are no less than the vocabulary's own, and say that they are estimates."""
    counter = find_model("groq/qwen3-32b").counter()
    assert not counter.exact
    for text in TEXTS.values():
        assert counter.count(text) >= OpenVocabulary("qwen3").count(text)


def test_with_the_extra_counts_are_exact() -> None:
    """Also of a model in no table, and of long text and of text that looks like special tokens."""
    counter = unlisted_counter("my-qwen3:8b")
    assert counter.exact
    assert counter.count("hello, how are you today?") == 7
    assert counter.count("<|im_start|>") > 1
    assert counter.count("one two " * 50_000) == pytest.approx(100_000, abs=2)
    assert counter.count("half \ud83d") == counter.count("half \ufffd")


@pytest.mark.parametrize("model", ["groq/qwen3-32b", "my-llama-3-tune", "my-model"])
def test_a_saved_session_counts_on(
    model: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its counter is found by its name, also where the extra is missing then."""
    with ContextSession.open(tmp_path / "a.db", "a", model=model, max_tokens=4_000) as session:
        session.add_user_turn("Call 555-2368 " * 20)
        before = session.window.tokens
    monkeypatch.setattr(module, "has_open_vocabularies", lambda: False)
    with ContextSession.open(tmp_path / "a.db", "a") as again:
        assert again.window.tokens == before
        assert not again.window.counter.exact
        again.add_assistant_turn("It rings.")


def test_a_profile_names_its_family() -> None:
    """Its factor stands for the words; a family that is not known is refused."""
    mine = ModelProfile("mine", "openai", window=9_000, output=900, factor=1.1, family="qwen")
    bound = families()["qwen"]._replace(words=1.1).bound("1234 plums", 4)
    assert mine.counter().count("1234 plums") == bound == 7
    with pytest.raises(UnknownNameError, match="tokenizer family"):
        ModelProfile("mine", "openai", window=9_000, output=900, family="qwan")


TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find a part.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
    },
}


SPECIAL = re.compile(r"<\|im_(?:start|end)\|>|</?tool_(?:call|response)>")
"""What is one token of Qwen 3, which the counter takes for plain text."""


def chat_ml(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the prompt that Qwen 3 is given, by its published chat template."""
    said = []
    if tools:
        said.append(
            "<|im_start|>system\n# Tools\n\nYou may call one or more functions to assist with the "
            "user query.\n\nYou are provided with function signatures within <tools></tools> XML "
            "tags:\n<tools>" + "".join(f"\n{json.dumps(tool)}" for tool in tools) + "\n</tools>\n\n"
            "For each function call, return a json object with function name and arguments within "
            '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, '
            '"arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
        )
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role == "tool":
            role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
        for call in message.get("tool_calls", ()):
            one = call["function"]
            content += (
                f'\n<tool_call>\n{{"name": "{one["name"]}", "arguments": {one["arguments"]}}}'
                "\n</tool_call>"
            )
        said.append(f"<|im_start|>{role}\n{content}<|im_end|>\n")
    return "".join(said) + "<|im_start|>assistant\n"


def conversation(text: str) -> list[dict[str, Any]]:
    """Return a tool loop about `text`."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
    for number in range(30):
        arguments = json.dumps({"id": str(number)})
        call = {"name": "find", "arguments": arguments}
        messages += [
            {
                "role": "assistant",
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number * 7919}: {text}"},
            {"role": "assistant", "content": text},
            {"role": "user", "content": text},
        ]
    return messages


@pytest.mark.parametrize("extra", [True, False])
@pytest.mark.parametrize("language", ["English", "German", "Chinese", "Hindi"])
def test_a_request_stays_within_the_budget_by_the_real_tokenizer(
    language: str, monkeypatch: pytest.MonkeyPatch, *, extra: bool
) -> None:
    """A shortened tool loop, in the template of the model and with its tools, fits the budget."""
    monkeypatch.setattr(module, "has_open_vocabularies", lambda: extra)
    qwen, messages = OpenVocabulary("qwen3"), conversation(LANGUAGES[language])
    for budget in (1_000, 2_500):
        view = project(messages, "groq/qwen3-32b", max_tokens=budget, tools=[TOOL], reserve=0)
        sent = SPECIAL.split(chat_ml(view.messages, [TOOL]))
        tokens = len(sent) - 1 + sum(map(qwen.count, sent))
        assert tokens <= budget
        if extra:
            assert view.tokens_after <= budget

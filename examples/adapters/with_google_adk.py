"""Run an agent of Google's ADK in a conversation that outgrows its window.

The session keeps every event.

Prints::

    80 events in the session, at most 69 contents in a request
    the last request begins: user: 0: what is on this shelf? Never open a jar.
"""

import asyncio
from collections.abc import AsyncIterator

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from polycontext.adapters.google_adk import ContextPlugin

requests: list[list[types.Content]] = []


class ScriptedLlm(BaseLlm):
    """A scripted model that records the requests it gets."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - ADK's own
    ) -> AsyncIterator[LlmResponse]:
        """Return a fixed answer."""
        requests.append(llm_request.contents)
        sent = (
            sum(len(part.text) for content in llm_request.contents for part in content.parts) // 4
        )
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=sent, candidates_token_count=7
        )
        said = types.Content(role="model", parts=[types.Part(text="Plums, and behind them pears.")])
        yield LlmResponse(content=said, usage_metadata=usage)


agent = LlmAgent(
    name="keeper", model=ScriptedLlm(model="scripted"), instruction="You keep a cellar."
)
app = App(
    name="cellar", root_agent=agent, plugins=[ContextPlugin(2000)]
)  # the only change; a model name works too


async def main() -> None:
    """Ask forty times in one session."""
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="cellar", user_id="me")
    for shelf in range(40):
        asked = f"{shelf}: what is on this shelf? " + (
            "Look closely. " * 12 if shelf else "Never open a jar."
        )
        message = types.Content(role="user", parts=[types.Part(text=asked)])
        async for _ in runner.run_async(user_id="me", session_id=session.id, new_message=message):
            pass
    kept = await runner.session_service.get_session(
        app_name="cellar", user_id="me", session_id=session.id
    )
    print(
        f"{len(kept.events)} events in the session, at most {max(map(len, requests))} contents in "
        "a request"
    )
    first = requests[-1][0]
    print(f"the last request begins: {first.role}: {first.parts[0].text}")


asyncio.run(main())
